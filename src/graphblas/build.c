/* Matrices and vectors built of tuples: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/build.h"

#include "src/engine/sparse/build.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/product.h"
#include "src/policy/price/build.h"
#include "src/runtime/config.h"

/* A hand-over goes by the switch that objects are made with, then by C's own. */
#define USUAL_SWITCH .0625

static bool is_usual(GrB_Matrix C)
{
    double hyper_switch = 0;
    return tsr_option_get_fp64(C, GxB_HYPER_SWITCH, &hyper_switch) == GrB_SUCCESS && hyper_switch == USUAL_SWITCH;
}

static bool match_dup(tsr_tuples *t, GrB_BinaryOp dup)
{
    tsr_ewise_op op;
    tsr_type type;
    t->joining = TSR_JOIN_NONE;
    if (!dup)
        return true;
    if (!tsr_match_binary(&op, &type, dup) || type != t->type)
        return false;
    if (op == TSR_EWISE_FIRST || op == TSR_EWISE_SECOND) {
        t->joining = op == TSR_EWISE_FIRST ? TSR_JOIN_FIRST : TSR_JOIN_LAST;
        return true;
    }
    t->joining = TSR_JOIN_FOLD;
    return tsr_match_reduce(&t->monoid, &type, dup) && t->monoid != TSR_REDUCE_ANY &&
           (t->type == TSR_BOOL) == (t->monoid >= TSR_REDUCE_LOR);
}

/* Values are C's, or one that may be cast to its type. */
static bool match_values(tsr_call *call, const tsr_argument *X, GrB_BinaryOp dup)
{
    tsr_tuples *t = &call->of.tuples;
    t->x = X->scalar;
    if (X->boxed) {
        t->joining = TSR_JOIN_FIRST;
        return tsr_argument_scalar(&call->one, t->type, X);
    }
    return X->scalar && X->type == t->type && match_dup(t, dup);
}

static bool match(tsr_call *call, const GrB_Index *I, const GrB_Index *J, const tsr_argument *X, GrB_Index count, GrB_BinaryOp dup)
{
    tsr_shape c;
    if (!call->door->shape(&c, call->given.C, call->given.vector) || count > INT64_MAX / 2)
        return false;
    call->c_by_col = c.by_col;
    call->unifies = GxB_IMPLEMENTATION_MAJOR < 10;
    call->of.tuples = (tsr_tuples){.vector = c.by_col ? J : I, .place = c.by_col ? I : J, .type = c.type, .count = (int64_t)count,
                                   .nvec = c.by_col ? c.ncols : c.nrows, .vlen = c.by_col ? c.nrows : c.ncols,
                                   .nthreads = call->door->threads()};
    return match_values(call, X, dup);
}

static bool build(GrB_Info *info, tsr_call *call, const GrB_Index *I, const GrB_Index *J, const tsr_argument *X, GrB_Index count, GrB_BinaryOp dup)
{
    return tsr_match_new(call->given.C, call->given.vector) && (call->given.vector || is_usual(call->given.C)) &&
           match(call, I, J, X, count, dup) && tsr_run_call(info, call);
}

/* How many vectors have entries SuiteSparse remembers of what it built.  Of a packed matrix each call that reads it counts them anew, unless its
 * form is looked at once, which the same switch again makes it do. */
static void count_vectors(GrB_Matrix C)
{
    double hyper_switch;
    if (tsr_option_get_fp64(C, GxB_HYPER_SWITCH, &hyper_switch) == GrB_SUCCESS)
        (void)tsr_option_set_fp64(C, GxB_HYPER_SWITCH, hyper_switch);
}

bool tsr_build_wanted(GrB_Index count)
{
    const bool many = tsr_config_forces_cpu() ? count > 0 : (double)count >= TSR_BUILD_LEAST;
    return many && tsr_may_route() && !(tsr_config_get()->disabled & TSR_DISABLE_ELEMENTWISE);
}

bool tsr_try_build(GrB_Info *info, const tsr_output *out, const GrB_Index *I, const GrB_Index *J, tsr_argument X, GrB_Index count, GrB_BinaryOp dup)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .operation = &tsr_build_operation};
    if (!out->C || !I || (!J && !out->vector) || (!X.scalar && !X.boxed))
        return false;
    tsr_quiet_begin();
    const bool done = build(info, &call, I, J, &X, count, dup);
    if (done && *info == GrB_SUCCESS && !out->vector)
        count_vectors(out->C);
    tsr_quiet_end();
    return done;
}
