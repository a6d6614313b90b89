/* Entry-wise kernels: one entry of A adds a multiple of a row of B to a row of C.  Every type and semiring; gather and
 * scatter; with and without a bitmap.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/spmm/spmm_kernels.h"

#define AHEAD 8

/* The scalar end of a row overwrites for ANY, as tsr_vadd_any does. */
#define SCALAR_plus(type, x, y) tsr_add_plus_##type(x, y)
#define SCALAR_min(type, x, y) tsr_add_min_##type(x, y)
#define SCALAR_max(type, x, y) tsr_add_max_##type(x, y)
#define SCALAR_lor(type, x, y) tsr_add_lor_##type(x, y)
#define SCALAR_any(type, x, y) (y)

/* Lanes that take part, and how a lane that does not is kept. */
#define START_any(type) ((tsr_c_##type)0)
#define START_plus(type) tsr_identity_plus_##type()
#define START_min(type) tsr_identity_min_##type()
#define START_max(type) tsr_identity_max_##type()
#define START_lor(type) ((tsr_c_##type)0)
#define KEEPS_any true
#define KEEPS_plus false
#define KEEPS_min false
#define KEEPS_max false
#define KEEPS_lor false

TSR_INLINE void prefetch_ahead(const tsr_entries_job *job, int64_t e, int64_t size)
{
    const int64_t next = job->i[e + AHEAD < job->count ? e + AHEAD : job->count - 1];
    if (job->ldc != 0)
        __builtin_prefetch((const char *)job->c + next * job->ldc * size, 1, 3);
    else
        __builtin_prefetch((const char *)job->b + next * job->ldb * size, 0, 3);
}

TSR_INLINE void mark_present(int8_t *cb, const int8_t *bb, int64_t columns)
{
    int64_t j = 0;
    for (uint64_t old, more; j + 8 <= columns; j += 8) {
        memcpy(&old, cb + j, 8);
        memcpy(&more, bb + j, 8);
        old |= more;
        memcpy(cb + j, &old, 8);
    }
    for (; j < columns; j++)
        cb[j] |= bb[j];
}

/* What is left of a row after whole vectors, 16 bytes at a time. */
#ifdef TSR_SMALL_BYTES
#define SMALL_LANES(type) ((int64_t)(TSR_SMALL_BYTES / sizeof(tsr_c_##type)))
#define SMALL_STEPS(type, add, mul) \
    for (; j + SMALL_LANES(type) <= columns; j += SMALL_LANES(type)) \
        tsr_store_small_##type(c + j, tsr_vadd_##add##_##type(tsr_load_small_##type(c + j), \
            tsr_vmul_##mul##_##type(va, tsr_load_small_##type(b + j))));
#else
#define SMALL_STEPS(type, add, mul)
#endif

#define FULL(type, bits, add, mul) \
    static void TSR_PASTE4(full, add, mul, type)(const tsr_entries_job *job) \
    { \
        const int64_t columns = job->columns; \
        for (int64_t e = 0; e < job->count; e++) { \
            prefetch_ahead(job, e, sizeof(tsr_c_##type)); \
            const tsr_c_##type a = ((const tsr_c_##type *)job->a)[e * job->a_step]; \
            const tsr_c_##type *b = (const tsr_c_##type *)job->b + job->i[e] * job->ldb; \
            tsr_c_##type *c = (tsr_c_##type *)job->c + job->i[e] * job->ldc; \
            const tsr_v_##type va = tsr_splat_##type(a); \
            int64_t j = 0; \
            for (; j + TSR_LANES(type) <= columns; j += TSR_LANES(type)) \
                tsr_store_##type(c + j, tsr_vadd_##add##_##type(tsr_load_##type(c + j), \
                    tsr_vmul_##mul##_##type(va, tsr_load_##type(b + j)))); \
            SMALL_STEPS(type, add, mul) \
            for (; j < columns; j++) \
                c[j] = SCALAR_##add(type, c[j], tsr_mul_##mul##_##type(a, b[j])); \
        } \
    }

#define FLAGS(type, bits, add, mul) \
    static void TSR_PASTE4(flags, add, mul, type)(const tsr_entries_job *job) \
    { \
        const int64_t columns = job->columns; \
        const tsr_v_##type nothing = tsr_splat_##type(START_##add(type)); \
        for (int64_t e = 0; e < job->count; e++) { \
            prefetch_ahead(job, e, sizeof(tsr_c_##type)); \
            const tsr_c_##type a = ((const tsr_c_##type *)job->a)[e * job->a_step]; \
            const tsr_c_##type *b = (const tsr_c_##type *)job->b + job->i[e] * job->ldb; \
            tsr_c_##type *c = (tsr_c_##type *)job->c + job->i[e] * job->ldc; \
            const int8_t *bb = job->bb + job->i[e] * job->ldbb; \
            int8_t *cb = job->cb + job->i[e] * job->ldcb; \
            const tsr_v_##type va = tsr_splat_##type(a); \
            int64_t j = 0; \
            for (; j + TSR_LANES(type) <= columns; j += TSR_LANES(type)) { \
                const tsr_v_##type old = tsr_load_##type(c + j); \
                const tsr_v_##type term = tsr_vmul_##mul##_##type(va, tsr_load_##type(b + j)); \
                const tsr_m_##bits takes = tsr_flags_##type(bb + j); \
                if (KEEPS_##add) \
                    tsr_store_##type(c + j, tsr_blend_##type(takes & ~tsr_flags_##type(cb + j), term, old)); \
                else \
                    tsr_store_##type(c + j, tsr_vadd_##add##_##type(old, tsr_blend_##type(takes, term, nothing))); \
            } \
            for (; j < columns; j++) \
                if (bb[j] && !(KEEPS_##add && cb[j])) \
                    c[j] = SCALAR_##add(type, c[j], tsr_mul_##mul##_##type(a, b[j])); \
            mark_present(cb, bb, columns); \
        } \
    }

#define FOR_FULL_MULS(F, TYPE, type, bits, ADD, add) \
    F(TYPE, type, bits, ADD, add, TIMES, times) F(TYPE, type, bits, ADD, add, SECOND, second) \
    F(TYPE, type, bits, ADD, add, PLUS, plus) F(TYPE, type, bits, ADD, add, AND, and)
#define FOR_FLAG_MULS(F, TYPE, type, bits, ADD, add) \
    FOR_FULL_MULS(F, TYPE, type, bits, ADD, add) F(TYPE, type, bits, ADD, add, FIRST, first)

/* PLUS, ANY and LOR are the same for signed and unsigned integers. */
#define FOR_BITS(M, F, ADD, add) \
    M(F, UINT8, uint8, 8, ADD, add) M(F, UINT16, uint16, 16, ADD, add) M(F, UINT32, uint32, 32, ADD, add) \
    M(F, UINT64, uint64, 64, ADD, add) M(F, FP32, fp32, 32, ADD, add) M(F, FP64, fp64, 64, ADD, add)
#define FOR_SIGNED(M, F, ADD, add) \
    M(F, INT8, int8, 8, ADD, add) M(F, INT16, int16, 16, ADD, add) M(F, INT32, int32, 32, ADD, add) \
    M(F, INT64, int64, 64, ADD, add)
#define FOR_ALL(M, F) \
    FOR_BITS(M, F, PLUS, plus) FOR_BITS(M, F, ANY, any) FOR_BITS(M, F, LOR, lor) FOR_BITS(M, F, MIN, min) \
    FOR_BITS(M, F, MAX, max) FOR_SIGNED(M, F, MIN, min) FOR_SIGNED(M, F, MAX, max)

#define DEFINE_FULL(TYPE, type, bits, ADD, add, MUL, mul) FULL(type, bits, add, mul)
#define DEFINE_FLAGS(TYPE, type, bits, ADD, add, MUL, mul) FLAGS(type, bits, add, mul)
FOR_ALL(FOR_FULL_MULS, DEFINE_FULL)
FOR_ALL(FOR_FLAG_MULS, DEFINE_FLAGS)

#define CASE_FULL(TYPE, type, bits, ADD, add, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): return TSR_PASTE4(full, add, mul, type);
#define CASE_FLAGS(TYPE, type, bits, ADD, add, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): return TSR_PASTE4(flags, add, mul, type);

static tsr_entries_fn find_full(tsr_semiring s)
{
    switch (TSR_SEMIRING(s.type, s.add, s.mul)) {
    FOR_ALL(FOR_FULL_MULS, CASE_FULL)
    default: return NULL;
    }
}

static tsr_entries_fn find_flags(tsr_semiring s)
{
    switch (TSR_SEMIRING(s.type, s.add, s.mul)) {
    FOR_ALL(FOR_FLAG_MULS, CASE_FLAGS)
    default: return NULL;
    }
}

tsr_entries_fn TSR_NAME(tsr_find_entries)(tsr_semiring semiring, bool flags);
tsr_entries_fn TSR_NAME(tsr_find_entries)(tsr_semiring semiring, bool flags)
{
    return flags ? find_flags(semiring) : find_full(semiring);
}
