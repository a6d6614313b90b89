/* The sums of the vectors of a full array: of each row, or of each column.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/template.h"
#include "kernels/kernels.h"
#include "src/base/split.h"
#include "src/base/types.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { CHUNK = 1024, PARTS = 8 }; /* sums that stay in the cache; independent parts of one sum */

/* Sums [first, last) of a call. */
typedef void sums_of(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last);

/* One sum. */
#define ONE_IN_ORDER(name, type, join)                                                                                           \
    static tsr_c_##type one_##name##_##type(const tsr_c_##type *restrict z, int64_t n)                                           \
    {                                                                                                                            \
        tsr_c_##type x = z[0];                                                                                                   \
        for (int64_t t = 1; t < n; t++) {                                                                                        \
            const tsr_c_##type y = z[t];                                                                                         \
            x = (tsr_c_##type)(join);                                                                                            \
        }                                                                                                                        \
        return x;                                                                                                                \
    }

/* Of floats in eight parts: in order, each would wait for the one before it. */
#define ONE_IN_PARTS(name, type, join)                                                                                           \
    static tsr_c_##type one_##name##_##type(const tsr_c_##type *restrict z, int64_t n)                                           \
    {                                                                                                                            \
        tsr_c_##type part[PARTS], x = z[0], y;                                                                                   \
        int64_t t = n < PARTS ? 1 : PARTS;                                                                                       \
        if (n >= PARTS) {                                                                                                        \
            for (int64_t k = 0; k < PARTS; k++)                                                                                  \
                part[k] = z[k];                                                                                                  \
            for (; t + PARTS <= n; t += PARTS)                                                                                   \
                for (int64_t k = 0; k < PARTS; k++) {                                                                            \
                    x = part[k], y = z[t + k];                                                                                   \
                    part[k] = (tsr_c_##type)(join);                                                                              \
                }                                                                                                                \
            x = part[0];                                                                                                         \
            for (int64_t k = 1; k < PARTS; k++) {                                                                                \
                y = part[k];                                                                                                     \
                x = (tsr_c_##type)(join);                                                                                        \
            }                                                                                                                    \
        }                                                                                                                        \
        for (; t < n; t++) {                                                                                                     \
            y = z[t];                                                                                                            \
            x = (tsr_c_##type)(join);                                                                                            \
        }                                                                                                                        \
        return x;                                                                                                          \
    }

#define SUMS(name, type, join)                                                                                                   \
    static void across_##name##_##type(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last)         \
    {                                                                                                                            \
        const tsr_c_##type *restrict z = (const tsr_c_##type *)values;                                                           \
        tsr_c_##type *restrict sums = result;                                                                                    \
        for (int64_t v = first; v < last; v++)                                                                                   \
            sums[v] = z[v];                                                                                                      \
        for (int64_t t = 1; t < s->length; t++)                                                                                  \
            for (int64_t v = first; v < last; v++) {                                                                             \
                const tsr_c_##type x = sums[v], y = z[t * s->vectors + v];                                                       \
                sums[v] = (tsr_c_##type)(join);                                                                                  \
            }                                                                                                                    \
    }                                                                                                                            \
    static void along_##name##_##type(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last)          \
    {                                                                                                                            \
        for (int64_t v = first; v < last; v++)                                                                                   \
            ((tsr_c_##type *)result)[v] = one_##name##_##type((const tsr_c_##type *)values + v * s->length, s->length);          \
    }
#define SUMS_BY(ONE, name, type, join) \
    ONE(name, type, join)              \
    SUMS(name, type, join)
#define SUMS_OF_NUMBERS(ONE, type)                       \
    SUMS_BY(ONE, plus, type, tsr_add_plus_##type(x, y))    \
    SUMS_BY(ONE, times, type, tsr_mul_times_##type(x, y))  \
    SUMS_BY(ONE, min, type, tsr_add_min_##type(x, y))      \
    SUMS_BY(ONE, max, type, tsr_add_max_##type(x, y))
#define SUMS_OF_INTEGERS(type, wide) SUMS_OF_NUMBERS(ONE_IN_ORDER, type)
#define SUMS_OF_FLOATS(type, wide) SUMS_OF_NUMBERS(ONE_IN_PARTS, type)
TSR_FOR_INTEGERS(SUMS_OF_INTEGERS)
TSR_FOR_FLOATS(SUMS_OF_FLOATS)
SUMS_BY(ONE_IN_ORDER, lor, bool, x | y)
SUMS_BY(ONE_IN_ORDER, land, bool, x & y)
SUMS_BY(ONE_IN_ORDER, lxor, bool, x ^ y)
SUMS_BY(ONE_IN_ORDER, eq, bool, x == y)

#define PICK(name, type) (across ? across_##name##_##type : along_##name##_##type)

static sums_of *find(tsr_type type, tsr_reduce_op op, bool across)
{
    TSR_RETURN_OF_MONOID(type, op, PICK)
    return NULL;
}

bool tsr_cpu_sums(const tsr_sums *sums, void *result, int nthreads)
{
    sums_of *compute = find(sums->type, sums->op, sums->across);
    if (!compute)
        return false;
    const int64_t chunk = sums->across ? CHUNK : 1 + CHUNK / sums->length;
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(static) if (nthreads > 1)
    for (int64_t first = 0; first < sums->vectors; first += chunk)
        compute(sums, sums->value, result, first, first + chunk < sums->vectors ? first + chunk : sums->vectors);
    return true;
}
