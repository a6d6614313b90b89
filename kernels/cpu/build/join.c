/* What several tuples of one place become.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/build/join.h"

#include "kernels/cpu/common/template.h"
#include "src/base/types.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

#define JOIN(name, type, sum)                                                                             \
    static void name##_##type(void *out, int64_t e, const void *given, const uint64_t *key, int64_t n) \
    {                                                                                                     \
        const tsr_c_##type *of = given;                                                                   \
        tsr_c_##type x = of[(uint32_t)key[0]];                                                            \
        for (int64_t k = 1; k < n; k++) {                                                                 \
            const tsr_c_##type y = of[(uint32_t)key[k]];                                                  \
            x = (tsr_c_##type)(sum);                                                                      \
        }                                                                                                 \
        ((tsr_c_##type *)out)[e] = x;                                                                     \
    }
TSR_FOR_MONOIDS(JOIN)

#define JOINED(name, type) name##_##type

static tsr_join *fold_of(const tsr_tuples *t)
{
    TSR_RETURN_OF_MONOID(t->type, t->monoid, JOINED)
    return NULL;
}

#define TAKE(bits)                                                                                       \
    static void first_##bits(void *x, int64_t e, const void *given, const uint64_t *key, int64_t n)    \
    {                                                                                                    \
        (void)n;                                                                                         \
        ((uint##bits##_t *)x)[e] = ((const uint##bits##_t *)given)[(uint32_t)key[0]];                     \
    }                                                                                                    \
    static void last_##bits(void *x, int64_t e, const void *given, const uint64_t *key, int64_t n)     \
    {                                                                                                    \
        ((uint##bits##_t *)x)[e] = ((const uint##bits##_t *)given)[(uint32_t)key[n - 1]];                 \
    }
TAKE(8)
TAKE(16)
TAKE(32)
TAKE(64)

static tsr_join *take_of(const tsr_tuples *t)
{
    const bool last = t->joining == TSR_JOIN_LAST;
    switch (tsr_type_size(t->type)) {
    case 1: return last ? last_8 : first_8;
    case 2: return last ? last_16 : first_16;
    case 4: return last ? last_32 : first_32;
    default: return last ? last_64 : first_64;
    }
}

tsr_join *tsr_join_of(const tsr_tuples *t)
{
    return t->joining == TSR_JOIN_FOLD && t->nvals < t->count ? fold_of(t) : take_of(t);
}
