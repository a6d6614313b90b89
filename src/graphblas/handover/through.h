/* C<M> accum= T by SuiteSparse, of a T that is a result of ours.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HANDOVER_THROUGH_H
#define TSR_HANDOVER_THROUGH_H

#include <GraphBLAS.h>

#include "src/engine/call/call.h"

/* A T without entries, of the shape of C. */
GrB_Info tsr_through_new(GrB_Matrix *T, GrB_Matrix C, bool vector, tsr_type type);

/* T = the arrays, in the form that they have. */
GrB_Info tsr_through_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays);

/* What stands on the left of C<M> accum= T. */
typedef struct tsr_through {
    GrB_Matrix C, M;
    GrB_BinaryOp accum;
    bool vector;
} tsr_through;

/* mod: what it says of M and C; NULL: nothing. */
GrB_Info tsr_through_put(const tsr_through *to, const tsr_modifiers *mod, GrB_Matrix T, tsr_type type);

#endif
