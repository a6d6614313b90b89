// CUDA C++ for g++: what kernels/cuda uses of the language, the runtime and device.cuh, run on a CPU thread by thread.
// Every CUDA thread is a fiber; all blocks of a launch run one after the other in the calling thread.  See README.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Before the CUDA headers, whose __noinline__ the standard headers would trip over.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/cuda/emulate/control.h"

#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#undef __shared__
#undef __constant__
#undef __managed__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("tsr_shared"))) // templates leave it out, then it is not poisoned
#define __constant__
#define __managed__
#define __grid_constant__

namespace tsr_emulate {

constexpr unsigned warp_lanes = 32;
constexpr unsigned block_threads = 1024;

struct copy { // of cp.async
    void *to;
    const void *from; // NULL: zeros
    unsigned bytes;
    unsigned group; // committed groups of its thread before it
};

struct stack;
struct warp;

struct thread {
    uint3 index;
    unsigned number, lane;
    struct warp *warp;
    void *sp;
    struct stack *stack;
    const char *waits; // name of the primitive, NULL: runs or may run
    const void *waits_for;
    bool exited;
    unsigned atomics;
    unsigned groups; // committed
    std::vector<copy> copies;
};

extern thread *self;
extern uint3 block_index;
extern dim3 block_size, grid_size;

/* Ends the program; says in which kernel, block and thread. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Let others run. */
void yield();

/* Wait for the other lanes of the mask at the same primitive; the last one calls finish with what each lane brought
 * (NULL: not in the mask or exited). */
typedef void (*finish_function)(void *const brought[warp_lanes], unsigned mask);
void meet(const char *name, unsigned mask, finish_function finish, void *mine);

struct votes {
    int count, all;
};
votes sync_threads(const char *name, int vote);

unsigned char *shared_memory();

void async_copy(void *shared, const void *global, unsigned bytes, bool valid);
void async_commit();
void async_wait(unsigned pending);

cudaError_t launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared, void (*run)(const void *),
                   const void *arguments);

/* Else the thread's last error says so. */
bool is_on_current_device(const void *stream);

template <class... P, class... A>
cudaError_t launch_kernel(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, const void *stream,
                          A &&...arguments)
{
    if (!is_on_current_device(stream))
        return cudaErrorInvalidResourceHandle;
    typedef std::tuple<std::decay_t<P>...> values;
    struct call {
        void (*kernel)(P...);
        values arguments;
    } it = {kernel, values(static_cast<std::decay_t<P>>(arguments)...)};
    auto run = [](const void *p) {
        const call *c = static_cast<const call *>(p);
        values mine = c->arguments; // a kernel may change its parameters
        std::apply(c->kernel, mine);
    };
    return launch(name, reinterpret_cast<const void *>(kernel), grid, block, shared, run, &it);
}

template <class T> void check_aligned(const void *p, const char *what)
{
    if (reinterpret_cast<uintptr_t>(p) % sizeof(T) && !(sizeof(T) & (sizeof(T) - 1)))
        fail("%s: address %p is not a multiple of %zu", what, p, sizeof(T));
}
template <class T> T load(const T *p, const char *what)
{
    check_aligned<T>(p, what);
    return *p;
}

template <class To, class From> To bits(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace tsr_emulate

#define threadIdx (::tsr_emulate::self->index)
#define blockIdx (::tsr_emulate::block_index)
#define blockDim (::tsr_emulate::block_size)
#define gridDim (::tsr_emulate::grid_size)

constexpr int warpSize = 32;

#define TSR_LAUNCH(kernel, grid, block, shared, stream, ...) \
    (void)::tsr_emulate::launch_kernel(#kernel, kernel, (grid), (block), (shared), (stream), ##__VA_ARGS__)

// ---- The runtime's C++ side, which the CUDA headers keep for nvcc ----

template <class T> cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class T> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel)
{
    return ::cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <class T> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *kernel, int threads, size_t shared)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel), threads, shared);
}
template <class T> cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0)
{
    memcpy(reinterpret_cast<char *>(&symbol) + offset, from, bytes);
    return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind, cudaStream_t)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset);
}

// ---- Barriers and exchange between threads ----

inline void __syncthreads() { ::tsr_emulate::sync_threads("__syncthreads", 0); }
inline int __syncthreads_count(int vote) { return ::tsr_emulate::sync_threads("__syncthreads_count", vote).count; }
inline int __syncthreads_or(int vote) { return ::tsr_emulate::sync_threads("__syncthreads_or", vote).count != 0; }
inline int __syncthreads_and(int vote) { return ::tsr_emulate::sync_threads("__syncthreads_and", vote).all; }

#define TSR_FULL_MASK 0xffffffffu

inline unsigned __activemask() { return TSR_FULL_MASK; }
inline void __syncwarp(unsigned mask = TSR_FULL_MASK) { ::tsr_emulate::meet("__syncwarp", mask, nullptr, nullptr); }

namespace tsr_emulate {

struct shuffled {
    uint64_t value, result;
    unsigned source;
};
void finish_shuffle(void *const brought[warp_lanes], unsigned mask);

template <class T> T shuffle(const char *name, unsigned mask, T value, unsigned source)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "");
    shuffled s = {0, 0, source};
    memcpy(&s.value, &value, sizeof value);
    meet(name, mask, finish_shuffle, &s);
    memcpy(&value, &s.result, sizeof value);
    return value;
}

struct reduced {
    uint64_t value, result;
};
void finish_ballot(void *const brought[warp_lanes], unsigned mask);
void finish_match(void *const brought[warp_lanes], unsigned mask);

template <class T, class F> void finish_reduce(void *const brought[warp_lanes], unsigned)
{
    bool first = true;
    T sum{};
    for (unsigned i = 0; i < warp_lanes; i++)
        if (const reduced *r = static_cast<const reduced *>(brought[i])) {
            sum = first ? static_cast<T>(r->value) : F()(sum, static_cast<T>(r->value));
            first = false;
        }
    for (unsigned i = 0; i < warp_lanes; i++)
        if (brought[i])
            static_cast<reduced *>(brought[i])->result = static_cast<uint64_t>(sum);
}
template <class T, class F> T reduce(const char *name, unsigned mask, T value)
{
    reduced r = {static_cast<uint64_t>(value), 0};
    meet(name, mask, finish_reduce<T, F>, &r);
    return static_cast<T>(r.result);
}
struct plus {
    template <class T> T operator()(T a, T b) const
    {
        return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    }
};
struct least {
    template <class T> T operator()(T a, T b) const { return b < a ? b : a; }
};
struct most {
    template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};

} // namespace tsr_emulate

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
    unsigned lane = ::tsr_emulate::self->lane, w = static_cast<unsigned>(width);
    return ::tsr_emulate::shuffle("__shfl_sync", mask, value, (lane & ~(w - 1)) | (static_cast<unsigned>(source) & (w - 1)));
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    unsigned lane = ::tsr_emulate::self->lane, w = static_cast<unsigned>(width);
    return ::tsr_emulate::shuffle("__shfl_up_sync", mask, value, (lane & (w - 1)) >= delta ? lane - delta : lane);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    unsigned lane = ::tsr_emulate::self->lane, w = static_cast<unsigned>(width);
    return ::tsr_emulate::shuffle("__shfl_down_sync", mask, value, (lane & (w - 1)) + delta < w ? lane + delta : lane);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    unsigned lane = ::tsr_emulate::self->lane, w = static_cast<unsigned>(width), source = lane ^ static_cast<unsigned>(with);
    return ::tsr_emulate::shuffle("__shfl_xor_sync", mask, value, source <= (lane | (w - 1)) ? source : lane);
}

inline unsigned __ballot_sync(unsigned mask, int vote)
{
    ::tsr_emulate::reduced r = {vote != 0, 0};
    ::tsr_emulate::meet("__ballot_sync", mask, ::tsr_emulate::finish_ballot, &r);
    return static_cast<unsigned>(r.result);
}
inline int __any_sync(unsigned mask, int vote)
{
    ::tsr_emulate::reduced r = {vote != 0, 0};
    ::tsr_emulate::meet("__any_sync", mask, ::tsr_emulate::finish_ballot, &r);
    return r.result != 0;
}
inline int __all_sync(unsigned mask, int vote)
{
    ::tsr_emulate::reduced r = {vote == 0, 0};
    ::tsr_emulate::meet("__all_sync", mask, ::tsr_emulate::finish_ballot, &r);
    return r.result == 0;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, ::tsr_emulate::plus>("__reduce_add_sync", mask, v);
}
inline int __reduce_add_sync(unsigned mask, int v)
{
    return ::tsr_emulate::reduce<int, ::tsr_emulate::plus>("__reduce_add_sync", mask, v);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, ::tsr_emulate::least>("__reduce_min_sync", mask, v);
}
inline int __reduce_min_sync(unsigned mask, int v)
{
    return ::tsr_emulate::reduce<int, ::tsr_emulate::least>("__reduce_min_sync", mask, v);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, ::tsr_emulate::most>("__reduce_max_sync", mask, v);
}
inline int __reduce_max_sync(unsigned mask, int v)
{
    return ::tsr_emulate::reduce<int, ::tsr_emulate::most>("__reduce_max_sync", mask, v);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, std::bit_or<unsigned>>("__reduce_or_sync", mask, v);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, std::bit_and<unsigned>>("__reduce_and_sync", mask, v);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned v)
{
    return ::tsr_emulate::reduce<unsigned, std::bit_xor<unsigned>>("__reduce_xor_sync", mask, v);
}
template <class T> unsigned __match_any_sync(unsigned mask, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "");
    ::tsr_emulate::reduced r = {0, 0};
    memcpy(&r.value, &value, sizeof value);
    ::tsr_emulate::meet("__match_any_sync", mask, ::tsr_emulate::finish_match, &r);
    return static_cast<unsigned>(r.result);
}
template <class T> unsigned __match_all_sync(unsigned mask, T value, int *all)
{
    *all = __match_any_sync(mask, value) == mask;
    *all = __all_sync(mask, *all);
    return *all ? mask : 0;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { ::tsr_emulate::yield(); }
inline void __trap() { ::tsr_emulate::fail("__trap"); }
inline long long clock64()
{
    static long long ticks;
    return ticks += 4;
}
inline unsigned __isShared(const void *) = delete; // addresses tell nothing here

// ---- Bits ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline unsigned long long __brevll(unsigned long long x)
{
    unsigned long long y = 0;
    for (int i = 0; i < 64; i++)
        y = y << 1 | (x >> i & 1);
    return y;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned byte = both >> (8 * (selector >> (4 * i) & 7)) & 0xff;
        result |= byte << (8 * i);
    }
    return result;
}
/* Place of the |offset|-th set bit at or after (offset < 0: at or before) `base`; ~0 if there is none. */
inline unsigned __fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0)
        return mask >> base & 1 ? base : ~0u;
    for (int i = static_cast<int>(base), step = offset > 0 ? 1 : -1; i >= 0 && i < 32; i += step)
        if (mask >> i & 1 && (offset -= step) == 0)
            return static_cast<unsigned>(i);
    return ~0u;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mul24(int a, int b)
{
    int64_t x = static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
    int64_t y = static_cast<int32_t>(static_cast<uint32_t>(b) << 8) >> 8;
    return static_cast<int>(static_cast<uint32_t>(x * y));
}

inline unsigned __float_as_uint(float x) { return ::tsr_emulate::bits<unsigned>(x); }
inline int __float_as_int(float x) { return ::tsr_emulate::bits<int>(x); }
inline float __uint_as_float(unsigned x) { return ::tsr_emulate::bits<float>(x); }
inline float __int_as_float(int x) { return ::tsr_emulate::bits<float>(x); }
inline long long __double_as_longlong(double x) { return ::tsr_emulate::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return ::tsr_emulate::bits<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(::tsr_emulate::bits<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(::tsr_emulate::bits<uint64_t>(x)); }
inline double __hiloint2double(int high, int low)
{
    return ::tsr_emulate::bits<double>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}

// ---- Arithmetic ----

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
inline float __double2float_rn(double a) { return static_cast<float>(a); }
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
inline float __ll2float_rn(long long a) { return static_cast<float>(a); }
inline double __ll2double_rn(long long a) { return static_cast<double>(a); }
inline double __int2double_rn(int a) { return a; }
inline int __float2int_rn(float a) { return static_cast<int>(lrintf(a)); }
inline int __float2int_rz(float a) { return static_cast<int>(a); }
inline unsigned __float2uint_rz(float a) { return static_cast<unsigned>(a); }
inline long long __double2ll_rn(double a) { return llrint(a); }

#define TSR_MIN_MAX(type) \
    inline type min(type a, type b) { return b < a ? b : a; } \
    inline type max(type a, type b) { return a < b ? b : a; }
#define TSR_MIN_MAX_MIXED(result, one, other) \
    inline result min(one a, other b) { return min(static_cast<result>(a), static_cast<result>(b)); } \
    inline result min(other a, one b) { return min(static_cast<result>(a), static_cast<result>(b)); } \
    inline result max(one a, other b) { return max(static_cast<result>(a), static_cast<result>(b)); } \
    inline result max(other a, one b) { return max(static_cast<result>(a), static_cast<result>(b)); }
TSR_MIN_MAX(int)
TSR_MIN_MAX(unsigned)
TSR_MIN_MAX(long)
TSR_MIN_MAX(unsigned long)
TSR_MIN_MAX(long long)
TSR_MIN_MAX(unsigned long long)
TSR_MIN_MAX_MIXED(unsigned, int, unsigned)
TSR_MIN_MAX_MIXED(unsigned long, long, unsigned long)
TSR_MIN_MAX_MIXED(unsigned long long, long long, unsigned long long)
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
TSR_MIN_MAX_MIXED(double, float, double)
#undef TSR_MIN_MAX
#undef TSR_MIN_MAX_MIXED

// 16-bit numbers: what the CUDA headers have for devices only.  Fused: one rounding (a product of two is exact in FP32; the sum
// of that and a third is exact in FP64).
inline __half __hfma(__half a, __half b, __half c)
{
    return __double2half(static_cast<double>(__half2float(a)) * __half2float(b) + __half2float(c));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                          __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
    return __double2bfloat16(static_cast<double>(__bfloat162float(a)) * __bfloat162float(b) + __bfloat162float(c));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c)
{
    return __halves2bfloat162(__hfma(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)),
                              __hfma(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}

// ---- Memory ----

#define TSR_LOAD(name) \
    template <class T> T name(const T *p) { return ::tsr_emulate::load(p, #name); }
#define TSR_STORE(name) \
    template <class T> void name(T *p, T value) { ::tsr_emulate::check_aligned<T>(p, #name), *p = value; }
TSR_LOAD(__ldg)
TSR_LOAD(__ldca)
TSR_LOAD(__ldcg)
TSR_LOAD(__ldcs)
TSR_LOAD(__ldcv)
TSR_LOAD(__ldlu)
TSR_STORE(__stwb)
TSR_STORE(__stcg)
TSR_STORE(__stcs)
TSR_STORE(__stwt)
#undef TSR_LOAD
#undef TSR_STORE

namespace tsr_emulate {
template <class T> struct plain {
    typedef T type;
};
/* Threads that spin on an atomic must let others run. */
template <class T> T *atomic(T *p)
{
    check_aligned<T>(p, "atomic");
    if (++self->atomics % 1024 == 0)
        yield();
    return p;
}
} // namespace tsr_emulate

#define TSR_ATOMIC(name, expression) \
    template <class T> T name(T *p, typename ::tsr_emulate::plain<T>::type value) \
    { \
        T old = *::tsr_emulate::atomic(p); \
        *p = static_cast<T>(expression); \
        return old; \
    } \
    template <class T> T name##_block(T *p, typename ::tsr_emulate::plain<T>::type value) { return name(p, value); } \
    template <class T> T name##_system(T *p, typename ::tsr_emulate::plain<T>::type value) { return name(p, value); }
TSR_ATOMIC(atomicAdd, old + value)
TSR_ATOMIC(atomicSub, old - value)
TSR_ATOMIC(atomicMin, value < old ? value : old)
TSR_ATOMIC(atomicMax, old < value ? value : old)
TSR_ATOMIC(atomicOr, old | value)
TSR_ATOMIC(atomicAnd, old &value)
TSR_ATOMIC(atomicXor, old ^ value)
TSR_ATOMIC(atomicExch, value)
TSR_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
TSR_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef TSR_ATOMIC
template <class T> T atomicCAS(T *p, typename ::tsr_emulate::plain<T>::type compare, typename ::tsr_emulate::plain<T>::type value)
{
    T old = *::tsr_emulate::atomic(p);
    if (old == compare)
        *p = value;
    return old;
}

/* A promise to the compiler is a claim to check here. */
#define __builtin_assume(condition) \
    ((condition) ? (void)0 : ::tsr_emulate::fail("__builtin_assume(%s) does not hold", #condition))

// ---- device.cuh ----

inline unsigned char *dynamic_shared() { return ::tsr_emulate::shared_memory(); }
inline uint32_t shared_address(const void *p) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)); }

template <class T> T *keep_address(T *p) { return p; }

template <class T> T *advance(T *p, uint32_t a, uint32_t b)
{
    return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(p) + static_cast<uint64_t>(a) * b);
}
inline void load_here(uint32_t (&x)[4], const void *p)
{
    const uint4 y = ::tsr_emulate::load(static_cast<const uint4 *>(p), "load_here");
    memcpy(x, &y, sizeof x);
}
inline void load_now(uint32_t (&x)[4], const void *p) { load_here(x, p); }
inline uint32_t load_byte_now(const void *p) { return ::tsr_emulate::load(static_cast<const uint8_t *>(p), "load_byte_now"); }
inline int keep_number(int x) { return x; }
inline float score_if(float x, uint32_t wanted) { return wanted ? x : -INFINITY; }
inline float exp2_of(float x) { return exp2f(x); }
typedef const unsigned char *shared_place;
inline shared_place shared_place_of(const void *p) { return static_cast<const unsigned char *>(p); }
inline shared_place keep_place(shared_place p) { return p; }
inline void keep_branch() {}
template <int Words> void load_shared(uint32_t (&x)[Words], shared_place p)
{
    struct alignas(4 * Words) words {
        uint32_t x[Words];
    };
    words w = ::tsr_emulate::load(reinterpret_cast<const words *>(p), "load_shared");
    memcpy(x, w.x, sizeof x);
}

template <int Bytes> void cp_async(void *shared, const void *global, bool valid)
{
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "");
    ::tsr_emulate::async_copy(shared, global, Bytes, valid);
}
inline void cp_async_cached(void *shared, const void *global, bool valid) { cp_async<16>(shared, global, valid); }
inline void cp_async_commit() { ::tsr_emulate::async_commit(); }
template <int Pending> void cp_async_wait()
{
    static_assert(Pending >= 0, "");
    ::tsr_emulate::async_wait(Pending);
}

void mbarrier_init(uint64_t *bar, unsigned count);
inline void mbarrier_fence_init() {}
void mbarrier_arrive(uint64_t *bar);
void mbarrier_arrive_expect(uint64_t *bar, unsigned bytes);
void mbarrier_wait(uint64_t *bar, unsigned parity);
inline void cp_async_arrive(uint64_t *bar)
{
    cp_async_commit();
    cp_async_wait<0>();
    mbarrier_arrive(bar);
}
inline bool elect_lane()
{
    __syncwarp();
    return ::tsr_emulate::self->lane == 0;
}
void bulk_copy(void *shared, const void *global, unsigned bytes, uint64_t *bar);

void mma_m16n8k8_tf32(float d[4], const uint32_t a[4], const uint32_t b[2]);
void mma_m16n8k4_tf32(float d[4], const uint32_t a[2], uint32_t b);
template <bool Bf16> void mma_m16n8k8_half(float d[4], const uint32_t a[2], uint32_t b);
inline uint32_t bf16_pair(float x, float y)
{
    auto rounded = [](float z) {
        const uint32_t whole = ::tsr_emulate::bits<uint32_t>(z);
        return z == z ? (whole + 0x7fff + (whole >> 16 & 1)) >> 16 : 0x7fff;
    };
    return rounded(x) | rounded(y) << 16;
}
template <bool Bf16> void mma_m16n8k16_half(float d[4], const uint32_t a[4], const uint32_t b[2]);
uint32_t transpose_8x8(uint32_t pair);
template <bool Transposed> void load_matrices(uint32_t (&x)[4], shared_place row)
{
    uint32_t mine[4];
    load_shared<4>(mine, row);
    const int lane = int(::tsr_emulate::self->lane);
    for (int m = 0; m < 4; m++) {
        uint32_t words[4];
        for (int w = 0; w < 4; w++)
            words[w] = __shfl_sync(~0u, mine[w], 8 * m + lane / 4);
        x[m] = Transposed ? transpose_8x8(words[lane % 4]) : words[lane % 4];
    }
}
void mma_m16n8k8_f64(double d[4], const double a[4], const double b[2]);
void mma_m16n8k32_int8(int d[4], const uint32_t a[4], const uint32_t b[2]);
void mma_m16n8k256_bits(int d[4], const uint32_t a[4], const uint32_t b[2]);
