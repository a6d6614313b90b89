/* What is answered from device arrays: copies, counts, shapes, types, sparsity controls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/sparse/compressed.h"
#include "src/graphblas/elementwise.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/product.h"
#include "src/runtime/config.h"

/* An empty object like A, which has contents only with a backend. */
static GrB_Info new_like(GrB_Matrix *C, GrB_Matrix A, const tsr_device_array_facts *f, bool vector)
{
    const GrB_Type type = tsr_type_handle(f->type);
    double hyper = 0, bitmap = 0;
    if (vector)
        return tsr_real.GrB_Vector_new((GrB_Vector *)C, type, (GrB_Index)f->nrows);
    GrB_Info info = tsr_real.GrB_Matrix_new(C, type, (GrB_Index)f->nrows, (GrB_Index)f->ncols);
    if (info != GrB_SUCCESS)
        return info;
    tsr_option_set_int32(*C, GxB_FORMAT, f->by_col ? GxB_BY_COL : GxB_BY_ROW);
    tsr_option_get_fp64(A, GxB_HYPER_SWITCH, &hyper);
    tsr_option_get_fp64(A, GxB_BITMAP_SWITCH, &bitmap);
    tsr_option_set_fp64(*C, GxB_HYPER_SWITCH, hyper);
    tsr_option_set_fp64(*C, GxB_BITMAP_SWITCH, bitmap);
    return GrB_SUCCESS;
}

static bool dup(GrB_Matrix *C, GrB_Matrix A, bool vector, tsr_device_array *value)
{
    const tsr_device_array_facts *f = tsr_device_array_about(value);
    tsr_handover arrays = {0};
    GrB_Matrix copy = NULL;
    if (!f->compressed && !tsr_arrays_dense(&arrays, &tsr_door_memory, tsr_device_array_places(value), f->type, !f->full))
        return false;
    if (new_like(&copy, A, f, vector) == GrB_SUCCESS) {
        tsr_created(copy);
        if (tsr_form_promise(copy, tsr_form_control(A)) && tsr_contents_put(copy, vector, value, &arrays)) {
            tsr_device_array_ref(value);
            if (f->compressed)
                tsr_compressed_share(&tsr_graphblas_door, copy, A, f->backend);
            *C = copy;
            return true;
        }
        tsr_freed(copy);
        tsr_real.GrB_Matrix_free(&copy);
    }
    tsr_arrays_free(&arrays);
    return false;
}

bool tsr_try_dup(GrB_Info *info, const char *name, GrB_Matrix *C, GrB_Matrix A, bool vector)
{
    tsr_device_array *value = C && tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) && tsr_defer_is_target(A) ? tsr_contents_find(A) : NULL;
    if (!value)
        return false;
    tsr_caller = name;
    tsr_depth++;
    tsr_quiet_begin();
    const bool done = dup(C, A, vector, value);
    tsr_quiet_end();
    tsr_depth--;
    tsr_device_array_unref(value);
    *info = GrB_SUCCESS;
    return done;
}

/* What is only there is finished there: the program learns now how long it took, and whether it went well.  False: download it. */
bool tsr_try_wait(GrB_Info *info, GrB_Matrix A)
{
    tsr_device_array *value = tsr_defer_is_target(A) ? tsr_contents_find(A) : NULL;
    const tsr_device_array_facts *f = value ? tsr_device_array_about(value) : NULL;
    const bool done = f && (f->compressed || f->backend->arrays->wait(tsr_device_array_kept(value)) == TSR_OK); /* their size is known: they are done */
    tsr_device_array_unref(value);
    *info = GrB_SUCCESS;
    return done;
}

bool tsr_try_nvals(GrB_Index *nvals, GrB_Matrix A)
{
    int64_t count;
    tsr_device_array *value = nvals ? tsr_contents_find(A) : NULL;
    const bool known = value && tsr_device_array_nvals(value, &count) == TSR_OK;
    if (known)
        *nvals = (GrB_Index)count;
    tsr_device_array_unref(value);
    return known;
}

static bool facts_of(tsr_device_array_facts *facts, const void *handle)
{
    tsr_device_array *value = tsr_contents_find(handle);
    if (value)
        *facts = *tsr_device_array_about(value);
    tsr_device_array_unref(value);
    return value;
}

bool tsr_try_nrows(GrB_Index *nrows, GrB_Matrix A)
{
    tsr_device_array_facts facts;
    if (!nrows || !facts_of(&facts, A))
        return false;
    *nrows = (GrB_Index)facts.nrows;
    return true;
}

bool tsr_try_ncols(GrB_Index *ncols, GrB_Matrix A)
{
    tsr_device_array_facts facts;
    if (!ncols || !facts_of(&facts, A))
        return false;
    *ncols = (GrB_Index)facts.ncols;
    return true;
}

bool tsr_try_type(GrB_Type *type, GrB_Matrix A)
{
    tsr_device_array_facts facts;
    if (!type || !facts_of(&facts, A))
        return false;
    *type = tsr_type_handle(facts.type);
    return true;
}

bool tsr_knows(GrB_Matrix A)
{
    tsr_device_array_facts facts;
    return facts_of(&facts, A);
}

bool tsr_knows_setting(GrB_Matrix A, int field)
{
    const int orientation = 100, type_code = 102; /* GrB_STORAGE_ORIENTATION_HINT, GrB_EL_TYPE_CODE, from version 8 on */
    return (field == GxB_FORMAT || (GxB_IMPLEMENTATION_MAJOR > 7 && (field == orientation || field == type_code))) && tsr_knows(A);
}

/* False: nothing that counts is written. */
static bool read_all(void *x, tsr_type type, tsr_device_array *value)
{
    const tsr_device_array_facts *facts = tsr_device_array_about(value);
    const double start = tsr_engine_clock_ms();
    int64_t moved = 0;
    if (tsr_contents_read(value, type, x, tsr_context_threads(), &moved) != TSR_OK)
        return false;
    tsr_contents_report_download(facts->backend, facts->type, facts->nrows, moved, tsr_engine_clock_ms() - start);
    return true;
}

bool tsr_try_tuples(GrB_Index *places, void *x, tsr_type type, GrB_Index *nvals, GrB_Matrix v)
{
    if (!nvals || !x || !tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) || !tsr_contents_only(&tsr_graphblas_door, v))
        return false;
    tsr_caller = "GrB_Vector_extractTuples";
    tsr_contents_decline(tsr_caller, NULL);
    tsr_device_array *value = tsr_contents_find(v);
    const GrB_Index count = value ? (GrB_Index)tsr_device_array_places(value) : 0;
    const bool done = value && tsr_device_array_about(value)->full && *nvals >= count && read_all(x, type, value);
    for (GrB_Index k = 0; done && places && k < count; k++)
        places[k] = k;
    if (done)
        *nvals = count;
    tsr_device_array_unref(value);
    return done;
}

bool tsr_try_control(GrB_Info *info, GrB_Matrix A, bool vector, int field, int32_t control)
{
    *info = GrB_SUCCESS;
    if (field != GxB_SPARSITY_CONTROL)
        return false;
    if (!tsr_filter_hit(A) || !tsr_contents_only(&tsr_graphblas_door, A))
        return !vector && tsr_contents_delay_control(A, control);
    return tsr_form_control(A) == control || tsr_contents_set_control(A, vector, control);
}
