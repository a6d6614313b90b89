/* Operators and reductions of sparse matrices that a device has: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/engine.h"
#include "src/engine/product/kronecker.h"
#include "src/engine/sparse/compressed.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/kronecker.h"
#include "src/graphblas/match/operators.h"
#include "src/graphblas/product.h"
#include "src/graphblas/selection.h"
#include "src/runtime/config.h"

static bool is_compressed(GrB_Matrix A)
{
    tsr_device_array *array = A ? tsr_contents_find_compressed(A) : NULL;
    tsr_device_array_unref(array);
    return array;
}

/* Is one on the device, or does everything go there? */
static bool is_pulled(GrB_Matrix A, GrB_Matrix B)
{
    return is_compressed(A) || is_compressed(B) || (tsr_config_get()->mode == TSR_MODE_GPU && tsr_contents_possible());
}

/* … and are all of them sparse? */
static bool is_wanted(GrB_Matrix A, GrB_Matrix B)
{
    return is_pulled(A, B) && (!A || tsr_is_sparse_somewhere(A)) && (!B || tsr_is_sparse_somewhere(B));
}

/* A NULL: of B alone. */
static bool run_as(GrB_Info *info, const tsr_output *out, const tsr_operation *operation, const tsr_compressed_step *step, GrB_Matrix A, GrB_Matrix B, bool flip)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .operation = operation, .in_place = true};
    if (tsr_match_descriptor(&call.mod, out->desc) || call.mod.mask_comp)
        return false;
    call.given.A = A ? A : B;
    call.given.B = A && B ? B : NULL;
    call.a.transposed = A ? call.mod.tran0 != flip : call.mod.tran1;
    call.b.transposed = call.mod.tran1;
    call.of.entries = *step;
    tsr_contents_decline(call.given.name, NULL);
    const bool done = tsr_run_call(info, &call);
    tsr_contents_decline(call.given.name, done ? NULL : call.why);
    return done;
}

static bool run(GrB_Info *info, const tsr_output *out, const tsr_compressed_step *step, GrB_Matrix A, GrB_Matrix B, bool flip)
{
    return run_as(info, out, &tsr_device_entries_operation, step, A, B, flip);
}

static bool is_two(tsr_type type, const tsr_argument *y)
{
    uint64_t bits;
    float narrow;
    double wide;
    if (!tsr_argument_scalar(&bits, type, y))
        return false;
    memcpy(&narrow, &bits, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return type == TSR_FP32 ? narrow == 2 : wide == 2;
}

/* C = A to the power of 2 of floats: each times itself. */
static bool try_square(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, const tsr_argument *y)
{
    tsr_type type;
    if (!is_compressed(A) || y->object || !tsr_match_power(&type, op) || !is_two(type, y))
        return false;
    return run(info, out, &(tsr_compressed_step){.step = {.op = TSR_EWISE_TIMES, .type = type, .result = type}, .x_is_a = true, .y_is_a = true}, A,
               NULL, false);
}

static bool may_run(const tsr_output *out, GrB_Matrix A, GrB_Matrix B)
{
    return !out->vector && !out->M && !out->accum && out->C && (A || B) && tsr_ewise_concerned(out, A, B) &&
           tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE);
}

static bool considered(const tsr_output *out, GrB_Matrix A, GrB_Matrix B)
{
    return may_run(out, A, B) && is_wanted(A, B);
}

bool tsr_try_unary_on_device(GrB_Info *info, const tsr_output *out, GrB_UnaryOp op, GrB_Matrix A)
{
    tsr_compressed_step t = {.x_is_a = true};
    if (!considered(out, A, NULL) || !tsr_match_unary(&t.step.op, &t.step.type, op))
        return false;
    t.step.result = t.step.type;
    return run(info, out, &t, A, NULL, false);
}

static bool fits(tsr_operand *operand, tsr_type type, const tsr_argument *argument)
{
    return argument->object || ((argument->scalar || argument->boxed) && tsr_argument_scalar(&operand->scalar, type, argument));
}

bool tsr_try_binary_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, tsr_argument x, tsr_argument y, tsr_pairing pairing)
{
    tsr_compressed_step t = {.x_is_a = x.object, .y_is_a = y.object};
    tsr_ewise *step = &t.step;
    if (!considered(out, x.object, y.object))
        return false;
    if (x.object && try_square(info, out, op, x.object, &y))
        return true;
    if (!tsr_match_binary(&step->op, &step->type, op) || !fits(&step->x, step->type, &x) || !fits(&step->y, step->type, &y))
        return false;
    step->result = tsr_ewise_compares(step->op) ? TSR_BOOL : step->type;
    step->unite = pairing == TSR_PAIR_ADD;
    return (!step->unite || step->result == step->type) && run(info, out, &t, x.object, y.object, false);
}

bool tsr_try_transpose_on_device(GrB_Info *info, const tsr_output *out, GrB_Matrix A)
{
    tsr_compressed_step t = {.x_is_a = true, .step.op = TSR_EWISE_IDENTITY};
    if (!considered(out, A, NULL) || !tsr_match_object_type(&t.step.type, out->C))
        return false;
    t.step.result = t.step.type;
    return run(info, out, &t, A, NULL, true);
}

bool tsr_try_kronecker_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Matrix B)
{
    tsr_compressed_step t = {.x_is_a = true, .y_is_a = true};
    return A && B && may_run(out, A, B) && is_pulled(A, B) && tsr_match_kronecker(&t.step, op) &&
           run_as(info, out, &tsr_device_kronecker_operation, &t, A, B, false);
}

/* ---- reductions ---- */

/* NULL: products with it are not computed here. */
static GrB_Semiring first_of(tsr_reduce_op op, tsr_type type)
{
    switch (op) {
    case TSR_REDUCE_PLUS: return tsr_semiring_named("GxB_PLUS_FIRST_", type);
    case TSR_REDUCE_MIN: return tsr_semiring_named("GxB_MIN_FIRST_", type);
    case TSR_REDUCE_MAX: return tsr_semiring_named("GxB_MAX_FIRST_", type);
    case TSR_REDUCE_LOR: return tsr_semiring_named("GxB_LOR_FIRST_", type);
    default: return NULL;
    }
}

/* Full, of one value: nobody looks at it. */
static GrB_Vector ones_of(tsr_type type, GrB_Index length)
{
    GrB_Vector v = NULL;
    const size_t size = tsr_type_size(type);
    if (tsr_real.GrB_Vector_new(&v, tsr_type_handle(type), length) != GrB_SUCCESS)
        return NULL;
    void *x = tsr_user_malloc(size);
    if (x)
        memset(x, 0, size);
    if (!x || tsr_real.GxB_Vector_pack_Full(v, &x, size, true, NULL) != GrB_SUCCESS) {
        tsr_user_free(x);
        tsr_real.GrB_Vector_free(&v);
    }
    return v;
}

/* As SuiteSparse does it: a product with a full vector, whose values do not count. */
bool tsr_try_rows_on_device(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A)
{
    GrB_Index length;
    tsr_reduce_op joins;
    tsr_type type;
    tsr_modifiers mod;
    if (!is_compressed(A) || !tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) || !tsr_match_reduce(&joins, &type, op) ||
        tsr_match_descriptor(&mod, out->desc))
        return false;
    const GrB_Semiring semiring = first_of(joins, type);
    if (!semiring || (mod.tran0 ? tsr_real.GrB_Matrix_nrows(&length, A) : tsr_real.GrB_Matrix_ncols(&length, A)) != GrB_SUCCESS)
        return false;
    tsr_depth++;
    tsr_quiet_begin();
    GrB_Vector ones = length > 0 ? ones_of(type, length) : NULL;
    tsr_quiet_end();
    tsr_depth--;
    const bool done = ones && tsr_try_mxv(info, (GrB_Vector)out->C, (GrB_Vector)out->M, out->accum, semiring, A, ones, out->desc);
    tsr_real.GrB_Vector_free(&ones);
    return done;
}
