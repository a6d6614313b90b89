// The native door with everything in device memory, beside cuSPARSE and beside the bare kernel: tsr_execute on a stream.  With --layers the product
// of a GCN layer, bias and ReLU: in one call, and in calls of their own after it (both in one pass over C, or a pass each).
//   bench_device [--matrix all|a,b] [--n 32,128,512] [--layers 0|1] [--shrink K] [--json FILE]
// TESSERA_PLUGIN_DIR says where the plug-in is.  SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstring>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/common/cuda_kernels.h"

namespace {

struct Options {
    std::vector<std::string> matrices = generated_names();
    std::vector<int64_t> widths = {32, 128, 512};
    int shrink = 1, layers = 0;
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
    given.take("--json", &o.json);
    given.finish();
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
        for (int64_t n : o.widths)
            o.layers ? layers(o, a, s, n) : one_width(o, a, s, n);
        tsr_sparse_destroy(s);
        CHECK(cudaFree(offsets));
        release(a);
    }
    if (o.layers)
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
