/* Operators of elementwise steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/match/match.h"

static bool match_step(tsr_ewise_op *op, tsr_type *type, tsr_operator_kind kind, const void *handle, GrB_Type first)
{
    tsr_operator found;
    if (!tsr_match_operator(&found, kind, handle, first) || found.code >= TSR_EWISE_COUNT)
        return false;
    *op = (tsr_ewise_op)found.code;
    *type = found.type;
    return true;
}

bool tsr_match_unary(tsr_ewise_op *op, tsr_type *type, GrB_UnaryOp handle)
{
    GrB_Type x;
    return tsr_real.GxB_UnaryOp_xtype(&x, handle) == GrB_SUCCESS && match_step(op, type, TSR_UNARY, handle, x);
}

bool tsr_match_binary(tsr_ewise_op *op, tsr_type *type, GrB_BinaryOp handle)
{
    GrB_Type x;
    return tsr_real.GxB_BinaryOp_xtype(&x, handle) == GrB_SUCCESS && match_step(op, type, TSR_BINARY, handle, x);
}

bool tsr_match_power(tsr_type *type, GrB_BinaryOp handle)
{
    GrB_Type x;
    tsr_operator op;
    if (tsr_real.GxB_BinaryOp_xtype(&x, handle) != GrB_SUCCESS || !tsr_match_operator(&op, TSR_BINARY, handle, x) || op.code != TSR_OPERATOR_POW)
        return false;
    *type = op.type;
    return *type == TSR_FP32 || *type == TSR_FP64;
}

static bool type_of_y(GrB_Type *y, GrB_IndexUnaryOp handle)
{
    char name[GxB_MAX_NAME_LEN];
    return tsr_real.GxB_IndexUnaryOp_ytype_name(name, handle) == GrB_SUCCESS && tsr_real.GxB_Type_from_name(y, name) == GrB_SUCCESS;
}

bool tsr_match_select(tsr_ewise_op *op, tsr_type *type, GrB_IndexUnaryOp handle)
{
    GrB_Type y;
    return type_of_y(&y, handle) && match_step(op, type, TSR_INDEX_UNARY, handle, y);
}

GrB_IndexUnaryOp tsr_match_old_select(GxB_SelectOp op)
{
    static const char *const names[][2] = {
        {"GxB_TRIL", "GrB_TRIL"}, {"GxB_TRIU", "GrB_TRIU"}, {"GxB_DIAG", "GrB_DIAG"}, {"GxB_OFFDIAG", "GrB_OFFDIAG"}};
    for (size_t k = 0; op && k < sizeof names / sizeof *names; k++) {
        const GxB_SelectOp *old = tsr_real_symbol(names[k][0]);
        const GrB_IndexUnaryOp *made = tsr_real_symbol(names[k][1]);
        if (old && made && *old == op)
            return *made;
    }
    return NULL;
}

bool tsr_match_place(tsr_place_rule *rule, tsr_type *type, GrB_IndexUnaryOp handle)
{
    static const tsr_place_rule rules[] = {
        [TSR_OPERATOR_ROWINDEX] = {.by_row = 1, .by_y = 1},
        [TSR_OPERATOR_COLINDEX] = {.by_column = 1, .by_y = 1},
        [TSR_OPERATOR_DIAGINDEX] = {.by_row = -1, .by_column = 1, .by_y = -1},
        [TSR_OPERATOR_TRIL] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_LE},
        [TSR_OPERATOR_TRIU] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_GE},
        [TSR_OPERATOR_DIAG] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_EQ},
        [TSR_OPERATOR_OFFDIAG] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_NE},
        [TSR_OPERATOR_ROWLE] = {.by_row = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_LE},
        [TSR_OPERATOR_ROWGT] = {.by_row = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_GT},
        [TSR_OPERATOR_COLLE] = {.by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_LE},
        [TSR_OPERATOR_COLGT] = {.by_column = 1, .by_y = -1, .select = true, .keep = TSR_EWISE_GT}};
    tsr_operator found;
    GrB_Type y;
    if (!handle || !type_of_y(&y, handle) || !tsr_match_operator(&found, TSR_INDEX_UNARY, handle, y) || found.code < TSR_OPERATOR_ROWINDEX)
        return false;
    *rule = rules[found.code];
    *type = found.type;
    return true;
}

bool tsr_match_reduce(tsr_reduce_op *op, tsr_type *type, GrB_BinaryOp handle)
{
    tsr_operator found;
    GrB_Type x;
    if (!handle || tsr_real.GxB_BinaryOp_xtype(&x, handle) != GrB_SUCCESS || !tsr_match_operator(&found, TSR_BINARY, handle, x))
        return false;
    *type = found.type;
    switch (found.code) {
    case TSR_EWISE_PLUS: *op = TSR_REDUCE_PLUS; return true;
    case TSR_EWISE_TIMES: *op = TSR_REDUCE_TIMES; return true;
    case TSR_EWISE_MIN: *op = TSR_REDUCE_MIN; return true;
    case TSR_EWISE_MAX: *op = TSR_REDUCE_MAX; return true;
    case TSR_EWISE_LOR: *op = TSR_REDUCE_LOR; return *type == TSR_BOOL;
    case TSR_EWISE_LAND: *op = TSR_REDUCE_LAND; return *type == TSR_BOOL;
    case TSR_EWISE_LXOR: *op = TSR_REDUCE_LXOR; return *type == TSR_BOOL;
    case TSR_EWISE_EQ: *op = TSR_REDUCE_EQ; return *type == TSR_BOOL;
    case TSR_OPERATOR_ANY: *op = TSR_REDUCE_ANY; return true;
    default: return false;
    }
}
