/* Some rows of a product, computed by the real library to see how long it takes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include "src/engine/call/clock.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/options.h"

/* GrB_ALL of the real library: what it points to marks a list. */
static const GrB_Index *all_indices(void)
{
    const GrB_Index *const *all = tsr_real_symbol("GrB_ALL");
    return all ? *all : NULL;
}

static bool same_format(GrB_Matrix out, GrB_Matrix like)
{
    int32_t format;
    return tsr_option_get_int32(like, GxB_FORMAT, &format) == GrB_SUCCESS &&
           tsr_option_set_int32(out, GxB_FORMAT, format) == GrB_SUCCESS;
}

/* An empty matrix of the type and the format of `like`. */
static GrB_Matrix empty_like(GrB_Matrix like, GrB_Index nrows, GrB_Index ncols)
{
    GrB_Type type;
    GrB_Matrix out = NULL;
    if (tsr_real.GxB_Matrix_type(&type, like) != GrB_SUCCESS || tsr_real.GrB_Matrix_new(&out, type, nrows, ncols) != GrB_SUCCESS)
        return NULL;
    if (!same_format(out, like))
        tsr_real.GrB_Matrix_free(&out);
    return out;
}

static bool sizes(GrB_Matrix A, GrB_Index *nrows, GrB_Index *ncols)
{
    return tsr_real.GrB_Matrix_nrows(nrows, A) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(ncols, A) == GrB_SUCCESS;
}

/* The rows of A, or its columns, as a matrix of their own. */
static GrB_Matrix some_of(GrB_Matrix A, bool columns, const GrB_Index *list, GrB_Index count)
{
    GrB_Index nrows, ncols;
    if (!sizes(A, &nrows, &ncols))
        return NULL;
    GrB_Matrix out = empty_like(A, columns ? nrows : count, columns ? count : ncols);
    const GrB_Info info = !out      ? GrB_OUT_OF_MEMORY
                          : columns ? tsr_real.GrB_Matrix_extract(out, NULL, NULL, A, all_indices(), nrows, list, count, NULL)
                                    : tsr_real.GrB_Matrix_extract(out, NULL, NULL, A, list, count, all_indices(), ncols, NULL);
    if (info != GrB_SUCCESS && out)
        tsr_real.GrB_Matrix_free(&out);
    return info == GrB_SUCCESS ? out : NULL;
}

/* M with these rows only, the others empty. */
static GrB_Matrix mask_of(GrB_Matrix M, const GrB_Index *list, GrB_Index count)
{
    GrB_Index nrows, ncols;
    GrB_Matrix rows = some_of(M, false, list, count), out = NULL;
    if (rows && sizes(M, &nrows, &ncols) && (out = empty_like(M, nrows, ncols)) &&
        tsr_real.GrB_Matrix_assign(out, NULL, NULL, rows, list, count, all_indices(), ncols, NULL) != GrB_SUCCESS)
        tsr_real.GrB_Matrix_free(&out);
    if (out)
        tsr_real.GrB_Matrix_wait(out, GrB_MATERIALIZE);
    if (rows)
        tsr_real.GrB_Matrix_free(&rows);
    return out;
}

/* What the rows are added to: those of C where an accumulator reads it; else it does not matter. */
static GrB_Matrix target_of(const tsr_arguments *c, const tsr_sample *sample)
{
    GrB_Index nrows, ncols;
    if (c->accum && !sample->masked)
        return some_of(c->C, false, (const GrB_Index *)sample->rows, (GrB_Index)sample->count);
    return sizes(c->C, &nrows, &ncols) ? empty_like(c->C, sample->masked ? nrows : (GrB_Index)sample->count, ncols) : NULL;
}

/* SuiteSparse gives small products fewer threads; a part gets those of the whole. */
static bool multiply(GrB_Matrix out, const tsr_arguments *c, GrB_Matrix M, GrB_Matrix A, tsr_sample *sample)
{
    tsr_share share;
    bool good = tsr_share_begin(&share, c->desc, (double)sample->entries / (double)sample->all);
    if (good) {
        const tsr_stopwatch start = tsr_engine_stopwatch();
        good = tsr_real.GrB_mxm(out, M, sample->masked ? NULL : c->accum, c->semiring, A, c->B, share.desc) == GrB_SUCCESS &&
               tsr_real.GrB_Matrix_wait(out, GrB_MATERIALIZE) == GrB_SUCCESS;
        sample->ms = tsr_engine_work_ms(&start, sample->nthreads);
    }
    tsr_share_end(&share);
    return good;
}

static bool run(const tsr_arguments *c, GrB_Matrix M, GrB_Matrix A, tsr_sample *sample)
{
    GrB_Matrix out = target_of(c, sample);
    if (!out)
        return false;
    tsr_real.GrB_Matrix_wait(out, GrB_MATERIALIZE);
    const bool good = multiply(out, c, M, A, sample);
    tsr_real.GrB_Matrix_free(&out);
    return good;
}

/* Under a mask: the rows of the mask; without: those of A, or of its transpose. */
bool tsr_product_sample(const tsr_arguments *c, tsr_sample *sample)
{
    const GrB_Index *rows = (const GrB_Index *)sample->rows, count = (GrB_Index)sample->count;
    GrB_Index some = 0, every = 0;
    GrB_Desc_Value turned = GxB_DEFAULT;
    if ((c->desc && tsr_real.GxB_Desc_get(c->desc, GrB_INP0, &turned) != GrB_SUCCESS) || (!sample->masked && c->M))
        return false;
    GrB_Matrix part = sample->masked ? mask_of(c->M, rows, count) : some_of(c->A, turned == GrB_TRAN, rows, count);
    bool good = part && tsr_real.GrB_Matrix_nvals(&some, part) == GrB_SUCCESS &&
                tsr_real.GrB_Matrix_nvals(&every, sample->masked ? c->M : c->A) == GrB_SUCCESS && every > 0;
    sample->entries = (int64_t)some;
    sample->all = (int64_t)every;
    good = good && run(c, sample->masked ? part : NULL, sample->masked ? c->A : part, sample);
    if (part)
        tsr_real.GrB_Matrix_free(&part);
    return good;
}
