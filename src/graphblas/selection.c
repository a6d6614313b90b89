/* Calls that pick entries of sparse objects, or of a full vector on the host: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/selection.h"

#include "src/engine/call/contents.h"
#include "src/engine/sparse/compressed.h"
#include "src/engine/sparse/selection.h"
#include "src/graphblas/early.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/match/own_operators.h"
#include "src/graphblas/product.h"
#include "src/policy/price/selection.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static bool allowed(void)
{
    return tsr_may_route() && !(tsr_config_get()->disabled & TSR_DISABLE_ELEMENTWISE);
}

/* Of fewer entries nothing is kept that would be worth a record; in tests of any. */
static double least_shared(void)
{
    return tsr_config_get()->min_work == 0 ? 0 : TSR_SELECT_LEAST;
}

static tsr_call call_of(const tsr_output *out, GrB_Matrix A, const tsr_operation *operation)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .operation = operation};
    call.given.A = A;
    return call;
}

/* ---- selection ---- */

static bool by_value(tsr_selection *s, GrB_IndexUnaryOp op, const tsr_argument *y)
{
    return tsr_match_select(&s->keep, &s->a.type, op) && tsr_argument_scalar(&s->thunk, s->a.type, y);
}

/* The program's own function. */
static bool by_function(tsr_selection *s, GrB_IndexUnaryOp op, const tsr_argument *y)
{
    tsr_own_operator made;
    tsr_type z, type;
    if (!tsr_own_find(&made, op) || !tsr_match_type(&z, made.z) || z != TSR_BOOL || !tsr_match_type(&s->x_type, made.x) ||
        !tsr_match_type(&type, made.y) || !tsr_argument_scalar(&s->thunk, type, y))
        return false;
    s->function = (tsr_index_function *)made.function;
    return true;
}

static bool by_place(tsr_call *call, GrB_IndexUnaryOp op, const tsr_argument *y)
{
    tsr_type type;
    call->update.placed = tsr_argument_place(&call->update.place, &type, op, y) && call->update.place.select;
    return call->update.placed;
}

static bool is_early(GrB_Matrix A)
{
    GrB_Index entries;
    return tsr_may_be_early() && tsr_real.GrB_Matrix_nvals(&entries, A) == GrB_SUCCESS && tsr_is_early(TSR_SMALL_SELECT, (double)entries);
}

bool tsr_try_select_sparse(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y)
{
    tsr_call call = call_of(out, A, &tsr_select_operation);
    if (!tsr_match_held_sparse(A) || !out->C || !allowed() || !tsr_has_entries(A, TSR_SELECT_LEAST) || is_early(A) || tsr_match_descriptor(&call.mod, out->desc) || call.mod.tran0)
        return false;
    return (by_value(&call.of.selection, op, &y) || by_place(&call, op, &y) || by_function(&call.of.selection, op, &y)) &&
           tsr_run_call(info, &call);
}

/* ---- what is made again ---- */

/* By a built-in operator. */
static bool selected_by(tsr_derivation *how, GrB_IndexUnaryOp op, const tsr_argument *y)
{
    tsr_place_rule rule;
    tsr_ewise_op keep;
    tsr_type type;
    const bool placed = tsr_match_place(&rule, &type, op) && rule.select;
    how->parts[0] = (uint64_t)(uintptr_t)op;
    return (placed || tsr_match_select(&keep, &type, op)) && tsr_argument_scalar(&how->parts[2], type, y);
}

static bool is_whole(const tsr_output *out, GrB_Matrix A)
{
    tsr_modifiers mod;
    return out->C && A && out->C != A && !out->M && !out->accum && !tsr_match_descriptor(&mod, out->desc) && !mod.tran0 && !mod.mask_comp;
}

/* Is C a result that may come again, of a matrix with so many entries, and is there a device that might keep something of it? */
static bool may_come_again(tsr_derivation *how, const tsr_output *out, GrB_Matrix A, double least)
{
    tsr_type type;
    if (!tsr_contents_possible() || !is_whole(out, A) || !allowed() || !tsr_match_held_sparse(A) || !tsr_has_entries(A, least) ||
        !tsr_match_object_type(&type, out->C))
        return false;
    *how = (tsr_derivation){.parts = {0, (uint64_t)type}};
    return true;
}

static void share(GrB_Matrix C, GrB_Matrix A, const tsr_derivation *how)
{
    tsr_record *of = tsr_table_get(A, true), *made = of ? tsr_table_get(C, true) : NULL;
    if (made)
        tsr_record_share(made, of, how, tsr_backend_gpu());
    tsr_record_unref(made);
    tsr_record_unref(of);
}

void tsr_selected(const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y)
{
    tsr_derivation how;
    if (may_come_again(&how, out, A, least_shared()) && selected_by(&how, op, &y))
        share(out->C, A, &how);
}

static bool add_list(tsr_derivation *how, int number, tsr_list list, GrB_Matrix A)
{
    tsr_shape a;
    tsr_indices s;
    if (!tsr_graphblas_door.shape(&a, A, false) || !tsr_match_list(&s, list, number ? a.ncols : a.nrows))
        return false;
    uint64_t *parts = how->parts + 2 + 3 * number;
    parts[0] = (uint64_t)s.first;
    parts[1] = (uint64_t)s.step;
    parts[2] = (uint64_t)s.count;
    how->lists[number].numbers = s.list;
    how->lists[number].count = s.list ? s.count : 0;
    return true;
}

/* Lists that are longer than the matrix are not worth their copies. */
void tsr_extracted(const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns)
{
    tsr_derivation how;
    if (may_come_again(&how, out, A, least_shared()) && add_list(&how, 0, rows, A) && add_list(&how, 1, columns, A) &&
        tsr_has_entries(A, (double)(how.lists[0].count + how.lists[1].count)))
        share(out->C, A, &how);
}

/* ---- extraction ---- */

static bool read_lists(tsr_call *call, tsr_list rows, tsr_list columns)
{
    tsr_shape a;
    tsr_extraction *e = &call->of.extraction;
    if (!call->door->shape(&a, call->given.A, call->given.vector))
        return false;
    if (call->given.vector)
        return tsr_match_list(&e->places, rows, a.nrows);
    const int64_t nrows = call->mod.tran0 ? a.ncols : a.nrows, ncols = call->mod.tran0 ? a.nrows : a.ncols;
    const bool by_col = a.by_col != call->mod.tran0;
    return tsr_match_list(by_col ? &e->places : &e->vectors, rows, nrows) && tsr_match_list(by_col ? &e->vectors : &e->places, columns, ncols);
}

bool tsr_try_extract(GrB_Info *info, const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns)
{
    tsr_call call = call_of(out, A, out->vector ? &tsr_gather_operation : &tsr_extract_operation);
    if (tsr_match_sparsity(A) != (out->vector ? GxB_FULL : GxB_SPARSE) || !out->C || !allowed() || !tsr_has_entries(A, TSR_SELECT_LEAST))
        return false;
    return !tsr_match_descriptor(&call.mod, out->desc) && !(out->vector && call.mod.tran0) && read_lists(&call, rows, columns) &&
           tsr_run_call(info, &call);
}

/* ---- where a device has them, or will ---- */

bool tsr_is_sparse_somewhere(GrB_Matrix A)
{
    tsr_device_array *array = tsr_contents_find_compressed(A);
    tsr_device_array_unref(array);
    return array || (!tsr_defer_is_target(A) && tsr_match_held_sparse(A) && tsr_has_entries(A, least_shared()));
}

/* Without mask, accumulator and transpose. */
static bool begin_on_device(tsr_call *call, const tsr_output *out, GrB_Matrix A, const tsr_operation *operation)
{
    tsr_type type;
    *call = call_of(out, A, operation);
    call->in_place = true;
    if (!out->C || !A || out->M || out->accum || !tsr_ewise_concerned(out, A, NULL) || !tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) ||
        !tsr_contents_possible() || !tsr_is_sparse_somewhere(A) || tsr_match_descriptor(&call->mod, out->desc) || call->mod.tran0 || call->mod.mask_comp ||
        !tsr_match_object_type(&type, out->C))
        return false;
    call->of.picking.remembered = out->C != A;
    call->of.picking.how = (tsr_derivation){.parts = {0, (uint64_t)type}};
    return true;
}

static bool run_on_device(GrB_Info *info, tsr_call *call)
{
    tsr_contents_decline(call->given.name, NULL);
    const bool done = tsr_run_call(info, call);
    tsr_contents_decline(call->given.name, done ? NULL : call->why);
    return done;
}

bool tsr_try_extract_on_device(GrB_Info *info, const tsr_output *out, GrB_Matrix A, tsr_list rows, tsr_list columns)
{
    tsr_call call;
    tsr_shape a;
    tsr_picking *p = &call.of.picking;
    if ((tsr_is_all(rows.list) && tsr_is_all(columns.list)) || !begin_on_device(&call, out, A, &tsr_device_extract_operation) ||
        !tsr_graphblas_door.shape(&a, A, false) ||
        !tsr_match_list(&p->rows, rows, a.nrows) || !tsr_match_list(&p->columns, columns, a.ncols))
        return false;
    return add_list(&p->how, 0, rows, A) && add_list(&p->how, 1, columns, A) && run_on_device(info, &call);
}

bool tsr_try_select_on_device(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y)
{
    tsr_call call;
    tsr_picking *p = &call.of.picking;
    if (!begin_on_device(&call, out, A, &tsr_device_select_operation) || !selected_by(&p->how, op, &y))
        return false;
    if (!by_place(&call, op, &y) && !(tsr_match_select(&p->rule.keep, &p->type, op) && tsr_argument_scalar(&p->rule.thunk, p->type, &y)))
        return false;
    return run_on_device(info, &call);
}

/* ---- scattering ---- */

static bool scalar_fits(tsr_call *call, const tsr_argument *x)
{
    tsr_type type;
    return call->given.A || (tsr_match_object_type(&type, call->given.C) && tsr_argument_scalar(&call->one, type, x));
}

bool tsr_list_wanted(const GrB_Index *list, GrB_Index count)
{
    return ((double)count >= TSR_SCATTER_LEAST || tsr_config_forces_cpu()) && !tsr_is_all(list) && allowed();
}

bool tsr_try_scatter_here(GrB_Info *info, const tsr_output *out, tsr_argument x, tsr_list places)
{
    tsr_call call = call_of(out, x.object, &tsr_scatter_operation);
    tsr_indices *to = &call.of.extraction.places;
    if (out->M || tsr_match_sparsity(out->C) != GxB_FULL || !tsr_list_wanted(places.list, places.count) ||
        !tsr_match_list(to, places, 0) || !to->list)
        return false;
    return !tsr_match_descriptor(&call.mod, out->desc) && !call.mod.mask_comp && scalar_fits(&call, &x) && tsr_run_call(info, &call);
}
