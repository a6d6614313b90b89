/* Built-in types and operators, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OPERATORS_H
#define TSR_OPERATORS_H

#include "src/graphblas/door.h"

/* Built-in real types only. */
bool tsr_match_type(tsr_type *type, GrB_Type handle);
GrB_Type tsr_type_handle(tsr_type type);

/* What is no tsr_step_op: ANY; binary operators of positions, of all types the same; what an IndexUnaryOp does with positions. */
enum {
    TSR_OPERATOR_ANY = TSR_STEP_COUNT, TSR_OPERATOR_POSITIONAL,
    TSR_OPERATOR_ROWINDEX, TSR_OPERATOR_COLINDEX, TSR_OPERATOR_DIAGINDEX, TSR_OPERATOR_TRIL, TSR_OPERATOR_TRIU, TSR_OPERATOR_DIAG,
    TSR_OPERATOR_OFFDIAG, TSR_OPERATOR_ROWLE, TSR_OPERATOR_ROWGT, TSR_OPERATOR_COLLE, TSR_OPERATOR_COLGT
};

typedef struct tsr_operator {
    int code; /* tsr_step_op, or one of the above */
    tsr_type type;
} tsr_operator;

/* On BOOL every operator is one of LOR, LAND, LXOR, FIRST, SECOND, PAIR, ANY and the comparisons (unary: IDENTITY, LNOT, ONE).
 * first: type of its first operand; of an IndexUnaryOp, of its value y.  False: not built in, or of no use here. */
bool tsr_match_operator(tsr_operator *op, const void *handle, GrB_Type first);

#endif
