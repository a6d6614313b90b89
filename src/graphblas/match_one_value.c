/* Products whose result has one value, for which SuiteSparse 7.4.0 has special cases.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/base/types.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/sparse_product.h"
#include "src/graphblas/product.h"

/* One entry is one value, except in a bitmap. */
static bool one_value(const tsr_view *v, const tsr_device_array *value, const void *handle)
{
    if (value)
        return tsr_device_array_about(value)->iso;
    return v->iso || (v->nvals == 1 && tsr_match_sparsity((GrB_Matrix)handle) != GxB_BITMAP);
}

typedef struct one_valued {
    bool a, b, full; /* full: both have every entry, and what is read of them one value */
    bool scales;     /* one of them is diagonal: each sum is of one product */
} one_valued;

bool tsr_is_diagonal(const tsr_view *v)
{
    const int32_t *narrow = v->i;
    const int64_t *wide = v->i;
    bool diagonal = tsr_is_compressed(v) && v->nrows == v->ncols && v->nvals == v->nrows && v->nvec == v->nrows;
    for (int64_t k = 0; diagonal && v->p && v->i && k < v->nvec; k++)
        diagonal = tsr_view_start(v, k + 1) == k + 1 && (v->index_size == 4 ? narrow[k] : wide[k]) == k;
    return diagonal;
}

/* A list of the one place that there is counts as diagonal, a bitmap or a full matrix does not. */
static bool is_one_place(const tsr_view *v, const void *handle)
{
    return v->nrows == 1 && v->ncols == 1 && v->nvals == 1 && tsr_match_held_sparse((GrB_Matrix)handle);
}

static bool has_every_entry(const tsr_view *v, const tsr_device_array *value)
{
    return v->format == TSR_FULL || (!value && (double)v->nvals == (double)v->nrows * (double)v->ncols);
}

static one_valued operands_of_one_value(const tsr_call *call)
{
    const tsr_view *a = &call->product.a, *b = call->b_sparse ? &call->sparse : &call->product.b;
    one_valued is = {.a = one_value(a, call->a.array, call->a.handle),
                     .b = !call->positions && one_value(b, call->b.array, call->b.handle)};
    is.scales = tsr_is_diagonal(a) || tsr_is_diagonal(b) || is_one_place(a, call->a.handle) || is_one_place(b, call->b.handle);
    is.full = (is.a || !tsr_reads_a(&call->product)) && (is.b || !tsr_reads_b(&call->product)) && has_every_entry(a, call->a.array) &&
              has_every_entry(b, call->b.array);
    return is;
}

/* Has the product of any two entries one value?  With an idempotent monoid that is SuiteSparse's result, and a pattern: hard to beat. */
static bool one_result(const tsr_product *p, one_valued is)
{
    switch (p->semiring.mul) {
    case TSR_MUL_PAIR: return true;
    case TSR_MUL_FIRST: return is.a;
    case TSR_MUL_SECOND: return is.b;
    default: return is.a && is.b;
    }
}

static uint64_t constant_of(const tsr_view *v, const tsr_device_array *value)
{
    uint64_t one = value ? tsr_device_array_about(value)->one : 0;
    if (!value && v->x)
        memcpy(&one, v->x, tsr_type_size(v->type));
    return one;
}

/* The product of two entries, of which only what is read counts. */
static uint64_t one_product(const tsr_call *call)
{
    static const tsr_ewise_op as_step[TSR_MUL_COUNT] = {[TSR_MUL_TIMES] = TSR_EWISE_TIMES, [TSR_MUL_FIRST] = TSR_EWISE_FIRST,
        [TSR_MUL_SECOND] = TSR_EWISE_SECOND, [TSR_MUL_PAIR] = TSR_EWISE_PAIR, [TSR_MUL_PLUS] = TSR_EWISE_PLUS, [TSR_MUL_AND] = TSR_EWISE_LAND};
    const tsr_product *p = &call->product;
    const uint64_t a = constant_of(&p->a, call->a.array), b = call->b_sparse ? constant_of(&call->sparse, NULL) : constant_of(&p->b, call->b.array);
    const tsr_ewise step = {.op = as_step[p->semiring.mul], .type = p->semiring.type, .result = p->semiring.type};
    return tsr_elementwise_one(&step, p->semiring.type, p->a.type, a, p->b.type, b);
}

/* Without an accumulator that is C = T. */
static bool passes_all(const tsr_call *call)
{
    const tsr_modifiers *mod = &call->mod;
    return mod->mask_struct && !mod->mask_comp && tsr_match_sparsity(call->given.M) == GxB_FULL && !call->given.accum;
}

/* C<M> = T, of one value: SuiteSparse compares it with that of C, unless C is empty or cleared before. */
static bool masked_stays_iso(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    tsr_view c;
    if (passes_all(call))
        return true;
    if (call->mod.replace && (tsr_engine_masks_t(call) || tsr_match_held_sparse(call->given.C)))
        return true;
    if (!tsr_match_view(&c, call->given.C))
        return false;
    return c.nvals == 0 || (c.iso && memcmp(c.x, &call->one, tsr_type_size(p->semiring.type)) == 0);
}

/* Does a loop keep C on the device, as searches do, or would something have to be downloaded?  Masked products of sparse matrices start here. */
static bool stays_on_device(const tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    const void *const handles[] = {given->C, given->M, given->A, given->B};
    bool absent = false;
    for (int k = 0; k < 4; k++) absent |= handles[k] && call->door->is_absent(handles[k]);
    return call->in_place && (absent || !(given->accum || tsr_is_masked(call->product.op)));
}

/* C<M> = T, C in lists: where T, of several values, has no entry C stays as it is. */
static bool may_leave_c(const tsr_call *call)
{
    return !call->one_value && call->given.M && !call->given.accum && !call->mod.replace && tsr_match_held_sparse(call->given.C) &&
           !call->door->is_absent(call->given.C);
}

/* What C<M> accum= T leaves of one value, T's or C's, depends on how many entries SuiteSparse's T has, and how it is held. */
static bool one_value_is_merged(const tsr_call *call)
{
    const tsr_modifiers *mod = &call->mod;
    bool iso = call->one_value;
    if (!call->through_t || (stays_on_device(call) && !may_leave_c(call)))
        return false;
    if (!iso && (call->given.accum || !mod->replace) && !(call->given.accum && tsr_match_sparsity(call->given.C) == GxB_FULL))
        tsr_real.GxB_Matrix_iso(&iso, call->given.C);
    return iso;
}

static bool is_empty(const tsr_view *v, const tsr_device_array *value)
{
    return !value && v->format != TSR_FULL && v->nvals == 0;
}

/* An empty T is not iso where SuiteSparse turns it, and what is added to C later, or a mask, asks for that. */
static bool t_is_empty(const tsr_call *call)
{
    const tsr_view *b = call->b_sparse ? &call->sparse : &call->product.b;
    return is_empty(&call->product.a, call->a.array) || is_empty(b, call->b.array);
}

/* Its value only the device knows, and T may be iso for it. */
static bool is_unknown(const tsr_object *object, const tsr_view *v)
{
    return object->compressed && !v->iso && v->nvals == 1;
}

const char *tsr_match_one_value(tsr_call *call)
{
    if (is_unknown(&call->a, &call->product.a) || is_unknown(&call->b, &call->product.b))
        return "one entry, on the device only";
    const one_valued operands = operands_of_one_value(call);
    const bool one = one_result(&call->product, operands);
    if (operands.full)
        return "full operands of one value each"; /* so is T then, whatever the mask: one value to compute */
    const bool sparse_c = call->operation == &tsr_sparse_product_operation;
    if ((one || (sparse_c && !tsr_has_compressed(call))) && operands.scales)
        return "scaled by a diagonal";
    call->one_value = one && call->product.semiring.add != TSR_ADD_PLUS;
    if (one_value_is_merged(call) || (sparse_c && call->given.M && call->one_value)) /* SuiteSparse's is iso where it uses the mask early */
        return "one value under a mask or an accumulator";
    if (call->one_value && (t_is_empty(call) || (stays_on_device(call) && call->given.M && !tsr_engine_masks_t(call))))
        return "one value, of no entries perhaps";
    call->one = call->one_value ? one_product(call) : 0;
    call->iso = call->one_value && (!tsr_is_masked(call->product.op) || call->through_t || masked_stays_iso(call));
    return NULL;
}
