/* Semirings of products of few sparse vectors: every built-in one of real types.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/match/match.h"

/* Eight operators of positions, in the order of their names: what they give, with the operands as given and exchanged. */
static const tsr_factor positions[2][4] = {
    {TSR_FACTOR_VECTOR, TSR_FACTOR_MIDDLE, TSR_FACTOR_MIDDLE, TSR_FACTOR_OUTPUT},
    {TSR_FACTOR_OUTPUT, TSR_FACTOR_MIDDLE, TSR_FACTOR_MIDDLE, TSR_FACTOR_VECTOR}};

enum { KNOWN = 1, ADD_BITS = 4, TYPE_BITS = 4, MUL_BITS = 6 };

static bool is_position(int code)
{
    return code >= TSR_OPERATOR_FIRSTI && code <= TSR_OPERATOR_SECONDJ1;
}

static bool take_apart(unsigned *fact, GrB_Semiring semiring)
{
    GrB_Monoid monoid;
    GrB_BinaryOp add, mul;
    GrB_Type type;
    tsr_operator m;
    tsr_reduce_op sum;
    tsr_type of_sum;
    if (tsr_real.GxB_Semiring_add(&monoid, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Semiring_multiply(&mul, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Monoid_operator(&add, monoid) != GrB_SUCCESS || tsr_real.GxB_BinaryOp_xtype(&type, mul) != GrB_SUCCESS ||
        !tsr_match_operator(&m, TSR_BINARY, mul, type) || !tsr_match_reduce(&sum, &of_sum, add))
        return false;
    const bool position = is_position(m.code);
    if (!position && (m.code >= TSR_EWISE_COUNT || tsr_ewise_is_unary((tsr_ewise_op)m.code)))
        return false;
    const unsigned code = position ? (unsigned)(TSR_EWISE_COUNT + m.code - TSR_OPERATOR_FIRSTI) : (unsigned)m.code;
    *fact = KNOWN | (unsigned)sum << 1 | (unsigned)m.type << (1 + ADD_BITS) | code << (1 + ADD_BITS + TYPE_BITS);
    return of_sum == (!position && tsr_ewise_compares((tsr_ewise_op)m.code) ? TSR_BOOL : m.type);
}

static unsigned field(unsigned fact, int first, int bits)
{
    return fact >> first & ((1U << bits) - 1);
}

bool tsr_match_push_semiring(tsr_push_semiring *out, GrB_Semiring semiring, bool swapped)
{
    unsigned fact;
    if (!tsr_memo_find(&fact, TSR_MEMO_PUSH, semiring)) {
        if (!semiring || !take_apart(&fact, semiring))
            fact = 0;
        tsr_memo_keep(TSR_MEMO_PUSH, semiring, fact);
    }
    const unsigned code = field(fact, 1 + ADD_BITS + TYPE_BITS, MUL_BITS);
    const bool position = code >= TSR_EWISE_COUNT;
    *out = (tsr_push_semiring){.add = (tsr_reduce_op)field(fact, 1, ADD_BITS), .type = (tsr_type)field(fact, 1 + ADD_BITS, TYPE_BITS),
                               .swapped = swapped, .factor = TSR_FACTOR_VALUES, .mul = (tsr_ewise_op)(position ? 0 : code)};
    out->result = !position && tsr_ewise_compares(out->mul) ? TSR_BOOL : out->type;
    if (position) {
        out->factor = positions[swapped][(code - TSR_EWISE_COUNT) / 2];
        out->offset = (code - TSR_EWISE_COUNT) % 2;
    }
    return fact & KNOWN;
}

/* The middle index is the same whichever operand is the vector. */
bool tsr_match_positions(tsr_semiring *out, int64_t *offset, GrB_Semiring semiring)
{
    tsr_push_semiring s;
    if (!tsr_match_push_semiring(&s, semiring, false) || s.factor != TSR_FACTOR_MIDDLE)
        return false;
    *out = (tsr_semiring){.type = s.type, .mul = TSR_MUL_SECOND};
    *offset = s.offset;
    switch (s.add) {
    case TSR_REDUCE_ANY: out->add = TSR_ADD_ANY; return true;
    case TSR_REDUCE_MIN: out->add = TSR_ADD_MIN; return true;
    case TSR_REDUCE_MAX: out->add = TSR_ADD_MAX; return true;
    default: return false;
    }
}
