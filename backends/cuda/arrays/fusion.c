/* Steps that are held back until the next call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/fusion.h"

#include "kernels/cuda/elementwise/fusion.h"

enum { OPERANDS = 3 };

/* Every value here counts one reference. */
static tsr_fusion held;
static tsr_cuda_array *made[TSR_FUSION_MOST], *operands[TSR_FUSION_MOST][OPERANDS];

/* ---- references ---- */

static tsr_cuda_array *keep(tsr_cuda_array *v)
{
    if (v)
        tsr_cuda_contents_again(&v->contents);
    return v;
}

static void forget_last(void)
{
    const int k = --held.n;
    for (int at = 0; at < OPERANDS; at++)
        tsr_cuda_array_let_go(operands[k][at]);
    tsr_cuda_array_let_go(made[k]);
}

static void forget_all(void)
{
    while (held.n)
        forget_last();
}

/* ---- queueing ---- */

static bool is_wanted(int k)
{
    return atomic_load(&made[k]->contents.refs) > 1;
}

void tsr_cuda_fusion_drop(void)
{
    while (held.n && !is_wanted(held.n - 1))
        forget_last();
}

static void mark_wanted(void)
{
    for (int k = 0; k < held.n; k++)
        held.wanted[k] = is_wanted(k);
}

tsr_status tsr_cuda_fusion_run(void)
{
    tsr_cuda_fusion_drop();
    mark_wanted();
    tsr_status status = held.n > 1    ? tsr_cuda_fusion(&held, &tsr_cuda->device, tsr_cuda->compute)
                        : held.n == 1 ? tsr_cuda_ewise(&held.step[0], &held.arrays[0], &tsr_cuda->device, tsr_cuda->compute)
                                      : TSR_OK;
    if (status == TSR_OK)
        forget_all();
    return status;
}

static bool joins(tsr_type type, tsr_reduce_op op)
{
    return type == held.step[0].type && (op == TSR_REDUCE_PLUS || op == TSR_REDUCE_TIMES || op == TSR_REDUCE_MIN || op == TSR_REDUCE_MAX);
}

tsr_status tsr_cuda_fusion_reduce_into(tsr_cuda_reduced *result, void *scratch, tsr_type type, tsr_reduce_op op, const tsr_cuda_array *value)
{
    if (!held.n || made[held.n - 1] != value || !joins(type, op))
        return TSR_DECLINED;
    mark_wanted();
    tsr_status status = tsr_cuda_fusion_reduce(result, scratch, op, &held, &tsr_cuda->device, tsr_cuda->compute);
    if (status == TSR_OK)
        forget_all();
    return status;
}

/* ---- holding ---- */

/* The last that is held is an operand, and none before it is. */
static bool goes_on(const tsr_ewise *s)
{
    const void *const wanted[OPERANDS] = {s->x.value, s->y.value, s->c};
    bool last = false, earlier = false;
    for (int at = 0; held.n && at < OPERANDS; at++)
        for (int k = 0; k < held.n; k++)
            *(k == held.n - 1 ? &last : &earlier) |= wanted[at] == made[k];
    return last && !earlier && held.n < TSR_FUSION_MOST && s->type == held.step[0].type && s->count == held.step[0].count;
}

tsr_status tsr_cuda_fusion_add(const tsr_ewise *s, const tsr_ewise_arrays *arrays, tsr_cuda_array *z)
{
    const bool takes = tsr_fusion_takes(s, arrays);
    tsr_status status = takes && goes_on(s) ? TSR_OK : tsr_cuda_fusion_run();
    if (status != TSR_OK || !takes)
        return status == TSR_OK ? tsr_cuda_ewise(s, arrays, &tsr_cuda->device, tsr_cuda->compute) : status;
    tsr_cuda_array *const wanted[OPERANDS] = {s->x.value, s->y.value, s->c};
    const int k = held.n++;
    for (int at = 0; at < OPERANDS; at++)
        operands[k][at] = k && wanted[at] == made[k - 1] ? NULL : keep(wanted[at]);
    held.step[k] = *s;
    held.arrays[k] = *arrays;
    made[k] = keep(z);
    return TSR_OK;
}
