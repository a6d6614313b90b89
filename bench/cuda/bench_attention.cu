// Attention over a pattern on the GPU, fused, beside three calls of ours (SDDMM, softmax, SpMM) and beside cuSPARSE's SDDMM and SpMM with our
// softmax between them.  The others compute one head; their times are that of one head times the number of heads.  A row of JSON a line.
// Variant 8 is by windows; windows_ms: making them.
//   bench_attention [--matrix all|a,b] [--heads 1,8] [--n 32,64,128] [--type fp32,fp16,bf16] [--variant 0,1,…] [--shrink K] [--budget ms] [--peers 0|1]
//                   [--backward 0|1] [--json FILE]
// --n: the width of a head.  --peers 0: attention alone; the others' times are -1.  --backward 0: no gradients.  SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/cuda/arguments.h"
#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/common/cuda_kernels.h"

namespace {

struct Options {
    std::vector<std::string> matrices = generated_names(), types = {"fp32", "fp16"};
    std::vector<int64_t> heads = {1, 8}, widths = {32, 64, 128}, variants = {0};
    int shrink = 1, peers = 1, backward = 1;
    double budget_ms = 100;
    FILE *json = stdout;
};

void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        std::fprintf(stderr, "%s: %s\n", what, tsr_status_string(status));
        std::exit(1);
    }
}

struct Number {
    const char *name;
    tsr_type type;
    tsr_number number;
    tsr_cuda_math math;
    int64_t size;
};
const Number all_numbers[] = {{"fp32", TSR_FP32, TSR_NUMBER_FP32, TSR_CUDA_EXACT, 4}, {"fp16", TSR_FP16, TSR_NUMBER_FP16, TSR_CUDA_FP16, 2},
                              {"bf16", TSR_BF16, TSR_NUMBER_BF16, TSR_CUDA_BF16, 2}};

// ---- The exact result of head 0, in FP64: a block for every row ----

__device__ double exact_score(const float *q, const float *k, int64_t width, double scale)
{
    double sum = 0;
    for (int64_t c = 0; c < width; c++)
        sum += double(q[c]) * double(k[c]);
    return sum * scale;
}

// Scores are small: no maximum is subtracted.
__global__ void exact_rows(double *o, const int64_t *p, const uint32_t *i, const float *q, const float *k, const float *v, int64_t ld, int64_t width,
    double scale)
{
    __shared__ double weight[128];
    const int64_t row = blockIdx.x;
    double value = 0, sum = 0;
    for (int64_t base = p[row]; base < p[row + 1]; base += 128) {
        const int64_t e = base + threadIdx.x;
        __syncthreads();
        weight[threadIdx.x] = e < p[row + 1] ? exp(exact_score(q + row * ld, k + int64_t(i[e]) * ld, width, scale)) : 0;
        __syncthreads();
        for (int64_t t = 0; t < 128 && base + t < p[row + 1]; t++) {
            sum += weight[t];
            if (threadIdx.x < width)
                value += weight[t] * double(v[int64_t(i[base + t]) * ld + threadIdx.x]);
        }
    }
    if (threadIdx.x < width)
        o[row * width + threadIdx.x] = sum > 0 ? value / sum : 0;
}

// Numbers as FP32; and head 0 of a row-major array.
__global__ void widen_half(float *to, const __half *from, int64_t n)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < n; k += int64_t(gridDim.x) * blockDim.x)
        to[k] = __half2float(from[k]);
}
__global__ void widen_bf16(float *to, const __nv_bfloat16 *from, int64_t n)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < n; k += int64_t(gridDim.x) * blockDim.x)
        to[k] = __bfloat162float(from[k]);
}

float *as_floats(const void *from, const Number &number, int64_t n)
{
    float *to = device_array<float>(n);
    if (number.type == TSR_FP32)
        CHECK(cudaMemcpy(to, from, size_t(n) * 4, cudaMemcpyDeviceToDevice));
    else if (number.type == TSR_FP16)
        widen_half<<<1024, 256>>>(to, static_cast<const __half *>(from), n);
    else
        widen_bf16<<<1024, 256>>>(to, static_cast<const __nv_bfloat16 *>(from), n);
    CHECK(cudaDeviceSynchronize());
    return to;
}

// ---- One pattern, type, number of heads and width ----

struct Case {
    const Csr &s;
    const Number &number;
    int64_t heads, width, ld;
    const tsr_cuda_device &device;
    tsr_cuda_csr csr = {};
    void *q, *k, *v, *o, *again;
    float *scores;
    double scale;

    Case(const Csr &pattern, const Number &n, int64_t h, int64_t w, const tsr_cuda_device &on)
        : s(pattern), number(n), heads(h), width(w), ld(h * w), device(on), q(filled(s.nrows, 5)), k(filled(s.ncols, 6)), v(filled(s.ncols, 7)),
          o(device_array<float>(s.nrows * ld)), again(device_array<float>(s.nrows * ld)), scores(device_array<float>(s.nvals)),
          scale(1 / std::sqrt(double(w)))
    {
        csr.nrows = s.nrows, csr.ncols = s.ncols, csr.nvals = s.nvals, csr.p = s.p, csr.i = s.i;
    }
    ~Case()
    {
        for (void *p : {q, k, v, o, again, static_cast<void *>(scores)})
            cudaFree(p);
    }
    Case(const Case &) = delete;
    Case &operator=(const Case &) = delete;

    void *filled(int64_t rows, uint64_t seed) const
    {
        float *x = device_array<float>(rows * ld);
        fill_uniform(x, rows * ld, seed);
        if (number.type == TSR_FP32)
            return x;
        void *narrow = device_array<uint16_t>(rows * ld);
        to_number(narrow, number.number, x, rows * ld);
        CHECK(cudaFree(x));
        return narrow;
    }
    tsr_heads heads_of(void *data, int64_t rows) const
    {
        tsr_heads h = {};
        h.data = data, h.type = number.type, h.rows = rows, h.heads = heads, h.width = width, h.ld = ld, h.head_stride = width;
        h.memory = TSR_MEMORY_DEVICE;
        return h;
    }
    tsr_attention_operands operands(void *to) const
    {
        tsr_attention_operands a = {};
        a.q = heads_of(q, s.nrows), a.k = heads_of(k, s.ncols), a.v = heads_of(v, s.ncols), a.o = heads_of(to, s.nrows), a.scale = scale;
        return a;
    }

    double error() const
    {
        float *fq = as_floats(q, number, s.nrows * ld), *fk = as_floats(k, number, s.ncols * ld), *fv = as_floats(v, number, s.ncols * ld);
        float *fo = as_floats(o, number, s.nrows * ld), *found = device_array<float>(s.nrows * width);
        double *exact = device_array<double>(s.nrows * width);
        exact_rows<<<unsigned(s.nrows), 128>>>(exact, s.p, s.i, fq, fk, fv, ld, width, scale);
        CHECK(cudaMemcpy2D(found, size_t(width) * 4, fo, size_t(ld) * 4, size_t(width) * 4, size_t(s.nrows), cudaMemcpyDeviceToDevice));
        const double e = relative_error(found, false, exact, s.nrows * width);
        for (void *p : {static_cast<void *>(fq), static_cast<void *>(fk), static_cast<void *>(fv), static_cast<void *>(fo), static_cast<void *>(found),
                        static_cast<void *>(exact)})
            CHECK(cudaFree(p));
        return e;
    }
};

// Rows that are cut.
struct Cut {
    tsr_cuda_attention_cut cut = {};
    explicit Cut(const Case &c)
    {
        const tsr_attention_operands like = c.operands(nullptr);
        must(tsr_cuda_attention_cut_rows(&cut, &c.csr, &like, nullptr), "tsr_cuda_attention_cut_rows");
    }
    ~Cut() { tsr_cuda_attention_cut_free(&cut, nullptr); }
    Cut(const Cut &) = delete;
    Cut &operator=(const Cut &) = delete;
};

// ---- Three calls of ours, one head ----

struct Three {
    const Case &c;
    tsr_cuda_csr a = {};
    tsr_cuda_sddmm sddmm = {};
    tsr_cuda_csr_spmm spmm = {};
    tsr_stencil stencil = {};
    tsr_work work = {};
    void *weights, *partial;

    explicit Three(const Case &of) : c(of), a(of.csr), weights(device_array<float>(of.s.nvals))
    {
        a.x = c.number.type == TSR_FP32 ? static_cast<void *>(c.scores) : weights;
        must(tsr_cuda_csr_work(&a, &c.device, nullptr), "tsr_cuda_csr_work");
        sddmm.semiring = tsr_default_semiring(TSR_FP32), sddmm.mask = &c.csr, sddmm.end = c.s.nvals, sddmm.k = c.width;
        sddmm.a = c.q, sddmm.lda = c.ld, sddmm.b = c.k, sddmm.ldb = c.ld, sddmm.x = c.scores, sddmm.device = &c.device;
        spmm.semiring = tsr_default_semiring(TSR_FP32), spmm.half = c.number.type != TSR_FP32, spmm.number = c.number.number, spmm.n = c.width;
        spmm.b = c.v, spmm.ldb = c.ld, spmm.c = c.again, spmm.ldc = c.ld, spmm.alpha = 1, spmm.device = &c.device;
        partial = device_array<char>(int64_t(tsr_cuda_csr_partial_bytes(&a, &spmm)));
        spmm.partial = partial;
        tsr_source source = {};
        source.nrows = c.s.nrows, source.ncols = c.s.ncols, source.nvals = c.s.nvals, source.p = c.s.p, source.i = c.s.i;
        must(tsr_cuda_make_stencil(&stencil, &source, nullptr), "tsr_cuda_make_stencil");
        must(tsr_cuda_make_work(&work, &stencil.w, nullptr, tsr_cuda_stencil_most(&stencil.w, &c.device), nullptr), "tsr_cuda_make_work");
    }
    ~Three()
    {
        tsr_cuda_free_stencil(&stencil, nullptr);
        tsr_cuda_free_work(&work, nullptr);
        tsr_cuda_csr_work_free(&a, nullptr);
        cudaFree(weights);
        cudaFree(partial);
    }
    Three(const Three &) = delete;
    Three &operator=(const Three &) = delete;

    bool rest() const
    {
        tsr_status status = tsr_cuda_softmax_rows(c.scores, c.scores, &c.csr, TSR_FP32, nullptr);
        if (status == TSR_OK && spmm.half)
            status = tsr_cuda_convert(weights, c.number.number, c.s.nvals, c.scores, TSR_NUMBER_FP32, c.s.nvals, 1, c.s.nvals, nullptr);
        return status == TSR_OK && tsr_cuda_spmm_csr(&a, &spmm) == TSR_OK;
    }
    double by_row(double budget) const
    {
        return spmm.half ? -1 : median_ms([&] { return tsr_cuda_sddmm_csr(&sddmm) == TSR_OK && rest(); }, budget);
    }
    double by_stencil(double budget) const
    {
        return median_ms([&] { return tsr_cuda_sddmm_stencil(&stencil, &work, c.number.math, &sddmm) == TSR_OK && rest(); }, budget);
    }
    double best(double budget) const
    {
        const double one = by_row(budget), other = by_stencil(budget);
        return one < 0 ? other : other < 0 ? one : std::min(one, other);
    }
};

// cuSPARSE in FP32, one head held alone.
double cusparse_ms(const Csr &s, int64_t width, double budget)
{
    float *x = device_array<float>(s.nrows * width), *y = device_array<float>(s.ncols * width), *values = device_array<float>(s.nvals);
    tsr_cuda_csr pattern = {};
    pattern.nrows = s.nrows, pattern.ncols = s.ncols, pattern.nvals = s.nvals, pattern.p = s.p, pattern.i = s.i;
    fill_uniform(x, s.nrows * width, 5);
    fill_uniform(y, s.ncols * width, 6);
    const double sampled = cusparse_sddmm(s, x, y, values, width, TSR_NUMBER_FP32, budget).ms;
    const double softmax = median_ms([&] { return tsr_cuda_softmax_rows(values, values, &pattern, TSR_FP32, nullptr) == TSR_OK; }, budget);
    const double product = cusparse_spmm(s, values, y, x, width, TSR_NUMBER_FP32).ms;
    for (void *p : {x, y, values})
        CHECK(cudaFree(p));
    return sampled < 0 || product < 0 ? -1 : sampled + softmax + product;
}

// Windows of 16 rows: variant 8.
struct Windows {
    tsr_cuda_attention_windows windows = {};
    void *partial = nullptr;
    double make_ms = -1;
    bool fits;
    explicit Windows(const Case &c)
    {
        const tsr_attention_operands like = c.operands(nullptr);
        fits = tsr_cuda_attention_windows_fit(&c.csr, &like);
        if (!fits)
            return;
        make_ms = median_ms([&] {
            tsr_cuda_attention_windows_free(&windows, nullptr);
            return tsr_cuda_attention_windows_make(&windows, &c.csr, &like, &c.device, nullptr) == TSR_OK;
        }, 1);
        partial = device_array<char>(int64_t(tsr_cuda_attention_windows_bytes(&windows, &like)));
    }
    ~Windows()
    {
        tsr_cuda_attention_windows_free(&windows, nullptr);
        cudaFree(partial);
    }
    Windows(const Windows &) = delete;
    Windows &operator=(const Windows &) = delete;
};

double backward_ms(const Options &o, const Case &c, const Cut &cut)
{
    // S of these matrices is not its own transpose; as many entries are walked by column, so the pattern of its rows stands for that of its columns.
    if (c.s.nrows != c.s.ncols || !o.peers || !o.backward)
        return -1;
    tsr_attention_operands a = c.operands(c.o);
    float *lse = device_array<float>(c.s.nrows * c.heads), *gradients = device_array<float>(3 * c.s.nrows * c.ld);
    char *base = reinterpret_cast<char *>(gradients);
    const int64_t each = c.s.nrows * c.ld * c.number.size;
    a.lse = lse;
    a.grad_o = a.o;
    a.grad_q = c.heads_of(base, c.s.nrows), a.grad_k = c.heads_of(base + each, c.s.ncols), a.grad_v = c.heads_of(base + 2 * each, c.s.ncols);
    void *partial = device_array<char>(int64_t(tsr_cuda_attention_bytes(&cut.cut, &a)));
    void *scratch = device_array<char>(int64_t(tsr_cuda_attention_backward_bytes(&c.csr, &cut.cut, &cut.cut, &a)));
    must(tsr_cuda_attention(&c.csr, &cut.cut, &a, partial, 0), "tsr_cuda_attention");
    const double ms = median_ms([&] { return tsr_cuda_attention_backward(&c.csr, &cut.cut, &c.csr, &cut.cut, &a, scratch) == TSR_OK; }, o.budget_ms);
    for (void *p : {static_cast<void *>(lse), static_cast<void *>(gradients), partial, scratch})
        CHECK(cudaFree(p));
    return ms;
}

void one(const Options &o, const Csr &s, const Number &number, int64_t heads, int64_t width, double three, double cusparse, const tsr_cuda_device &device)
{
    const Case c(s, number, heads, width, device);
    const Cut cut(c);
    const Windows windows(c);
    const tsr_attention_operands first = c.operands(c.o), second = c.operands(c.again);
    void *partial = device_array<char>(int64_t(tsr_cuda_attention_bytes(&cut.cut, &first)));
    const double gather = o.peers && heads * width * number.size % 16 == 0 ? 2 * gather_ms(s, heads * width * number.size / 4) : -1;
    const double backward = backward_ms(o, c, cut);
    for (int64_t variant : o.variants) {
        const bool by_windows = variant == 8;
        if (by_windows && !windows.fits)
            continue;
        const auto run = [&](const tsr_attention_operands &operands) {
            return by_windows ? tsr_cuda_attention_by_windows(&windows.windows, &operands, windows.partial)
                              : tsr_cuda_attention(&c.csr, &cut.cut, &operands, partial, int(variant));
        };
        poison(c.o, size_t(s.nrows * c.ld * number.size));
        const double ms = median_ms([&] { return run(first) == TSR_OK; }, o.budget_ms);
        must(run(second), "attention");
        CHECK(cudaDeviceSynchronize());
        std::fprintf(o.json,
                     "{\"what\": \"attention\", \"matrix\": \"%s\", \"nrows\": %lld, \"entries\": %lld, \"heads\": %lld, \"n\": %lld, \"type\": \"%s\", "
                     "\"variant\": %lld, \"ms\": %.5g, \"error\": %.3g, \"same\": %s, \"parts\": %lld, \"three_ms\": %.5g, \"cusparse_ms\": %.5g, "
                     "\"gather_ms\": %.5g, \"backward_ms\": %.5g, \"windows_ms\": %.5g, \"vectors\": %lld}\n",
                     s.name.c_str(), (long long)s.nrows, (long long)s.nvals, (long long)heads, (long long)width, number.name, (long long)variant, ms, c.error(),
                     same_bits(c.o, c.again, size_t(s.nrows * c.ld * number.size)) ? "true" : "false", (long long)cut.cut.nparts, three * double(heads),
                     cusparse * double(heads), gather, backward,
                     windows.make_ms, (long long)windows.windows.blocks.w.nvectors);
        std::fflush(o.json);
    }
    CHECK(cudaFree(partial));
}

// What the others need for one head of this width.
double three_ms(const Options &o, const Csr &s, const Number &number, int64_t width, const tsr_cuda_device &device)
{
    if (!o.peers)
        return -1;
    const Case c(s, number, 1, width, device);
    return Three(c).best(o.budget_ms);
}

Options parse(int argc, char **argv)
{
    Options o;
    Arguments given(argc, argv);
    given.take("--matrix", &o.matrices, generated_names());
    given.take("--heads", &o.heads);
    given.take("--n", &o.widths);
    given.take("--type", &o.types);
    given.take("--variant", &o.variants);
    given.take("--shrink", &o.shrink);
    given.take("--budget", &o.budget_ms);
    given.take("--peers", &o.peers);
    given.take("--backward", &o.backward);
    given.take("--json", &o.json);
    given.finish();
    return o;
}

} // namespace

int main(int argc, char **argv)
{
    const Options o = parse(argc, argv);
    const tsr_cuda_device device = open_gpu();
    for (const std::string &name : o.matrices) {
        Csr s = generate(name, o.shrink);
        for (int64_t width : o.widths) {
            const double cusparse = o.peers ? cusparse_ms(s, width, o.budget_ms) : -1;
            for (const Number &number : all_numbers) {
                if (std::find(o.types.begin(), o.types.end(), number.name) == o.types.end())
                    continue;
                const double three = three_ms(o, s, number, width, device);
                for (int64_t heads : o.heads)
                    one(o, s, number, heads, width, three, cusparse, device);
            }
        }
        release(s);
    }
    return 0;
}
