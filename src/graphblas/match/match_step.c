/* Operators of elementwise steps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/step.h"

static bool match_step(tsr_step_op *op, tsr_type *type, const void *handle, GrB_Type first)
{
    tsr_operator found;
    if (!tsr_match_operator(&found, handle, first) || found.code >= TSR_STEP_COUNT)
        return false;
    *op = (tsr_step_op)found.code;
    *type = found.type;
    return true;
}

bool tsr_match_unary(tsr_step_op *op, tsr_type *type, GrB_UnaryOp handle)
{
    GrB_Type x;
    return tsr_real.GxB_UnaryOp_xtype(&x, handle) == GrB_SUCCESS && match_step(op, type, handle, x);
}

bool tsr_match_binary(tsr_step_op *op, tsr_type *type, GrB_BinaryOp handle)
{
    GrB_Type x;
    return tsr_real.GxB_BinaryOp_xtype(&x, handle) == GrB_SUCCESS && match_step(op, type, handle, x);
}

static bool type_of_y(GrB_Type *y, GrB_IndexUnaryOp handle)
{
    char name[GxB_MAX_NAME_LEN];
    return tsr_real.GxB_IndexUnaryOp_ytype_name(name, handle) == GrB_SUCCESS && tsr_real.GxB_Type_from_name(y, name) == GrB_SUCCESS;
}

bool tsr_match_select(tsr_step_op *op, tsr_type *type, GrB_IndexUnaryOp handle)
{
    GrB_Type y;
    return type_of_y(&y, handle) && match_step(op, type, handle, y);
}

bool tsr_match_place(tsr_place_rule *rule, tsr_type *type, GrB_IndexUnaryOp handle)
{
    static const tsr_place_rule rules[] = {
        [TSR_OPERATOR_ROWINDEX] = {.by_row = 1, .by_y = 1},
        [TSR_OPERATOR_COLINDEX] = {.by_column = 1, .by_y = 1},
        [TSR_OPERATOR_DIAGINDEX] = {.by_row = -1, .by_column = 1, .by_y = -1},
        [TSR_OPERATOR_TRIL] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_LE},
        [TSR_OPERATOR_TRIU] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_GE},
        [TSR_OPERATOR_DIAG] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_EQ},
        [TSR_OPERATOR_OFFDIAG] = {.by_row = -1, .by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_NE},
        [TSR_OPERATOR_ROWLE] = {.by_row = 1, .by_y = -1, .select = true, .keep = TSR_STEP_LE},
        [TSR_OPERATOR_ROWGT] = {.by_row = 1, .by_y = -1, .select = true, .keep = TSR_STEP_GT},
        [TSR_OPERATOR_COLLE] = {.by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_LE},
        [TSR_OPERATOR_COLGT] = {.by_column = 1, .by_y = -1, .select = true, .keep = TSR_STEP_GT}};
    tsr_operator found;
    GrB_Type y;
    if (!handle || !type_of_y(&y, handle) || !tsr_match_operator(&found, handle, y) || found.code < TSR_OPERATOR_ROWINDEX)
        return false;
    *rule = rules[found.code];
    *type = found.type;
    return true;
}

bool tsr_match_reduce(tsr_reduce_op *op, tsr_type *type, GrB_BinaryOp handle)
{
    tsr_operator found;
    GrB_Type x;
    if (!handle || tsr_real.GxB_BinaryOp_xtype(&x, handle) != GrB_SUCCESS || !tsr_match_operator(&found, handle, x))
        return false;
    *type = found.type;
    switch (found.code) {
    case TSR_STEP_PLUS: *op = TSR_REDUCE_PLUS; return true;
    case TSR_STEP_TIMES: *op = TSR_REDUCE_TIMES; return true;
    case TSR_STEP_MIN: *op = TSR_REDUCE_MIN; return true;
    case TSR_STEP_MAX: *op = TSR_REDUCE_MAX; return true;
    case TSR_STEP_LOR: *op = TSR_REDUCE_LOR; return *type == TSR_BOOL;
    case TSR_STEP_LAND: *op = TSR_REDUCE_LAND; return *type == TSR_BOOL;
    case TSR_STEP_LXOR: *op = TSR_REDUCE_LXOR; return *type == TSR_BOOL;
    case TSR_STEP_EQ: *op = TSR_REDUCE_EQ; return *type == TSR_BOOL;
    case TSR_OPERATOR_ANY: *op = TSR_REDUCE_ANY; return true;
    default: return false;
    }
}

const char *tsr_step_name(tsr_step_op op)
{
    static const char *const text[TSR_STEP_COUNT] = {
        [TSR_STEP_IDENTITY] = "identity", [TSR_STEP_AINV] = "ainv", [TSR_STEP_MINV] = "minv", [TSR_STEP_ABS] = "abs",
        [TSR_STEP_LNOT] = "lnot", [TSR_STEP_ONE] = "one", [TSR_STEP_SQRT] = "sqrt", [TSR_STEP_FIRST] = "first",
        [TSR_STEP_SECOND] = "second", [TSR_STEP_PAIR] = "pair", [TSR_STEP_PLUS] = "plus", [TSR_STEP_MINUS] = "minus",
        [TSR_STEP_RMINUS] = "rminus", [TSR_STEP_TIMES] = "times", [TSR_STEP_DIV] = "div", [TSR_STEP_RDIV] = "rdiv",
        [TSR_STEP_MIN] = "min", [TSR_STEP_MAX] = "max", [TSR_STEP_ISEQ] = "iseq", [TSR_STEP_ISNE] = "isne",
        [TSR_STEP_ISGT] = "isgt", [TSR_STEP_ISLT] = "islt", [TSR_STEP_ISGE] = "isge", [TSR_STEP_ISLE] = "isle",
        [TSR_STEP_LOR] = "lor", [TSR_STEP_LAND] = "land", [TSR_STEP_LXOR] = "lxor", [TSR_STEP_EQ] = "eq",
        [TSR_STEP_NE] = "ne", [TSR_STEP_GT] = "gt", [TSR_STEP_LT] = "lt", [TSR_STEP_GE] = "ge", [TSR_STEP_LE] = "le"};
    return text[op];
}
