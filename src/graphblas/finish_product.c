/* The result of a product becomes C: directly, or as T of C<M> accum= T.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

static GrB_Info finish_direct(tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    return tsr_finish_own(given->C, given->vector, call->t_by_col, &call->arrays);
}

static GrB_Info new_t(GrB_Matrix *T, const tsr_call *call)
{
    const GrB_Type type = tsr_type_handle(call->product.semiring.type);
    GrB_Index nrows, ncols;
    GrB_Info info = tsr_real.GrB_Matrix_nrows(&nrows, call->given.C);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_ncols(&ncols, call->given.C);
    if (info != GrB_SUCCESS)
        return info;
    if (call->given.vector)
        return tsr_real.GrB_Vector_new((GrB_Vector *)T, type, nrows);
    return tsr_real.GrB_Matrix_new(T, type, nrows, ncols);
}

/* The built-in descriptor with just the parts that concern C and M. */
static GrB_Descriptor output_descriptor(const tsr_modifiers *mod)
{
    static const char *const names[8] = {NULL,            "GrB_DESC_S",  "GrB_DESC_C",  "GrB_DESC_SC",
                                         "GrB_DESC_R",    "GrB_DESC_RS", "GrB_DESC_RC", "GrB_DESC_RSC"};
    const char *name = names[(mod->replace ? 4 : 0) + (mod->mask_comp ? 2 : 0) + (mod->mask_struct ? 1 : 0)];
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

/* C<M> accum= T */
static GrB_Info apply_identity(const tsr_call *call, GrB_Matrix C, GrB_Matrix M, GrB_Descriptor desc, GrB_Matrix T)
{
    GrB_UnaryOp op = identity_op(call->product.semiring.type);
    const tsr_arguments *given = &call->given;
    if (given->vector)
        return tsr_real.GrB_Vector_apply((GrB_Vector)C, (GrB_Vector)M, given->accum, op, (GrB_Vector)T, desc);
    return tsr_real.GrB_Matrix_apply(C, M, given->accum, op, T, desc);
}

/* T<M>: with C as output SuiteSparse would compare T's one value with C's entries, which are to go. */
static GrB_Info mask_t(GrB_Matrix *T, const tsr_call *call)
{
    GrB_Matrix masked = NULL;
    GrB_Info info = new_t(&masked, call);
    if (info == GrB_SUCCESS)
        info = apply_identity(call, masked, call->given.M, output_descriptor(&call->mod), *T);
    tsr_real.GrB_Matrix_free(info == GrB_SUCCESS ? T : &masked);
    if (info == GrB_SUCCESS)
        *T = masked;
    return info;
}

static GrB_Info put_t(GrB_Matrix *T, const tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    const bool masked = call->product.op == TSR_OP_MASKED_DOT; /* T is */
    if (!given->M || !call->mod.replace || given->accum || !(masked || (call->iso && tsr_engine_masks_t(call))))
        return apply_identity(call, given->C, given->M, output_descriptor(&call->mod), *T);
    const GrB_Info info = masked ? GrB_SUCCESS : mask_t(T, call);
    return info == GrB_SUCCESS ? apply_identity(call, given->C, NULL, NULL, *T) : info;
}

/* GrB_apply of GraphBLAS 10.5 with a mask or an accumulator takes a shallow copy of its input, and refuses to sort that. */
static GrB_Info sort_t(GrB_Matrix T, const tsr_call *call)
{
    const bool refused = GxB_IMPLEMENTATION_MAJOR >= 10 && call->arrays.jumbled;
    return refused ? tsr_real.GrB_Matrix_wait(T, GrB_MATERIALIZE) : GrB_SUCCESS;
}

static GrB_Info finish_through_t(tsr_call *call)
{
    const tsr_settings s = tsr_settings_read(call->given.C);
    GrB_Matrix T = NULL;
    GrB_Info info = new_t(&T, call);
    if (info == GrB_SUCCESS)
        info = tsr_pack(T, call->given.vector, call->t_by_col, &call->arrays);
    if (info == GrB_SUCCESS)
        info = sort_t(T, call);
    if (info == GrB_SUCCESS)
        info = put_t(&T, call);
    if (info == GrB_SUCCESS) /* 7.4.0 gives an empty C under a structural mask the settings of the mask, where T is dense */
        info = tsr_settings_settle(call->given.C, call->given.vector, &s);
    if (T)
        tsr_real.GrB_Matrix_free(&T);
    return info;
}

int tsr_finish_call(tsr_call *call)
{
    if (tsr_may_be_jumbled(call->given.C))
        tsr_memo_keep(TSR_MEMO_JUMBLED, call->given.C, 0);
    return (int)(call->through_t ? finish_through_t(call) : finish_direct(call));
}
