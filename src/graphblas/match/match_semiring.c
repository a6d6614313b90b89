/* Semirings and accumulators, taken apart by operators.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/match/match.h"

static bool as_add(tsr_add *add, tsr_operator op)
{
    switch (op.code) {
    case TSR_EWISE_PLUS: *add = TSR_ADD_PLUS; return true;
    case TSR_EWISE_MAX: *add = TSR_ADD_MAX; return true;
    case TSR_EWISE_MIN: *add = TSR_ADD_MIN; return true;
    case TSR_OPERATOR_ANY: *add = TSR_ADD_ANY; return true;
    case TSR_EWISE_LOR: *add = TSR_ADD_LOR; return op.type == TSR_BOOL;
    default: return false;
    }
}

static bool as_mul(tsr_mul *mul, tsr_operator op)
{
    switch (op.code) {
    case TSR_EWISE_TIMES: *mul = TSR_MUL_TIMES; return true;
    case TSR_EWISE_LAND: *mul = TSR_MUL_AND; return true;
    case TSR_EWISE_FIRST: *mul = TSR_MUL_FIRST; return true;
    case TSR_EWISE_SECOND: *mul = TSR_MUL_SECOND; return true;
    case TSR_EWISE_PAIR: *mul = TSR_MUL_PAIR; return true;
    case TSR_EWISE_PLUS: *mul = TSR_MUL_PLUS; return true;
    default: return false;
    }
}

static bool take_apart(tsr_semiring *out, GrB_Semiring semiring)
{
    GrB_Monoid monoid;
    GrB_BinaryOp add, mul;
    GrB_Type type;
    if (tsr_real.GxB_Semiring_add(&monoid, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Semiring_multiply(&mul, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Monoid_operator(&add, monoid) != GrB_SUCCESS || tsr_real.GxB_BinaryOp_xtype(&type, mul) != GrB_SUCCESS)
        return false;
    tsr_operator a, m;
    if (!tsr_match_operator(&a, TSR_BINARY, add, type) || !tsr_match_operator(&m, TSR_BINARY, mul, type))
        return false;
    out->type = a.type;
    return as_add(&out->add, a) && as_mul(&out->mul, m);
}

enum { KNOWN = 1, FIELD_BITS = 4, FIELD = (1 << FIELD_BITS) - 1 };

bool tsr_match_semiring(tsr_semiring *out, GrB_Semiring semiring)
{
    unsigned fact;
    if (!tsr_memo_find(&fact, TSR_MEMO_SEMIRING, semiring)) {
        *out = (tsr_semiring){0};
        fact = semiring && take_apart(out, semiring) ? KNOWN : 0;
        fact |= ((((unsigned)out->add << FIELD_BITS) | (unsigned)out->mul) << FIELD_BITS | (unsigned)out->type) << 1;
        tsr_memo_keep(TSR_MEMO_SEMIRING, semiring, fact);
    }
    *out = (tsr_semiring){.add = (tsr_add)(fact >> (1 + 2 * FIELD_BITS)), .mul = (tsr_mul)(fact >> (1 + FIELD_BITS) & FIELD),
                          .type = (tsr_type)(fact >> 1 & FIELD)};
    return fact & KNOWN;
}

bool tsr_match_plus(GrB_BinaryOp op, tsr_type type)
{
    tsr_operator known;
    return tsr_match_operator(&known, TSR_BINARY, op, tsr_type_handle(type)) && known.code == TSR_EWISE_PLUS;
}

bool tsr_match_monoid(GrB_BinaryOp op, tsr_semiring semiring)
{
    tsr_operator known;
    tsr_add add;
    return tsr_match_operator(&known, TSR_BINARY, op, tsr_type_handle(semiring.type)) && as_add(&add, known) && add == semiring.add;
}

bool tsr_match_accum(GrB_BinaryOp accum)
{
    tsr_operator known;
    GrB_Type z, x, y;
    tsr_type unused;
    if (tsr_real.GxB_BinaryOp_xtype(&x, accum) != GrB_SUCCESS)
        return false;
    if (tsr_match_operator(&known, TSR_BINARY, accum, x))
        return known.code < TSR_OPERATOR_FIRSTI || known.code > TSR_OPERATOR_SECONDJ1;
    return tsr_match_type(&unused, x) && tsr_real.GxB_BinaryOp_ztype(&z, accum) == GrB_SUCCESS && tsr_match_type(&unused, z) &&
           tsr_real.GxB_BinaryOp_ytype(&y, accum) == GrB_SUCCESS && tsr_match_type(&unused, y);
}
