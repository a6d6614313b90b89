/* op (x, y) of the entries of sparse matrices on the host, where the result has the pattern of its operand, or of both: indices are copied, and
 * values computed beside each other, or in the place of C's where C is an operand that something is accumulated into.  What lists that differ have in common: common.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/entries.h"

#include <stdio.h>
#include <string.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/format/sparse/format.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* Of the operand, or of the first one, which the other shares. */
static const tsr_view *pattern_of(const tsr_call *call)
{
    return call->given.A ? &call->a.view : &call->b.view;
}

/* ---- what is taken ---- */

static bool is_taken(const tsr_view *v)
{
    return v->format == TSR_SPARSE && v->x;
}

/* The entries of one operand into a C that has none, whose memory they could take, or cast in a pass of its own: SuiteSparse is as fast, or faster
 * (docs/host-calls.md). */
static bool is_plain_copy(const tsr_call *call, const tsr_view *a)
{
    const tsr_ewise *step = &call->update.step;
    tsr_view c;
    return !tsr_config_forces_cpu() &&
           (a->type != step->type || !call->door->view(&c, call->given.C) || c.nvals == 0 || c.type != step->result);
}

/* Seen at once: lists of other lengths, or one of 32 bits to be copied; ours have 64, so SuiteSparse moves fewer bytes. */
static bool is_hopeless(const tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    tsr_view a, b;
    if (g->A && g->B)
        return call->door->view(&a, g->A) && call->door->view(&b, g->B) && a.nvals != b.nvals;
    return !g->accum && call->door->view(&a, g->A ? g->A : g->B) && (a.index_size == 4 || is_plain_copy(call, &a));
}

static bool is_one(const tsr_view *v, bool given)
{
    return !given || v->iso;
}

bool tsr_entries_make_one_value(const tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    const bool x = is_one(&call->a.view, g->A), y = is_one(&call->b.view, g->B);
    switch (call->update.step.op) {
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: return true;
    case TSR_EWISE_FIRST: return x;
    case TSR_EWISE_SECOND: return y;
    default: return x && (y || tsr_ewise_is_unary(call->update.step.op));
    }
}

static tsr_index_list offsets_of(const tsr_view *v)
{
    return (tsr_index_list){v->p, v->narrow_offsets ? sizeof(uint32_t) : sizeof *v->p};
}

static tsr_index_list indices_of(const tsr_view *v)
{
    return (tsr_index_list){v->i, v->index_size};
}

/* Results of ours may have integers of 64 bits, and C is one from the second call on. */
static bool same_pattern(const tsr_view *a, const tsr_view *b, int nthreads)
{
    if (a->nrows != b->nrows || a->ncols != b->ncols || a->by_col != b->by_col || a->nvals != b->nvals || a->jumbled || b->jumbled)
        return false;
    return tsr_same_indices(offsets_of(a), offsets_of(b), tsr_view_vectors(a) + 1, nthreads) &&
           tsr_same_indices(indices_of(a), indices_of(b), a->nvals, nthreads);
}

bool tsr_entries_fit_c(tsr_call *call, const tsr_view *a)
{
    tsr_shape c;
    if (!call->door->shape(&c, call->given.C, false))
        return false;
    call->product.semiring.type = c.type;
    call->c_by_col = call->t_by_col = c.by_col;
    return c.nrows == a->nrows && c.ncols == a->ncols && c.by_col == a->by_col;
}

static bool inspect(tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    if ((g->A && (!tsr_object_inspect(&call->a, call->door, g->A, true) || !is_taken(&call->a.view))) ||
        (g->B && (!tsr_object_inspect(&call->b, call->door, g->B, true) || !is_taken(&call->b.view))))
        return false;
    return !(g->A && g->B) || same_pattern(&call->a.view, &call->b.view, call->mod.nthreads);
}

/* The one value, or the scalar of the call. */
static void take_operand(tsr_elements *values, tsr_type *type, tsr_operand *scalar, const tsr_view *v, bool given, tsr_type wanted)
{
    *type = given ? v->type : wanted;
    values->x = given && !v->iso ? v->x : NULL;
    if (!given || !v->iso)
        return;
    scalar->scalar = 0;
    tsr_cast_values(&scalar->scalar, wanted, v->x, v->type, 1, 1);
}

void tsr_entries_prepare(tsr_call *call, int64_t count)
{
    tsr_host_ewise *step = &call->of.host;
    *step = (tsr_host_ewise){.step = call->update.step, .type = call->product.semiring.type};
    step->step.count = count;
    step->step.unite = false;
    take_operand(&step->arrays.x, &step->x_type, &step->step.x, &call->a.view, call->given.A, step->step.type);
    take_operand(&step->arrays.y, &step->y_type, &step->step.y, &call->b.view, call->given.B, step->step.type);
}

/* C accum= T, where C has T's pattern. */
static bool take_c(tsr_call *call, const tsr_view *a)
{
    tsr_host_ewise *step = &call->of.host;
    const tsr_view *c = &call->update.c.view;
    if (!call->given.accum)
        return true;
    if (!tsr_accumulates(&step->step.accum, call->door, call->given.accum, step->type) || step->step.accum == TSR_EWISE_PAIR ||
        !tsr_object_inspect(&call->update.c, call->door, call->given.C, true))
        return false;
    step->step.accumulates = true;
    step->arrays.c.x = c->x;
    return is_taken(c) && !c->iso && same_pattern(a, c, call->mod.nthreads);
}

static const char *resolve(tsr_call *call)
{
    const tsr_view *a = pattern_of(call);
    if (call->mod.tran0 || call->mod.tran1 || call->mod.mask_comp)
        return "a transpose, or a complement of no mask";
    if (is_hopeless(call) || !inspect(call) || !tsr_entries_fit_c(call, a))
        return "not sparse matrices of one pattern, or of narrow indices that are copied";
    if (tsr_entries_make_one_value(call))
        return "the result has one value";
    tsr_entries_prepare(call, a->nvals);
    return take_c(call, a) ? NULL : "C has another pattern, which something is accumulated into";
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "measured to be faster");
}

/* ---- the result ---- */

/* C accum= op (C): all of C's entries stay. */
static bool is_in_place(const tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    return g->accum && (g->C == g->A || g->C == g->B) && call->door->has_its_form(g->C, false);
}

static bool reserve(tsr_call *call)
{
    const tsr_view *a = pattern_of(call);
    if (is_in_place(call)) {
        call->of.host.arrays.z = (void *)(uintptr_t)call->update.c.view.x;
        snprintf(call->decision.reason, sizeof call->decision.reason, "in the place of C");
        return true;
    }
    if (!tsr_arrays_compressed(&call->arrays, call->door->memory, tsr_view_vectors(a), a->nvals, call->of.host.type,
                               (call->given.B || a->index_size == 4) && tsr_call_narrows(call, a->vlen)))
        return false;
    call->arrays.jumbled = a->jumbled;
    call->of.host.arrays.z = call->arrays.x;
    call->door->begin_result(call->arrays.i_bytes);
    return true;
}

/* Integers that fit into either. */
static void copy(void *to, bool narrow, const void *from, size_t size, int64_t count, int nthreads)
{
    const tsr_type type = narrow ? TSR_UINT32 : TSR_INT64;
    tsr_engine_ewise(&(tsr_host_ewise){.step = {.op = TSR_EWISE_IDENTITY, .type = type, .result = type, .count = count},
                                       .arrays = {.x = {from, NULL}, .z = to}, .type = type,
                                       .x_type = size == 4 ? TSR_UINT32 : TSR_INT64}, nthreads);
}

static tsr_status run(tsr_call *call)
{
    const tsr_view *a = pattern_of(call);
    const int nthreads = tsr_pass_threads(a->nvals, call->mod.nthreads);
    if (!call->arrays.p) {
        tsr_engine_ewise(&call->of.host, nthreads);
        return TSR_OK;
    }
    copy(call->arrays.p, false, a->p, offsets_of(a).size, tsr_view_vectors(a) + 1, nthreads);
    copy(call->arrays.i, call->arrays.narrow, a->i, a->index_size, a->nvals, nthreads);
    tsr_engine_ewise(&call->of.host, nthreads);
    return TSR_OK;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_ewise *step = &call->of.host.step;
    snprintf(text, size, "entries %s %s nnz=%lld", tsr_ewise_name(step->op), tsr_type_name(step->type), (long long)step->count);
}

const tsr_operation tsr_entries_operation = {.resolve = resolve, .decide = decide, .reserve = reserve, .run = run, .describe = describe,
                                             .kernel = "entries"};
