/* Sparse results with integers of 32 bits, loaded from a container.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/container.h"

#if GxB_IMPLEMENTATION_MAJOR >= 10

#include <pthread.h>

static GxB_Container container; /* one for all results: the mutex is held */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void tsr_container_begin(void)
{
    if (!container && tsr_real.GxB_Container_new(&container) != GrB_SUCCESS) /* a program may begin twice */
        container = NULL;
}

/* ---- which results ---- */

static bool wants_wide(GrB_Matrix C, int field)
{
    const GrB_Global *global = tsr_real_symbol("GrB_GLOBAL");
    int32_t bits = 0;
    if (tsr_real.GrB_Matrix_get_INT32(C, &bits, field) != GrB_SUCCESS)
        return true;
    if (bits == 0 && (!global || tsr_real.GrB_Global_get_INT32(*global, &bits, field) != GrB_SUCCESS))
        return true;
    return bits == 64;
}

bool tsr_container_ready(GrB_Matrix C)
{
    if (wants_wide(C, GxB_OFFSET_INTEGER_HINT) || wants_wide(C, GxB_ROWINDEX_INTEGER_HINT) || wants_wide(C, GxB_COLINDEX_INTEGER_HINT))
        return false;
    pthread_mutex_lock(&mutex);
    const bool ready = container;
    pthread_mutex_unlock(&mutex);
    return ready;
}

/* ---- integers ---- */

typedef uint32_t narrow_integer __attribute__((may_alias));

/* The same list in 32 bits, in the same block; its greatest number fits. */
static void narrow(uint64_t *list, int64_t count)
{
    narrow_integer *to = (narrow_integer *)list;
    for (int64_t k = 0; k < count; k++)
        to[k] = (uint32_t)list[k];
}

static GrB_Type integer_type(bool narrowed)
{
    const GrB_Type *type = tsr_real_symbol(narrowed ? "GrB_UINT32" : "GrB_UINT64");
    return type ? *type : NULL;
}

static GrB_Info load(GrB_Vector into, void **block, size_t bytes, GrB_Type type, int64_t count)
{
    return tsr_real.GxB_Vector_load(into, block, type, (uint64_t)count, bytes, GrB_DEFAULT, NULL);
}

static GrB_Info load_offsets(tsr_handover *a)
{
    const bool fits = a->nvals <= UINT32_MAX;
    if (fits)
        narrow(a->p, a->nvec + 1);
    return load(container->p, (void **)&a->p, a->p_bytes, integer_type(fits), a->nvec + 1);
}

static GrB_Info load_names(tsr_handover *a, int64_t vectors)
{
    const bool fits = vectors <= INT32_MAX;
    if (!a->h)
        return GrB_SUCCESS;
    if (fits)
        narrow(a->h, a->nvec);
    return load(container->h, (void **)&a->h, a->h_bytes, integer_type(fits), a->nvec);
}

/* ---- one result ---- */

static GrB_Info describe(GrB_Matrix T, bool by_col, const tsr_handover *a)
{
    GrB_Info info = tsr_real.GrB_Matrix_nrows(&container->nrows, T);
    if (info == GrB_SUCCESS)
        info = tsr_real.GrB_Matrix_ncols(&container->ncols, T);
    container->nrows_nonempty = container->ncols_nonempty = -1;
    container->nvals = (uint64_t)a->nvals;
    container->format = a->h ? GxB_HYPERSPARSE : GxB_SPARSE;
    container->orientation = by_col ? GrB_COLMAJOR : GrB_ROWMAJOR;
    container->iso = a->iso;
    container->jumbled = a->jumbled;
    return info;
}

static GrB_Info fill(GrB_Matrix T, bool by_col, tsr_handover *a)
{
    GrB_Type type;
    GrB_Info info = tsr_real.GxB_Matrix_type(&type, T);
    if (info == GrB_SUCCESS)
        info = describe(T, by_col, a);
    if (info == GrB_SUCCESS)
        info = load_offsets(a);
    if (info == GrB_SUCCESS)
        info = load_names(a, (int64_t)(by_col ? container->ncols : container->nrows));
    if (info == GrB_SUCCESS)
        info = load(container->i, (void **)&a->i, a->i_bytes, integer_type(true), a->nvals);
    return info == GrB_SUCCESS ? load(container->x, &a->x, a->x_bytes, type, a->iso ? 1 : a->nvals) : info;
}

GrB_Info tsr_container_load(GrB_Matrix T, bool vector, bool by_col, tsr_handover *a)
{
    pthread_mutex_lock(&mutex);
    GrB_Info info = fill(T, by_col, a);
    if (info == GrB_SUCCESS)
        info = vector ? tsr_real.GxB_load_Vector_from_Container((GrB_Vector)T, container, NULL)
                      : tsr_real.GxB_load_Matrix_from_Container(T, container, NULL);
    if (info != GrB_SUCCESS)
        tsr_real.GxB_Container_free(&container);
    pthread_mutex_unlock(&mutex);
    return info;
}

void tsr_container_end(void)
{
    if (container)
        tsr_real.GxB_Container_free(&container);
}

#else

void tsr_container_begin(void)
{
}

bool tsr_container_ready(GrB_Matrix C)
{
    (void)C;
    return false;
}

GrB_Info tsr_container_load(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays)
{
    (void)T;
    (void)vector;
    (void)by_col;
    (void)arrays;
    return GrB_NOT_IMPLEMENTED;
}

void tsr_container_end(void)
{
}

#endif
