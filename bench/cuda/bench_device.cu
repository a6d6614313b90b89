// The native door with everything in device memory, beside cuSPARSE and beside the bare kernel: tsr_execute on a stream.  With --layers the product
// of a GCN layer, bias and ReLU: in one call, and in calls of their own after it (both in one pass over C, or a pass each).  With --batch K products
// of small matrices (--shrink is 256 then unless it is given): K in one call, and in K calls; real and complex SpMM, with one A and with values
// of its own for each product, and SDDMM.
//   bench_device [--matrix all|a,b] [--n 32,128,512] [--layers 0|1] [--batch K] [--complex 0|1] [--attention HEADS] [--shrink K] [--json FILE]
// --complex: SpMM and SpMV of TSR_FC32 and TSR_FC64 beside cuSPARSE's.  --attention: of FP32, heads of --n numbers side by side, in one pass, in three
// calls for each head, and what a plan chooses.
// TESSERA_PLUGIN_DIR says where the plug-in is.  SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/common/cuda_kernels.h"
#include "tessera/attention.h"

namespace {

struct Options {
    std::vector<std::string> matrices = generated_names();
    std::vector<int64_t> widths = {32, 128, 512};
    int shrink = 0, layers = 0, batch = 0, complex = 0, attention = 0;
    FILE *json = stdout;
};

void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        std::fprintf(stderr, "%s: %s: %s\n", what, tsr_status_string(status), tsr_last_error());
        std::exit(1);
    }
}

tsr_dense dense(const void *data, int64_t rows, int64_t n)
{
    tsr_dense d = {};
    d.data = const_cast<void *>(data);
    d.type = TSR_FP32;
    d.nrows = rows;
    d.ncols = n;
    d.ld = n;
    d.memory = TSR_MEMORY_DEVICE;
    return d;
}

// A matrix of the library from arrays on the device, offsets of 32 bits as the indices have.
tsr_sparse *sparse_of(const Csr &a, uint32_t **offsets)
{
    std::vector<int64_t> wide(size_t(a.nrows) + 1);
    CHECK(cudaMemcpy(wide.data(), a.p, wide.size() * sizeof wide[0], cudaMemcpyDeviceToHost));
    const std::vector<uint32_t> narrow(wide.begin(), wide.end());
    CHECK(cudaMalloc(offsets, narrow.size() * sizeof narrow[0]));
    CHECK(cudaMemcpy(*offsets, narrow.data(), narrow.size() * sizeof narrow[0], cudaMemcpyHostToDevice));
    tsr_arrays arrays = {};
    arrays.index_type = TSR_INDEX_32;
    arrays.offsets = *offsets;
    arrays.indices = a.i;
    arrays.type = TSR_FP32;
    arrays.values = a.x;
    arrays.memory = TSR_MEMORY_DEVICE;
    tsr_sparse *s = nullptr;
    must(tsr_sparse_create_csr(&s, a.nrows, a.ncols, &arrays, 0), "tsr_sparse_create_csr");
    return s;
}

struct Product {
    tsr_sparse *a = nullptr;
    tsr_plan *plan = nullptr;
    tsr_dense b, c;
    void *workspace = nullptr;

    Product(tsr_sparse *matrix, const tsr_dense &of_b, const tsr_dense &of_c) : a(matrix), b(of_b), c(of_c)
    {
        must(tsr_sparse_hint(a, TSR_OP_SPMM, b.ncols, 1000, TSR_PRECISION_EXACT, true), "tsr_sparse_hint");
        must(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &b, &c, 0), "tsr_plan_create");
        const size_t bytes = tsr_plan_workspace_bytes(plan);
        if (bytes)
            CHECK(cudaMalloc(&workspace, bytes));
        must(tsr_plan_set_workspace(plan, workspace, bytes), "tsr_plan_set_workspace");
    }
    ~Product()
    {
        tsr_plan_destroy(plan);
        cudaFree(workspace);
    }
    Product(const Product &) = delete;
    Product &operator=(const Product &) = delete;
    bool run(cudaStream_t stream) const { return tsr_execute(plan, 1.0, a, &b, 0.0, &c, stream) == TSR_OK; }
};

void row(FILE *json, const Csr &a, int64_t n, const char *kernel, const char *math, double ms, double error, bool same, const char *note)
{
    const double flops = 2.0 * double(a.nvals) * double(n);
    std::fprintf(json, "{\"matrix\": \"%s\", \"nrows\": %lld, \"nvals\": %lld, \"n\": %lld, \"kernel\": \"%s\", \"math\": \"%s\", \"variant\": 0, "
                 "\"ms\": %.6f, \"gflops\": %.1f, \"error\": %.3e, \"bytes\": 0, \"same_bits\": %s, \"note\": \"%s\"}\n",
                 a.name.c_str(), (long long)a.nrows, (long long)a.nvals, (long long)n, kernel, math, ms, flops / ms * 1e-6, error,
                 same ? "true" : "false", note);
    std::fflush(json);
}

// "… in device memory cuda:panel-fp32, …": the kernel's name.
std::string kernel_of(const tsr_plan *plan)
{
    const std::string text = tsr_plan_explain(plan), mark = "device memory cuda:";
    const size_t at = text.find(mark);
    return at == std::string::npos ? "?" : text.substr(at + mark.size(), text.find(',', at) - at - mark.size());
}

template <class T> struct Array {
    T *p = nullptr;
    explicit Array(int64_t count) { CHECK(cudaMalloc(&p, size_t(count) * sizeof(T))); }
    ~Array() { cudaFree(p); }
};

void one_width(const Options &o, const Csr &a, tsr_sparse *s, int64_t n)
{
    Array<float> b(a.ncols * n), c(a.nrows * n), again(a.nrows * n);
    Array<double> exact(a.nrows * n);
    fill_uniform(b.p, a.ncols * n, 7);
    reference(exact.p, a, b.p, n);
    const Product product(s, dense(b.p, a.ncols, n), dense(c.p, a.nrows, n)), repeat(s, dense(b.p, a.ncols, n), dense(again.p, a.nrows, n));
    const double ms = median_ms([&] { return product.run(nullptr); });
    repeat.run(nullptr);
    CHECK(cudaDeviceSynchronize());
    const bool same = same_bits(c.p, again.p, size_t(a.nrows * n) * sizeof(float));
    const double error = relative_error(c.p, false, exact.p, a.nrows * n);
    row(o.json, a, n, ("door:" + kernel_of(product.plan)).c_str(), "exact", ms, error, same && tsr_plan_is_asynchronous(product.plan), "");
    const PeerTime peer = cusparse_spmm(a, a.x, b.p, c.p, n, TSR_NUMBER_FP32);
    row(o.json, a, n, "cusparse", "fp32", peer.ms, relative_error(c.p, false, exact.p, a.nrows * n), true, peer.best);
}

// ---- layers ----

__global__ void finish_layer(float *c, const float *bias, int64_t cells, int64_t n, bool rectified)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < cells; k += int64_t(gridDim.x) * blockDim.x) {
        const float sum = bias ? c[k] + bias[k % n] : c[k];
        c[k] = rectified && sum < 0 ? 0 : sum;
    }
}

void layers(const Options &o, const Csr &a, tsr_sparse *s, int64_t n)
{
    const int64_t cells = a.nrows * n;
    Array<float> b(a.ncols * n), c(cells), fused(cells), bias(n);
    fill_uniform(b.p, a.ncols * n, 7);
    fill_uniform(bias.p, n, 8);
    const Product plain(s, dense(b.p, a.ncols, n), dense(c.p, a.nrows, n)), whole(s, dense(b.p, a.ncols, n), dense(fused.p, a.nrows, n));
    const tsr_epilogue epilogue = {bias.p, TSR_ACTIVATION_RELU};
    const unsigned blocks = unsigned(std::min<int64_t>((cells + 255) / 256, 132 * 16));
    const auto pass = [&](const float *added, bool rectified) { finish_layer<<<blocks, 256>>>(c.p, added, cells, n, rectified); };
    const double fused_ms = median_ms([&] { return tsr_execute_fused(whole.plan, 1.0, s, &whole.b, 0.0, &whole.c, &epilogue, nullptr) == TSR_OK; });
    const double three_ms = median_ms([&] { const bool good = plain.run(nullptr); pass(bias.p, false); pass(nullptr, true); return good; });
    const double two_ms = median_ms([&] { const bool good = plain.run(nullptr); pass(bias.p, true); return good; });
    CHECK(cudaDeviceSynchronize());
    const bool same = same_bits(c.p, fused.p, size_t(cells) * sizeof(float));
    const std::string kernel = kernel_of(plain.plan);
    row(o.json, a, n, "layer:fused", "exact", fused_ms, 0, same, kernel.c_str());
    row(o.json, a, n, "layer:two-passes", "exact", two_ms, 0, same, kernel.c_str());
    row(o.json, a, n, "layer:three-passes", "exact", three_ms, 0, same, kernel.c_str());
}

// ---- batches ----

// Numbers in [-1, 1), different with every place and seed; a complex one is two.
template <class Real> __global__ void fill_numbers(Real *x, int64_t count, uint64_t seed)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += int64_t(gridDim.x) * blockDim.x) {
        uint64_t bits = (uint64_t(k) + seed * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
        bits = (bits ^ bits >> 31) * 0x94d049bb133111ebu;
        x[k] = Real(double(int64_t(bits)) * 0x1p-63);
    }
}

template <class T> std::unique_ptr<Array<T>> numbers(int64_t count, uint64_t seed)
{
    auto x = std::make_unique<Array<T>>(count);
    if constexpr (std::is_same_v<T, double2>)
        fill_numbers<<<1024, 256>>>(reinterpret_cast<double *>(x->p), 2 * count, seed);
    else
        fill_numbers<<<1024, 256>>>(reinterpret_cast<float *>(x->p), count * int64_t(sizeof(T) / sizeof(float)), seed);
    CHECK(cudaDeviceSynchronize());
    return x;
}

void batch_row(const Options &o, const Csr &a, int64_t n, const char *what, const char *kernel, double together, double apart, bool same)
{
    std::fprintf(o.json, "{\"what\": \"batch\", \"matrix\": \"%s\", \"nrows\": %lld, \"nvals\": %lld, \"n\": %lld, \"of\": \"%s\", \"kernel\": \"%s\", "
                 "\"count\": %d, \"ms\": %.6f, \"calls_ms\": %.6f, \"same_bits\": %s}\n",
                 a.name.c_str(), (long long)a.nrows, (long long)a.nvals, (long long)n, what, kernel, o.batch, together, apart, same ? "true" : "false");
    std::fflush(o.json);
}

// A of any type from arrays on the device.
tsr_sparse *typed(const Csr &a, const uint32_t *offsets, tsr_type type, const void *values)
{
    tsr_arrays arrays = {};
    arrays.index_type = TSR_INDEX_32;
    arrays.offsets = offsets;
    arrays.indices = a.i;
    arrays.type = type;
    arrays.values = values;
    arrays.memory = TSR_MEMORY_DEVICE;
    tsr_sparse *s = nullptr;
    must(tsr_sparse_create_csr(&s, a.nrows, a.ncols, &arrays, 0), "tsr_sparse_create_csr");
    return s;
}

tsr_dense typed_dense(void *data, tsr_type type, int64_t rows, int64_t n)
{
    tsr_dense d = dense(data, rows, n);
    d.type = type;
    return d;
}

template <class T> void multiply_batch(const Options &o, const Csr &a, const uint32_t *offsets, int64_t n, tsr_type type, bool own, const char *what)
{
    const int64_t products = o.batch, values = own ? a.nvals : 0, cells = a.nrows * n;
    const auto x = numbers<T>(a.nvals * (own ? products : 1), 3), b = numbers<T>(a.ncols * n * products, 4), c = numbers<T>(cells * products, 5),
               again = numbers<T>(cells * products, 6);
    tsr_sparse *s = typed(a, offsets, type, x->p);
    const tsr_dense db = typed_dense(b->p, type, a.ncols, n), dc = typed_dense(c->p, type, a.nrows, n);
    const tsr_batch batch = {products, values, a.ncols * n, cells};
    std::vector<tsr_sparse *> matrices;
    std::vector<tsr_plan *> plans;
    for (int64_t k = 0; k < products; k++) {
        matrices.push_back(own ? typed(a, offsets, type, x->p + k * values) : s);
        plans.push_back(nullptr);
        if (own || k == 0)
            must(tsr_plan_create(&plans.back(), TSR_OP_SPMM, tsr_default_semiring(type), matrices.back(), &db, &dc, 0), "tsr_plan_create");
        else
            plans.back() = plans[0];
    }
    tsr_plan *plan;
    must(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(type), s, &db, &dc, 0), "tsr_plan_create");
    const double together = median_ms([&] { return tsr_execute_batch(plan, 1.0, s, &db, 0.0, &dc, &batch, nullptr) == TSR_OK; });
    const double apart = median_ms([&] {
        bool good = true;
        for (int64_t k = 0; k < products; k++) {
            const tsr_dense from = typed_dense(b->p + k * a.ncols * n, type, a.ncols, n), to = typed_dense(again->p + k * cells, type, a.nrows, n);
            good = good && tsr_execute(plans[size_t(k)], 1.0, matrices[size_t(k)], &from, 0.0, &to, nullptr) == TSR_OK;
        }
        return good;
    });
    CHECK(cudaDeviceSynchronize());
    batch_row(o, a, n, what, kernel_of(plan).c_str(), together, apart, same_bits(c->p, again->p, size_t(cells * products) * sizeof(T)));
    for (int64_t k = 0; k < products; k++)
        if (own) {
            tsr_plan_destroy(plans[size_t(k)]);
            tsr_sparse_destroy(matrices[size_t(k)]);
        }
    if (!own)
        tsr_plan_destroy(plans[0]);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(s);
}

void sample_batch(const Options &o, const Csr &a, tsr_sparse *s, int64_t n)
{
    const int64_t products = o.batch;
    Array<float> x(a.nrows * n * products), y(a.ncols * n * products), values(a.nvals * products), again(a.nvals * products);
    fill_uniform(x.p, a.nrows * n * products, 3);
    fill_uniform(y.p, a.ncols * n * products, 4);
    const tsr_dense dx = dense(x.p, a.nrows, n);
    tsr_dense dy = dense(y.p, n, a.ncols);
    dy.layout = TSR_COL_MAJOR;
    dy.ld = n;
    tsr_plan *plan;
    must(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FP32), s, &dx, &dy, TSR_SOFTMAX_ROWS), "tsr_plan_create");
    const tsr_batch batch = {products, a.nvals, a.nrows * n, a.ncols * n};
    const double together = median_ms([&] { return tsr_execute_sddmm_batch(plan, 1.0, &dx, &dy, 0.0, s, values.p, &batch, nullptr) == TSR_OK; });
    const double apart = median_ms([&] {
        bool good = true;
        for (int64_t k = 0; k < products; k++) {
            tsr_dense from = dx, other = dy;
            from.data = x.p + k * a.nrows * n;
            other.data = y.p + k * a.ncols * n;
            good = good && tsr_execute_sddmm(plan, 1.0, &from, &other, 0.0, s, again.p + k * a.nvals, nullptr) == TSR_OK;
        }
        return good;
    });
    CHECK(cudaDeviceSynchronize());
    batch_row(o, a, n, "sddmm-softmax", "sddmm", together, apart, same_bits(values.p, again.p, size_t(a.nvals * products) * sizeof(float)));
    tsr_plan_destroy(plan);
}

void batches(const Options &o, const Csr &a, tsr_sparse *s, const uint32_t *offsets, int64_t n)
{
    multiply_batch<float>(o, a, offsets, n, TSR_FP32, false, "spmm");
    multiply_batch<float>(o, a, offsets, n, TSR_FP32, true, "spmm-values");
    multiply_batch<float2>(o, a, offsets, n, TSR_FC32, false, "spmm-fc32");
    sample_batch(o, a, s, n);
}

// ---- complex numbers ----

// The greatest difference of two arrays of as many numbers, a part of them, in shares of 1 + magnitude.
template <class T> double difference(const T *x, const T *y, int64_t count)
{
    const int64_t part = std::min<int64_t>(count, 1 << 20);
    std::vector<T> mine(size_t(part) + 1), its(size_t(part) + 1);
    CHECK(cudaMemcpy(mine.data(), x, size_t(part) * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(its.data(), y, size_t(part) * sizeof(T), cudaMemcpyDeviceToHost));
    double most = 0;
    for (int64_t k = 0; k < part; k++) {
        const T &a = mine[size_t(k)], &b = its[size_t(k)];
        most = std::max(most, std::hypot(double(a.x - b.x), double(a.y - b.y)) / (1 + std::hypot(double(b.x), double(b.y))));
    }
    return most;
}

template <class T> void multiply_complex(const Options &o, const Csr &a, const uint32_t *offsets, int64_t n, tsr_type type, const char *math)
{
    const auto x = numbers<T>(a.nvals, 3), b = numbers<T>(a.ncols * n, 4), c = numbers<T>(a.nrows * n, 5), other = numbers<T>(a.nrows * n, 6);
    tsr_sparse *s = typed(a, offsets, type, x->p);
    tsr_dense db = typed_dense(b->p, type, a.ncols, n), dc = typed_dense(c->p, type, a.nrows, n);
    tsr_plan *plan;
    must(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(type), s, &db, &dc, 0), "tsr_plan_create");
    const double ms = median_ms([&] { return tsr_execute(plan, 1.0, s, &db, 0.0, &dc, nullptr) == TSR_OK; });
    const PeerTime peer = cusparse_complex(a, x->p, b->p, other->p, n, type == TSR_FC64);
    row(o.json, a, n, ("door:" + kernel_of(plan)).c_str(), math, ms, difference(c->p, other->p, a.nrows * n), tsr_plan_is_asynchronous(plan), "");
    row(o.json, a, n, "cusparse", math, peer.ms, 0, true, peer.best);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(s);
}

// ---- attention ----

// kernel: asked for by name; "": the plan's choice.  *chosen: its name.
double attend_ms(tsr_sparse *s, const tsr_heads (&h)[4], const char *kernel, std::string *chosen)
{
    tsr_attention_plan *plan;
    must(tsr_set_option("kernel", kernel), "tsr_set_option");
    must(tsr_attention_plan_create(&plan, s, &h[0], &h[1], &h[2], &h[3], 0), "tsr_attention_plan_create");
    must(tsr_set_option("kernel", ""), "tsr_set_option");
    const std::string text = tsr_attention_plan_explain(plan), mark = "cuda:";
    const size_t at = text.find(mark);
    *chosen = at == std::string::npos ? "?" : text.substr(at + mark.size(), text.find(',', at) - at - mark.size());
    const double scale = 1 / std::sqrt(double(h[0].width));
    const double ms = median_ms([&] { return tsr_attention_execute(plan, scale, &h[0], &h[1], &h[2], &h[3], nullptr, nullptr) == TSR_OK; }, 60);
    tsr_attention_plan_destroy(plan);
    return ms;
}

void attention(const Options &o, const Csr &a, tsr_sparse *s, int64_t n)
{
    const int64_t ld = o.attention * n;
    const auto q = numbers<float>(a.nrows * ld, 5), k = numbers<float>(a.ncols * ld, 6), v = numbers<float>(a.ncols * ld, 7), out = numbers<float>(a.nrows * ld, 8);
    const auto heads = [&](float *data, int64_t rows) { return tsr_heads{data, TSR_FP32, rows, o.attention, n, ld, n, TSR_MEMORY_DEVICE}; };
    const tsr_heads h[4] = {heads(q->p, a.nrows), heads(k->p, a.ncols), heads(v->p, a.ncols), heads(out->p, a.nrows)};
    std::string pass, three, chosen;
    const double pass_ms = attend_ms(s, h, "attention", &pass), three_ms = attend_ms(s, h, "attention-three", &three), ms = attend_ms(s, h, "", &chosen);
    std::fprintf(o.json, "{\"what\": \"attention\", \"matrix\": \"%s\", \"nrows\": %lld, \"nvals\": %lld, \"heads\": %d, \"n\": %lld, \"pass\": \"%s\", "
                 "\"pass_ms\": %.6f, \"three\": \"%s\", \"three_ms\": %.6f, \"chosen\": \"%s\", \"ms\": %.6f}\n",
                 a.name.c_str(), (long long)a.nrows, (long long)a.nvals, o.attention, (long long)n, pass.c_str(), pass_ms, three.c_str(), three_ms,
                 chosen.c_str(), ms);
    std::fflush(o.json);
}

// Host microseconds for one call of many that are queued, the stream being busy with nothing else; the best of some turns.
double call_us(const std::function<bool()> &call)
{
    enum { TURNS = 20, CALLS = 200 };
    double best = 1e30;
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(cudaDeviceSynchronize());
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < CALLS; k++)
            if (!call())
                std::exit(1);
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        best = std::min(best, took.count() / CALLS);
    }
    CHECK(cudaDeviceSynchronize());
    return best;
}

// The same kernel, by the door and bare.
void calls(const Options &o, const Csr &a, tsr_sparse *s, int64_t n)
{
    must(tsr_set_option("kernel", "csr"), "tsr_set_option");
    Array<float> b(a.ncols * n), c(a.nrows * n);
    fill_uniform(b.p, a.ncols * n, 7);
    const Product product(s, dense(b.p, a.ncols, n), dense(c.p, a.nrows, n));
    tsr_cuda_device device;
    must(tsr_cuda_open(0, &device), "tsr_cuda_open");
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    tsr_cuda_csr csr = {};
    csr.nrows = a.nrows, csr.ncols = a.ncols, csr.nvals = a.nvals, csr.p = a.p, csr.i = a.i, csr.x = a.x;
    must(tsr_cuda_csr_work(&csr, &device, stream), "tsr_cuda_csr_work");
    tsr_cuda_csr_spmm bare = {};
    bare.semiring = tsr_default_semiring(TSR_FP32);
    bare.n = n, bare.b = b.p, bare.ldb = n, bare.c = c.p, bare.ldc = n, bare.alpha = 1, bare.device = &device, bare.stream = stream;
    Array<char> partial(int64_t(tsr_cuda_csr_partial_bytes(&csr, &bare)) + 1);
    bare.partial = partial.p;
    const double door = call_us([&] { return product.run(stream); }), kernel = call_us([&] { return tsr_cuda_spmm_csr(&csr, &bare) == TSR_OK; });
    const double pool = [&] {
        must(tsr_plan_set_workspace(product.plan, nullptr, 0), "tsr_plan_set_workspace");
        return call_us([&] { return product.run(stream); });
    }();
    std::fprintf(o.json, "{\"what\": \"call\", \"matrix\": \"%s\", \"nrows\": %lld, \"nvals\": %lld, \"n\": %lld, \"kernel\": \"csr\", \"door_us\": %.3f, "
                 "\"pool_us\": %.3f, \"bare_us\": %.3f}\n", a.name.c_str(), (long long)a.nrows, (long long)a.nvals, (long long)n, door, pool, kernel);
    tsr_cuda_csr_work_free(&csr, stream);
    CHECK(cudaStreamDestroy(stream));
    must(tsr_set_option("kernel", ""), "tsr_set_option");
}

Options parse(int argc, char **argv)
{
    Options o;
    Arguments given(argc, argv);
    given.take("--matrix", &o.matrices, generated_names());
    given.take("--n", &o.widths);
    given.take("--shrink", &o.shrink);
    given.take("--layers", &o.layers);
    given.take("--batch", &o.batch);
    given.take("--complex", &o.complex);
    given.take("--attention", &o.attention);
    given.take("--json", &o.json);
    given.finish();
    o.shrink = o.shrink ? o.shrink : o.batch ? 256 : 1;
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    open_gpu();
    for (const std::string &name : o.matrices) {
        uint32_t *offsets;
        Csr a = generate(name, o.shrink);
        tsr_sparse *s = sparse_of(a, &offsets);
        for (int64_t n : o.widths) {
            if (o.attention) {
                attention(o, a, s, n);
            } else if (o.complex) {
                multiply_complex<float2>(o, a, offsets, n, TSR_FC32, "fc32");
                multiply_complex<double2>(o, a, offsets, n, TSR_FC64, "fc64");
            } else if (o.batch) {
                batches(o, a, s, offsets, n);
            } else {
                o.layers ? layers(o, a, s, n) : one_width(o, a, s, n);
            }
        }
        tsr_sparse_destroy(s);
        CHECK(cudaFree(offsets));
        release(a);
    }
    if (o.layers || o.batch || o.complex || o.attention)
        return 0;
    uint32_t *offsets;
    Csr small = generate(o.matrices[0], 256);
    tsr_sparse *s = sparse_of(small, &offsets);
    for (int64_t n : o.widths)
        calls(o, small, s, n);
    tsr_sparse_destroy(s);
    CHECK(cudaFree(offsets));
    release(small);
    return 0;
}
