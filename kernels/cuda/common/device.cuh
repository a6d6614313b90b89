// What kernels use of the chip beyond CUDA C++ itself: asynchronous copies, barriers, matrix instructions, launches.  With TSR_EMULATE the
// same names come from kernels/cuda/emulate, and kernels run on a CPU, thread by thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/tessera.h"

#ifdef TSR_EMULATE
#include "kernels/cuda/emulate/emulate.h"
#else

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TSR_LAUNCH(kernel, grid, block, shared, stream, ...) \
    kernel<<<(grid), (block), (shared), static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)

/* The dynamic shared memory of the block, 128-byte aligned. */
static __device__ __forceinline__ unsigned char *dynamic_shared()
{
    extern __shared__ __align__(128) unsigned char tsr_shared_bytes[];
    return tsr_shared_bytes;
}

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/* The same address, computed here and now: without this the compiler splits base + lane offset + row offset anew at every use. */
template <class T> static __device__ __forceinline__ T *keep_address(T *p)
{
    asm("" : "+l"(p));
    return p;
}

/* Of a whole warp, each lane its own: the number is kept in a register, where the compiler would find it out anew at every use. */
static __device__ __forceinline__ int keep_number(int x) { return __shfl_sync(~0u, x, int(threadIdx.x % 32)); }

/* p + a * b in one instruction: left alone, the compiler multiplies 64 by 64 bits where it forgets that the upper halves are 0. */
template <class T> static __device__ __forceinline__ T *advance(T *p, uint32_t a, uint32_t b)
{
    T *q;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(q) : "r"(a), "r"(b), "l"(p));
    return q;
}

/* 16 bytes of read-only data, asked for here: a plain load may be moved to where it is used, behind a branch. */
static __device__ __forceinline__ void load_here(uint32_t (&x)[4], const void *p)
{
    asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "l"(p));
}

/* 16 bytes, asked for before the next __syncwarp: a load of read-only data is moved to where it is used, behind branches. */
static __device__ __forceinline__ void load_now(uint32_t (&x)[4], const void *p)
{
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "l"(p));
}

/* A byte, likewise. */
static __device__ __forceinline__ uint32_t load_byte_now(const void *p)
{
    uint32_t x;
    asm volatile("ld.global.u8 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}

/* x, or -Inf where `wanted` is 0: never a branch. */
static __device__ __forceinline__ float score_if(float x, uint32_t wanted)
{
    float y;
    asm("{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %2, 0;\nselp.f32 %0, %1, 0fFF800000, wanted;\n}" : "=f"(y) : "f"(x), "r"(wanted));
    return y;
}

/* 2^x, 0 where that is not a normal number: one instruction, exp2f's are four. */
static __device__ __forceinline__ float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* A place in shared memory as the hardware addresses it: sums of places and offsets stay 32 bits wide. */
typedef uint32_t shared_place;
static __device__ __forceinline__ shared_place shared_place_of(const void *p) { return shared_address(p); }
/* As keep_address. */
static __device__ __forceinline__ shared_place keep_place(shared_place p)
{
    asm("" : "+r"(p));
    return p;
}
/* Code before this, in a branch, stays in the branch: otherwise the compiler may compute both sides and choose. */
static __device__ __forceinline__ void keep_branch() { asm volatile(""); }
/* 4, 8 or 16 bytes, aligned to that. */
template <int Words> static __device__ __forceinline__ void load_shared(uint32_t (&x)[Words], shared_place p)
{
    static_assert(Words == 1 || Words == 2 || Words == 4, "");
    if constexpr (Words == 1)
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x[0]) : "r"(p));
    else if constexpr (Words == 2)
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(p));
    else
        asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(p));
}

// ---- cp.async: 4, 8 or 16 bytes per thread; zeros when !valid (then `global` is not read) ----

template <int Bytes> static __device__ __forceinline__ void cp_async(void *shared, const void *global, bool valid)
{
    int size = valid ? Bytes : 0;
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(size) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)), "l"(global), "n"(Bytes), "r"(size)
                     : "memory");
}
/* 16 bytes that neighbours will want, too: by the first cache. */
static __device__ __forceinline__ void cp_async_cached(void *shared, const void *global, bool valid)
{
    int size = valid ? 16 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(size) : "memory");
}
static __device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> static __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// ---- mbarriers in shared memory, and bulk copies that complete on them (sm_90) ----

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
static __device__ __forceinline__ void mbarrier_init(uint64_t *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
/* After init, before others use the barrier (and a __syncthreads or __syncwarp). */
static __device__ __forceinline__ void mbarrier_fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
static __device__ __forceinline__ void mbarrier_arrive(uint64_t *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
/* Arrive, and expect `bytes` of bulk copies in this phase. */
static __device__ __forceinline__ void mbarrier_arrive_expect(uint64_t *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}
/* Wait for the end of the phase of this parity (0 for the first). */
static __device__ __forceinline__ void mbarrier_wait(uint64_t *bar, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nTSR_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni TSR_DONE;\nbra.uni TSR_WAIT;\nTSR_DONE:\n}" ::"r"(shared_address(bar)), "r"(parity)
                 : "memory");
}
/* Arrive when the copies that this thread has made by cp_async so far are there. */
static __device__ __forceinline__ void cp_async_arrive(uint64_t *bar)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}
/* One lane of a whole warp; the compiler knows that it is one, and issues bulk copies under it without a loop over lanes. */
static __device__ __forceinline__ bool elect_lane()
{
    uint32_t elected;
    asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\nselp.u32 %0, 1, 0, one;\n}" : "=r"(elected));
    return elected != 0;
}
/* bytes: a multiple of 16; both addresses 16-byte aligned. */
static __device__ __forceinline__ void bulk_copy(void *shared, const void *global, unsigned bytes, uint64_t *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}
#endif

// ---- Matrix instructions: d += a b.  g = lane / 4, t = lane % 4; d: rows g (0, 1) and g + 8 (2, 3), columns 2t, 2t + 1 ----

/* a: (g, t) (g+8, t) (g, t+4) (g+8, t+4); b: (t, g) (t+4, g).  FP32 bit patterns; the hardware ignores the low 13 bits. */
static __device__ __forceinline__ void mma_m16n8k8_tf32(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* a: (g, t) (g+8, t); b: (t, g). */
static __device__ __forceinline__ void mma_m16n8k4_tf32(float d[4], const uint32_t a[2], uint32_t b)
{
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}
/* Pairs of 16-bit numbers, low half first.  k8: a: (g, 2t..2t+1) (g+8, 2t..2t+1); b: (2t..2t+1, g). */
template <bool Bf16> static __device__ __forceinline__ void mma_m16n8k8_half(float d[4], const uint32_t a[2], uint32_t b)
{
    if constexpr (Bf16)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
    else
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
}
/* x and y rounded to BF16, x in the low half. */
static __device__ __forceinline__ uint32_t bf16_pair(float x, float y)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}
/* k16: a: (g, 2t..) (g+8, 2t..) (g, 2t+8..) (g+8, 2t+8..); b: (2t.., g) (2t+8.., g). */
template <bool Bf16> static __device__ __forceinline__ void mma_m16n8k16_half(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    if constexpr (Bf16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* Four matrices of 8 x 8 numbers of 16 bits from shared memory.  row: of lane l row l % 8 of matrix l / 8, 16 bytes.  x[m]: (g, 2t) (g, 2t + 1) of
 * matrix m, or if Transposed (2t, g) (2t + 1, g). */
template <bool Transposed> static __device__ __forceinline__ void load_matrices(uint32_t (&x)[4], shared_place row)
{
    if constexpr (Transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");
}
/* 8 x 8 numbers of 16 bits, a pair in a lane: (g, 2t) (g, 2t+1) become (2t, g) (2t+1, g). */
static __device__ __forceinline__ uint32_t transpose_8x8(uint32_t pair)
{
    uint32_t turned;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(pair));
    return turned;
}
/* Fragments as for tf32.  Before sm_90 there is m8n8k4 only (half the rate): four of them. */
static __device__ __forceinline__ void mma_m16n8k8_f64(double d[4], const double a[4], const double b[2])
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int k = 0; k < 2; k++)
        for (int half = 0; half < 2; half++)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d[2 * half]), "+d"(d[2 * half + 1]) : "d"(a[2 * k + half]), "d"(b[k]));
#endif
}
/* Integers of 8 bits, four in a word.  a: (g, 4t..4t+3) (g+8, 4t..) (g, 4t+16..) (g+8, 4t+16..); b: (4t.., g) (4t+16.., g).  Sums wrap. */
static __device__ __forceinline__ void mma_m16n8k32_int8(int d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* Bits: d += the number of positions where both are 1.  Word w of a: row g + w % 2 * 8, bits 32 t + w / 2 * 128 and on; of b: column g. */
static __device__ __forceinline__ void mma_m16n8k256_bits(int d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

/* Were the launches so far accepted?  Whoever launches and returns a status asks after its last launch, unless a sort or a scan comes
 * next: those ask before they begin.  What went wrong does not stay behind for whoever launches next. */
static inline tsr_status launch_status() { return cudaGetLastError() == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR; }

/* Before a launch with `shared` bytes of dynamic shared memory, which with static ones may be more than 48 KB.  Every launch of a kernel allows the
 * same, all that the device has: a thread that launches it with less beside this one must not take back what this one needs. */
template <class Kernel> static inline bool allow_shared(Kernel *kernel, size_t shared)
{
    constexpr int static_most = 1024;
    int device, most;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
        return false;
    most = most - static_most > int(shared) ? most - static_most : int(shared);
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most) == cudaSuccess;
}
