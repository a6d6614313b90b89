// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

#include "bench/cuda/check.cuh"

namespace {

constexpr int threads = 256;
int blocks_for(int64_t n) { return int(std::min<int64_t>((n + threads - 1) / threads, 1 << 30)); }

double median(std::vector<double> times)
{
    std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
    return times[times.size() / 2];
}

constexpr int gather_chunk = 128;

// A warp reads the rows of B that 128 consecutive entries name, 16 bytes a lane.
__global__ void gather_rows(float *sink, const uint32_t *i, int64_t nvals, const float4 *b, int64_t quads)
{
    int64_t warp = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32, first = warp * gather_chunk;
    int lane = threadIdx.x % 32;
    int group = quads >= 32 ? 32 : int(quads), per_warp = 32 / group, place = lane / group;
    float4 sum = {0, 0, 0, 0};
    int64_t end = first + gather_chunk < nvals ? first + gather_chunk : nvals;
    for (int64_t q = lane % group; q < quads; q += group) {
#pragma unroll 8
        for (int64_t e = first + place; e < end; e += per_warp) {
            float4 v = __ldg(b + int64_t(__ldg(i + e)) * quads + q);
            sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        }
    }
    if (sum.x + sum.y + sum.z + sum.w == 1e30f)
        *sink = sum.x;
}

__global__ void reference_rows(double *c, const int64_t *p, const uint32_t *i, const float *x, const uint32_t *place, int64_t nrows,
                               const float *b, int64_t n)
{
    for (int64_t row = blockIdx.x; row < nrows; row += gridDim.x)
        for (int64_t j = threadIdx.x; j < n; j += blockDim.x) {
            double sum = 0;
            for (int64_t e = p[row]; e < p[row + 1]; e++)
                sum += double(x[e]) * double(b[int64_t(i[e]) * n + j]);
            c[(place ? place[row] : row) * n + j] = sum;
        }
}

template <class T> __global__ void add_squares(double *sums, const T *out, const double *exact, int64_t count)
{
    double error = 0, size = 0;
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += int64_t(gridDim.x) * blockDim.x) {
        double d = double(out[k]) - exact[k];
        error += d * d, size += exact[k] * exact[k];
    }
    atomicAdd(sums, error);
    atomicAdd(sums + 1, size);
}

__global__ void uniform_values(float *x, int64_t n, uint64_t seed)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < n; k += int64_t(gridDim.x) * blockDim.x) {
        uint64_t z = uint64_t(k) * 0x9e3779b97f4a7c15ull + seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        x[k] = float(double((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0);
    }
}

template <class T> __global__ void cast_values(T *out, const float *x, int64_t n)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < n; k += int64_t(gridDim.x) * blockDim.x)
        out[k] = T(x[k]);
}

__global__ void differing_words(unsigned *count, const uint32_t *a, const uint32_t *b, int64_t words)
{
    for (int64_t k = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < words; k += int64_t(gridDim.x) * blockDim.x)
        if (a[k] != b[k])
            atomicAdd(count, 1u);
}

double copy_bytes_per_ms()
{
    static double rate = 0;
    if (rate > 0)
        return rate;
    size_t bytes = size_t(1) << 30;
    char *from = device_array<char>(int64_t(bytes)), *to = device_array<char>(int64_t(bytes));
    CHECK(cudaMemset(from, 1, bytes));
    double ms = median_ms([&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess; });
    rate = 2.0 * double(bytes) / ms;
    cudaFree(from);
    cudaFree(to);
    return rate;
}

} // namespace

double median_ms(const std::function<bool()> &run, double budget_ms)
{
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<double> times;
    double spent = 0;
    bool good = true;
    for (int k = 0; good && k < 52 && (k < 5 || spent < budget_ms); k++) {
        CHECK(cudaEventRecord(begin));
        good = run();
        CHECK(cudaEventRecord(end));
        good = cudaEventSynchronize(end) == cudaSuccess && good && cudaGetLastError() == cudaSuccess;
        float ms = 0;
        if (good)
            CHECK(cudaEventElapsedTime(&ms, begin, end));
        spent += double(ms);
        if (k >= 2)
            times.push_back(double(ms));
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return good ? median(times) : -1;
}

double median_wall_ms(const std::function<bool()> &run, int repeats)
{
    std::vector<double> times;
    for (int k = 0; k <= repeats; k++) {
        CHECK(cudaDeviceSynchronize());
        auto begin = std::chrono::steady_clock::now();
        if (!run() || cudaDeviceSynchronize() != cudaSuccess)
            return -1;
        if (k > 0)
            times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    return median(times);
}

double gather_ms(const Csr &a, int64_t n)
{
    float *b = device_array<float>(a.ncols * n), *sink = device_array<float>(1);
    CHECK(cudaMemset(b, 0, size_t(a.ncols * n) * sizeof *b));
    int64_t warps = (a.nvals + gather_chunk - 1) / gather_chunk;
    double ms = median_ms([&] {
        gather_rows<<<blocks_for(warps * 32), threads>>>(sink, a.i, a.nvals, reinterpret_cast<const float4 *>(b), n / 4);
        return true;
    });
    cudaFree(b);
    cudaFree(sink);
    return ms;
}

double compulsory_ms(const Csr &a, int64_t n, int size)
{
    double touched = double(std::min(a.ncols, a.nvals));
    double bytes = double(a.nvals) * (4 + size) + double(a.nrows) * 8 + touched * double(n) * size + double(a.nrows) * double(n) * size;
    return bytes / copy_bytes_per_ms();
}

void reference(double *c, const Csr &a, const float *b, int64_t n)
{
    reference_rows<<<int(std::min<int64_t>(a.nrows, 1 << 20)), 128>>>(c, a.p, a.i, a.x, a.row, a.nrows, b, n);
    CHECK(cudaDeviceSynchronize());
}

double relative_error(const void *out, bool is_double, const double *exact, int64_t count)
{
    double *sums = device_array<double>(2), host[2];
    CHECK(cudaMemset(sums, 0, 2 * sizeof *sums));
    if (is_double)
        add_squares<<<1024, threads>>>(sums, static_cast<const double *>(out), exact, count);
    else
        add_squares<<<1024, threads>>>(sums, static_cast<const float *>(out), exact, count);
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    cudaFree(sums);
    return std::sqrt(host[0] / host[1]);
}

bool same_bits(const void *a, const void *b, size_t bytes)
{
    unsigned *count = device_array<unsigned>(1), host;
    CHECK(cudaMemset(count, 0, sizeof *count));
    differing_words<<<1024, threads>>>(count, static_cast<const uint32_t *>(a), static_cast<const uint32_t *>(b), int64_t(bytes / 4));
    CHECK(cudaMemcpy(&host, count, sizeof host, cudaMemcpyDeviceToHost));
    cudaFree(count);
    return host == 0;
}

void fill_uniform(float *x, int64_t n, uint64_t seed)
{
    uniform_values<<<4096, threads>>>(x, n, seed * 0xd1342543de82ef95ull + 1);
    CHECK(cudaDeviceSynchronize());
}

void to_number(void *out, tsr_number number, const float *x, int64_t n)
{
    if (number == TSR_NUMBER_FP32)
        cast_values<<<4096, threads>>>(static_cast<float *>(out), x, n);
    else if (number == TSR_NUMBER_FP64)
        cast_values<<<4096, threads>>>(static_cast<double *>(out), x, n);
    else if (number == TSR_NUMBER_FP16)
        cast_values<<<4096, threads>>>(static_cast<__half *>(out), x, n);
    else
        cast_values<<<4096, threads>>>(static_cast<__nv_bfloat16 *>(out), x, n);
    CHECK(cudaDeviceSynchronize());
}

void poison(void *p, size_t bytes) { CHECK(cudaMemset(p, 0xff, bytes)); }
