/* Sums of matrices that are still deferred.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/elementwise.h"

/* Whoever made the monoid: SuiteSparse gives a built-in operator its own identity, whatever was asked for. */
static bool adds(GrB_Monoid monoid, tsr_type type)
{
    tsr_reduce_op op;
    tsr_type own;
    return tsr_match_reduce(&op, &own, tsr_operator_of_monoid(monoid)) && op == TSR_REDUCE_PLUS && own == type;
}

static bool known_total(int64_t *total, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc)
{
    tsr_type type;
    return !accum && !desc && tsr_may_route() && tsr_defer_total(A, &type, total) && adds(monoid, type);
}

bool tsr_try_total_INT64(int64_t *c, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc)
{
    int64_t total;
    if (!c || !known_total(&total, accum, monoid, A, desc))
        return false;
    *c = total;
    return true;
}

bool tsr_try_total_UINT64(uint64_t *c, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc)
{
    int64_t total;
    if (!c || !known_total(&total, accum, monoid, A, desc))
        return false;
    *c = (uint64_t)total;
    return true;
}
