/* Built-in types and operators, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OPERATORS_H
#define TSR_OPERATORS_H

#include "src/graphblas/intercept/door.h"

/* ---- what was found out about a handle, until it is freed or set (the wrappers say so) ---- */

typedef enum tsr_memo { TSR_MEMO_SEMIRING, TSR_MEMO_PUSH, TSR_MEMO_DESCRIPTOR, TSR_MEMO_JUMBLED, TSR_MEMO_COUNT } tsr_memo;

/* fact: 17 bits. */
bool tsr_memo_find(unsigned *fact, tsr_memo memo, const void *handle);
void tsr_memo_keep(tsr_memo memo, const void *handle, unsigned fact);
void tsr_memo_forget(const void *handle);

/* Has SuiteSparse made it, and may have left its entries in any order?  Of a matrix: as far as it is remembered, and perhaps no more. */
static inline bool tsr_may_be_jumbled(const void *handle)
{
    unsigned fact;
    return tsr_memo_find(&fact, TSR_MEMO_JUMBLED, handle) && fact;
}

/* ---- types and operators ---- */

/* Built-in real types only. */
bool tsr_match_type(tsr_type *type, GrB_Type handle);
GrB_Type tsr_type_handle(tsr_type type);
/* The built-in semiring of this name, which the type ends; NULL: there is none. */
GrB_Semiring tsr_semiring_named(const char *start, tsr_type type);

/* What is no tsr_ewise_op: ANY; binary operators of positions; what an IndexUnaryOp does with positions. */
enum {
    TSR_OPERATOR_ANY = TSR_EWISE_COUNT,
    TSR_OPERATOR_FIRSTI, TSR_OPERATOR_FIRSTI1, TSR_OPERATOR_FIRSTJ, TSR_OPERATOR_FIRSTJ1,
    TSR_OPERATOR_SECONDI, TSR_OPERATOR_SECONDI1, TSR_OPERATOR_SECONDJ, TSR_OPERATOR_SECONDJ1,
    TSR_OPERATOR_ROWINDEX, TSR_OPERATOR_COLINDEX, TSR_OPERATOR_DIAGINDEX, TSR_OPERATOR_TRIL, TSR_OPERATOR_TRIU, TSR_OPERATOR_DIAG,
    TSR_OPERATOR_OFFDIAG, TSR_OPERATOR_ROWLE, TSR_OPERATOR_ROWGT, TSR_OPERATOR_COLLE, TSR_OPERATOR_COLGT, TSR_OPERATOR_POW
};

typedef enum tsr_operator_kind { TSR_BINARY, TSR_UNARY, TSR_INDEX_UNARY } tsr_operator_kind;

typedef struct tsr_operator {
    int code; /* tsr_ewise_op, or one of the above */
    tsr_type type;
} tsr_operator;

/* On BOOL every operator is one of LOR, LAND, LXOR, FIRST, SECOND, PAIR, ANY and the comparisons (unary: IDENTITY, LNOT, ONE).
 * first: type of its first operand; of an IndexUnaryOp, of its value y.  False: not built in, or of no use here. */
bool tsr_match_operator(tsr_operator *op, tsr_operator_kind kind, const void *handle, GrB_Type first);

#endif
