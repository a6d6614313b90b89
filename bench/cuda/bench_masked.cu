// Masked products on the GPU: triangle counting per entry in any labelling, support of edges, products of values; SDDMM beside
// cuSPARSE.  A row of JSON a line; --json adds to a record that `bench/record.py header masked/1 bench_masked …` began.
//
//   bench_masked [--matrix all|name,…] [--what triangles,support,values,sddmm] [--order given,degree] [--n 32,64,128]
//                [--math exact,tf32,fp16,bf16,fp64] [--variant 0,1409,…] [--shrink k] [--no-peers] [--budget ms] [--json FILE]
//
// triangles: C<L> = L U', plus_pair int64, L the strictly lower part of A | A'; order degree: vertices renumbered by ascending
// degree. support: C<S> = S S', plus_pair uint32, S = A | A'.  values: as triangles, plus_times FP64.  Every result is compared
// with that of the kernel without a plan.  variant: of the plan.  sddmm: see sddmm.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/matrices.h"
#include "bench/cuda/measure.h"
#include "bench/cuda/sddmm.h"
#include "kernels/cuda/common/cuda_kernels.h"

namespace {

struct Options {
    std::vector<std::string> matrices = {"rmat20"}, what = {"triangles", "sddmm"}, orders = {"given"}, maths = {"exact", "tf32"};
    std::vector<int64_t> widths = {32, 128}, variants = {0};
    int shrink = 1;
    double budget_ms = 150;
    bool peers = true;
    FILE *json = stdout;
    bool wants(const char *name) const { return std::find(what.begin(), what.end(), name) != what.end(); }
};

constexpr int threads = 256;
int blocks_for(int64_t n) { return int((n + threads - 1) / threads); }

// ---- Graphs ----

__device__ int64_t row_of(const int64_t *p, int64_t nrows, int64_t e)
{
    int64_t low = 0, high = nrows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p[middle + 1] <= e)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Both directions of every entry off the diagonal, renumbered.
__global__ void both_directions(uint64_t *keys, const int64_t *p, const uint32_t *i, int64_t nrows, int64_t nvals,
    const uint32_t *rank)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e >= nvals)
        return;
    uint64_t row = uint64_t(row_of(p, nrows, e)), col = i[e];
    uint64_t r = rank ? rank[row] : row, c = rank ? rank[col] : col;
    keys[2 * e] = row == col ? ~0ull : r << 32 | c;
    keys[2 * e + 1] = row == col ? ~0ull : c << 32 | r;
}

// Part -1: below the diagonal, 1: above, 0: all.
__global__ void take_part(uint64_t *out, const uint64_t *keys, int64_t n, int part)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e >= n)
        return;
    uint64_t row = keys[e] >> 32, col = keys[e] & 0xffffffffu;
    out[e] = keys[e] != ~0ull && (part == 0 || (part < 0 ? col < row : col > row)) ? keys[e] : ~0ull;
}

// Small integers, so that sums are exact in any order.
__global__ void fill_values(double *x, const uint32_t *i, int64_t nvals)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < nvals)
        x[e] = double(i[e] % 1000003 % 17) - 8;
}

tsr_cuda_csr part_of(const uint64_t *edges, int64_t n, int64_t nrows, int part)
{
    auto *keys = device_array<uint64_t>(n);
    take_part<<<blocks_for(n), threads>>>(keys, edges, n, part);
    CHECK(cudaGetLastError());
    Csr part_csr = csr_of("", nrows, keys, n);
    tsr_cuda_csr a = {};
    a.nrows = part_csr.nrows, a.ncols = part_csr.ncols, a.nvals = part_csr.nvals, a.p = part_csr.p, a.i = part_csr.i;
    CHECK(cudaFree(part_csr.x));
    auto *x = device_array<double>(a.nvals);
    fill_values<<<blocks_for(a.nvals), threads>>>(x, a.i, a.nvals);
    CHECK(cudaDeviceSynchronize());
    a.x = x;
    return a;
}

void release(tsr_cuda_csr &a)
{
    CHECK(cudaFree(a.p));
    CHECK(cudaFree(a.i));
    CHECK(cudaFree(a.x));
}

// All directed edges of A | A', sorted; vertices by ascending degree on demand.
uint64_t *edges_of(const Csr &a, bool by_degree, int64_t *count)
{
    uint32_t *rank = nullptr;
    if (by_degree) {
        int64_t n;
        uint64_t *edges = edges_of(a, false, &n);
        std::vector<uint64_t> host(static_cast<size_t>(n));
        CHECK(cudaMemcpy(host.data(), edges, size_t(n) * 8, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(edges));
        std::vector<uint32_t> degree(size_t(a.nrows), 0), order(size_t(a.nrows)), ranks(size_t(a.nrows));
        for (uint64_t edge : host)
            degree[edge >> 32]++;
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t s, uint32_t t) { return degree[s] < degree[t]; });
        for (size_t k = 0; k < order.size(); k++)
            ranks[order[k]] = uint32_t(k);
        rank = device_array<uint32_t>(a.nrows);
        CHECK(cudaMemcpy(rank, ranks.data(), ranks.size() * 4, cudaMemcpyHostToDevice));
    }
    auto *keys = device_array<uint64_t>(2 * a.nvals);
    both_directions<<<blocks_for(a.nvals), threads>>>(keys, a.p, a.i, a.nrows, a.nvals, rank);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(rank));
    return unique_keys(keys, 2 * a.nvals, count);
}

// ---- Sparse operands ----

struct Bench {
    const Options &options;
    tsr_cuda_device device;

    double time(const tsr_cuda_masked_plan &plan, const tsr_cuda_masked &q) const
    {
        return median_ms([&] { return tsr_cuda_masked_dot(&plan, &q) == TSR_OK; }, options.budget_ms);
    }

    // Milliseconds of the bitmaps alone, and of everything but searches.
    void parts(const tsr_cuda_masked_plan &plan, const tsr_cuda_masked &q, double *bitmaps, double *groups) const
    {
        tsr_cuda_masked_plan some = plan;
        some.npairs = 0;
        *groups = time(some, q);
        some.ntasks[1] = some.ntasks[2] = some.ntasks[3] = 0;
        *bitmaps = time(some, q);
    }

    void product(const Csr &matrix, const char *what, const std::string &order, const tsr_cuda_csr &a, const tsr_cuda_csr &b,
                 const tsr_cuda_csr &mask, tsr_semiring semiring) const
    {
        tsr_cuda_csr pattern = mask, pa = a, pb = b;
        pattern.x = nullptr;
        size_t size = semiring.type == TSR_UINT32 ? 4 : 8, bytes = size_t(mask.nvals) * size;
        tsr_cuda_masked q = {};
        q.semiring = semiring, q.a = &pa, q.b = &pb, q.mask = &pattern, q.end = mask.nvals, q.device = &device;
        bool reads = tsr_cuda_masked_reads(&q);
        void *x = device_array<char>(int64_t(bytes)), *again = device_array<char>(int64_t(bytes));
        auto *present = device_array<int8_t>(mask.nvals);
        auto *total = device_array<uint64_t>(1);
        q.x = x, q.present = present;
        double plain = median_ms([&] { return tsr_cuda_masked_dot(nullptr, &q) == TSR_OK; }, 30);
        for (int64_t variant : options.variants) {
            tsr_cuda_masked_plan plan = {};
            double plan_ms = median_wall_ms([&] {
                tsr_cuda_free_masked_plan(&plan, nullptr);
                return tsr_cuda_make_masked_plan(&plan, &q, reads, int(variant)) == TSR_OK;
            }, 3);
            q.x = again;
            poison(again, bytes);
            double ms = time(plan, q), sum_ms = -1, bitmaps = -1, groups = -1;
            // Sums of values have another order without a plan; these are exact.
            bool same = same_bits(x, again, bytes);
            parts(plan, q, &bitmaps, &groups);
            uint64_t products = 0;
            if (!reads) {
                q.x = nullptr, q.present = nullptr, q.products = total;
                CHECK(cudaMemset(total, 0, 8));
                tsr_cuda_masked_dot(&plan, &q);
                CHECK(cudaMemcpy(&products, total, 8, cudaMemcpyDeviceToHost));
                sum_ms = time(plan, q);
                q.products = nullptr;
            }
            q.x = x, q.present = present;
            std::fprintf(options.json,
                         "{\"what\":\"%s\",\"matrix\":\"%s\",\"order\":\"%s\",\"entries\":%lld,\"variant\":%lld,\"ms\":%.5g,"
                         "\"sum_ms\":%.5g,\"plan_ms\":%.4g,\"no_plan_ms\":%.5g,\"bitmaps_ms\":%.5g,\"groups_ms\":%.5g,"
                         "\"products\":%llu,\"same\":%s,\"records\":%lld,"
                         "\"pairs\":%lld,\"tasks\":[%lld,%lld,%lld,%lld],\"plan_bytes\":%lld}\n",
                         what, matrix.name.c_str(), order.c_str(), (long long)mask.nvals, (long long)variant, ms, sum_ms, plan_ms,
                         plain, bitmaps,
                         groups, (unsigned long long)products, same ? "true" : "false", (long long)plan.nrecords,
                         (long long)plan.npairs,
                         (long long)plan.ntasks[0], (long long)plan.ntasks[1], (long long)plan.ntasks[2],
                         (long long)plan.ntasks[3], (long long)plan.bytes);
            std::fflush(options.json);
            tsr_cuda_free_masked_plan(&plan, nullptr);
        }
        CHECK(cudaFree(x));
        CHECK(cudaFree(again));
        CHECK(cudaFree(present));
        CHECK(cudaFree(total));
    }

    void graphs(const Csr &matrix, const std::string &order) const
    {
        int64_t n;
        uint64_t *edges = edges_of(matrix, order == "degree", &n);
        if (options.wants("triangles") || options.wants("values")) {
            tsr_cuda_csr lower = part_of(edges, n, matrix.nrows, -1), upper = part_of(edges, n, matrix.nrows, 1);
            if (options.wants("triangles"))
                product(matrix, "triangles", order, lower, upper, lower, {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR});
            if (options.wants("values"))
                product(matrix, "values", order, lower, upper, lower, {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES});
            release(lower);
            release(upper);
        }
        if (options.wants("support")) {
            tsr_cuda_csr all = part_of(edges, n, matrix.nrows, 0);
            product(matrix, "support", order, all, all, all, {TSR_UINT32, TSR_ADD_PLUS, TSR_MUL_PAIR});
            release(all);
        }
        CHECK(cudaFree(edges));
    }
};

// ---- Arguments ----

Options parse(int argc, char **argv)
{
    Options o;
    Arguments given(argc, argv);
    o.peers = !given.flag("--no-peers");
    given.take("--matrix", &o.matrices, generated_names());
    given.take("--what", &o.what);
    given.take("--math", &o.maths);
    given.take("--order", &o.orders);
    given.take("--n", &o.widths);
    given.take("--variant", &o.variants);
    given.take("--shrink", &o.shrink);
    given.take("--budget", &o.budget_ms);
    given.take("--json", &o.json);
    given.finish();
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    Options options = parse(argc, argv);
    Bench bench{options, open_gpu()};
    for (const std::string &name : options.matrices) {
        Csr matrix = generate(name, options.shrink);
        if (options.wants("triangles") || options.wants("support") || options.wants("values"))
            for (const std::string &order : options.orders)
                bench.graphs(matrix, order);
        for (int64_t k : options.widths)
            if (options.wants("sddmm"))
                bench_sddmm(matrix, k, options.maths, bench.device, options.peers, options.budget_ms, options.json);
        release(matrix);
    }
    return 0;
}
