/* One vector of a push, and the sums of its products.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_LANE_H
#define TSR_CPU_SPARSE_LANE_H

#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/common/scratch.h"

typedef struct tsr_lane {
    const tsr_push *p;
    tsr_scratch *s;
    void *sums;         /* the caller's, or those of s */
    int64_t r, first;   /* its entries in the lists begin there */
    tsr_gate gate;
    uint8_t was, found; /* marks: entries of a sparse mask `was`, then places with a result `found`.  Of any product, under no or a
                         * complemented sparse mask, both are the same: a place is new when (its mark == was) == listed */
    bool listed;
} tsr_lane;

enum { TSR_AHEAD = 12 }; /* entries of U between asking for a row of A and reading it */

static inline void tsr_ask_ahead(const tsr_push *p, const int64_t *k, int64_t t, int64_t end)
{
    const int64_t far = t + 2 * TSR_AHEAD < end ? t + 2 * TSR_AHEAD : end - 1, near = t + TSR_AHEAD < end ? t + TSR_AHEAD : end - 1;
    __builtin_prefetch((const char *)p->starts + k[far] * p->a.index_size);
    __builtin_prefetch((const char *)p->a.i + tsr_push_start(p, k[near]) * p->a.index_size);
    __builtin_prefetch((const char *)p->a.i + tsr_push_start(p, k[near] + 1) * p->a.index_size - 1);
}

/* Is there a loop for the sums of this type and monoid? */
bool tsr_lane_has_sums(const tsr_push_semiring *semiring);

/* Adds all products of the lane that its mask lets pass in its sums, and lists their places from w->first on.  Returns how many;
 * *ascending: the list does. */
int64_t tsr_lane_sum(const tsr_lane *w, bool *ascending);

/* Are they so many that who takes them holds them place by place?  Then nobody asks for their order. */
static inline bool tsr_lane_has_many(const tsr_lane *w, int64_t count)
{
    return w->p->many_by_place && w->p->u.nvec == 1 && count > w->p->a.vlen / TSR_PUSH_MANY;
}

/* Puts the `count` places of its list, none of which repeats, in ascending order if they are so many that this takes a tenth of what SuiteSparse
 * takes to sort them.  Values are not moved, the list of entries of A is used up.  False: they are few. */
bool tsr_lane_order(const tsr_lane *w, int64_t count);

#endif
