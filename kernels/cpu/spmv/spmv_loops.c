/* Inner loops of SpMV for every type and semiring.  One value at a time: the loops wait for memory, not for arithmetic.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spmv/dots.h"
#include "kernels/cpu/spmv/spmv_kernels.h"

#define INLINE static inline __attribute__((always_inline, unused))

/* ANY needs the first entry only. */
#define STOPS_plus false
#define STOPS_min false
#define STOPS_max false
#define STOPS_lor false
#define STOPS_any true

#define TERM(type, mul, e) tsr_mul_##mul##_##type(a[(e) * a_step], x[(int64_t)i[e] & x_mask])

#define IDENTITY_any(type) ((tsr_c_##type)0)
#define IDENTITY_plus(type) tsr_identity_plus_##type()
#define IDENTITY_min(type) tsr_identity_min_##type()
#define IDENTITY_max(type) tsr_identity_max_##type()
#define IDENTITY_lor(type) tsr_identity_lor_##type()

/* A first term meets the identity; under ANY it replaces it. */
#define BEGIN_any(type, x, y) ((void)(x), (y))
#define BEGIN_plus(type, x, y) tsr_add_plus_##type(x, y)
#define BEGIN_min(type, x, y) tsr_add_min_##type(x, y)
#define BEGIN_max(type, x, y) tsr_add_max_##type(x, y)
#define BEGIN_lor(type, x, y) tsr_add_lor_##type(x, y)

#define BY_ROW(type, add, mul, index) \
    INLINE tsr_c_##type TSR_PASTE5(dense_dot, add, mul, type, index)(const tsr_spmv_job *job, int64_t e, int64_t hi) \
    { \
        const index *i = job->i; \
        const tsr_c_##type *a = job->a, *x = job->x; \
        const int64_t a_step = job->a_step, x_mask = job->x_mask; \
        if (STOPS_##add) \
            return e < hi ? TERM(type, mul, e) : START_##add(type); \
        const int64_t lo = e; \
        SUM_BY_FOUR(type, add, mul) \
        if (REPAIRS_##add(type) && sum == START_##add(type)) { \
            bool all_nan = true; \
            for (e = lo; all_nan && e < hi; e++) \
                all_nan = TERM(type, mul, e) != TERM(type, mul, e); \
            return all_nan ? IDENTITY_##add(type) : sum; \
        } \
        return sum; \
    } \
    INLINE tsr_c_##type TSR_PASTE5(bitmap_dot, add, mul, type, index)( \
        const tsr_spmv_job *job, int64_t e, int64_t hi, bool *found) \
    { \
        const index *i = job->i; \
        const tsr_c_##type *a = job->a, *x = job->x; \
        const int64_t a_step = job->a_step, x_mask = job->x_mask; \
        tsr_c_##type sum = IDENTITY_##add(type); \
        for (; e < hi && !(STOPS_##add && *found); e++) \
            if (job->xb[i[e]]) { \
                sum = BEGIN_##add(type, sum, TERM(type, mul, e)); \
                *found = true; \
            } \
        return sum; \
    } \
    static void TSR_PASTE5(rows, add, mul, type, index)(const tsr_spmv_job *job) \
    { \
        const tsr_c_##type *c = job->c; \
        for (int64_t r = job->first; r < job->last; r++) { \
            const int64_t lo = job->p[r], hi = job->p[r + 1], row = job->h != NULL ? job->h[r] : r; \
            bool found = job->xb == NULL && hi > lo; \
            const tsr_c_##type sum = job->xb == NULL ? TSR_PASTE5(dense_dot, add, mul, type, index)(job, lo, hi) \
                                                     : TSR_PASTE5(bitmap_dot, add, mul, type, index)(job, lo, hi, &found); \
            ((tsr_c_##type *)job->y)[row] = c ? tsr_add_##add##_##type(c[row & job->c_mask], sum) : sum; \
            if (job->yb != NULL) \
                job->yb[row] = found; \
        } \
    }

/* Everything the loop needs is in locals: the stores to yb could alias anything else. */
#define BY_COLUMN(type, add, mul, index) \
    static void TSR_PASTE5(cols, add, mul, type, index)(const tsr_spmv_job *job) \
    { \
        const index *i = job->i; \
        const tsr_c_##type *a = job->a; \
        const int64_t a_step = job->a_step, last = job->last; \
        tsr_c_##type *y = job->y; \
        int8_t *yb = job->yb; \
        for (int64_t v = job->first; v < last; v++) { \
            const int64_t k = job->h != NULL ? job->h[v] : v, hi = job->p[v + 1]; \
            if (job->xb != NULL && !job->xb[k]) \
                continue; \
            const tsr_c_##type x = ((const tsr_c_##type *)job->x)[k & job->x_mask]; \
            for (int64_t e = job->p[v]; e < hi; e++) { \
                const int64_t r = (int64_t)i[e]; \
                if (!(STOPS_##add && yb[r])) \
                    y[r] = BEGIN_##add(type, y[r], tsr_mul_##mul##_##type(a[e * a_step], x)); \
                if (yb != NULL) \
                    yb[r] = 1; \
            } \
        } \
    }

#define LOOPS(TYPE, type, ADD, add, MUL, mul) \
    BY_ROW(type, add, mul, uint32_t) BY_ROW(type, add, mul, int64_t) \
    BY_COLUMN(type, add, mul, uint32_t) BY_COLUMN(type, add, mul, int64_t)

#define JOIN(TYPE, type, ADD, add) \
    static void TSR_PASTE3(join, add, type)(void *y, const void *part, int8_t *yb, const int8_t *part_b, int64_t n) \
    { \
        tsr_c_##type *to = y; \
        const tsr_c_##type *from = part; \
        for (int64_t r = 0; r < n; r++) { \
            if (!STOPS_##add || (part_b[r] && !yb[r])) \
                to[r] = BEGIN_##add(type, to[r], from[r]); \
            if (yb != NULL) \
                yb[r] |= part_b[r]; \
        } \
    }

#define FOR_MULS(F, TYPE, type, ADD, add) \
    F(TYPE, type, ADD, add, TIMES, times) F(TYPE, type, ADD, add, FIRST, first) F(TYPE, type, ADD, add, SECOND, \
        second) \
    F(TYPE, type, ADD, add, PLUS, plus) F(TYPE, type, ADD, add, AND, and)
#define FOR_BITS(F, ADD, add) \
    F(UINT8, uint8, ADD, add) F(UINT16, uint16, ADD, add) F(UINT32, uint32, ADD, add) F(UINT64, uint64, ADD, add) \
    F(FP32, fp32, ADD, add) F(FP64, fp64, ADD, add)
#define FOR_SIGNED(F, ADD, add) \
    F(INT8, int8, ADD, add) F(INT16, int16, ADD, add) F(INT32, int32, ADD, add) F(INT64, int64, ADD, add)
#define FOR_MONOIDS(F) \
    FOR_BITS(F, PLUS, plus) FOR_BITS(F, ANY, any) FOR_BITS(F, LOR, lor) FOR_BITS(F, MIN, min) FOR_BITS(F, MAX, max) \
    FOR_SIGNED(F, MIN, min) FOR_SIGNED(F, MAX, max)

#define ALL_LOOPS(TYPE, type, ADD, add) FOR_MULS(LOOPS, TYPE, type, ADD, add)
FOR_MONOIDS(ALL_LOOPS)
FOR_MONOIDS(JOIN)

#define CASE(TYPE, type, ADD, add, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): \
        *fns = (tsr_spmv_fns){{TSR_PASTE5(rows, add, mul, type, uint32_t), TSR_PASTE5(rows, add, mul, type, int64_t)}, \
                              {TSR_PASTE5(cols, add, mul, type, uint32_t), TSR_PASTE5(cols, add, mul, type, int64_t)}, \
                              TSR_PASTE3(join, add, type)}; \
        return true;
#define ALL_CASES(TYPE, type, ADD, add) FOR_MULS(CASE, TYPE, type, ADD, add)

bool tsr_find_spmv(tsr_spmv_fns *fns, tsr_semiring s)
{
    switch (TSR_SEMIRING(s.type, s.add, s.mul)) {
    FOR_MONOIDS(ALL_CASES)
    default: return false;
    }
}
