/* Contexts: how many threads the calls of a user thread may use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/hooks.h"

#include "src/graphblas/intercept/door.h"

#if GxB_IMPLEMENTATION_MAJOR >= 8

/* GraphBLAS has no function that tells.  NULL: that of the world. */
static _Thread_local GxB_Context engaged;

GrB_Info tsr_context_engage(GxB_Context context)
{
    const GrB_Info info = tsr_real.GxB_Context_engage(context);
    if (info == GrB_SUCCESS)
        engaged = context;
    return info;
}

GrB_Info tsr_context_disengage(GxB_Context context)
{
    const GrB_Info info = tsr_real.GxB_Context_disengage(context);
    if (info == GrB_SUCCESS)
        engaged = NULL;
    return info;
}

/* Also disengages it. */
GrB_Info tsr_context_free(GxB_Context *context)
{
    const GxB_Context freed = context ? *context : NULL;
    const GrB_Info info = tsr_real.GxB_Context_free(context);
    if (info == GrB_SUCCESS && freed == engaged)
        engaged = NULL;
    return info;
}

static bool ask_engaged(int32_t *threads)
{
    return engaged && tsr_real.GxB_Context_get_INT(engaged, threads, GxB_NTHREADS) == GrB_SUCCESS;
}

#else

static bool ask_engaged(int32_t *threads)
{
    (void)threads;
    return false;
}

#endif

int tsr_context_threads(void)
{
    int32_t threads = 0;
    if (!ask_engaged(&threads))
        tsr_real.GxB_Global_Option_get_INT32(GxB_NTHREADS, &threads);
    return threads > 0 ? threads : 1;
}
