/* C<M> accum= T by SuiteSparse: an apply of the identity.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/through.h"

#include "src/graphblas/handover/finish.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/match/match.h"

GrB_Info tsr_through_new(GrB_Matrix *T, GrB_Matrix C, bool vector, tsr_type type)
{
    GrB_Index nrows, ncols;
    GrB_Info info = tsr_real.GrB_Matrix_nrows(&nrows, C);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_ncols(&ncols, C);
    if (info != GrB_SUCCESS)
        return info;
    if (vector)
        return tsr_real.GrB_Vector_new((GrB_Vector *)T, tsr_type_handle(type), nrows);
    return tsr_real.GrB_Matrix_new(T, tsr_type_handle(type), nrows, ncols);
}

/* GrB_apply of GraphBLAS 10.5 with a mask or an accumulator takes a shallow copy of its input, and refuses to sort that. */
GrB_Info tsr_through_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays)
{
    const bool refused = GxB_IMPLEMENTATION_MAJOR >= 10 && arrays->jumbled;
    const GrB_Info info = tsr_pack(T, vector, by_col, arrays);
    return info == GrB_SUCCESS && refused ? tsr_real.GrB_Matrix_wait(T, GrB_MATERIALIZE) : info;
}

/* The built-in descriptor with just the parts that concern C and M. */
static GrB_Descriptor output_descriptor(const tsr_modifiers *mod)
{
    static const char *const names[8] = {NULL,            "GrB_DESC_S",  "GrB_DESC_C",  "GrB_DESC_SC",
                                         "GrB_DESC_R",    "GrB_DESC_RS", "GrB_DESC_RC", "GrB_DESC_RSC"};
    const char *name = mod ? names[(mod->replace ? 4 : 0) + (mod->mask_comp ? 2 : 0) + (mod->mask_struct ? 1 : 0)] : NULL;
    GrB_Descriptor *variable = name ? tsr_real_symbol(name) : NULL;
    return variable ? *variable : NULL;
}

static GrB_UnaryOp identity_op(tsr_type type)
{
    static const char *const names[TSR_TYPE_COUNT] = {
        "GrB_IDENTITY_BOOL",   "GrB_IDENTITY_INT8",   "GrB_IDENTITY_INT16", "GrB_IDENTITY_INT32",
        "GrB_IDENTITY_INT64",  "GrB_IDENTITY_UINT8",  "GrB_IDENTITY_UINT16", "GrB_IDENTITY_UINT32",
        "GrB_IDENTITY_UINT64", "GrB_IDENTITY_FP32",   "GrB_IDENTITY_FP64"};
    GrB_UnaryOp *variable = tsr_real_symbol(names[type]);
    return variable ? *variable : NULL;
}

GrB_Info tsr_through_put(const tsr_through *to, const tsr_modifiers *mod, GrB_Matrix T, tsr_type type)
{
    GrB_UnaryOp op = identity_op(type);
    GrB_Descriptor desc = output_descriptor(mod);
    if (to->vector)
        return tsr_real.GrB_Vector_apply((GrB_Vector)to->C, (GrB_Vector)to->M, to->accum, op, (GrB_Vector)T, desc);
    return tsr_real.GrB_Matrix_apply(to->C, to->M, to->accum, op, T, desc);
}
