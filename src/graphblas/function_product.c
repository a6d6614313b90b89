/* Products with a multiplier that the program made: what their arguments say.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/function_product.h"

#include "src/engine/sparse/function_product.h"
#include "src/graphblas/elementwise.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/own_operators.h"
#include "src/graphblas/product.h"
#include "src/policy/price/selection.h"
#include "src/runtime/config.h"

static bool allowed(const tsr_arguments *given)
{
    const tsr_config *config = tsr_config_get();
    return given->vector && given->C && given->A && given->B && !given->M && config->mode != TSR_MODE_OFF && config->mode != TSR_MODE_GPU &&
           !(config->disabled & given->disable);
}

/* A built-in monoid over what the function gives. */
static bool match_semiring(tsr_call *call)
{
    GrB_Monoid monoid;
    GrB_BinaryOp add, multiply;
    tsr_own_operator made;
    tsr_type x, y, of_add;
    tsr_function_product *p = &call->of.function;
    const GrB_Semiring semiring = call->given.semiring;
    if (!semiring || tsr_real.GxB_Semiring_multiply(&multiply, semiring) != GrB_SUCCESS || !tsr_own_find(&made, multiply) ||
        tsr_real.GxB_Semiring_add(&monoid, semiring) != GrB_SUCCESS || tsr_real.GxB_Monoid_operator(&add, monoid) != GrB_SUCCESS ||
        !tsr_match_reduce(&p->add, &of_add, add) || !tsr_match_type(&p->type, made.z) || of_add != p->type || !tsr_match_type(&x, made.x) ||
        !tsr_match_type(&y, made.y))
        return false;
    p->multiply = (tsr_multiply_function *)made.function;
    p->swapped = call->given.flip;
    p->a.type = p->swapped ? y : x;
    call->b.view.type = p->swapped ? x : y;
    return true;
}

/* By the vectors that are summed up: rows of A for A u, columns for u A, or the other ones where it is transposed. */
static bool lies_well(const tsr_call *call)
{
    int32_t format;
    if (tsr_option_get_int32(call->given.A, GxB_FORMAT, &format) != GrB_SUCCESS)
        return false;
    const bool by_row = format == GxB_BY_ROW;
    return call->given.flip ? by_row == call->mod.tran1 : by_row != call->mod.tran0;
}

bool tsr_try_function_product(GrB_Info *info, const tsr_arguments *given)
{
    tsr_call call = {.given = *given, .door = &tsr_graphblas_door, .operation = &tsr_function_product_operation};
    return allowed(given) && match_semiring(&call) && !tsr_match_descriptor(&call.mod, given->desc) && !call.mod.mask_comp && lies_well(&call) &&
           tsr_has_entries(given->A, TSR_FUNCTION_LEAST) && tsr_product_download(given) && tsr_match_held_sparse(given->A) &&
           tsr_match_sparsity(given->B) == GxB_FULL && tsr_run_call(info, &call);
}
