/* Objects built of tuples, by the CPU kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/sparse/build.h"

#include <stdio.h>
#include <string.h>

#include "src/base/types.h"
#include "src/policy/price/build.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

static const tsr_build_kernels *kernels(void)
{
    return tsr_backend_cpu()->host->build;
}

static const char *resolve(tsr_call *call)
{
    tsr_tuples *t = &call->of.tuples;
    if (t->count >= UINT32_MAX || t->nvec >= UINT32_MAX || t->vlen >= UINT32_MAX || t->nvec < 1 || t->vlen < 1 || t->nvec + t->vlen == 2)
        return "too large, or one place";
    const double vectors = (double)(t->vector ? t->nvec : t->vlen);
    if (!tsr_config_forces_cpu() && !(tsr_build_pays((double)t->count, vectors) && kernels()->unsorted(t)))
        return "not worth it";
    call->t_by_col = call->given.vector || call->c_by_col;
    call->product.semiring.type = t->type;
    return vectors <= 64 * (double)t->count + 4096 ? NULL : "too empty";
}

static void decide(tsr_call *call)
{
    call->decision.backend = tsr_backend_cpu();
    snprintf(call->decision.reason, sizeof call->decision.reason, "%s", tsr_config_forces_cpu() ? "forced" : "measured to be faster");
}

/* As SuiteSparse holds what it builds: hypersparse, unless it is a vector. */
static bool reserve_result(tsr_call *call)
{
    const tsr_tuples *t = &call->of.tuples;
    tsr_handover *a = &call->arrays;
    if (!tsr_arrays_compressed(a, call->door->memory, t->nonempty, t->nvals, t->type, t->narrow))
        return false;
    a->h_bytes = (size_t)t->nonempty * sizeof *a->h;
    a->h = a->memory->allocate(a->h_bytes);
    if (!a->h)
        tsr_arrays_free(a);
    return a->h;
}

/* What is known to be one value is held so, where the door's library looks for that. */
static void find_one(tsr_call *call)
{
    const tsr_tuples *t = &call->of.tuples;
    const size_t size = tsr_type_size(t->type);
    const char *x = call->arrays.x;
    call->iso = !t->x || (call->unifies && t->nvals > 0 && memcmp(x, x + size, (size_t)(t->nvals - 1) * size) == 0);
    if (call->iso && t->x)
        memcpy(&call->one, x, size);
}

static tsr_status build(tsr_call *call)
{
    tsr_tuples *t = &call->of.tuples;
    tsr_handover *a = &call->arrays;
    const tsr_status status = kernels()->sort(t);
    if (status != TSR_OK)
        return status;
    t->narrow = tsr_call_narrows(call, t->vlen);
    if (!reserve_result(call))
        return TSR_OUT_OF_MEMORY;
    kernels()->fill(t, a->h, a->p, a->i, t->x ? a->x : NULL);
    if (!t->vector) {
        a->memory->release(a->h);
        a->h = NULL;
    }
    find_one(call);
    return TSR_OK;
}

static tsr_status run(tsr_call *call)
{
    const tsr_status status = build(call);
    kernels()->end(&call->of.tuples);
    return status;
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_tuples *t = &call->of.tuples;
    snprintf(text, size, "build %s nnz=%lld of %lld tuples", tsr_type_name(t->type), (long long)t->nvals, (long long)t->count);
}

const tsr_operation tsr_build_operation = {.resolve = resolve, .decide = decide, .run = run, .describe = describe, .kernel = "build"};
