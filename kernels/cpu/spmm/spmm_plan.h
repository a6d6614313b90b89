/* What the SpMM drivers share: one product made ready for the kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMM_PLAN_H
#define TSR_CPU_SPMM_PLAN_H

#include "kernels/cpu/common/arrays.h"
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/spmm/spmm_kernels.h"

/* Entries that one call of an entry-wise kernel takes at most. */
#define TSR_BATCH 256

typedef struct tsr_spmm_plan {
    const tsr_product *product;
    const tsr_result *result;
    const tsr_spmm_table *table;
    tsr_semiring semiring; /* canonical */
    size_t size;           /* of one value */
    bool flags;            /* B is a bitmap */
    const char *a;         /* values of A, a_step apart */
    int64_t a_step;
    uint64_t a_one;        /* storage of the single value of a pattern A or of PAIR */
    const char *b;         /* B as it came: vector-major */
    int64_t ldb;           /* 0 along rows where b_same holds one row for all */
    char *b_same;          /* an iso or pattern bitmap B: one row of equal values, owned */
    uint64_t identity;     /* storage of the identity of the monoid */
} tsr_spmm_plan;

/* The semiring whose kernel computes this one: bool is uint8 with AND, signed integers are unsigned where that is the
 * same, PAIR is FIRST with a one. */
tsr_semiring tsr_canonical(tsr_semiring semiring);

/* The value 1 of a type, and the identity of a monoid, in the first bytes of the result. */
uint64_t tsr_one_bits(tsr_type type);
uint64_t tsr_identity_bits(tsr_type type, tsr_add add);

/* entry e of A, widened; and `count` of them from position e on */
static inline int64_t tsr_index(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}
const int64_t *tsr_widen(const tsr_view *v, int64_t e, int64_t count, int64_t buffer[TSR_BATCH]);

/* The two ways.  B and C as the product says. */
tsr_status tsr_spmm_gather(const tsr_spmm_plan *plan, tsr_result *result);
tsr_status tsr_spmm_scatter(const tsr_spmm_plan *plan, tsr_result *result);

/* Presence of C for a full B: a row of C is present where the row of A has an entry.
 * spread: b (in the orientation of C) from one flag per row; returns nvals.
 * presence: the same with the flags taken from an A by row, result->nvals set; nothing to do when result->b is NULL. */
int64_t tsr_spmm_spread(const tsr_product *product, int8_t *row, int8_t *b);
tsr_status tsr_spmm_presence(const tsr_product *product, tsr_result *result);
int64_t tsr_count_flags(const int8_t *b, int64_t size, int nthreads);

#endif
