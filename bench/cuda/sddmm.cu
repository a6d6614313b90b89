// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/sddmm.h"

#include <algorithm>
#include <cmath>

#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/common/fp16_scaling.h"

namespace {

const char *const math_names[] = {"exact", "tf32", "fp16", "bf16", "fp64"};

// A block for every row.
__global__ void exact_dots(double *out, const int64_t *p, const uint32_t *i, const float *x, const float *y, int64_t k)
{
    const float *mine = x + blockIdx.x * k;
    for (int64_t e = p[blockIdx.x] + threadIdx.x; e < p[blockIdx.x + 1]; e += blockDim.x) {
        double sum = 0;
        for (int64_t t = 0; t < k; t++)
            sum += double(mine[t]) * double(y[int64_t(i[e]) * k + t]);
        out[e] = sum;
    }
}

// One matrix and k: operands as FP32 numbers, the same rounded for an arithmetic, results.
struct Case {
    const Csr &s;
    int64_t k;
    const tsr_cuda_device &device;
    double budget_ms;
    FILE *json;
    float *x, *y;
    void *a = nullptr, *b = nullptr; // as the arithmetic wants them
    void *out, *again;
    double *exact;
    double gather;
    PeerTime peer[2]; // FP32, FP64
    double peer_error[2] = {-1, -1};

    Case(const Csr &pattern, int64_t width, const tsr_cuda_device &on, double budget, FILE *to)
        : s(pattern), k(width), device(on), budget_ms(budget), json(to), x(device_array<float>(s.nrows * k)),
          y(device_array<float>(s.ncols * k)), out(device_array<double>(s.nvals)), again(device_array<double>(s.nvals)),
          exact(device_array<double>(s.nvals))
    {
        fill_uniform(x, s.nrows * k, 5);
        fill_uniform(y, s.ncols * k, 7);
        exact_dots<<<unsigned(s.nrows), 128>>>(exact, s.p, s.i, x, y, k);
        CHECK(cudaDeviceSynchronize());
        gather = k % 4 == 0 ? gather_ms(s, k) : -1;
    }
    ~Case()
    {
        for (void *p : {static_cast<void *>(x), static_cast<void *>(y), a, b, out, again, static_cast<void *>(exact)})
            cudaFree(p);
    }
    Case(const Case &) = delete;
    Case &operator=(const Case &) = delete;

    void store_operands(tsr_number number)
    {
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
        a = device_array<double>(s.nrows * k);
        b = device_array<double>(s.ncols * k);
        to_number(a, number, x, s.nrows * k);
        to_number(b, number, y, s.ncols * k);
    }
    size_t bytes(tsr_cuda_math math) const { return size_t(s.nvals) * (math == TSR_CUDA_FP64 ? 8 : 4); }
    double error(tsr_cuda_math math) const { return relative_error(out, math == TSR_CUDA_FP64, exact, s.nvals); }

    void time_peer(tsr_cuda_math math)
    {
        bool wide = math == TSR_CUDA_FP64;
        peer[wide] = cusparse_sddmm(s, a, b, out, k, wide ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32, budget_ms);
        peer_error[wide] = error(math);
    }

    // multiply(values): one product.  convert_ms: of the representation; vectors: nonzero ones of it.
    template <class Multiply> void measure(const char *kernel, tsr_cuda_math math, double convert_ms, int64_t vectors, Multiply multiply)
    {
        poison(again, bytes(math));
        multiply(again);
        double ms = median_ms([&] { return multiply(out) == TSR_OK; }, budget_ms);
        bool wide = math == TSR_CUDA_FP64;
        std::fprintf(json,
                     "{\"what\":\"sddmm\",\"matrix\":\"%s\",\"entries\":%lld,\"n\":%lld,\"kernel\":\"%s\",\"math\":\"%s\",\"ms\":%.5g,"
                     "\"gflops\":%.5g,\"error\":%.3g,\"same\":%s,\"convert_ms\":%.4g,\"vectors\":%lld,\"cusparse_ms\":%.5g,"
                     "\"cusparse_error\":%.3g,\"gather_ms\":%.5g}\n",
                     s.name.c_str(), (long long)s.nvals, (long long)k, kernel, math_names[math], ms,
                     2e-6 * double(s.nvals) * double(k) / ms, error(math),
                     same_bits(out, again, bytes(math)) ? "true" : "false", convert_ms, (long long)vectors, peer[wide].ms,
                     peer_error[wide], gather);
        std::fflush(json);
    }

    void run(tsr_cuda_math math)
    {
        tsr_cuda_csr mask = {};
        mask.nrows = s.nrows, mask.ncols = s.ncols, mask.nvals = s.nvals, mask.p = s.p, mask.i = s.i;
        tsr_cuda_sddmm q = {};
        q.semiring = {math == TSR_CUDA_FP64 ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES};
        q.mask = &mask, q.end = mask.nvals, q.k = k, q.a = a, q.lda = k, q.b = b, q.ldb = k, q.device = &device;
        if (math == TSR_CUDA_EXACT || math == TSR_CUDA_FP64)
            measure("csr", math, 0, 0, [&](void *values) {
                q.x = values;
                return tsr_cuda_sddmm_csr(&q);
            });
        if (math == TSR_CUDA_TF32)
            narrow(q);
        tsr_source source = {};
        source.nrows = s.nrows, source.ncols = s.ncols, source.nvals = s.nvals, source.p = s.p, source.i = s.i;
        tsr_stencil stencil = {};
        tsr_work work = {};
        double convert_ms = median_wall_ms([&] {
            tsr_cuda_free_stencil(&stencil, nullptr);
            tsr_cuda_free_work(&work, nullptr);
            return tsr_cuda_make_stencil(&stencil, &source, nullptr) == TSR_OK &&
                   tsr_cuda_make_work(&work, &stencil.w, nullptr, tsr_cuda_stencil_most(&stencil.w, &device), nullptr) == TSR_OK;
        }, 2);
        measure("stencil", math, convert_ms, stencil.w.nvectors, [&](void *values) {
            q.x = values;
            return tsr_cuda_sddmm_stencil(&stencil, &work, math, &q);
        });
        tsr_cuda_free_stencil(&stencil, nullptr);
        tsr_cuda_free_work(&work, nullptr);
    }

    // FP16 in place of TF32: rounding the rows of Y is part of the time.
    void narrow(tsr_cuda_sddmm q)
    {
        void *rounded = device_array<uint16_t>(s.ncols * k);
        uint8_t *exponent = device_array<uint8_t>(s.ncols);
        if (k % 8 == 0)
            measure("csr-narrow", TSR_CUDA_TF32, 0, 0, [&](void *values) {
                q.x = values;
                tsr_status status = tsr_cuda_narrow_rows(rounded, exponent, y, k, s.ncols, k, nullptr);
                return status == TSR_OK ? tsr_cuda_sddmm_narrow(&q, rounded, exponent) : status;
            });
        CHECK(cudaFree(rounded));
        CHECK(cudaFree(exponent));
    }
};

} // namespace

void bench_sddmm(const Csr &pattern, int64_t k, const std::vector<std::string> &maths, const tsr_cuda_device &device, bool peers,
                 double budget_ms, FILE *json)
{
    Case c(pattern, k, device, budget_ms, json);
    for (int m = 0; m < TSR_CUDA_MATH_COUNT; m++) {
        auto math = tsr_cuda_math(m);
        if (std::find(maths.begin(), maths.end(), math_names[m]) == maths.end())
            continue;
        c.store_operands(tsr_cuda_number(math));
        if (peers && (math == TSR_CUDA_EXACT || math == TSR_CUDA_FP64))
            c.time_peer(math);
        c.run(math);
    }
}
