// What kernels use of the chip, against plain loops: on the emulator, and on a GPU to see that the emulator is right.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/device.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef TSR_EMULATE
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

int failures;

void expect(bool good, const char *what, long where = 0)
{
    if (!good && failures++ < 50)
        fprintf(stderr, "FAILED: %s (%ld)\n", what, where);
}

void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* An array on the device, and its copy on the host. */
template <class T> struct array {
    T *host, *device;
    size_t count;
    explicit array(size_t n) : host(new T[n]), device(nullptr), count(n)
    {
        memset(static_cast<void *>(host), 0, n * sizeof(T));
        must(cudaMalloc(reinterpret_cast<void **>(&device), n * sizeof(T)), "cudaMalloc");
    }
    ~array()
    {
        cudaFree(device);
        delete[] host;
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    T *up()
    {
        must(cudaMemcpy(device, host, count * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
        return device;
    }
    T *down()
    {
        must(cudaGetLastError(), "launch");
        must(cudaDeviceSynchronize(), "kernel");
        must(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
        return host;
    }
};

unsigned random_state = 1;
unsigned random_below(unsigned n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return static_cast<unsigned>(static_cast<uint64_t>(random_state) * n >> 32);
}

constexpr unsigned all_lanes = 0xffffffffu;

// ---- Shuffles and votes ----

template <class T> __global__ void shuffle_kernel(T *out, int argument, int width)
{
    unsigned lane = threadIdx.x;
    T mine = static_cast<T>(lane * 3 + 1);
    out[lane] = __shfl_sync(all_lanes, mine, argument, width);
    out[32 + lane] = __shfl_up_sync(all_lanes, mine, static_cast<unsigned>(argument), width);
    out[64 + lane] = __shfl_down_sync(all_lanes, mine, static_cast<unsigned>(argument), width);
    out[96 + lane] = __shfl_xor_sync(all_lanes, mine, argument, width);
}

template <class T> void test_shuffle()
{
    array<T> out(128);
    auto value = [](int lane) { return static_cast<T>(lane * 3 + 1); };
    for (int width = 2; width <= 32; width *= 2)
        for (int argument = 0; argument < width; argument++) {
            TSR_LAUNCH(shuffle_kernel<T>, 1, 32, 0, nullptr, out.up(), argument, width);
            const T *got = out.down();
            for (int lane = 0; lane < 32; lane++) {
                int first = lane / width * width, at = lane - first;
                expect(got[lane] == value(first + argument), "shfl", lane);
                expect(got[32 + lane] == value(at >= argument ? lane - argument : lane), "shfl_up", lane);
                expect(got[64 + lane] == value(at + argument < width ? lane + argument : lane), "shfl_down", lane);
                expect(got[96 + lane] == value(lane ^ argument), "shfl_xor", lane);
            }
        }
}

/* Two halves of a warp that go different ways. */
__global__ void vote_kernel(unsigned *out)
{
    unsigned lane = threadIdx.x, *mine = out + 8 * lane;
    unsigned mask = lane < 12 ? 0xfffu : ~0xfffu;
    if (lane < 12) {
        mine[0] = __ballot_sync(mask, lane % 3 == 0);
        mine[1] = static_cast<unsigned>(__any_sync(mask, lane == 40));
    } else {
        mine[1] = static_cast<unsigned>(__any_sync(mask, lane == 20));
        mine[0] = __ballot_sync(mask, lane % 3 == 0);
    }
    __syncwarp(mask);
    mine[2] = static_cast<unsigned>(__all_sync(mask, lane < 12));
    mine[3] = __reduce_add_sync(mask, lane);
    mine[4] = static_cast<unsigned>(__reduce_min_sync(mask, -static_cast<int>(lane)));
    mine[5] = __reduce_max_sync(mask, lane);
    mine[6] = __reduce_or_sync(mask, lane);
    mine[7] = __match_any_sync(mask, lane % 5);
}

void test_votes()
{
    array<unsigned> out(256);
    TSR_LAUNCH(vote_kernel, 1, 32, 0, nullptr, out.up());
    const unsigned *got = out.down();
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned first = lane < 12 ? 0 : 12, end = lane < 12 ? 12 : 32, ballot = 0, sum = 0, any = 0, same = 0;
        for (unsigned k = first; k < end; k++) {
            ballot |= static_cast<unsigned>(k % 3 == 0) << k;
            same |= static_cast<unsigned>(k % 5 == lane % 5) << k;
            sum += k;
            any |= k;
        }
        const unsigned wanted[8] = { ballot, first == 12, first == 0, sum, 1 - end, end - 1, any, same };
        for (unsigned k = 0; k < 8; k++)
            expect(got[8 * lane + k] == wanted[k], "vote", 8 * lane + k);
    }
}

__global__ void block_vote_kernel(int *out)
{
    int i = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y);
    if (i >= 90)
        return; // those that have left are not waited for
    int count = __syncthreads_count(i % 4 == 0), any = __syncthreads_or(i == 89), all = __syncthreads_and(i < 89);
    out[i] = count + 1000 * any + 2000 * all;
}

void test_block_votes()
{
    array<int> out(90);
    TSR_LAUNCH(block_vote_kernel, 1, dim3(48, 2), 0, nullptr, out.up());
    for (int i = 0; i < 90; i++)
        expect(out.down()[i] == 23 + 1000, "votes of a block", i);
}

// ---- Bits and atomics ----

__global__ void bits_kernel(unsigned long long *out, unsigned x, unsigned long long y)
{
    out[0] = static_cast<unsigned>(__popc(x)), out[1] = static_cast<unsigned>(__popcll(y));
    int sx = static_cast<int>(x);
    long long sy = static_cast<long long>(y);
    out[2] = static_cast<unsigned>(__ffs(sx)), out[3] = static_cast<unsigned>(__ffsll(sy));
    out[4] = static_cast<unsigned>(__clz(sx)), out[5] = static_cast<unsigned>(__clzll(sy));
    out[6] = __brev(x), out[7] = __brevll(y);
    out[8] = __byte_perm(x, ~x, 0x7a14), out[9] = __umulhi(x, 0xfedcba98u), out[10] = __umul64hi(y, y);
    out[11] = __fns(x, 0, 3), out[12] = __float_as_uint(__fmaf_rn(1.5f, 2.0f, 0.25f));
    out[13] = static_cast<unsigned>(min(3, 4)) + max(5u, 7u), out[14] = __funnelshift_r(x, 0x12345678u, 8);
}

void test_bits()
{
    array<unsigned long long> out(15);
    TSR_LAUNCH(bits_kernel, 1, 1, 0, nullptr, out.up(), 0x00f0c081u, 0x0001000080000000ull);
    unsigned x = 0x00f0c081u, pool[2] = { x, ~x }, perm = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = 0x7a14 >> (4 * i) & 7; /* the fourth bit is not looked at */
        perm |= (pool[s / 4] >> (8 * (s & 3)) & 0xff) << (8 * i);
    }
    const unsigned long long high = static_cast<uint64_t>(x) * 0xfedcba98u >> 32;
    const unsigned long long wanted[15] = { 8, 2, 1, 32, 8, 15, 0x81030f00u, 0x0000000100008000ull, perm, high, 0x100010000ull,
        14, 0x40500000u, 10, 0x7800f0c0u };
    const unsigned long long *got = out.down();
    for (int i = 0; i < 15; i++)
        expect(got[i] == wanted[i], "bits", i);
}

__global__ void atomic_kernel(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    int t = static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
    atomicAdd(i, t);
    atomicMin(i + 1, t - 7);
    atomicMax(i + 2, t);
    atomicOr(u, 1u << (t % 32));
    atomicAnd(u + 1, ~(1u << (t % 7)));
    atomicAdd(l, 1ull << 33);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    unsigned long long old = l[1], seen;
    do {
        seen = old;
        old = atomicCAS(l + 1, seen, seen + 3);
    } while (old != seen);
    if (atomicExch(u + 2, 5u) == 0)
        atomicAdd(u + 3, 1u);
}

void test_atomics()
{
    array<int> i(3);
    array<unsigned> u(4);
    array<unsigned long long> l(2);
    array<float> f(1);
    array<double> d(1);
    u.host[1] = ~0u;
    TSR_LAUNCH(atomic_kernel, 2, 96, 0, nullptr, i.up(), u.up(), l.up(), f.up(), d.up());
    i.down(), u.down(), l.down(), f.down(), d.down();
    expect(i.host[0] == 191 * 192 / 2 && i.host[1] == -7 && i.host[2] == 191, "atomics of int");
    expect(u.host[0] == ~0u && u.host[1] == ~127u && u.host[3] == 1, "atomics of unsigned");
    expect(l.host[0] == 192ull << 33 && l.host[1] == 3 * 192, "atomics of 64 bits");
    expect(f.host[0] == 96 && d.host[0] == 48, "atomics of numbers");
}

// ---- Asynchronous copies ----

/* Three groups in flight; every thread copies for its neighbour. */
__global__ void pipeline_kernel(float *out, const float *in, int steps, int valid)
{
    float *ring = reinterpret_cast<float *>(dynamic_shared());
    int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
    float sum = 0;
    for (int k = 0; k < steps + 2; k++) {
        if (k < steps)
            cp_async<16>(ring + 4 * (k % 3 * n + t), in + 4 * (k * n + t), k * n + t < valid);
        cp_async_commit();
        if (k < 2)
            continue;
        cp_async_wait<2>();
        __syncthreads();
        const float *from = ring + 4 * ((k - 2) % 3 * n + (t + 1) % n);
        for (int j = 0; j < 4; j++)
            sum += from[j] * static_cast<float>(k - 1);
        __syncthreads();
    }
    out[t] = sum;
}

void test_cp_async()
{
    constexpr int n = 64, steps = 7, valid = 6 * n + 20;
    array<float> in(4 * n * steps), out(n);
    for (size_t i = 0; i < in.count; i++)
        in.host[i] = static_cast<float>(random_below(100));
    TSR_LAUNCH(pipeline_kernel, 1, n, 3 * n * 16, nullptr, out.up(), in.up(), steps, valid);
    out.down();
    for (int t = 0; t < n; t++) {
        float sum = 0;
        for (int k = 0; k < steps; k++)
            for (int j = 0; j < 4; j++) {
                int from = k * n + (t + 1) % n;
                sum += from < valid ? in.host[4 * from + j] * static_cast<float>(k + 1) : 0;
            }
        expect(out.host[t] == sum, "cp_async", t);
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* Warp 0 fills a ring by bulk copies, the others take from it. */
__global__ void producer_kernel(float *out, const float *in, int tiles)
{
    constexpr int stages = 3, tile = 128;
    float *ring = reinterpret_cast<float *>(dynamic_shared());
    uint64_t *full = reinterpret_cast<uint64_t *>(ring + stages * tile), *empty = full + stages;
    int t = static_cast<int>(threadIdx.x), consumers = static_cast<int>(blockDim.x) - 32;
    if (t == 0) {
        for (int s = 0; s < stages; s++) {
            mbarrier_init(full + s, 1);
            mbarrier_init(empty + s, static_cast<unsigned>(consumers));
        }
        mbarrier_fence_init();
    }
    __syncthreads();
    if (t < 32) {
        for (int k = 0; k < tiles && t == 0; k++) {
            if (k >= stages)
                mbarrier_wait(empty + k % stages, static_cast<unsigned>((k / stages - 1) % 2));
            mbarrier_arrive_expect(full + k % stages, tile * 4);
            bulk_copy(ring + k % stages * tile, in + k * tile, tile * 2, full + k % stages);
            bulk_copy(ring + k % stages * tile + tile / 2, in + k * tile + tile / 2, tile * 2, full + k % stages);
        }
        return;
    }
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        mbarrier_wait(full + k % stages, static_cast<unsigned>(k / stages % 2));
        sum += ring[k % stages * tile + (t * 5 + k) % tile];
        mbarrier_arrive(empty + k % stages);
    }
    out[t - 32] = sum;
}
#else
__global__ void producer_kernel(float *, const float *, int) {}
#endif

void test_mbarriers()
{
    constexpr int tiles = 50, consumers = 96;
    array<float> in(128 * tiles), out(consumers);
    for (size_t i = 0; i < in.count; i++)
        in.host[i] = static_cast<float>(random_below(100));
    TSR_LAUNCH(producer_kernel, 2, consumers + 32, 3 * 512 + 48, nullptr, out.up(), in.up(), tiles);
    out.down();
    for (int c = 0; c < consumers; c++) {
        float sum = 0;
        for (int k = 0; k < tiles; k++)
            sum += in.host[k * 128 + ((c + 32) * 5 + k) % 128];
        expect(out.host[c] == sum, "mbarriers", c);
    }
}

// ---- Matrix instructions: fragments as device.cuh describes them, on matrices of small integers ----

enum shape { tf32_k8, tf32_k4, fp16_k8, bf16_k8, fp16_k16, bf16_k16 };

__device__ uint32_t half_bits(float x, bool bf16)
{
    return bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x)) : __half_as_ushort(__float2half_rn(x));
}
__device__ uint32_t pair(const float *x, int stride, bool bf16)
{
    return half_bits(x[0], bf16) | half_bits(x[stride], bf16) << 16;
}

/* Of the calling thread's i-th sum in d. */
__device__ int sum_place(int i)
{
    int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    return (g + i / 2 * 8) * 8 + 2 * t + i % 2;
}

/* a: 16 x k, b: k x 8, d: 16 x 8, all row-major. */
__global__ void mma_kernel(shape which, int k, float *d, const float *a, const float *b)
{
    int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    float sum[4];
    uint32_t fa[4], fb[2];
    const bool bf16 = which == bf16_k8 || which == bf16_k16;
    for (int i = 0; i < 4; i++) {
        sum[i] = d[sum_place(i)];
        int row = g + i % 2 * 8, column = i / 2 * 4 + t, wide = i / 2 * 8 + 2 * t;
        if (which == tf32_k8 || which == tf32_k4)
            fa[i] = column < k ? __float_as_uint(a[row * k + column]) | 0x1abc : 0; // the low bits do not count
        else
            fa[i] = wide < k ? pair(a + row * k + wide, 1, bf16) : 0;
    }
    for (int i = 0; i < 2; i++) {
        int row = i * 4 + t, wide = i * 8 + 2 * t;
        if (which == tf32_k8 || which == tf32_k4)
            fb[i] = row < k ? __float_as_uint(b[row * 8 + g]) | 0x1fff : 0;
        else
            fb[i] = wide < k ? pair(b + wide * 8 + g, 8, bf16) : 0;
    }
    switch (which) {
    case tf32_k8: mma_m16n8k8_tf32(sum, fa, fb); break;
    case tf32_k4: mma_m16n8k4_tf32(sum, fa, fb[0]); break;
    case fp16_k8: mma_m16n8k8_half<false>(sum, fa, fb[0]); break;
    case bf16_k8: mma_m16n8k8_half<true>(sum, fa, fb[0]); break;
    case fp16_k16: mma_m16n8k16_half<false>(sum, fa, fb); break;
    case bf16_k16: mma_m16n8k16_half<true>(sum, fa, fb); break;
    }
    for (int i = 0; i < 4; i++)
        d[sum_place(i)] = sum[i];
}

__global__ void mma_f64_kernel(double *d, const double *a, const double *b)
{
    int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    double sum[4], fa[4], fb[2] = { b[t * 8 + g], b[(t + 4) * 8 + g] };
    for (int i = 0; i < 4; i++) {
        sum[i] = d[sum_place(i)];
        fa[i] = a[(g + i % 2 * 8) * 8 + t + i / 2 * 4];
    }
    mma_m16n8k8_f64(sum, fa, fb);
    for (int i = 0; i < 4; i++)
        d[sum_place(i)] = sum[i];
}

template <class T, class Launch> void check_mma(int k, const char *name, Launch launch)
{
    array<T> a(static_cast<size_t>(16 * k)), b(static_cast<size_t>(k * 8)), d(128);
    for (array<T> *x : { &a, &b, &d })
        for (size_t i = 0; i < x->count; i++)
            x->host[i] = static_cast<T>(static_cast<int>(random_below(63)) - 31) / 4;
    T wanted[128];
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            wanted[i * 8 + j] = d.host[i * 8 + j];
            for (int l = 0; l < k; l++)
                wanted[i * 8 + j] += a.host[i * k + l] * b.host[l * 8 + j];
        }
    launch(d.up(), a.up(), b.up());
    d.down();
    for (int i = 0; i < 128; i++)
        expect(d.host[i] == wanted[i], name, i);
}

void test_mma()
{
    const struct {
        shape which;
        int k;
        const char *name;
    } shapes[] = { { tf32_k8, 8, "mma tf32 k8" }, { tf32_k4, 4, "mma tf32 k4" }, { fp16_k8, 8, "mma fp16 k8" },
        { bf16_k8, 8, "mma bf16 k8" }, { fp16_k16, 16, "mma fp16 k16" }, { bf16_k16, 16, "mma bf16 k16" } };
    for (const auto &s : shapes)
        check_mma<float>(s.k, s.name, [&](float *d, const float *a, const float *b) {
            TSR_LAUNCH(mma_kernel, 1, 32, 0, nullptr, s.which, s.k, d, a, b);
        });
    check_mma<double>(8, "mma f64", [](double *d, const double *a, const double *b) {
        TSR_LAUNCH(mma_f64_kernel, 1, 32, 0, nullptr, d, a, b);
    });
}

/* a: 16 rows, b: 8 columns of 256 bits each. */
__global__ void mma_bits_kernel(int *d, const uint32_t *a, const uint32_t *b)
{
    int g = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
    int sum[4];
    uint32_t fa[4], fb[2] = { b[g * 8 + t], b[g * 8 + 4 + t] };
    for (int i = 0; i < 4; i++) {
        sum[i] = d[sum_place(i)];
        fa[i] = a[(g + i % 2 * 8) * 8 + t + i / 2 * 4];
    }
    mma_m16n8k256_bits(sum, fa, fb);
    for (int i = 0; i < 4; i++)
        d[sum_place(i)] = sum[i];
}

void test_mma_bits()
{
    array<uint32_t> a(16 * 8), b(8 * 8);
    array<int> d(128);
    for (array<uint32_t> *x : { &a, &b })
        for (size_t i = 0; i < x->count; i++)
            x->host[i] = random_below(65536) << 16 | random_below(65536);
    int wanted[128];
    for (int i = 0; i < 128; i++) {
        wanted[i] = d.host[i] = static_cast<int>(random_below(1000));
        for (int w = 0; w < 8; w++)
            wanted[i] += __builtin_popcount(a.host[i / 8 * 8 + w] & b.host[i % 8 * 8 + w]);
    }
    TSR_LAUNCH(mma_bits_kernel, 1, 32, 0, nullptr, d.up(), a.up(), b.up());
    d.down();
    for (int i = 0; i < 128; i++)
        expect(d.host[i] == wanted[i], "mma bits", i);
}

// ---- Launches ----

__global__ void shared_kernel(unsigned char *out, int last)
{
    unsigned char *shared = dynamic_shared();
    shared[last] = 7;
    *out = shared[last];
}

__global__ void unasked_kernel() {}

void test_launches()
{
    array<unsigned char> out(1);
    out.up();
    TSR_LAUNCH(unasked_kernel, 1, 1, 100000, nullptr);
    expect(cudaGetLastError() == cudaErrorInvalidValue, "shared memory without asking");
    must(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000), "cudaFuncSetAttribute");
    TSR_LAUNCH(shared_kernel, 1, 1, 100000, nullptr, out.device, 99999);
    expect(out.down()[0] == 7, "shared memory");
    expect(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) == cudaErrorInvalidValue,
           "too much shared memory");
    expect(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess, "the last error");
    TSR_LAUNCH(shared_kernel, 0, 1, 16, nullptr, out.device, 0);
    cudaError_t refused = cudaPeekAtLastError(); /* which one depends on the version of CUDA */
    expect(refused != cudaSuccess, "no blocks");
    expect(cudaGetLastError() == refused && cudaGetLastError() == cudaSuccess, "no blocks, again");
    TSR_LAUNCH(shared_kernel, 1, 1025, 16, nullptr, out.device, 0);
    expect(cudaGetLastError() != cudaSuccess, "too many threads");
}

#ifdef TSR_EMULATE

// ---- What only the emulator does ----

__global__ void unwritten_kernel(float *out, const float *in)
{
    __shared__ float mine[4];
    float *shared = reinterpret_cast<float *>(dynamic_shared());
    cp_async<4>(shared, in, true);
    cp_async_commit();
    cp_async<4>(shared + 1, in, true);
    cp_async_commit();
    cp_async_wait<1>();
    out[0] = shared[0];
    out[1] = shared[1];
    out[2] = mine[0];
    out[3] = shared[2];
    mine[0] = shared[2] = 1;
    cp_async_wait<0>();
    out[4] = shared[1];
}

void test_poison()
{
    array<float> in(1), out(5);
    in.host[0] = 3;
    tsr_emulate_schedule(0, 0);
    for (int i = 0; i < 2; i++) {
        TSR_LAUNCH(unwritten_kernel, 2, 1, 16, nullptr, out.up(), in.up());
        const float *got = out.down();
        expect(got[0] == 3 && got[4] == 3, "a copy that was waited for");
        expect(got[1] != got[1], "a copy that was not waited for");
        expect(got[2] != got[2] && got[3] != got[3], "shared memory that nobody wrote");
    }
}

__global__ void divergent_kernel()
{
    if (threadIdx.x < 16)
        __syncwarp();
    else
        __shfl_sync(all_lanes, 1, 0);
}
__global__ void stuck_kernel()
{
    uint64_t *bar = reinterpret_cast<uint64_t *>(dynamic_shared());
    if (threadIdx.x == 0)
        mbarrier_init(bar, 2);
    __syncthreads();
    if (threadIdx.x == 1)
        mbarrier_arrive(bar);
    if (threadIdx.x == 2)
        mbarrier_wait(bar, 0);
    __syncthreads();
}
__global__ void raw_barrier_kernel() { mbarrier_arrive(reinterpret_cast<uint64_t *>(dynamic_shared())); }
__global__ void misaligned_kernel(const float *in) { cp_async<16>(dynamic_shared(), in + 1, true); }
__global__ void outside_kernel(const float *in) { cp_async<4>(dynamic_shared() + 64, in, true); }
__global__ void absent_kernel()
{
    if (threadIdx.x < 16)
        __syncwarp(0xffff0000u);
}
__global__ void loose_kernel(const float *in)
{
    uint64_t *bar = reinterpret_cast<uint64_t *>(dynamic_shared());
    mbarrier_init(bar, 1);
    mbarrier_arrive_expect(bar, 16);
    bulk_copy(bar + 2, in, 16, bar);
}
__global__ void overrun_kernel(float *out) { out[16] = 1; }

/* The program must end with a message that contains `wanted`. */
template <class Function> void expect_abort(const char *wanted, Function function)
{
    int ends[2];
    if (pipe(ends))
        abort();
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 2);
        function();
        _exit(0);
    }
    close(ends[1]);
    char text[4096];
    size_t length = 0;
    for (ssize_t got; length < sizeof text - 1 && (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += static_cast<size_t>(got);
    text[length] = 0;
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    expect(!(WIFEXITED(status) && WEXITSTATUS(status) == 0) && strstr(text, wanted), wanted);
    if (!strstr(text, wanted))
        fputs(text, stderr);
}

void test_aborts()
{
    array<float> in(16);
    const float *p = in.up();
    expect_abort("other lanes of mask ffffffff are at __syncwarp", [] { TSR_LAUNCH(divergent_kernel, 1, 32, 0, nullptr); });
    expect_abort("threads 2 to 2: mbarrier_wait", [] { TSR_LAUNCH(stuck_kernel, 1, 64, 8, nullptr); });
    expect_abort("threads 3 to 63: __syncthreads", [] { TSR_LAUNCH(stuck_kernel, 1, 64, 8, nullptr); });
    expect_abort("is no barrier", [] { TSR_LAUNCH(raw_barrier_kernel, 1, 1, 8, nullptr); });
    expect_abort("is not a multiple of 16", [=] { TSR_LAUNCH(misaligned_kernel, 1, 1, 64, nullptr, p); });
    expect_abort("bytes 64 to 68 of 64 bytes", [=] { TSR_LAUNCH(outside_kernel, 1, 1, 64, nullptr, p); });
    expect_abort("lacks the calling lane", [] { TSR_LAUNCH(absent_kernel, 1, 32, 0, nullptr); });
    expect_abort("bulk copies under way", [=] { TSR_LAUNCH(loose_kernel, 1, 1, 64, nullptr, p); });
#if defined(__SANITIZE_ADDRESS__)
    const char *overrun = "heap-buffer-overflow";
#else
    const char *overrun = "written past the end";
#endif
    expect_abort(overrun, [] {
        float *out;
        must(cudaMalloc(&out, 64), "cudaMalloc");
        TSR_LAUNCH(overrun_kernel, 1, 1, 0, nullptr, out);
        cudaFree(out);
    });
}

void test_injection()
{
    array<unsigned char> out(1);
    out.up();
    size_t bytes = tsr_emulate_live_bytes();
    long blocks = tsr_emulate_live_blocks();
    void *p = nullptr, *q = nullptr;
    tsr_emulate_fail_malloc(2);
    expect(cudaMalloc(&p, 100) == cudaSuccess && tsr_emulate_live_bytes() == bytes + 100, "allocation 1");
    expect(cudaMalloc(&q, 100) == cudaErrorMemoryAllocation && !q && tsr_emulate_live_blocks() == blocks + 1, "allocation 2");
    expect(cudaGetLastError() == cudaErrorMemoryAllocation, "error of allocation 2");
    expect(cudaMalloc(&q, size_t(1) << 40) == cudaErrorMemoryAllocation, "too large an allocation");
    cudaGetLastError();
    cudaFree(p);
    expect(tsr_emulate_live_bytes() == bytes && tsr_emulate_live_blocks() == blocks, "all freed");
    tsr_emulate_fail_launch(1);
    TSR_LAUNCH(shared_kernel, 1, 1, 16, nullptr, out.device, 0);
    expect(cudaGetLastError() != cudaSuccess, "launch 1");
    TSR_LAUNCH(shared_kernel, 1, 1, 16, nullptr, out.device, 0);
    expect(cudaGetLastError() == cudaSuccess, "launch 2");
    char host[8];
    expect(cudaMemcpy(host, out.device, 2, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue, "a copy past the end");
    cudaGetLastError();
}

#endif

void test_all(bool barriers)
{
    test_shuffle<int>();
    test_shuffle<unsigned long long>();
    test_shuffle<float>();
    test_shuffle<double>();
    test_votes();
    test_block_votes();
    test_bits();
    test_atomics();
    test_cp_async();
    if (barriers)
        test_mbarriers();
    test_mma();
    test_mma_bits();
    test_launches();
}

} // namespace

int main()
{
    int count = 0;
    cudaDeviceProp device;
    if (cudaGetDeviceCount(&count) != cudaSuccess || !count)
        return 77;
    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
#ifdef TSR_EMULATE
    for (unsigned order = 0; order < 8; order++) {
        tsr_emulate_schedule(order, order % 4 > 1);
        test_all(true);
    }
    test_poison();
    test_aborts();
    test_injection();
#else
    test_all(device.major >= 9);
#endif
    printf("%s: %d failures\n", device.name, failures);
    return failures != 0;
}
