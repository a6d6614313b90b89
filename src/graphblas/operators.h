/* Built-in types and operators, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OPERATORS_H
#define TSR_OPERATORS_H

#include "src/graphblas/door.h"

/* Built-in real types only. */
bool tsr_match_type(tsr_type *type, GrB_Type handle);
GrB_Type tsr_type_handle(tsr_type type);

/* What is no tsr_step_op: ANY; operators of positions, of all types the same. */
enum { TSR_OPERATOR_ANY = TSR_STEP_COUNT, TSR_OPERATOR_POSITIONAL };

typedef struct tsr_operator {
    int code; /* tsr_step_op, or one of the above */
    tsr_type type;
} tsr_operator;

/* On BOOL every operator is one of LOR, LAND, LXOR, FIRST, SECOND, PAIR, ANY and the comparisons (unary: IDENTITY, LNOT, ONE).
 * first: type of its first operand; of what selects by value, of that value.  False: not built in, or of no use here. */
bool tsr_match_operator(tsr_operator *op, const void *handle, GrB_Type first);

#endif
