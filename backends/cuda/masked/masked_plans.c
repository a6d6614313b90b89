/* Plans of masked products.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/masked_plans.h"

#include <stdlib.h>

#include "backends/cuda/device/context.h"

enum { MOST_PLANS = 4 };

tsr_cuda_kept_plan *tsr_cuda_plan_find(tsr_cuda_kept_plan *plans, uint64_t a, uint64_t b, bool positions)
{
    tsr_cuda_kept_plan *k = plans;
    while (k && (k->a != a || k->b != b || k->positions != positions))
        k = k->next;
    return k;
}

/* What the kernels' contract says making one takes, and tasks. */
static size_t working_bytes(const tsr_cuda_masked *q)
{
    return (size_t)(q->end - q->begin) * 96 + (size_t)(q->mask->nrows + q->mask->ncols) * 16 + 65536;
}

tsr_status tsr_cuda_plan_make(tsr_cuda_kept_plan **out, uint64_t a, uint64_t b, bool positions, const tsr_cuda_masked *q)
{
    *out = NULL;
    size_t working = working_bytes(q);
    tsr_cuda_kept_plan *k = calloc(1, sizeof *k);
    if (!k || !tsr_cuda_reserve(working)) {
        free(k);
        return TSR_OK;
    }
    *k = (tsr_cuda_kept_plan){.a = a, .b = b, .positions = positions};
    tsr_status status = tsr_cuda_make_masked_plan(&k->plan, q, positions, 0);
    tsr_cuda_unreserve(working);
    if (status == TSR_OK && tsr_cuda_reserve(k->plan.bytes)) {
        *out = k;
        return TSR_OK;
    }
    tsr_cuda_free_masked_plan(&k->plan, tsr_cuda->compute);
    free(k);
    return status == TSR_INTERNAL_ERROR ? status : TSR_OK;
}

void tsr_cuda_plan_keep(tsr_cuda_kept_plan **plans, tsr_cuda_kept_plan *k)
{
    k->next = *plans;
    *plans = k;
    for (int count = 1; count < MOST_PLANS && k; count++)
        k = k->next;
    if (k) {
        tsr_cuda_plans_free(k->next);
        k->next = NULL;
    }
}

void tsr_cuda_plans_free(tsr_cuda_kept_plan *plans)
{
    for (tsr_cuda_kept_plan *k = plans, *next; k; k = next) {
        next = k->next;
        tsr_cuda_unreserve(k->plan.bytes);
        tsr_cuda_free_masked_plan(&k->plan, tsr_cuda->compute);
        free(k);
    }
}
