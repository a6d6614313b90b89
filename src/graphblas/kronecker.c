/* Kronecker products: what their arguments say.  An operand that lies otherwise than C is transposed by SuiteSparse first, as in its own product: what it
 * takes is little beside C.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/kronecker.h"

#include "src/engine/product/kronecker.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/product.h"
#include "src/policy/price/kronecker.h"
#include "src/runtime/config.h"

static double entries_of(GrB_Matrix A)
{
    GrB_Index entries = 0;
    return tsr_real.GrB_Matrix_nvals(&entries, A) == GrB_SUCCESS ? (double)entries : 0;
}

bool tsr_kronecker_wanted(GrB_Matrix A, GrB_Matrix B)
{
    if (!A || !B || !tsr_may_route() || (tsr_config_get()->disabled & TSR_DISABLE_ELEMENTWISE))
        return false;
    if (tsr_config_forces_cpu())
        return true;
    tsr_quiet_begin();
    const bool pays = entries_of(A) * entries_of(B) >= TSR_KRONECKER_LEAST;
    tsr_quiet_end();
    return pays;
}

static void copy_settings(GrB_Matrix to, GrB_Matrix from, bool by_col)
{
    const tsr_settings s = tsr_settings_read(from);
    (void)tsr_option_set_int32(to, GxB_FORMAT, by_col ? GxB_BY_COL : GxB_BY_ROW);
    (void)tsr_option_set_fp64(to, GxB_HYPER_SWITCH, s.hyper_switch);
    (void)tsr_option_set_fp64(to, GxB_BITMAP_SWITCH, s.bitmap_switch);
    (void)tsr_option_set_int32(to, GxB_SPARSITY_CONTROL, s.control);
}

/* A, or its transpose, held by_col, with A's settings; NULL: it could not be made. */
static GrB_Matrix turned(GrB_Matrix A, const tsr_shape *shape, bool transposed, bool by_col)
{
    const GrB_Index nrows = (GrB_Index)shape->nrows, ncols = (GrB_Index)shape->ncols;
    const GrB_Descriptor *as_it_is = tsr_real_symbol("GrB_DESC_T0");
    GrB_Matrix T = NULL;
    if (!as_it_is || tsr_real.GrB_Matrix_new(&T, tsr_type_handle(shape->type), transposed ? ncols : nrows, transposed ? nrows : ncols) != GrB_SUCCESS)
        return NULL;
    copy_settings(T, A, by_col);
    if (tsr_real.GrB_Matrix_wait(A, GrB_MATERIALIZE) != GrB_SUCCESS ||
        tsr_real.GrB_transpose(T, NULL, NULL, A, transposed ? NULL : *as_it_is) != GrB_SUCCESS)
        tsr_real.GrB_Matrix_free(&T);
    return T;
}

/* *operand is A where that lies as C does, perhaps as its own transpose, else *made, and not transposed.  False: out of memory, or not a matrix of a
 * built-in type. */
static bool lay(void **operand, GrB_Matrix *made, bool *transposed, GrB_Matrix A, bool by_col)
{
    tsr_shape shape;
    *operand = A;
    if (!tsr_graphblas_door.shape(&shape, A, false))
        return false;
    if ((shape.by_col != *transposed) == by_col)
        return true;
    *operand = *made = turned(A, &shape, *transposed, by_col);
    *transposed = false;
    return *made;
}

/* Of bools DIV is FIRST, and RDIV is SECOND.  This product of SuiteSparse's does not see that, and its C is not one value where an operand is. */
static bool divides_bools(const tsr_ewise *step, GrB_BinaryOp op)
{
    const GrB_BinaryOp *first = tsr_real_symbol("GrB_FIRST_BOOL"), *second = tsr_real_symbol("GrB_SECOND_BOOL");
    const bool copies = step->type == TSR_BOOL && (step->op == TSR_EWISE_FIRST || step->op == TSR_EWISE_SECOND);
    return copies && !(first && *first == op) && !(second && *second == op);
}

bool tsr_match_kronecker(tsr_ewise *step, GrB_BinaryOp op)
{
    if (!op || !tsr_match_binary(&step->op, &step->type, op) || divides_bools(step, op))
        return false;
    step->result = tsr_ewise_compares(step->op) ? TSR_BOOL : step->type;
    return true;
}

static bool match(tsr_call *call, const tsr_output *out, GrB_BinaryOp op)
{
    return out->C && !tsr_match_descriptor(&call->mod, out->desc) && (!call->mod.mask_comp || out->M) &&
           tsr_match_kronecker(&call->update.step, op) && (!out->accum || tsr_match_accum(out->accum));
}

static bool run(GrB_Info *info, tsr_call *call, GrB_Matrix A, GrB_Matrix B)
{
    GrB_Matrix made[2] = {NULL, NULL};
    tsr_shape c;
    tsr_depth++;
    tsr_quiet_begin();
    const bool laid = tsr_graphblas_door.shape(&c, call->given.C, false) && lay(&call->given.A, &made[0], &call->mod.tran0, A, c.by_col) &&
                      lay(&call->given.B, &made[1], &call->mod.tran1, B, c.by_col);
    tsr_quiet_end();
    tsr_depth--;
    const bool done = laid && tsr_run_call(info, call);
    for (int k = 0; k < 2; k++)
        if (made[k])
            tsr_real.GrB_Matrix_free(&made[k]);
    return done;
}

bool tsr_try_kronecker(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Matrix B)
{
    tsr_call call = {.given = tsr_given_of(out), .door = &tsr_graphblas_door, .operation = &tsr_kronecker_operation};
    return match(&call, out, op) && run(info, &call, A, B);
}
