/* GraphBLAS calls that are elementwise operations or reductions, and what is answered from device arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/elementwise/reduce.h"
#include "src/engine/engine.h"
#include "src/engine/sparse/compressed.h"
#include "src/engine/sparse/entries.h"
#include "src/graphblas/elementwise.h"
#include "src/graphblas/few_step.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/product.h"
#include "src/policy/history/placement_history.h"
#include "src/policy/price/elementwise.h"
#include "src/policy/price/few.h"
#include "src/runtime/config.h"

/* ---- who computes ---- */

bool tsr_run_call(GrB_Info *info, tsr_call *call)
{
    tsr_depth++;
    tsr_caller = call->given.name;
    tsr_quiet_begin();
    const bool done = tsr_engine_run(call);
    tsr_quiet_end();
    tsr_depth--;
    *info = (GrB_Info)call->info;
    return done;
}

static bool run_on_device(GrB_Info *info, tsr_call *call)
{
    tsr_contents_decline(call->given.name, NULL);
    const bool done = tsr_run_call(info, call);
    tsr_contents_decline(call->given.name, done ? NULL : call->why);
    return done;
}

tsr_arguments tsr_given_of(const tsr_output *out)
{
    return (tsr_arguments){.name = out->name, .C = out->C, .M = out->M, .accum = out->accum, .desc = out->desc, .vector = out->vector};
}

static bool run_few(GrB_Info *info, const tsr_elementwise *call)
{
    tsr_depth++;
    tsr_quiet_begin();
    const bool done = tsr_few_on_host(info, call);
    tsr_quiet_end();
    tsr_depth--;
    return done;
}

static bool has_sparse(const tsr_output *out, GrB_Matrix A, GrB_Matrix B)
{
    return ((tsr_match_sparsity(A) | tsr_match_sparsity(B)) & (GxB_SPARSE | GxB_HYPERSPARSE)) || tsr_match_held_sparse(out->M);
}

/* What is matched of an elementwise call. */
typedef struct matched {
    GrB_Matrix A, B;
    tsr_ewise step;
    tsr_place_rule place;
    tsr_indices list;
    bool placed, gathers, scatters, flip, assigns, full_only, recast;
} matched;

bool tsr_has_entries(GrB_Matrix A, double least)
{
    GrB_Index entries = 0;
    if (tsr_config_forces_cpu())
        return true;
    tsr_quiet_begin();
    const bool known = tsr_real.GrB_Matrix_nvals(&entries, A) == GrB_SUCCESS;
    tsr_quiet_end();
    return known && (double)entries >= least;
}

static bool is_long_list(GrB_Matrix A, double least)
{
    return !A || (tsr_match_sparsity(A) == GxB_SPARSE && tsr_has_entries(A, least));
}

/* All of a sparse matrix; op (C) SuiteSparse writes in the place of C. */
static bool considers_entries(const tsr_output *out, GrB_Matrix A, GrB_Matrix B)
{
    const bool moves = !out->accum && !(A && B);
    const double least = moves ? TSR_ENTRIES_MOVED_LEAST : TSR_ENTRIES_LEAST;
    return !out->vector && !out->M && (A || B) && !(moves && (A == out->C || B == out->C)) && is_long_list(A, least) && is_long_list(B, least);
}

static bool is_of_entries(const matched *m)
{
    return !m->placed && !m->flip && !m->assigns && !m->step.select && !m->full_only;
}

/* Of one pattern, or what two that differ have in common. */
static bool try_entries(GrB_Info *info, const tsr_call *call, const matched *m)
{
    tsr_call alike = *call, common = *call;
    alike.operation = &tsr_entries_operation;
    common.operation = &tsr_common_operation;
    return tsr_run_call(info, &alike) || (m->A && m->B && !m->step.unite && !call->given.accum && tsr_run_call(info, &common));
}

static bool try_step(GrB_Info *info, const tsr_output *out, const matched *m)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .in_place = !out->host,
                     .operation = out->host ? &tsr_host_elementwise_operation : &tsr_elementwise_operation};
    const char *why = tsr_match_descriptor(&call.mod, out->desc);
    call.given.A = m->A;
    call.given.B = m->B;
    call.update = (tsr_elementwise){.door = call.door, .given = call.given, .mod = call.mod, .step = m->step, .place = m->place,
                                    .placed = m->placed, .list = m->list, .gathers = m->gathers, .scatters = m->scatters,
                                    .flip = m->flip, .assigns = m->assigns, .full_only = m->full_only,
                                    .recast = m->recast, .on_host = out->host};
    if (why && !out->host)
        tsr_contents_decline(out->name, why);
    if (why)
        return false;
    if (out->host && tsr_few_considers(&call.given, m->step.select) && run_few(info, &call.update))
        return true;
    if (out->host && has_sparse(out, m->A, m->B))
        return considers_entries(out, m->A, m->B) && is_of_entries(m) && try_entries(info, &call, m);
    return out->host ? tsr_run_call(info, &call) : run_on_device(info, &call);
}

static bool allowed(void)
{
    return tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE);
}

static double elements_of(GrB_Matrix C)
{
    GrB_Index nrows, ncols;
    return tsr_real.GrB_Matrix_nrows(&nrows, C) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, C) == GrB_SUCCESS
               ? (double)nrows * (double)ncols : -1;
}

/* A device runs, and what the call makes may be wanted there. */
static bool may_follow(GrB_Matrix C)
{
    return C && tsr_contents_possible() && elements_of(C) >= TSR_PLACEMENT_LEAST;
}

/* Of most calls, nothing is with a backend: a few loads say so. */
bool tsr_ewise_concerned(const tsr_output *out, GrB_Matrix A, GrB_Matrix B)
{
    const bool hit = tsr_filter_hit(A) || tsr_filter_hit(B) || tsr_filter_hit(out->C) || tsr_filter_hit(out->M) ||
                     tsr_config_get()->mode == TSR_MODE_GPU || may_follow(out->C);
    if (hit)
        tsr_contents_decline(out->name, "this call is not computed on the device");
    return hit;
}

static bool is_wanted(GrB_Matrix C, bool vector, double size)
{
    const tsr_config *config = tsr_config_get();
    const double least = config->min_work >= 0 ? config->min_work : size;
    GrB_Index rows = 0, columns = 1;
    if (!C || tsr_real.GrB_Matrix_nrows(&rows, C) != GrB_SUCCESS || (vector && (double)rows < least) ||
        (!vector && tsr_real.GrB_Matrix_ncols(&columns, C) != GrB_SUCCESS))
        return false;
    return (double)rows * (double)columns >= least && tsr_may_route() && !(config->disabled & TSR_DISABLE_ELEMENTWISE);
}

/* Small calls, which are many, end at the size of C. */
bool tsr_host_wanted(GrB_Matrix C, bool vector)
{
    return is_wanted(C, vector, TSR_EWISE_LEAST);
}

/* A row has many entries. */
bool tsr_rows_wanted(GrB_Vector w)
{
    return is_wanted((GrB_Matrix)w, true, TSR_FEW_LEAST);
}

/* A binary operator may be MIN or MAX.  One scalar for all of C SuiteSparse writes but once. */
static bool host_considers(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, bool binary)
{
    if (has_sparse(out, A, B) || !(A || B || out->M || out->accum))
        return false;
    return ((tsr_match_sparsity(A) | tsr_match_sparsity(B)) & GxB_BITMAP) || binary || out->M || out->accum || tsr_config_forces_cpu() ||
           elements_of(out->C) >= TSR_EWISE_FEW;
}

static bool has_type(GrB_Matrix A, tsr_type type)
{
    tsr_type own;
    return !A || (tsr_match_object_type(&own, A) && own == type);
}

/* Of few elements, all of them there and neither masked nor accumulated, only minima, maxima and typecasts pay: to take such a call apart
 * costs as much as a tenth of it. */
static bool leaves_early(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, const tsr_ewise *step)
{
    const bool extreme = (step->op == TSR_EWISE_MIN || step->op == TSR_EWISE_MAX) && (step->type == TSR_FP32 || step->type == TSR_FP64);
    const bool full = !A || tsr_match_sparsity(A) == GxB_FULL, both = full && (!B || tsr_match_sparsity(B) == GxB_FULL);
    return out->host && both && !extreme && !out->M && !out->accum && !tsr_config_forces_cpu() && elements_of(out->C) < TSR_EWISE_FEW &&
           has_type(A, step->type) && has_type(B, step->type) && has_type(out->C, step->result);
}

static bool few_considers(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, bool selects)
{
    tsr_arguments given = tsr_given_of(out);
    given.A = A;
    given.B = B;
    return tsr_few_considers(&given, selects);
}

typedef enum call_kind { ASSIGNS, UNARY, BINARY, SELECTS } call_kind;

/* Looked at before the call is taken apart. */
static bool considered(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, call_kind kind)
{
    if (out->host)
        return few_considers(out, A, B, kind == SELECTS) || host_considers(out, A, B, kind == BINARY) ||
               ((kind == UNARY || kind == BINARY) && considers_entries(out, A, B));
    return tsr_ewise_concerned(out, A, B) && allowed();
}

/* ---- scalars ---- */

typedef union number {
    uint64_t bits;
    bool b;
    int64_t i;
    uint64_t u;
    double d;
    float f;
} number;

/* A GrB_Scalar's value in a type that holds it. */
static bool unbox(number *value, tsr_type *type, GrB_Scalar scalar)
{
    GrB_Type handle;
    if (!scalar || tsr_real.GxB_Scalar_type(&handle, scalar) != GrB_SUCCESS || !tsr_match_type(type, handle))
        return false;
    switch (*type) {
    case TSR_FP32: return tsr_real.GrB_Scalar_extractElement_FP32(&value->f, scalar) == GrB_SUCCESS;
    case TSR_FP64: return tsr_real.GrB_Scalar_extractElement_FP64(&value->d, scalar) == GrB_SUCCESS;
    case TSR_BOOL: return tsr_real.GrB_Scalar_extractElement_BOOL(&value->b, scalar) == GrB_SUCCESS;
    case TSR_UINT64: return tsr_real.GrB_Scalar_extractElement_UINT64(&value->u, scalar) == GrB_SUCCESS;
    default: break;
    }
    *type = TSR_INT64;
    return tsr_real.GrB_Scalar_extractElement_INT64(&value->i, scalar) == GrB_SUCCESS;
}

bool tsr_argument_scalar(uint64_t *bytes, tsr_type type, const tsr_argument *argument)
{
    number value = {0};
    tsr_type from = argument->type;
    *bytes = 0;
    tsr_quiet_begin();
    const bool known = !argument->boxed || unbox(&value, &from, argument->boxed);
    tsr_quiet_end();
    if (!known)
        return false;
    tsr_cast_values(bytes, type, argument->boxed ? (const void *)&value : argument->scalar, from, 1, 1);
    return true;
}

/* An operand's place in the call; false: it is missing. */
static bool place(GrB_Matrix *object, tsr_operand *operand, tsr_type type, const tsr_argument *argument)
{
    *object = argument->object;
    return argument->object || ((argument->scalar || argument->boxed) && tsr_argument_scalar(&operand->scalar, type, argument));
}

/* ---- operators inside of others ---- */

GrB_BinaryOp tsr_operator_of_monoid(GrB_Monoid monoid)
{
    GrB_BinaryOp op;
    return monoid && tsr_real.GxB_Monoid_operator(&op, monoid) == GrB_SUCCESS ? op : NULL;
}

GrB_BinaryOp tsr_operator_of_add(GrB_Semiring semiring)
{
    GrB_Monoid monoid;
    return semiring && tsr_real.GxB_Semiring_add(&monoid, semiring) == GrB_SUCCESS ? tsr_operator_of_monoid(monoid) : NULL;
}

GrB_BinaryOp tsr_operator_of_multiply(GrB_Semiring semiring)
{
    GrB_BinaryOp op;
    return semiring && tsr_real.GxB_Semiring_multiply(&op, semiring) == GrB_SUCCESS ? op : NULL;
}

/* ---- calls ---- */

bool tsr_try_unary(GrB_Info *info, const tsr_output *out, GrB_UnaryOp op, GrB_Matrix A)
{
    matched call = {0};
    if (!A || !considered(out, A, NULL, UNARY) || !tsr_match_unary(&call.step.op, &call.step.type, op))
        return false;
    call.A = A;
    call.step.result = call.step.type;
    return try_step(info, out, &call);
}

bool tsr_try_binary(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, tsr_argument x, tsr_argument y, tsr_pairing pairing)
{
    matched call = {0};
    tsr_ewise *step = &call.step;
    if (!considered(out, x.object, y.object, BINARY) || !tsr_match_binary(&step->op, &step->type, op))
        return false;
    step->result = tsr_ewise_compares(step->op) ? TSR_BOOL : step->type;
    if (leaves_early(out, x.object, y.object, step) || !place(&call.A, &step->x, step->type, &x) || !place(&call.B, &step->y, step->type, &y))
        return false;
    step->unite = pairing == TSR_PAIR_ADD;
    if (step->unite && step->result != step->type)
        return false;
    return try_step(info, out, &call);
}

/* Of full operands the scalars stand nowhere, but must be valid. */
bool tsr_try_union(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Scalar alpha, GrB_Matrix B, GrB_Scalar beta)
{
    matched call = {0};
    tsr_ewise *step = &call.step;
    number unused;
    tsr_type type;
    if (!A || !B || !considered(out, A, B, BINARY) || !tsr_match_binary(&step->op, &step->type, op) ||
        !unbox(&unused, &type, alpha) || !unbox(&unused, &type, beta))
        return false;
    call.A = A;
    call.B = B;
    step->result = tsr_ewise_compares(step->op) ? TSR_BOOL : step->type;
    call.full_only = true;
    return try_step(info, out, &call);
}

static bool type_of(tsr_type *type, GrB_Matrix A)
{
    tsr_device_array *value = tsr_contents_find(A);
    const bool known = value || tsr_match_object_type(type, A);
    if (value)
        *type = tsr_device_array_about(value)->type;
    tsr_device_array_unref(value);
    return known;
}

bool tsr_argument_place(tsr_place_rule *rule, tsr_type *type, GrB_IndexUnaryOp op, const tsr_argument *argument)
{
    GrB_Matrix none;
    tsr_operand y = {0};
    if (!tsr_match_place(rule, type, op) || !place(&none, &y, *type, argument))
        return false;
    tsr_cast_values(&rule->y, TSR_INT64, &y.scalar, *type, 1, 1);
    return rule->y > -(INT64_C(1) << 50) && rule->y < INT64_C(1) << 50;
}

/* What an index-unary operator makes of A and y: by places (call->placed), or by comparing values with y. */
static bool match_index(matched *call, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, const tsr_argument *y, call_kind kind)
{
    *call = (matched){0};
    tsr_ewise *step = &call->step;
    GrB_Matrix none;
    call->A = A;
    if (!A || !considered(out, A, NULL, kind))
        return false;
    call->placed = tsr_argument_place(&call->place, &step->type, op, y);
    if (call->placed)
        step->op = TSR_EWISE_IDENTITY;
    return call->placed || (tsr_match_select(&step->op, &step->type, op) && place(&none, &step->y, step->type, y));
}

static bool passes(const tsr_ewise *step, bool x)
{
    const tsr_ewise compare = {.op = step->op, .type = step->type, .result = TSR_BOOL};
    return tsr_elementwise_one(&compare, TSR_BOOL, TSR_BOOL, x, step->type, step->y.scalar) & 0xff;
}

/* Bools compared with y as numbers: those of them that pass pass a comparison of bools, too. */
static void compare_bools(matched *call)
{
    tsr_ewise *step = &call->step;
    const bool no = passes(step, false), yes = passes(step, true);
    step->op = no && yes ? TSR_EWISE_GE : no ? TSR_EWISE_EQ : yes ? TSR_EWISE_NE : TSR_EWISE_LT; /* with false */
    step->type = TSR_BOOL;
    step->y.scalar = 0;
    call->recast = true;
}

/* What is selected by place is of A's type. */
bool tsr_try_select(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y)
{
    matched call;
    tsr_ewise *step = &call.step;
    if (!match_index(&call, out, op, A, &y, SELECTS) || (call.placed && (!call.place.select || !type_of(&step->type, A))))
        return false;
    if (!call.placed && step->type == TSR_BOOL && y.boxed) /* 7.4.0 casts a GrB_Scalar to an integer first: .5 is false */
        return false;
    tsr_type held;
    if (!call.placed && !out->host && step->type != TSR_BOOL && type_of(&held, A) && held == TSR_BOOL)
        compare_bools(&call);
    step->result = step->type;
    step->select = !call.placed;
    return try_step(info, out, &call);
}

bool tsr_try_index(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y)
{
    matched call;
    tsr_ewise *step = &call.step;
    if (!match_index(&call, out, op, A, &y, UNARY) || (call.placed && call.place.select))
        return false;
    step->result = call.placed ? step->type : TSR_BOOL;
    return try_step(info, out, &call);
}

bool tsr_try_transpose(GrB_Info *info, const tsr_output *out, GrB_Matrix A)
{
    matched call = {0};
    tsr_ewise *step = &call.step;
    if (!out->C || !A || !considered(out, A, NULL, UNARY) || !type_of(&step->type, out->C))
        return false;
    call.A = A;
    call.flip = true;
    step->op = TSR_EWISE_IDENTITY;
    step->result = step->type;
    return try_step(info, out, &call);
}

bool tsr_try_assign(GrB_Info *info, const tsr_output *out, tsr_argument x, const GrB_Index *rows, const GrB_Index *columns)
{
    matched call = {0};
    tsr_ewise *step = &call.step;
    if (!out->C || !considered(out, x.object, NULL, ASSIGNS) || !tsr_is_all(rows) || !tsr_is_all(columns))
        return false;
    if (!type_of(&step->type, out->C) || !place(&call.A, &step->x, step->type, &x))
        return false;
    call.assigns = strstr(out->name, "assign"); /* GrB_extract is this call as well */
    step->op = TSR_EWISE_IDENTITY;
    step->result = step->type;
    return try_step(info, out, &call);
}

/* Not of everything, which is an assignment of all. */
static bool try_listed(GrB_Info *info, const tsr_output *out, GrB_Matrix u, tsr_list list, matched *call)
{
    tsr_ewise *step = &call->step;
    if (out->host || tsr_is_all(list.list))
        return tsr_try_assign(info, out, TSR_OBJECT(u), list.list, list.list);
    if (!out->C || !u || !considered(out, u, NULL, ASSIGNS) || !tsr_match_list(&call->list, list, 0) || !type_of(&step->type, out->C))
        return false;
    call->A = u;
    step->op = TSR_EWISE_IDENTITY;
    step->result = step->type;
    return try_step(info, out, call);
}

bool tsr_try_gather(GrB_Info *info, const tsr_output *out, GrB_Matrix u, tsr_list from)
{
    return try_listed(info, out, u, from, &(matched){.gathers = true});
}

/* The mask of a subassign is one of these places only. */
bool tsr_try_assign_to(GrB_Info *info, const tsr_output *out, GrB_Matrix u, tsr_list to)
{
    if (out->M && strstr(out->name, "subassign") && !tsr_is_all(to.list))
        return false;
    return try_listed(info, out, u, to, &(matched){.scatters = true, .assigns = true});
}

/* ---- sums ---- */

/* A vector with that one entry, or none. */
static bool vector_of(GrB_Matrix *one, tsr_type type, const uint64_t *value, bool any)
{
    GrB_Vector v = NULL;
    const size_t size = tsr_type_size(type);
    if (tsr_real.GrB_Vector_new(&v, tsr_type_handle(type), 1) != GrB_SUCCESS)
        return false;
    void *x = any ? tsr_user_malloc(size) : NULL;
    if (x)
        memcpy(x, value, size);
    if (any && (!x || tsr_real.GxB_Vector_pack_Full(v, &x, size, false, NULL) != GrB_SUCCESS)) {
        tsr_user_free(x);
        tsr_real.GrB_Vector_free(&v);
        return false;
    }
    *one = (GrB_Matrix)v;
    return true;
}

static bool reduce(GrB_Matrix *one, const char *name, GrB_Monoid monoid, GrB_Matrix A)
{
    tsr_device_array *compressed = tsr_contents_find_compressed(A);
    tsr_call call = {.given = {.name = name, .A = A}, .door = &tsr_graphblas_door, .in_place = true,
                     .operation = compressed ? &tsr_device_total_operation : &tsr_total_operation};
    tsr_device_array_unref(compressed);
    tsr_total *total = &call.of.total;
    return tsr_match_reduce(&total->op, &total->type, tsr_operator_of_monoid(monoid)) && tsr_engine_run(&call) &&
           vector_of(one, total->type, &total->value, total->any);
}

bool tsr_try_reduce(GrB_Matrix *one, const char *name, GrB_Monoid monoid, GrB_Matrix A)
{
    if (!allowed())
        return false;
    tsr_depth++;
    tsr_quiet_begin();
    const bool done = reduce(one, name, monoid, A);
    tsr_quiet_end();
    tsr_depth--;
    return done;
}

static bool row_sums(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .in_place = !out->host,
                     .operation = out->host ? &tsr_host_row_sums_operation : &tsr_row_sums_operation};
    call.given.A = A;
    if (!tsr_match_reduce(&call.of.sums.op, &call.of.sums.type, op) || tsr_match_descriptor(&call.mod, out->desc))
        return false;
    return out->host ? tsr_run_call(info, &call) : run_on_device(info, &call);
}

/* On the host: a full matrix, or entries of another type than the operator's. */
static bool may_be_summed(GrB_Matrix A, GrB_BinaryOp op)
{
    tsr_type type, own;
    tsr_reduce_op sum;
    const int32_t form = tsr_match_sparsity(A);
    return form == GxB_FULL ||
           (form == GxB_SPARSE && tsr_match_reduce(&sum, &own, op) && tsr_match_object_type(&type, A) && type != own && own != TSR_BOOL &&
            tsr_has_entries(A, TSR_EWISE_LEAST));
}

bool tsr_try_row_sums(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A)
{
    if (!A || (out->host ? !may_be_summed(A, op) : !tsr_ewise_concerned(out, A, NULL) || !allowed()))
        return false;
    return row_sums(info, out, op, A);
}
