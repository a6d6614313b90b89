// Sparse times sparse on the GPU beside cuSPARSE: times, memory, and every result checked.  A row of JSON a line; --json adds to a record that
// `bench/record.py header spgemm_gpu/1 bench_spgemm …` began.
//
//   bench_spgemm [--product all|name,…] [--file x.mtx[.gz]]… [--type fp64,fp32,tf32,pair,int8] [--peers none|ALG1,ALG2,ALG3,reuse] [--memory share]
//                [--tiles price,never,always] [--sides n] [--budget ms] [--json FILE]
//
// ms: median of whole calls, wall clock to the end of the last kernel, operands on the device, memory from a pool that keeps what is freed.
// numeric_ms: other values in a known pattern, the places of products kept (keep_ms, keep_bytes) where that is not declined; without_ms: not
// kept.  peak: bytes beside the operands, C included.  pair: plus_pair of 32-bit integers.  int8: integers of 8 bits in FP64.  tf32: FP32 where that is allowed.  memory: give
// our kernel this share of C's bytes for what it stores beside C.  tiles: on Tensor Cores where they are expected to pay, nowhere, or
// wherever they fit: "ours", "rows", "tiles".  sides: kernels on so many streams beside the first.  right: rows have the columns of a product formed bit by bit, and their
// weighted sums are those of A (B v).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/products.h"
#include "bench/cuda/samples.cuh"
#include "bench/cuda/spgemm_peers.h"
#include "kernels/cuda/spgemm/spgemm.h"

namespace {

constexpr int threads = 256;

struct Options {
    std::vector<std::string> products, files, types = {"fp64", "fp32", "pair"}, peers = {"ALG1", "ALG2", "ALG3", "reuse"}, tiles = {"price"};
    double budget_ms = 150, share = 0;
    FILE *json = stdout;
};

// Places of products, for fills again.
struct Kept {
    double ms = -1, without_ms = -1; // to find them; a fill again without them
    size_t bytes = 0;
};

unsigned blocks_for(int64_t n) { return unsigned((n + threads - 1) / threads); }

// ---- What the rows of C must be ----

struct RowFacts {
    uint64_t count, hash; // of columns
    double sum, magnitude; // of values times weights of their columns
};

__host__ __device__ double weight(uint32_t column) { return double(splitmix(column) >> 40) * 0x1p-24 + 0.5; }

// A block a row, with a bit for each column in global memory, which is zero before and after.
__global__ void expect_rows(const int64_t *ap, const uint32_t *ai, const double *ax, const int64_t *bp, const uint32_t *bi, const double *bx,
                            int64_t m, uint32_t *bits, int64_t words, RowFacts *facts)
{
    __shared__ RowFacts all;
    bits += blockIdx.x * words;
    for (int64_t row = blockIdx.x; row < m; row += gridDim.x) {
        if (threadIdx.x == 0)
            all = {};
        __syncthreads();
        RowFacts mine = {};
        int lane = threadIdx.x % 32;
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t e = ap[row] + threadIdx.x / 32; e < ap[row + 1]; e += threads / 32)
                for (int64_t f = bp[ai[e]] + lane; f < bp[ai[e] + 1]; f += 32) {
                    uint32_t column = bi[f], bit = 1u << column % 32;
                    if (pass) {
                        bits[column / 32] = 0;
                        continue;
                    }
                    if (!(atomicOr(bits + column / 32, bit) & bit))
                        mine.count++, mine.hash += splitmix(column);
                    double term = ax ? ax[e] * bx[f] * weight(column) : weight(column);
                    mine.sum += term, mine.magnitude += fabs(term);
                }
            __syncthreads();
        }
        atomicAdd((unsigned long long *)&all.count, (unsigned long long)mine.count);
        atomicAdd((unsigned long long *)&all.hash, (unsigned long long)mine.hash);
        atomicAdd(&all.sum, mine.sum);
        atomicAdd(&all.magnitude, mine.magnitude);
        __syncthreads();
        if (threadIdx.x == 0)
            facts[row] = all;
        __syncthreads();
    }
}

// *wrong: rows of C that are not so.
template <class P, class X>
__global__ void check_rows(const P *p, const uint32_t *i, const X *x, int64_t m, const RowFacts *facts, double tolerance, int *wrong)
{
    int64_t row = (int64_t(blockIdx.x) * threads + threadIdx.x) / 32;
    if (row >= m)
        return;
    unsigned long long hash = 0;
    double sum = 0;
    for (int64_t e = p[row] + threadIdx.x % 32; e < p[row + 1]; e += 32)
        hash += splitmix(i[e]), sum += double(x[e]) * weight(i[e]);
    for (int d = 16; d; d /= 2) {
        hash += __shfl_xor_sync(~0u, hash, d);
        sum += __shfl_xor_sync(~0u, sum, d);
    }
    const RowFacts &want = facts[row];
    bool right = uint64_t(p[row + 1] - p[row]) == want.count && hash == want.hash && fabs(sum - want.sum) <= tolerance * want.magnitude;
    if (threadIdx.x % 32 == 0 && !right)
        atomicAdd(wrong, 1);
}

template <class T> __global__ void cast(T *to, const float *from, int64_t n)
{
    int64_t e = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (e < n)
        to[e] = T(from[e]);
}
__global__ void round_to_int8(double *to, const float *from, int64_t n)
{
    int64_t e = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (e < n)
        to[e] = rint(double(from[e]) * 100) + 0.0; // never -0
}
__global__ void narrow(int32_t *to, const int64_t *from, int64_t n)
{
    int64_t e = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (e < n)
        to[e] = int32_t(from[e]);
}

// An operand in every form that is measured.
struct Operand {
    tsr_cuda_csr csr = {};
    double *fp64, *int8;
    int32_t *p32;

    explicit Operand(const Csr &a)
    {
        csr.nrows = a.nrows, csr.ncols = a.ncols, csr.nvals = a.nvals, csr.p = a.p, csr.i = a.i, csr.x = a.x;
        fp64 = device_array<double>(a.nvals);
        p32 = device_array<int32_t>(a.nrows + 1);
        int8 = device_array<double>(a.nvals);
        cast<<<blocks_for(a.nvals), threads>>>(fp64, a.x, a.nvals);
        round_to_int8<<<blocks_for(a.nvals), threads>>>(int8, a.x, a.nvals);
        narrow<<<blocks_for(a.nrows + 1), threads>>>(p32, a.p, a.nrows + 1);
        CHECK(cudaDeviceSynchronize());
    }
    ~Operand()
    {
        cudaFree(fp64);
        cudaFree(int8);
        cudaFree(p32);
    }
    tsr_cuda_csr with(const std::string &type) const
    {
        tsr_cuda_csr a = csr;
        a.x = type == "fp64" ? static_cast<void *>(fp64) : type == "int8" ? int8 : type == "fp32" || type == "tf32" ? csr.x : nullptr;
        return a;
    }
    PeerMatrix peer(bool is_fp64) const
    {
        return {csr.nrows, csr.ncols, csr.nvals, p32, reinterpret_cast<int32_t *>(csr.i), is_fp64 ? static_cast<void *>(fp64) : csr.x};
    }
};

double wall_ms()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Median of `run`, which ends when the device has; `after` is not timed.
template <class Run, class After> double median_of(const Run &run, const After &after, double budget_ms)
{
    std::vector<double> times;
    double spent = 0;
    for (int k = 0; k < 2 || (k < 100 && (times.size() < 5 ? spent < 4 * budget_ms : spent < budget_ms)); k++) {
        double begin = wall_ms();
        if (!run())
            return -1;
        double ms = wall_ms() - begin;
        after();
        if (k > 0)
            times.push_back(ms), spent += ms;
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Nobody meets the pieces that another left in the pool.
void empty_pool()
{
    cudaMemPool_t pool;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolTrimTo(pool, 0));
}

struct Bench {
    const Options &options;
    tsr_cuda_device device;
    std::string name, type;
    const Operand *a, *b;
    RowFacts *facts[3]; // of values, of counts, of integers
    double c_bytes = 0;

    bool wide() const { return type == "fp64" || type == "int8"; }
    bool single() const { return type == "fp32" || type == "tf32"; }
    double tolerance() const { return type == "tf32" ? 1e-2 : type == "fp32" ? 1e-4 : 1e-11; }

    template <class P, class X> bool is_right(const P *p, const uint32_t *i, const X *x) const
    {
        auto *wrong = device_array<int>(1);
        int64_t m = a->csr.nrows;
        CHECK(cudaMemset(wrong, 0, sizeof *wrong));
        check_rows<<<blocks_for(32 * m), threads>>>(p, i, x, m, facts[type == "pair" ? 1 : type == "int8" ? 2 : 0], tolerance(), wrong);
        int count;
        CHECK(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(wrong));
        return count == 0;
    }
    template <class P> bool is_right(const P *p, const uint32_t *i, const void *x) const
    {
        return wide() ? is_right(p, i, static_cast<const double *>(x)) : single() ? is_right(p, i, static_cast<const float *>(x))
                                                                                              : is_right(p, i, static_cast<const uint32_t *>(x));
    }

    void report(const char *what, double ms, double numeric_ms, uint64_t products, int64_t nvals, size_t peak, bool right,
        const Kept &kept = {}) const
    {
        std::fprintf(options.json, "{\"product\":\"%s\",\"type\":\"%s\",\"what\":\"%s\",\"ms\":%.5g,\"numeric_ms\":%.5g,\"products\":%llu,\"nvals\":%lld,"
                     "\"peak\":%zu,\"right\":%s,\"share\":%g,\"without_ms\":%.5g,\"keep_ms\":%.5g,\"keep_bytes\":%zu}\n",
                     name.c_str(), type.c_str(), what, ms, numeric_ms, (unsigned long long)products, (long long)nvals, peak, right ? "true" : "false",
                     options.share, kept.without_ms, kept.ms, kept.bytes);
        std::fflush(options.json);
    }

    /* tiles: "price", "never", "always" */
    uint64_t ours(const std::string &tiles)
    {
        empty_pool();
        tsr_cuda_spgemm_tiles = tiles == "never" ? -1 : tiles == "always";
        tsr_cuda_csr x = a->with(type), y = b->with(type), c = {};
        tsr_cuda_spgemm q = {};
        q.semiring = wide() ? tsr_semiring{TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES} : single() ? tsr_semiring{TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}
                                                                                                 : tsr_semiring{TSR_INT32, TSR_ADD_PLUS, TSR_MUL_PAIR};
        q.a = &x, q.b = &y, q.device = &device, q.precision = type == "tf32" ? TSR_PRECISION_TF32 : TSR_PRECISION_EXACT;
        size_t entry = wide() ? 12 : 8;
        tsr_cuda_spgemm_size size = {};
        auto drop = [&] {
            tsr_cuda_free(c.p, nullptr);
            tsr_cuda_free(c.i, nullptr);
            tsr_cuda_free(c.x, nullptr);
            CHECK(cudaDeviceSynchronize());
        };
        auto whole = [&] { return tsr_cuda_spgemm_whole(&c, &size, &q) == TSR_OK && tsr_cuda_wait(nullptr) == TSR_OK; };
        if (options.share > 0) {
            if (whole())
                drop();
            q.memory = size_t(options.share * double(size.nvals) * double(entry)) + 1;
        }
        double ms = median_of(whole, drop, options.budget_ms);
        bool right = ms > 0 && whole() && is_right(c.p, c.i, c.x);
        double numeric = -1;
        Kept kept;
        tsr_cuda_spgemm_work *work = nullptr;
        if (right && type != "pair" && tsr_cuda_spgemm_count(&work, nullptr, &q) == TSR_OK) {
            bool filled = tsr_cuda_spgemm_fill(work, &q, &c, false) == TSR_OK;
            auto again = [&] { return tsr_cuda_spgemm_fill(work, &q, &c, true) == TSR_OK; };
            kept.without_ms = filled ? median_ms(again, options.budget_ms / 6) : -1;
            auto keep = [&] { return tsr_cuda_spgemm_keep(work, &kept.bytes, &q, &c, SIZE_MAX / 2) == TSR_OK; };
            double begin = wall_ms();
            kept.ms = filled && keep() && tsr_cuda_wait(nullptr) == TSR_OK ? wall_ms() - begin : -1;
            numeric = kept.ms > 0 ? median_ms(again, options.budget_ms / 3) : kept.without_ms;
            right = filled && is_right(c.p, c.i, c.x);
            tsr_cuda_spgemm_free(work, nullptr);
        }
        if (c.p)
            drop();
        report(tiles == "never" ? "rows" : tiles == "always" ? "tiles" : "ours", ms, numeric, size.products, size.nvals, size.most_bytes + size_t(size.nvals) * entry + size_t(x.nrows + 1) * 8, right,
               kept);
        return size.products;
    }

    void peers(uint64_t products)
    {
        bool fp64 = type == "fp64";
        PeerMatrix x = a->peer(fp64), y = b->peer(fp64), c = {};
        for (const std::string &algorithm : options.peers) {
            if (algorithm == "none")
                continue;
            empty_pool();
            PeerMemory memory;
            bool right = true;
            int64_t nvals = 0;
            double ms = -1, numeric = -1;
            if (algorithm == "reuse") {
                numeric = peer_reuse_ms(x, y, fp64, options.budget_ms / 3, &memory);
            } else {
                auto multiply = [&] { return peer_multiply(&c, algorithm, x, y, fp64, &memory); };
                auto drop = [&] { peer_free(&c, &memory); };
                ms = median_of(multiply, drop, options.budget_ms);
                right = ms > 0 && multiply() && is_right(c.p, reinterpret_cast<uint32_t *>(c.i), c.x);
                nvals = c.nvals;
                drop();
            }
            report(algorithm.c_str(), ms, numeric, products, nvals, memory.most, right);
        }
    }

    void expect()
    {
        int64_t m = a->csr.nrows, words = (b->csr.ncols + 31) / 32, blocks = std::min<int64_t>(m, 132 * 8);
        auto *bits = device_array<uint32_t>(blocks * words);
        CHECK(cudaMemset(bits, 0, size_t(blocks * words) * 4));
        for (int k = 0; k < 3; k++) {
            facts[k] = device_array<RowFacts>(m);
            expect_rows<<<unsigned(blocks), threads>>>(a->csr.p, a->csr.i, k == 1 ? nullptr : k ? a->int8 : a->fp64, b->csr.p, b->csr.i, k ? b->int8 : b->fp64, m, bits, words, facts[k]);
        }
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(bits));
    }
};

void measure(const Options &options, const tsr_cuda_device &device, Product product)
{
    {
        Operand a(product.a), b(product.right());
        Bench bench{options, device, product.name, "", &a, &b, {}};
        bench.expect();
        for (const std::string &type : options.types) {
            bench.type = type;
            uint64_t products = 0;
            for (const std::string &tiles : options.tiles)
                products = bench.ours(tiles);
            if (type == "fp64" || type == "fp32")
                bench.peers(products);
        }
        for (RowFacts *facts : bench.facts)
            CHECK(cudaFree(facts));
    }
    release(product);
}

Options parse(int argc, char **argv)
{
    Options o;
    Arguments given(argc, argv);
    given.take("--product", &o.products, generated_products());
    o.files = given.all("--file");
    given.take("--type", &o.types);
    given.take("--peers", &o.peers);
    given.take("--tiles", &o.tiles);
    given.take("--memory", &o.share);
    given.take("--sides", &tsr_cuda_spgemm_sides);
    given.take("--budget", &o.budget_ms);
    given.take("--json", &o.json);
    given.finish();
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    Options options = parse(argc, argv);
    const tsr_cuda_device device = open_gpu();
    for (const std::string &path : options.files)
        measure(options, device, product_of_file(path));
    for (const std::string &name : options.products)
        measure(options, device, generate_product(name));
    return 0;
}
