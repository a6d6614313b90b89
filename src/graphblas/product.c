/* What the engine asks about a product before it is matched, and what it has done with its arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include "src/engine/call/contents.h"
#include "src/engine/product/decide.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/early.h"
#include "src/graphblas/handover/few.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/policy/history/frontier_history.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/price/few.h"
#include "src/policy/price/route.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

/* ---- sizes ---- */

/* No entry of A meets more entries of B than C has columns (C NULL: one). */
static bool work_of_a(double *work, GrB_Matrix A, GrB_Matrix C)
{
    GrB_Index entries, columns = 1;
    if (tsr_real.GrB_Matrix_nvals(&entries, A) != GrB_SUCCESS || (C && tsr_real.GrB_Matrix_ncols(&columns, C) != GrB_SUCCESS))
        return false;
    *work = (double)(int64_t)entries * (double)(int64_t)columns;
    return true;
}

static bool is_small(double *work, GrB_Matrix A, GrB_Matrix C, bool masked)
{
    return !tsr_burbles && work_of_a(work, A, C) && tsr_engine_leaves(*work, masked);
}

/* As if B's entries were spread evenly over its rows, whichever way it is multiplied. */
static bool mean_work(double *work, GrB_Matrix A, GrB_Matrix B)
{
    GrB_Index of_a, of_b, rows;
    if (tsr_real.GrB_Matrix_nvals(&of_a, A) != GrB_SUCCESS || tsr_real.GrB_Matrix_nvals(&of_b, B) != GrB_SUCCESS ||
        tsr_real.GrB_Matrix_nrows(&rows, B) != GrB_SUCCESS || rows == 0)
        return false;
    *work = (double)of_a * ((double)of_b / (double)rows);
    return true;
}

/* By a dense vector little is gained, and what is found out about A there often serves calls that nobody waits for yet. */
bool tsr_product_is_early(GrB_Matrix A, GrB_Matrix B, bool vector, bool masked)
{
    double work;
    const tsr_small kind = vector ? TSR_SMALL_PUSH : masked ? TSR_SMALL_MASKED : TSR_SMALL_SPARSE;
    return tsr_may_be_early() && !(vector && tsr_match_sparsity(B) != GxB_SPARSE) && mean_work(&work, A, B) && tsr_is_early(kind, work);
}

/* What is asked for by a trace gets a line there. */
static bool leaves_early(GrB_Matrix A, GrB_Matrix B, bool vector, bool masked)
{
    return !tsr_burbles && !tsr_trace_asked_for(tsr_config_get()) && tsr_product_is_early(A, B, vector, masked);
}

bool tsr_is_small(GrB_Matrix A, GrB_Matrix B, GrB_Matrix C, bool masked)
{
    double work;
    return is_small(&work, A, C, masked) || leaves_early(A, B, false, masked);
}

bool tsr_is_small_with(GrB_Matrix A, GrB_Vector u)
{
    double work;
    return (is_small(&work, A, NULL, false) && (work < TSR_FEW_ENTRIES_LEAST || tsr_match_sparsity((GrB_Matrix)u) != GxB_SPARSE)) ||
           leaves_early(A, (GrB_Matrix)u, true, false);
}

/* No entry of B meets more of A than C has rows, either. */
static bool most_work(double *work, const tsr_arguments *c)
{
    GrB_Index entries, rows;
    if (!work_of_a(work, c->A, c->vector ? NULL : c->C))
        return false;
    if (c->vector)
        return true;
    if (tsr_real.GrB_Matrix_nvals(&entries, c->B) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&rows, c->C) != GrB_SUCCESS)
        return false;
    const double of_b = (double)entries * (double)rows;
    *work = of_b < *work ? of_b : *work;
    return true;
}

bool tsr_product_is_hopeless(const tsr_arguments *c)
{
    double work;
    return most_work(&work, c) && tsr_engine_leaves(work, c->M && !c->vector);
}

bool tsr_product_pays(const tsr_arguments *given)
{
    return !(tsr_busy() && tsr_product_is_hopeless(given));
}

/* ---- contents on a device ---- */

static bool is_compressed(const tsr_door *door, const void *handle)
{
    tsr_device_array *array = door->compressed(handle);
    tsr_device_array_unref(array);
    return array;
}

/* ... or will have one. */
static bool has_array(const tsr_door *door, const void *handle)
{
    if (is_compressed(door, handle) || tsr_contents_noted(handle))
        return true;
    tsr_device_array *array = tsr_contents_dense(door, handle);
    tsr_device_array_unref(array);
    return array;
}

static bool narrow(GrB_Matrix handle)
{
    GrB_Index nrows, ncols;
    return tsr_real.GrB_Matrix_nrows(&nrows, handle) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, handle) == GrB_SUCCESS &&
           tsr_match_narrow((double)nrows, (double)ncols);
}

bool tsr_product_has_positions(const tsr_arguments *c)
{
    tsr_semiring s;
    int64_t offset;
    return c->vector && c->semiring && tsr_match_positions(&s, &offset, c->semiring);
}

/* Does SuiteSparse search, which takes a time that nobody predicts? */
static bool is_search(const tsr_arguments *c)
{
    tsr_semiring s;
    return tsr_match_semiring(&s, c->semiring) ? s.add != TSR_ADD_PLUS && s.mul == TSR_MUL_PAIR : tsr_product_has_positions(c);
}

/* Inspecting a sparse vector sorts it.  So only where its entries, should they have 64 times the average degree, are much work it is
 * inspected for a GPU that does not run yet: the share of A's entries that they meet then. */
static double met_share(const tsr_arguments *c)
{
    GrB_Index entries, length;
    const tsr_config *config = tsr_config_get();
    if (!c->vector || config->mode != TSR_MODE_AUTO || config->eager || tsr_contents_possible() || !tsr_match_held_sparse(c->B) ||
        tsr_real.GrB_Matrix_nvals(&entries, c->B) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&length, c->B) != GrB_SUCCESS)
        return 1;
    const double share = 64.0 * (double)entries / (double)length;
    return share < 1 ? share : 1;
}

/* Few of the multiply-adds that a narrow matrix might have it does have: by default only what is far from hopeless is inspected. */
static bool spreads_much(const tsr_arguments *c)
{
    double work;
    const double share = c->vector || tsr_config_get()->mode == TSR_MODE_GPU ? met_share(c) : 0.01;
    return most_work(&work, c) && !tsr_engine_hopeless(work * share, false);
}

/* Is there a vector, or a matrix of few rows or columns, and a GPU that it might be uploaded to, or may there be one? */
static bool may_be_uploaded(const tsr_arguments *c)
{
    return (tsr_contents_possible() || tsr_backend_gpu_unasked()) && (c->vector || narrow(c->A) || narrow(c->B));
}

static bool sizes_of(tsr_frontier *f, GrB_Matrix A)
{
    GrB_Index entries, nrows, ncols;
    if (tsr_real.GrB_Matrix_nvals(&entries, A) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&nrows, A) != GrB_SUCCESS ||
        tsr_real.GrB_Matrix_ncols(&ncols, A) != GrB_SUCCESS)
        return false;
    *f = (tsr_frontier){.entries = (double)entries, .rows = (double)nrows, .columns = (double)ncols};
    return true;
}

static bool is_searched(GrB_Matrix A)
{
    tsr_frontier f;
    return sizes_of(&f, A) && tsr_stay_is_searched(f.entries, f.rows + f.columns);
}

/* The frontier of a search on the host: its pulls say when the search moves. */
static bool is_frontier(const tsr_arguments *c)
{
    const tsr_config *config = tsr_config_get();
    return c->vector && config->mode == TSR_MODE_AUTO && !config->eager && is_search(c) && tsr_match_held_sparse(c->B) && !is_searched(c->A);
}

/* Several frontiers at once: those of C's rows, pushed along B, or of its columns along A. */
static bool begins_on_device(const tsr_arguments *c)
{
    GrB_Index rows, columns;
    tsr_frontier f;
    if (c->vector || tsr_config_get()->mode != TSR_MODE_AUTO || !tsr_contents_possible() ||
        tsr_real.GrB_Matrix_nrows(&rows, c->C) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&columns, c->C) != GrB_SUCCESS)
        return false;
    const bool of_rows = rows <= columns;
    return sizes_of(&f, of_rows ? c->B : c->A) &&
           tsr_frontier_on_device(tsr_frontier_kind(f.entries, f.rows + f.columns, (double)(of_rows ? rows : columns)));
}

/* Is it sparse on the host? */
static bool may_spread(const tsr_arguments *c)
{
    return spreads_much(c) && tsr_match_held_sparse(c->B) && (c->vector || tsr_match_held_sparse(c->A));
}

/* Is it a search, and so much to do that time may be lost without the GPU?  Forced there, places are made nowhere else. */
static bool may_be_observed(const tsr_arguments *c)
{
    double work;
    if (tsr_config_get()->mode == TSR_MODE_GPU)
        return tsr_product_has_positions(c);
    return tsr_config_get()->mode == TSR_MODE_AUTO && is_search(c) && most_work(&work, c) && work >= TSR_OBSERVED_LEAST;
}

bool tsr_product_is_measured(const tsr_arguments *c)
{
    return may_be_uploaded(c) && !is_frontier(c) && may_be_observed(c);
}

bool tsr_product_is_on_device(const tsr_door *door, const tsr_arguments *c)
{
    return (tsr_busy() & TSR_BUSY_ARRAYS) &&
           (has_array(door, c->A) || has_array(door, c->B) || is_compressed(door, c->M) || (has_array(door, c->C) && (c->accum || c->M || tsr_defer_is_target(c->C))));
}

bool tsr_product_concerns_device(const tsr_door *door, const tsr_arguments *c)
{
    if (tsr_config_get()->defer || !tsr_contents_allowed_inside())
        return false;
    return tsr_product_is_on_device(door, c) ||
           (may_be_uploaded(c) && !is_frontier(c) && (may_spread(c) || may_be_observed(c) || begins_on_device(c)));
}

/* ---- the call ---- */

static void run_hooks(const tsr_arguments *c)
{
    TSR_HOOK_WRITE(c->C);
    TSR_HOOK_READ(c->M);
    TSR_HOOK_READ(c->A);
    TSR_HOOK_READ(c->B);
}

bool tsr_product_download(const tsr_arguments *given)
{
    run_hooks(given);
    return !(tsr_busy() & TSR_BUSY_LOST) ||
           !(tsr_is_lost(given->C) || tsr_is_lost(given->M) || tsr_is_lost(given->A) || tsr_is_lost(given->B));
}

static GrB_Info call_aloud(const tsr_arguments *c)
{
    if (!c->vector)
        return tsr_real.GrB_mxm(c->C, c->M, c->accum, c->semiring, c->A, c->B, c->desc);
    GrB_Vector w = (GrB_Vector)c->C, mask = (GrB_Vector)c->M, u = (GrB_Vector)c->B;
    return c->flip ? tsr_real.GrB_vxm(w, mask, c->accum, c->semiring, u, c->A, c->desc)
                   : tsr_real.GrB_mxv(w, mask, c->accum, c->semiring, c->A, u, c->desc);
}

int tsr_product_forward(const tsr_arguments *c)
{
    tsr_quiet_pause();
    const GrB_Info info = call_aloud(c);
    tsr_quiet_resume();
    if (!c->vector)
        tsr_memo_keep(TSR_MEMO_JUMBLED, c->C, 1);
    return (int)info;
}

bool tsr_product_is_observed(tsr_frontier *f, const tsr_arguments *c)
{
    GrB_Index vertices;
    if ((tsr_config_get()->disabled & (c->disable | TSR_DISABLE_RESIDENCY)) || !tsr_contents_allowed_inside() || !may_be_uploaded(c) ||
        !is_frontier(c) || !sizes_of(f, c->A) || f->entries < TSR_OBSERVED_LEAST ||
        tsr_real.GrB_Matrix_nvals(&vertices, c->B) != GrB_SUCCESS)
        return false;
    f->vertices = (double)vertices;
    f->nthreads = tsr_context_threads();
    return f->entries * f->vertices >= TSR_OBSERVED_LEAST * f->columns;
}
