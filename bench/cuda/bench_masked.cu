// Masked products on the GPU: triangle counting per entry in any labelling, support of edges, products of values; SDDMM beside
// cuSPARSE.  One JSON record a line.
//
//   bench_masked [--matrix all|name,…] [--what triangles,support,values,sddmm] [--order given,degree] [--n 32,64,128]
//                [--variant 0,1409,…] [--shrink k] [--no-peers] [--budget ms] [--json FILE]
//
// triangles: C<L> = L U', plus_pair int64, L the strictly lower part of A | A'; order degree: vertices renumbered by ascending
// degree. support: C<S> = S S', plus_pair uint32, S = A | A'.  values: as triangles, plus_times FP64.  Every result is compared
// with that of the kernel without a plan.  variant: of the plan (triangles, support, values), of the kernel (sddmm).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <cusparse.h>
#include <numeric>
#include <sstream>

#include "bench/cuda/check.cuh"
#include "bench/cuda/matrices.h"
#include "bench/cuda/measure.h"
#include "kernels/cuda/cuda_kernels.h"

namespace {

struct Options {
    std::vector<std::string> matrices = {"rmat20"}, what = {"triangles", "sddmm"}, orders = {"given"};
    std::vector<int64_t> widths = {64, 128}, variants = {0};
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

__global__ void begin_rows(int64_t *p, int64_t nrows, const uint64_t *keys, int64_t nvals)
{
    int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row > nrows)
        return;
    int64_t low = 0, high = nvals;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (int64_t(keys[middle] >> 32) < row)
            low = middle + 1;
        else
            high = middle;
    }
    p[row] = low;
}

__global__ void fill_columns(uint32_t *i, double *x, const uint64_t *keys, int64_t nvals)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e < nvals) {
        i[e] = uint32_t(keys[e]);
        x[e] = double(keys[e] % 1000003 % 17) - 8;
    }
}

// Sorted, without duplicates and without ~0; the number of keys left.
int64_t sort_unique(uint64_t *&keys, int64_t n)
{
    auto *sorted = device_array<uint64_t>(n);
    auto *number = device_array<int64_t>(1);
    size_t sort_bytes = 0, unique_bytes = 0;
    void *scratch = nullptr;
    cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, keys, sorted, n);
    cub::DeviceSelect::Unique(nullptr, unique_bytes, sorted, keys, number, n);
    CHECK(cudaMalloc(&scratch, std::max(sort_bytes, unique_bytes)));
    CHECK(cub::DeviceRadixSort::SortKeys(scratch, sort_bytes, keys, sorted, n));
    CHECK(cub::DeviceSelect::Unique(scratch, unique_bytes, sorted, keys, number, n));
    int64_t kept = 0;
    uint64_t last = 0;
    CHECK(cudaMemcpy(&kept, number, sizeof kept, cudaMemcpyDeviceToHost));
    if (kept)
        CHECK(cudaMemcpy(&last, keys + kept - 1, sizeof last, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(scratch));
    CHECK(cudaFree(number));
    CHECK(cudaFree(sorted));
    return kept - (last == ~0ull);
}

tsr_cuda_csr part_of(const uint64_t *edges, int64_t n, int64_t nrows, int part)
{
    auto *keys = device_array<uint64_t>(n);
    take_part<<<blocks_for(n), threads>>>(keys, edges, n, part);
    tsr_cuda_csr a = {};
    a.nrows = a.ncols = nrows;
    a.nvals = sort_unique(keys, n);
    a.p = device_array<int64_t>(nrows + 1);
    a.i = device_array<uint32_t>(a.nvals);
    auto *x = device_array<double>(a.nvals);
    a.x = x;
    begin_rows<<<blocks_for(nrows + 1), threads>>>(a.p, nrows, keys, a.nvals);
    fill_columns<<<blocks_for(a.nvals), threads>>>(a.i, x, keys, a.nvals);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(keys));
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
    *count = sort_unique(keys, 2 * a.nvals);
    CHECK(cudaFree(rank));
    return keys;
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
                         "{\"what\":\"%s\",\"matrix\":\"%s\",\"order\":\"%s\",\"entries\":%lld,\"variant\":%lld,\"ms\":%.5g,\"sum_ms\":%.5g,"
                         "\"plan_ms\":%.4g,\"no_plan_ms\":%.5g,\"bitmaps_ms\":%.5g,\"groups_ms\":%.5g,\"products\":%llu,\"same\":%s,\"records\":%lld,"
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

    void sddmm(const Csr &matrix, int64_t k) const;
};

// ---- Dense operands ----

__global__ void exact_dots(double *out, const int64_t *p, const uint32_t *i, int64_t nrows, int64_t nvals, const float *a,
    const float *b, int64_t k)
{
    int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (e >= nvals)
        return;
    const float *x = a + row_of(p, nrows, e) * k, *y = b + int64_t(i[e]) * k;
    double sum = 0;
    for (int64_t t = 0; t < k; t++)
        sum += double(x[t]) * double(y[t]);
    out[e] = sum;
}

// B k x n by columns (each row of B' contiguous), preprocessed; -1: it refuses.
double cusparse_sddmm(const Csr &m, const float *a, const float *b, float *c, int64_t k, double budget_ms)
{
    static cusparseHandle_t handle = nullptr;
    if (!handle && cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS)
        return -1;
    std::vector<int64_t> wide(size_t(m.nrows) + 1);
    CHECK(cudaMemcpy(wide.data(), m.p, wide.size() * 8, cudaMemcpyDeviceToHost));
    std::vector<int32_t> narrow(wide.begin(), wide.end());
    auto *p = device_array<int32_t>(m.nrows + 1);
    CHECK(cudaMemcpy(p, narrow.data(), narrow.size() * 4, cudaMemcpyHostToDevice));
    cusparseSpMatDescr_t mc = nullptr;
    cusparseDnMatDescr_t ma = nullptr, mb = nullptr;
    cusparseCreateCsr(&mc, m.nrows, m.ncols, m.nvals, p, m.i, c, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
        CUDA_R_32F);
    cusparseCreateDnMat(&ma, m.nrows, k, k, const_cast<float *>(a), CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&mb, k, m.ncols, k, const_cast<float *>(b), CUDA_R_32F, CUSPARSE_ORDER_COL);
    float one = 1, zero = 0;
    const auto keep = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes = 0;
    void *scratch = nullptr;
    double ms = -1;
    if (cusparseSDDMM_bufferSize(handle, keep, keep, &one, ma, mb, &zero, mc, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes) ==
            CUSPARSE_STATUS_SUCCESS &&
        cudaMalloc(&scratch, bytes + 16) == cudaSuccess &&
        cusparseSDDMM_preprocess(handle, keep, keep, &one, ma, mb, &zero, mc, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, scratch) ==
            CUSPARSE_STATUS_SUCCESS)
        ms = median_ms([&] {
            return cusparseSDDMM(handle, keep, keep, &one, ma, mb, &zero, mc, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, scratch) ==
                   CUSPARSE_STATUS_SUCCESS;
        }, budget_ms);
    cudaGetLastError();
    cudaFree(scratch);
    cudaFree(p);
    cusparseDestroySpMat(mc);
    cusparseDestroyDnMat(ma);
    cusparseDestroyDnMat(mb);
    return ms;
}

void Bench::sddmm(const Csr &matrix, int64_t k) const
{
    float *a = device_array<float>(matrix.nrows * k), *b = device_array<float>(matrix.ncols * k);
    auto *c = device_array<float>(matrix.nvals), *again = device_array<float>(matrix.nvals);
    auto *exact = device_array<double>(matrix.nvals);
    fill_uniform(a, matrix.nrows * k, 5);
    fill_uniform(b, matrix.ncols * k, 7);
    exact_dots<<<blocks_for(matrix.nvals), threads>>>(exact, matrix.p, matrix.i, matrix.nrows, matrix.nvals, a, b, k);
    CHECK(cudaGetLastError());
    double gather = k % 4 == 0 ? gather_ms(matrix, k) : -1, peer = -1, peer_error = -1;
    if (options.peers) {
        peer = cusparse_sddmm(matrix, a, b, c, k, options.budget_ms);
        peer_error = relative_error(c, false, exact, matrix.nvals);
    }
    tsr_cuda_csr mask = {};
    mask.nrows = matrix.nrows, mask.ncols = matrix.ncols, mask.nvals = matrix.nvals, mask.p = matrix.p, mask.i = matrix.i;
    tsr_cuda_sddmm q = {};
    q.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES};
    q.mask = &mask, q.end = mask.nvals, q.k = k, q.a = a, q.lda = k, q.b = b, q.ldb = k, q.device = &device;
    for (int64_t variant : options.variants) {
        q.variant = int(variant);
        q.x = again;
        poison(again, size_t(matrix.nvals) * 4);
        tsr_cuda_sddmm_csr(&q);
        q.x = c;
        double ms = median_ms([&] { return tsr_cuda_sddmm_csr(&q) == TSR_OK; }, options.budget_ms);
        bool same = same_bits(c, again, size_t(matrix.nvals) * 4);
        std::fprintf(options.json,
                     "{\"what\":\"sddmm\",\"matrix\":\"%s\",\"entries\":%lld,\"n\":%lld,\"variant\":%lld,\"ms\":%.5g,\"gflops\":%.5g,\"error\":%.3g,"
                     "\"same\":%s,\"cusparse_ms\":%.5g,\"cusparse_error\":%.3g,\"gather_ms\":%.5g}\n",
                     matrix.name.c_str(), (long long)matrix.nvals, (long long)k, (long long)variant, ms,
                     2e-6 * double(matrix.nvals) * double(k) / ms, relative_error(c, false, exact, matrix.nvals), same ? "true" : "false",
                     peer,
                     peer_error, gather);
        std::fflush(options.json);
    }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFree(again));
    CHECK(cudaFree(exact));
}

// ---- Arguments ----

std::vector<std::string> split(const std::string &list)
{
    std::vector<std::string> items;
    std::stringstream text(list);
    for (std::string item; std::getline(text, item, ',');)
        items.push_back(item);
    return items;
}

std::vector<int64_t> numbers(const std::string &list)
{
    std::vector<int64_t> values;
    for (const std::string &item : split(list))
        values.push_back(std::atoll(item.c_str()));
    return values;
}

Options parse(int argc, char **argv)
{
    Options o;
    for (int k = 1; k < argc; k++) {
        std::string name = argv[k], value = k + 1 < argc ? argv[k + 1] : "";
        if (name == "--no-peers") {
            o.peers = false;
            continue;
        }
        if (name == "--matrix")
            o.matrices = value == "all" ? generated_names() : split(value);
        else if (name == "--what")
            o.what = split(value);
        else if (name == "--order")
            o.orders = split(value);
        else if (name == "--n")
            o.widths = numbers(value);
        else if (name == "--variant")
            o.variants = numbers(value);
        else if (name == "--shrink")
            o.shrink = std::atoi(value.c_str());
        else if (name == "--budget")
            o.budget_ms = std::atof(value.c_str());
        else if (name == "--json")
            o.json = std::fopen(value.c_str(), "a");
        else
            o.json = nullptr;
        if (!o.json) {
            std::fprintf(stderr, "%s %s: no such option, or the file cannot be written\n", name.c_str(), value.c_str());
            std::exit(2);
        }
        k++;
    }
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    Options options = parse(argc, argv);
    Bench bench{options, {}};
    if (tsr_cuda_count() == 0 || tsr_cuda_open(0, &bench.device) != TSR_OK) {
        std::fprintf(stderr, "no GPU\n");
        return 77;
    }
    for (const std::string &name : options.matrices) {
        Csr matrix = generate(name, options.shrink);
        if (options.wants("triangles") || options.wants("support") || options.wants("values"))
            for (const std::string &order : options.orders)
                bench.graphs(matrix, order);
        for (int64_t k : options.widths)
            if (options.wants("sddmm"))
                bench.sddmm(matrix, k);
        release(matrix);
    }
    return 0;
}
