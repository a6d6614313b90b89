/* A pull vector by vector (pull_each.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_PULL_EACH_H
#define TSR_CPU_SPARSE_PULL_EACH_H

#include "kernels/cpu/sparse/gate.h"
#include "kernels/sparse_vectors.h"

/* With so little work for all places, laying the vectors side by side takes longer than reading rows of A again for each of them.  A complemented
 * sparse mask does not list what it lets pass. */
static inline bool tsr_pull_is_each(const tsr_push *p, int64_t work)
{
    return work < 2 * p->a.nvec * p->u.nvec && !(tsr_is_listed(p) && p->mask_complement);
}

/* As tsr_cpu_pull, of what that takes. */
int64_t tsr_pull_each(const tsr_push *pull, int64_t work, int8_t *b, void *x);

#endif
