// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/sddmm.h"

#include <algorithm>
#include <cmath>

#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "bench/cuda/peers.h"
#include "kernels/cuda/narrow.h"

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
        if (math == TSR_CUDA_TF32)
            narrow(stencil, work, convert_ms, q);
        tsr_cuda_free_stencil(&stencil, nullptr);
        tsr_cuda_free_work(&work, nullptr);
    }

    // FP16 in place of TF32: finding the ranges of X and Y and rounding them is part of the time.
    void narrow(const tsr_stencil &stencil, const tsr_work &work, double convert_ms, tsr_cuda_sddmm q)
    {
        uint32_t *device_range = device_array<uint32_t>(4), range[4];
        const int64_t count[2] = {s.nrows * k, s.ncols * k};
        const float *from[2] = {x, y};
        void *to[2] = {device_array<uint16_t>(count[0]), device_array<uint16_t>(count[1])};
        int shift[2] = {};
        auto find = [&] {
            tsr_status status = tsr_cuda_set(device_range, 0, sizeof range, nullptr);
            for (int f = 0; f < 2 && status == TSR_OK; f++)
                status = tsr_cuda_find_range(device_range + 2 * f, from[f], k, count[f] / k, k, nullptr);
            return status;
        };
        CHECK(find() == TSR_OK ? cudaSuccess : cudaErrorUnknown);
        CHECK(cudaMemcpy(range, device_range, sizeof range, cudaMemcpyDeviceToHost));
        const bool fits = tsr_narrow_shift(&shift[0], range) && tsr_narrow_shift(&shift[1], range + 2);
        q.a = to[0], q.b = to[1], q.shift = shift[0] + shift[1];
        if (fits)
            measure("stencil-narrow", TSR_CUDA_TF32, convert_ms, stencil.w.nvectors, [&](void *values) {
                q.x = values;
                tsr_status status = find();
                for (int f = 0; f < 2 && status == TSR_OK; f++)
                    status = tsr_cuda_narrow(to[f], k, from[f], k, count[f] / k, k, std::ldexp(1.0f, shift[f]), nullptr);
                return status == TSR_OK ? tsr_cuda_sddmm_stencil(&stencil, &work, TSR_CUDA_FP16, &q) : status;
            });
        for (void *p : {to[0], to[1], static_cast<void *>(device_range)})
            cudaFree(p);
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
