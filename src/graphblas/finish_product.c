/* The result of a product becomes C: directly, or as T of C<M> accum= T.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/call.h"

static bool packed_by_col(const tsr_match *m, const tsr_handover *a)
{
    return a->p ? m->request.product.mask.by_col : m->c_by_col;
}

GrB_Info tsr_finish_direct(const tsr_call *call, const tsr_match *match, tsr_handover *arrays, bool conform)
{
    const tsr_settings s = tsr_settings_read(call->C);
    return tsr_finish_arrays(call->C, call->vector, packed_by_col(match, arrays), arrays, &s, conform);
}

/* SuiteSparse 7.4.0 gives an empty C under a structural mask the settings of the mask, where T is dense. */
static GrB_Info keep_settings(GrB_Matrix C, const tsr_settings *s)
{
    const tsr_settings now = tsr_settings_read(C);
    const bool kept = now.control == s->control && now.hyper_switch == s->hyper_switch && now.bitmap_switch == s->bitmap_switch;
    return kept ? GrB_SUCCESS : tsr_settings_restore(C, s, true);
}

static GrB_Info new_t(GrB_Matrix *T, const tsr_call *call, const tsr_match *m)
{
    GrB_Index nrows, ncols;
    GrB_Info info = tsr_real.GrB_Matrix_nrows(&nrows, call->C);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_ncols(&ncols, call->C);
    if (info != GrB_SUCCESS)
        return info;
    if (call->vector)
        return tsr_real.GrB_Vector_new((GrB_Vector *)T, m->t_type, nrows);
    return tsr_real.GrB_Matrix_new(T, m->t_type, nrows, ncols);
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
static GrB_Info apply_identity(const tsr_call *call, const tsr_match *m, GrB_Matrix M, GrB_Descriptor desc, GrB_Matrix T)
{
    GrB_UnaryOp op = identity_op(m->request.product.semiring.type);
    if (call->vector)
        return tsr_real.GrB_Vector_apply((GrB_Vector)call->C, (GrB_Vector)M, call->accum, op, (GrB_Vector)T, desc);
    return tsr_real.GrB_Matrix_apply(call->C, M, call->accum, op, T, desc);
}

/* T<M>: with C as output SuiteSparse would compare T's one value with C's entries, which are to go. */
static GrB_Info mask_t(GrB_Matrix *T, const tsr_call *call, const tsr_match *m)
{
    tsr_call masked = *call;
    GrB_Info info = new_t(&masked.C, call, m);
    if (info == GrB_SUCCESS)
        info = apply_identity(&masked, m, call->M, output_descriptor(&m->mod), *T);
    tsr_real.GrB_Matrix_free(info == GrB_SUCCESS ? T : &masked.C);
    if (info == GrB_SUCCESS)
        *T = masked.C;
    return info;
}

static GrB_Info put_t(GrB_Matrix *T, const tsr_call *call, const tsr_match *m)
{
    const bool masked = m->request.product.op == TSR_OP_MASKED_DOT; /* T is */
    if (!call->M || !m->mod.replace || call->accum || !(masked || m->iso))
        return apply_identity(call, m, call->M, output_descriptor(&m->mod), *T);
    const GrB_Info info = masked ? GrB_SUCCESS : mask_t(T, call, m);
    return info == GrB_SUCCESS ? apply_identity(call, m, NULL, NULL, *T) : info;
}

GrB_Info tsr_finish_through_t(const tsr_call *call, const tsr_match *match, tsr_handover *arrays)
{
    const tsr_settings s = tsr_settings_read(call->C);
    GrB_Matrix T = NULL;
    GrB_Info info = new_t(&T, call, match);
    if (info == GrB_SUCCESS)
        info = tsr_pack(T, call->vector, packed_by_col(match, arrays), arrays);
    if (info == GrB_SUCCESS)
        info = put_t(&T, call, match);
    if (info == GrB_SUCCESS)
        info = keep_settings(call->C, &s);
    if (T)
        tsr_real.GrB_Matrix_free(&T);
    return info;
}
