/* GrB_mxm, GrB_mxv and GrB_vxm: what leaves at once; the engine gets the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/function_product.h"
#include "src/graphblas/product.h"
#include "src/graphblas/push_product.h"

#include "src/engine/engine.h"
#include "src/engine/product/decide.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/runtime/config.h"
#include "src/runtime/savings.h"

/* Products of places are computed on a device only. */
static bool is_known(const tsr_arguments *call)
{
    tsr_semiring unused;
    return tsr_match_semiring(&unused, call->semiring) || (tsr_product_has_positions(call) && tsr_product_concerns_device(&tsr_graphblas_door, call));
}

/* Calls that will certainly be forwarded get away with a few loads. */
static const char *not_ours(const tsr_arguments *call)
{
    const tsr_config *config = tsr_config_get();
    if (TSR_UNLIKELY(config->savings) && tsr_savings_wanted())
        tsr_savings_called();
    if (config->mode == TSR_MODE_OFF)
        return "mode=off";
    if (config->disabled & call->disable)
        return "disabled";
    return is_known(call) ? NULL : call->semiring ? "semiring not known" : "a handle is null";
}

static bool try_quietly(GrB_Info *info, const tsr_arguments *call)
{
    int code = 0;
    if (!tsr_busy() && tsr_product_is_hopeless(call))
        return false;
    tsr_caller = call->name;
    const bool done = tsr_engine_call(&tsr_graphblas_door, call, &code);
    *info = (GrB_Info)code;
    return done;
}

static bool forward(GrB_Info *info, const tsr_arguments *call, const char *why)
{
    int code = 0;
    const bool done = tsr_engine_forward(&tsr_graphblas_door, call, why, &code);
    *info = (GrB_Info)code;
    return done;
}

static bool forward_push(GrB_Info *info, const tsr_arguments *call, const tsr_frontier *f, const char *why)
{
    int code = 0;
    const bool done = tsr_engine_forward_push(&tsr_graphblas_door, call, f, why, &code);
    *info = (GrB_Info)code;
    return done;
}

static bool try_call(GrB_Info *info, tsr_arguments *call)
{
    tsr_frontier frontier;
    if (tsr_product_is_early(call->A, call->B, call->vector, call->M && !call->vector))
        return forward(info, call, "first calls");
    if (tsr_try_push(info, call))
        return true;
    const char *why = not_ours(call);
    if (tsr_product_is_observed(&frontier, call))
        return forward_push(info, call, &frontier, why ? why : "sparse vector");
    if (why)
        return tsr_try_function_product(info, call) || forward(info, call, why);
    tsr_quiet_begin();
    const bool done = try_quietly(info, call);
    tsr_quiet_end();
    return done;
}

bool tsr_try_mxm(GrB_Info *info, GrB_Matrix C, const GrB_Matrix M, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Matrix B, const GrB_Descriptor desc)
{
    const bool done = try_call(info, &(tsr_arguments){.name = "GrB_mxm", .C = C, .M = M, .A = A, .B = B, .accum = accum,
                                                      .semiring = semiring, .desc = desc, .disable = TSR_DISABLE_MXM});
    if (!done)
        tsr_memo_keep(TSR_MEMO_JUMBLED, C, 1);
    return done;
}

bool tsr_try_mxv(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Vector u, const GrB_Descriptor desc)
{
    return try_call(info, &(tsr_arguments){.name = "GrB_mxv", .C = w, .M = mask, .A = A,
                                           .B = u, .accum = accum, .semiring = semiring, .desc = desc,
                                           .vector = true, .disable = TSR_DISABLE_MXV});
}

bool tsr_try_vxm(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Vector u, const GrB_Matrix A, const GrB_Descriptor desc)
{
    return try_call(info, &(tsr_arguments){.name = "GrB_vxm", .C = w, .M = mask, .A = A,
                                           .B = u, .accum = accum, .semiring = semiring, .desc = desc,
                                           .vector = true, .flip = true, .disable = TSR_DISABLE_VXM});
}
