/* Operands as a backend wants them: cast, taken from a representation, or as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/operands.h"

#include <stdlib.h>

#include "src/base/types.h"
#include "src/format/sparse/format.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

bool tsr_wanted_by_col_a(const tsr_product *p)
{
    return tsr_is_masked(p->op) && p->a.by_col;
}

tsr_status tsr_operands_cast(tsr_view *v, tsr_type type, bool read, void *one, void **copy, int nthreads)
{
    if (!read) {
        v->x = NULL;
        v->type = type;
        return TSR_OK;
    }
    if (v->type == type || v->nvals == 0 || v->nvec == 0) {
        v->type = type;
        return TSR_OK;
    }
    bool dense = v->format == TSR_FULL || v->format == TSR_BITMAP;
    int64_t count = v->iso ? 1 : dense ? (v->nvec - 1) * v->ld + v->vlen : v->nvals;
    void *dst = one;
    if (!v->iso) {
        dst = *copy = malloc((size_t)count * tsr_type_size(type));
        if (!dst)
            return TSR_OUT_OF_MEMORY;
    }
    tsr_cast_values(dst, type, v->x, v->type, count, nthreads);
    v->x = dst;
    v->type = type;
    return TSR_OK;
}

/* Replace *v by the representation, built if need be; NULL: *v is as it was. */
static tsr_rep *use_representation(tsr_view *v, tsr_record *m, tsr_rep_key key, bool transposed, int nthreads)
{
    tsr_view own = transposed ? tsr_view_transposed(*v) : *v;
    tsr_rep *rep = tsr_record_build(m, key, &own, nthreads);
    if (!rep)
        return NULL;
    *v = transposed ? tsr_view_transposed(*tsr_rep_view(rep)) : *tsr_rep_view(rep);
    return rep;
}

static void **offer_slot(tsr_cache_entry **slot, tsr_record *m, const tsr_backend *backend)
{
    *slot = m && backend->holds ? tsr_record_cache_entry(m, backend) : NULL;
    return *slot ? tsr_cache_entry_place(*slot) : NULL;
}

/* What a backend may know beside the operands, and where it may keep them. */
static void offer(tsr_cache_entry *slots[3], tsr_product *ready, const tsr_call *call, const tsr_backend *backend)
{
    const tsr_config *config = tsr_config_get();
    ready->precision = call->precision != TSR_PRECISION_EXACT ? call->precision : config->precision;
    ready->expected_calls = config->eager ? 1e9 : call->expected_calls;
    ready->kernel = config->kernel;
    ready->reorder = config->reorder;
    ready->a_transposed = call->a.transposed;
    ready->b_transposed = call->b.transposed;
    ready->a_slot = offer_slot(&slots[0], call->a.record, backend);
    ready->b_slot = offer_slot(&slots[1], call->b.record, backend);
    ready->mask_slot = offer_slot(&slots[2], call->mask.record, backend);
}

static void release_slots(tsr_cache_entry *slots[3])
{
    for (int k = 0; k < 3; k++)
        tsr_cache_entry_unref(slots[k]);
}

bool tsr_operands_kept(const tsr_call *call, const tsr_backend *backend)
{
    tsr_product p = call->product;
    tsr_cache_entry *slots[3];
    offer(slots, &p, call, backend);
    bool kept = p.a_slot && backend->holds(&p);
    release_slots(slots);
    return kept;
}

/* ---- bitmaps ---- */

bool tsr_operands_compress(tsr_view *v, tsr_copies *copies, int nthreads)
{
    const size_t size = v->iso ? 0 : tsr_type_size(v->type); /* one value stays where it is */
    int64_t *p = tsr_copies_add(copies, v->nvec + 1), *i = tsr_copies_add(copies, v->nvals);
    void *x = tsr_copies_add(copies, (int64_t)(((size_t)v->nvals * size + sizeof *i - 1) / sizeof *i));
    if (!p || !i || !x)
        return false;
    tsr_compact_bitmap(p, i, x, v->b, v->x, size, v->nvec, v->vlen, nthreads);
    v->format = TSR_SPARSE;
    v->index_size = sizeof *i;
    v->p = p;
    v->i = i;
    v->x = v->iso ? v->x : x;
    v->b = NULL;
    return true;
}

/* ---- one execution ---- */

tsr_status tsr_operands_prepare(tsr_operands *held, tsr_product *ready, const tsr_call *call, const tsr_decision *d, bool all)
{
    *held = (tsr_operands){0};
    *ready = call->product;
    tsr_type type = ready->semiring.type;
    tsr_status status = TSR_OK;
    if (d->build_a && call->a.record)
        held->a_rep = use_representation(&ready->a, call->a.record, d->a_key, call->a.transposed, ready->nthreads);
    offer(held->slots, ready, call, d->backend);
    const bool sparse_b = tsr_is_compressed(&ready->b);
    /* A full A, of SDDMM, is never in a slot: the mask alone may be. */
    held->kept = !all && ready->a_slot && tsr_is_compressed(&ready->a) && !ready->a.iso && !(sparse_b && ready->b.iso) && d->backend->holds(ready);
    if (!held->kept)
        status = tsr_operands_cast(&ready->a, type, tsr_reads_a(ready), &held->a_iso, &held->a_cast, ready->nthreads);
    if (status == TSR_OK && !(held->kept && sparse_b))
        status = tsr_operands_cast(&ready->b, type, tsr_reads_b(ready), &held->b_iso, &held->b_cast, ready->nthreads);
    if (status != TSR_OK)
        tsr_operands_release(held);
    return status;
}

void tsr_operands_release(tsr_operands *held)
{
    tsr_rep_unref(held->a_rep);
    release_slots(held->slots);
    free(held->a_cast);
    free(held->b_cast);
    *held = (tsr_operands){0};
}
