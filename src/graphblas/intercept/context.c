/* How many threads calls use: contexts, and the work that is worth a thread (GxB_CHUNK).
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/hooks.h"

#include <omp.h>
#include <pthread.h>

#include "src/graphblas/intercept/door.h"

static double global_chunk(void)
{
    double chunk = 0;
    tsr_real.GxB_Global_Option_get_FP64(GxB_GLOBAL_CHUNK, &chunk);
    return chunk;
}

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

/* Programs disengage a context before they free it; one that does not is no longer ours to ask. */
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

bool tsr_share_begin(tsr_share *out, GrB_Descriptor given, double share)
{
    double chunk;
    *out = (tsr_share){.desc = given};
    if (!engaged || tsr_real.GxB_Context_get_FP64(engaged, GxB_CONTEXT_CHUNK, &chunk) != GrB_SUCCESS)
        chunk = global_chunk();
    return tsr_real.GxB_Context_new(&out->context) == GrB_SUCCESS &&
           tsr_real.GxB_Context_set_INT(out->context, tsr_context_threads(), GxB_NTHREADS) == GrB_SUCCESS &&
           tsr_real.GxB_Context_set_FP64(out->context, GxB_CONTEXT_CHUNK, chunk * share) == GrB_SUCCESS &&
           tsr_real.GxB_Context_engage(out->context) == GrB_SUCCESS;
}

void tsr_share_end(tsr_share *share)
{
    if (engaged)
        tsr_real.GxB_Context_engage(engaged);
    else
        tsr_real.GxB_Context_disengage(NULL);
    if (share->context)
        tsr_real.GxB_Context_free(&share->context);
}

#else

/* Descriptors of users may be those of the library, which never change. */
static GrB_Descriptor copy_of(GrB_Descriptor given)
{
    static const GrB_Desc_Field fields[] = {GrB_OUTP, GrB_MASK, GrB_INP0, GrB_INP1, GxB_DESCRIPTOR_NTHREADS, GxB_AxB_METHOD, GxB_SORT};
    GrB_Descriptor out = NULL;
    bool good = tsr_real.GrB_Descriptor_new(&out) == GrB_SUCCESS;
    for (size_t k = 0; good && given && k < sizeof fields / sizeof *fields; k++) {
        int32_t value = 0;
        good = tsr_real.GxB_Desc_get_INT32(given, fields[k], &value) == GrB_SUCCESS &&
               tsr_real.GxB_Desc_set_INT32(out, fields[k], value) == GrB_SUCCESS;
    }
    if (!good && out)
        tsr_real.GrB_Descriptor_free(&out);
    return good ? out : NULL;
}

bool tsr_share_begin(tsr_share *out, GrB_Descriptor given, double share)
{
    double chunk = 0;
    if (given)
        tsr_real.GxB_Desc_get_FP64(given, GxB_DESCRIPTOR_CHUNK, &chunk);
    out->desc = copy_of(given);
    return out->desc &&
           tsr_real.GxB_Desc_set_FP64(out->desc, GxB_DESCRIPTOR_CHUNK, (chunk > 0 ? chunk : global_chunk()) * share) == GrB_SUCCESS;
}

void tsr_share_end(tsr_share *share)
{
    if (share->desc)
        tsr_real.GrB_Descriptor_free(&share->desc);
}

static bool ask_engaged(int32_t *threads)
{
    (void)threads;
    return false;
}

#endif

/* ---- while the GPU is started beside the program ---- */

bool tsr_threads_lent;
static pthread_mutex_t lending = PTHREAD_MUTEX_INITIALIZER; /* guards */
static int32_t lent_of; /* threads that the program had; 0: none is lent now */
static int pauses;

/* From version 10 on setting an option calls a function that we wrap, which must not come here again. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

static bool set_threads(int32_t threads)
{
    inside = true;
    const bool set = tsr_real.GxB_Global_Option_set_INT32(GxB_NTHREADS, threads) == GrB_SUCCESS;
    inside = false;
    return set;
}

static void take_one(void)
{
    int32_t threads = 0;
    if (lent_of == 0 && tsr_real.GxB_Global_Option_get_INT32(GxB_NTHREADS, &threads) == GrB_SUCCESS && threads > 1 &&
        threads >= omp_get_num_procs() && set_threads(threads - 1))
        lent_of = threads;
}

static void give_it_back(void)
{
    if (lent_of > 0)
        set_threads(lent_of);
    lent_of = 0;
}

void tsr_threads_lend(void)
{
    pthread_mutex_lock(&lending);
    if (pauses == 0)
        take_one();
    __atomic_store_n(&tsr_threads_lent, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lending);
}

void tsr_threads_return(void)
{
    pthread_mutex_lock(&lending);
    __atomic_store_n(&tsr_threads_lent, false, __ATOMIC_RELEASE);
    give_it_back();
    pthread_mutex_unlock(&lending);
}

bool tsr_threads_pause(void)
{
    if (inside)
        return false;
    pthread_mutex_lock(&lending);
    pauses++;
    give_it_back();
    pthread_mutex_unlock(&lending);
    return true;
}

void tsr_threads_resume(void)
{
    pthread_mutex_lock(&lending);
    if (--pauses == 0 && tsr_threads_lent)
        take_one();
    pthread_mutex_unlock(&lending);
}

int tsr_context_threads(void)
{
    int32_t threads = 0;
    if (!ask_engaged(&threads))
        tsr_real.GxB_Global_Option_get_INT32(GxB_NTHREADS, &threads);
    return threads > 0 ? threads : 1;
}
