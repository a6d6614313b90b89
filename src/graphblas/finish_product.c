/* The result of a product becomes C: directly, or as T of C<M> accum= T.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include "src/graphblas/handover/through.h"

static GrB_Info finish_direct(tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    return tsr_finish_own(given->C, given->vector, call->t_by_col, &call->arrays);
}

static GrB_Info new_t(GrB_Matrix *T, const tsr_call *call)
{
    return tsr_through_new(T, call->given.C, call->given.vector, call->product.semiring.type);
}

/* C<M> accum= T */
static GrB_Info put(const tsr_call *call, GrB_Matrix C, GrB_Matrix M, const tsr_modifiers *mod, GrB_Matrix T)
{
    const tsr_through to = {.C = C, .M = M, .accum = call->given.accum, .vector = call->given.vector};
    return tsr_through_put(&to, mod, T, call->product.semiring.type);
}

/* T<M>: with C as output SuiteSparse would compare T's one value with C's entries, which are to go. */
static GrB_Info mask_t(GrB_Matrix *T, const tsr_call *call)
{
    GrB_Matrix masked = NULL;
    GrB_Info info = new_t(&masked, call);
    if (info == GrB_SUCCESS)
        info = put(call, masked, call->given.M, &call->mod, *T);
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
        return put(call, given->C, given->M, &call->mod, *T);
    const GrB_Info info = masked ? GrB_SUCCESS : mask_t(T, call);
    return info == GrB_SUCCESS ? put(call, given->C, NULL, NULL, *T) : info;
}

bool tsr_spreads_t(const tsr_arguments *given)
{
    return !given->M && ((tsr_match_sparsity(given->A) | tsr_match_sparsity(given->B)) & (GxB_BITMAP | GxB_FULL));
}

static GrB_Info finish_through_t(tsr_call *call)
{
    const tsr_settings s = tsr_settings_read(call->given.C);
    GrB_Matrix T = NULL;
    GrB_Info info = new_t(&T, call);
    if (info == GrB_SUCCESS)
        info = tsr_through_pack(T, call->given.vector, call->t_by_col, &call->arrays);
    if (info == GrB_SUCCESS)
        info = put_t(&T, call);
    if (info == GrB_SUCCESS) /* 7.4.0 gives an empty C under a structural mask the settings of the mask, where T is dense */
        info = tsr_settings_settle(call->given.C, call->given.vector, &s, tsr_spreads_t(&call->given));
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
