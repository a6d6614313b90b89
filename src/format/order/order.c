/* Row orders: which one, rows taken in an order, and what they promise.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"

/* ---- making ---- */

static void count_from_zero(uint32_t *order, int64_t n)
{
    for (int64_t r = 0; r < n; r++)
        order[r] = (uint32_t)r;
}

tsr_status tsr_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, int nthreads)
{
    if (in->nrows > UINT32_MAX || in->ncols > UINT32_MAX)
        return TSR_NOT_SUPPORTED;
    switch (which) {
    case TSR_REORDER_NONE: count_from_zero(order, in->nrows); return TSR_OK;
    case TSR_REORDER_LPA: return tsr_order_lpa(order, in, nthreads);
    case TSR_REORDER_TCA: return tsr_order_tca(order, in, nthreads);
    case TSR_REORDER_LOA: return tsr_order_loa(order, in, nthreads);
    default: return TSR_INVALID_VALUE;
    }
}

/* ---- using ---- */

static tsr_status allocate(tsr_source *out, const tsr_source *in)
{
    out->p = tsr_format_alloc(out->nrows + 1, sizeof *out->p);
    out->i = tsr_format_alloc(out->nvals, sizeof *out->i);
    out->x = in->x ? tsr_format_alloc(out->nvals, tsr_number_size(in->number)) : NULL;
    if (out->p && out->i && (out->x || !in->x))
        return TSR_OK;
    tsr_free_source(out);
    return TSR_OUT_OF_MEMORY;
}

/* Row `to` of out = row `from` of in. */
static void copy_row(const tsr_source *out, int64_t to, const tsr_source *in, int64_t from)
{
    size_t size = tsr_number_size(in->number), n = (size_t)(in->p[from + 1] - in->p[from]);
    memcpy((uint32_t *)out->i + out->p[to], in->i + in->p[from], n * sizeof *in->i);
    if (in->x)
        memcpy((char *)out->x + (size_t)out->p[to] * size, (const char *)in->x + (size_t)in->p[from] * size, n * size);
}

tsr_status tsr_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, int64_t n, int nthreads)
{
    *out = (tsr_source){.nrows = n, .ncols = in->ncols, .number = in->number};
    for (int64_t r = 0; r < n; r++)
        out->nvals += in->p[order[r] + 1] - in->p[order[r]];
    tsr_status status = allocate(out, in);
    if (status != TSR_OK)
        return status;
    int64_t *p = (int64_t *)out->p;
    p[0] = 0;
    for (int64_t r = 0; r < n; r++)
        p[r + 1] = p[r] + in->p[order[r] + 1] - in->p[order[r]];
    int nparts = tsr_parts(out->nvals, 1 << 16, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) if (nparts > 1)
    for (int64_t r = 0; r < n; r++)
        copy_row(out, r, in, order[r]);
    return TSR_OK;
}

tsr_status tsr_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, int nthreads)
{
    int64_t n = tsr_order_sampled(in->nrows);
    uint32_t *rows = tsr_format_alloc(n, sizeof *rows);
    tsr_source pattern = *in;
    pattern.x = NULL;
    *out = (tsr_source){0};
    if (!rows)
        return TSR_OUT_OF_MEMORY;
    for (int64_t k = 0; k < n; k++) {
        int64_t place = tsr_order_sample_place(in->nrows, k);
        rows[k] = order ? order[place] : (uint32_t)place;
    }
    tsr_status status = tsr_take_rows(out, &pattern, rows, n, nthreads);
    free(rows);
    return status;
}

tsr_status tsr_sample_vectors(double vectors[5], const tsr_source *in, const uint32_t *order, int nthreads)
{
    tsr_source sample;
    tsr_statistics statistics = {0};
    tsr_status status = tsr_sample_rows(&sample, in, order, nthreads);
    if (status == TSR_OK)
        status = tsr_make_statistics(&statistics, &sample, nthreads);
    tsr_order_per_entry(vectors, statistics.vectors, sample.nvals);
    tsr_free_source(&sample);
    return status;
}
