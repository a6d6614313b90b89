/* Sums of matrices that are still deferred.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/door.h"
#include "src/graphblas/hooks.h"

/* The built-in monoid, by either of its names. */
static bool is_plus_monoid(GrB_Monoid monoid, tsr_type type)
{
    static const char *const names[TSR_TYPE_COUNT][2] = {
        [TSR_INT8] = {"GrB_PLUS_MONOID_INT8", "GxB_PLUS_INT8_MONOID"},
        [TSR_INT16] = {"GrB_PLUS_MONOID_INT16", "GxB_PLUS_INT16_MONOID"},
        [TSR_INT32] = {"GrB_PLUS_MONOID_INT32", "GxB_PLUS_INT32_MONOID"},
        [TSR_INT64] = {"GrB_PLUS_MONOID_INT64", "GxB_PLUS_INT64_MONOID"},
        [TSR_UINT8] = {"GrB_PLUS_MONOID_UINT8", "GxB_PLUS_UINT8_MONOID"},
        [TSR_UINT16] = {"GrB_PLUS_MONOID_UINT16", "GxB_PLUS_UINT16_MONOID"},
        [TSR_UINT32] = {"GrB_PLUS_MONOID_UINT32", "GxB_PLUS_UINT32_MONOID"},
        [TSR_UINT64] = {"GrB_PLUS_MONOID_UINT64", "GxB_PLUS_UINT64_MONOID"}};
    for (int k = 0; monoid && k < 2; k++) {
        GrB_Monoid *variable = names[type][k] ? tsr_real_symbol(names[type][k]) : NULL;
        if (variable && *variable == monoid)
            return true;
    }
    return false;
}

static bool known_total(int64_t *total, const GrB_BinaryOp accum, const GrB_Monoid monoid, const GrB_Matrix A, const GrB_Descriptor desc)
{
    tsr_type type;
    return !accum && !desc && tsr_may_route() && tsr_defer_total(A, &type, total) && is_plus_monoid(monoid, type);
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
