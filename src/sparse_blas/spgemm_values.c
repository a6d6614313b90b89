/* Operands of sparse times sparse with values of the semiring's type: typecast, conjugated, or copied from device memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/base/types.h"
#include "src/sparse_blas/spgemm_plan.h"

static void *allocate(tsr_spgemm_ready *r, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    if (copy)
        r->copies[r->ncopies++] = copy;
    return copy;
}

/* ---- one operand ---- */

static void conjugate(void *to, const void *from, tsr_type type, int64_t n)
{
    for (int64_t e = 0; e < 2 * n; e += 2) {
        if (type == TSR_FC32) {
            ((float *)to)[e] = ((const float *)from)[e];
            ((float *)to)[e + 1] = -((const float *)from)[e + 1];
        } else {
            ((double *)to)[e] = ((const double *)from)[e];
            ((double *)to)[e + 1] = -((const double *)from)[e + 1];
        }
    }
}

static tsr_status conjugate_values(tsr_spgemm_ready *r, tsr_view *v)
{
    if (!tsr_is_complex(v->type) || v->iso || v->nvals == 0) /* one value for all is 1 */
        return TSR_OK;
    void *to = allocate(r, (size_t)v->nvals * tsr_type_size(v->type));
    if (!to)
        return TSR_OUT_OF_MEMORY;
    conjugate(to, v->x, v->type, v->nvals);
    v->x = to;
    return TSR_OK;
}

static tsr_status cast_values(tsr_spgemm_ready *r, tsr_view *v, uint64_t *one)
{
    const tsr_type type = r->product.semiring.type;
    if (v->type == type || v->nvals == 0) {
        v->type = type;
        return TSR_OK;
    }
    void *to = v->iso ? one : allocate(r, (size_t)v->nvals * tsr_type_size(type));
    if (!to)
        return TSR_OUT_OF_MEMORY;
    tsr_cast_values(to, type, v->x, v->type, v->iso ? 1 : v->nvals, r->product.nthreads);
    v->x = to;
    v->type = type;
    return TSR_OK;
}

static tsr_status fetch_values(tsr_spgemm_ready *r, tsr_view *v, const void *device_values)
{
    const size_t bytes = (size_t)v->nvals * tsr_type_size(v->type);
    void *to = allocate(r, bytes);
    if (!to)
        return TSR_OUT_OF_MEMORY;
    v->x = to;
    return bytes ? tsr_native_download(to, device_values, bytes) : TSR_OK;
}

/* fetch: from the device, whether somebody said that they have changed or not; refresh: if somebody has. */
static tsr_status take(tsr_spgemm_ready *r, tsr_view *v, const tsr_sparse *a, bool fetch, bool refresh, bool conjugated, uint64_t *one)
{
    v->x = a->view.x;
    tsr_status status = fetch ? fetch_values(r, v, a->device_values) : refresh ? tsr_native_refresh(a) : TSR_OK;
    if (status == TSR_OK)
        status = cast_values(r, v, one);
    return status == TSR_OK && conjugated ? conjugate_values(r, v) : status;
}

static void ignore(tsr_view *v, tsr_type type)
{
    v->x = NULL;
    v->type = type;
}

/* ---- both ---- */

static const void *direct_values(const tsr_spgemm_plan *plan, const tsr_sparse *a, bool conjugated)
{
    const tsr_type type = plan->product.semiring.type;
    return a->view.type == type && !(conjugated && tsr_is_complex(type)) && !a->view.by_col && !a->view.jumbled ? a->device_values : NULL;
}

tsr_spgemm_direct tsr_spgemm_direct_of(const tsr_spgemm_plan *plan)
{
    const unsigned turning = TSR_SPGEMM_TRANSPOSE_A | TSR_SPGEMM_TRANSPOSE_B | TSR_SPGEMM_BY_COLUMN;
    if (plan->flags & turning)
        return (tsr_spgemm_direct){0};
    return (tsr_spgemm_direct){direct_values(plan, plan->a, plan->flags & TSR_SPGEMM_CONJUGATE_A),
                               direct_values(plan, plan->b, plan->flags & TSR_SPGEMM_CONJUGATE_B)};
}

tsr_status tsr_spgemm_make_ready(tsr_spgemm_ready *r, const tsr_spgemm_plan *plan, const tsr_spgemm_direct *direct)
{
    *r = (tsr_spgemm_ready){.product = plan->product};
    tsr_spgemm *s = &r->product;
    const bool reads_a = tsr_spgemm_reads_a(s), reads_b = tsr_spgemm_reads_b(s);
    const bool fetch_a = direct && plan->a->device_values && !direct->a, fetch_b = direct && plan->b->device_values && !direct->b;
    tsr_status status = TSR_OK;
    if (reads_a)
        status = take(r, &s->a, plan->a, fetch_a, !direct, plan->flags & TSR_SPGEMM_CONJUGATE_A, &r->ones[0]);
    else
        ignore(&s->a, s->semiring.type);
    if (status == TSR_OK && reads_b)
        status = take(r, &s->b, plan->b, fetch_b, !direct, plan->flags & TSR_SPGEMM_CONJUGATE_B, &r->ones[1]);
    else if (!reads_b)
        ignore(&s->b, s->semiring.type);
    return status;
}

void tsr_spgemm_free_ready(tsr_spgemm_ready *r)
{
    for (int k = 0; k < r->ncopies; k++)
        free(r->copies[k]);
}
