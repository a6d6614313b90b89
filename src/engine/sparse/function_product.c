/* Products with a full vector that multiply by a function of the program's: by the CPU's kernel, or SuiteSparse's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/function_product.h"

#include <stdio.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/policy/price/selection.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static const tsr_backend_host *host(void)
{
    return tsr_backend_cpu()->host;
}

/* Views of A and u.  The result of one value times one SuiteSparse holds so, by rules of its own. */
static const char *inspect(tsr_call *call)
{
    tsr_function_product *p = &call->of.function;
    const tsr_type a_type = p->a.type, u_type = call->b.view.type;
    call->a = (tsr_object){.handle = call->given.A, .given = true};
    call->b = (tsr_object){.handle = call->given.B, .given = true};
    if (!call->door->held(&call->a.view, call->given.A, &call->a.copies) || !call->door->held(&call->b.view, call->given.B, &call->b.copies))
        return "an operand is not a valid object of a built-in type";
    const tsr_view *a = &call->a.view, *u = &call->b.view;
    if (a->type != a_type || u->type != u_type)
        return "an operand is not of the operator's type";
    if (!tsr_is_compressed(a) || !a->x || u->format != TSR_FULL || !u->x)
        return "A is dense, or u is not full";
    if ((a->iso || a->nvals <= 1) && (u->iso || u->nrows <= 1))
        return "one value";
    p->a = *a;
    p->u = u->x;
    p->u_step = u->iso ? 0 : tsr_type_size(u_type);
    return NULL;
}

static const char *resolve(tsr_call *call)
{
    tsr_shape w;
    tsr_ewise_op op;
    tsr_type type;
    tsr_function_product *p = &call->of.function;
    if (!host()->function_product_takes(p))
        return "no loop for such sums";
    const char *why = inspect(call);
    if (why)
        return why;
    if (!call->door->shape(&w, call->given.C, true))
        return "w is not a valid object";
    p->length = p->a.by_col ? p->a.ncols : p->a.nrows;
    p->nthreads = call->mod.nthreads;
    if (w.nrows != p->length || call->b.view.nrows != p->a.vlen || p->length == 0)
        return "dimensions do not match";
    if (call->given.accum && !call->door->accumulator(&op, &type, call->given.accum))
        return "accum operator not known";
    call->c_by_col = call->t_by_col = w.by_col;
    call->product.semiring.type = p->type;
    call->through_t = call->given.accum || w.type != p->type;
    return tsr_function_product_pays((double)p->a.nvals, (double)p->length) || tsr_config_forces_cpu() ? NULL : "not worth it";
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "measured to be faster");
}

static bool reserve(tsr_call *call)
{
    const tsr_function_product *p = &call->of.function;
    return tsr_arrays_dense(&call->arrays, call->door->memory, p->length, p->type, true);
}

static tsr_status run(tsr_call *call)
{
    tsr_function_product *p = &call->of.function;
    p->nthreads = tsr_pass_threads(TSR_CALL_PASSES * p->a.nvals, p->nthreads);
    tsr_arrays_count(&call->arrays, host()->function_product(p, call->arrays.b, call->arrays.x), p->length);
    return TSR_OK;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_function_product *p = &call->of.function;
    snprintf(text, size, "spmv by a function %s m=%lld nnz=%lld", tsr_type_name(p->type), (long long)p->length, (long long)p->a.nvals);
}

const tsr_operation tsr_function_product_operation = {.resolve = resolve, .decide = decide, .reserve = reserve, .run = run,
                                                      .describe = describe, .kernel = "spmv-function"};
