/* Some rows of a sparse C on the device.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spgemm/rows.h"

#include "backends/cuda/transfer/csr.h"

/* ---- computing ---- */

/* What the kernels need for a row, and for the whole, beside results. */
enum { ROW_BYTES = 32, LEAST_BYTES = 8192 };

static tsr_cuda_csr rows_of(const tsr_cuda_csr *a, int64_t first, int64_t last)
{
    const double share = a->nrows > 0 ? (double)(last - first) / (double)a->nrows : 0;
    return (tsr_cuda_csr){.nrows = last - first, .ncols = a->ncols, .nvals = (int64_t)(share * (double)a->nvals), .p = a->p + first, .i = a->i,
                          .x = a->x};
}

static tsr_status allocate(tsr_cuda_rows *rows, int64_t ncols)
{
    tsr_cuda_csr *c = &rows->csr;
    *c = (tsr_cuda_csr){.nrows = rows->last - rows->first, .ncols = ncols, .nvals = rows->nvals};
    const size_t bytes = (size_t)(c->nrows + 1) * sizeof *c->p + (size_t)c->nvals * (sizeof *c->i + rows->value_size);
    if (!tsr_cuda_reserve(bytes))
        return TSR_DECLINED;
    rows->bytes = bytes;
    tsr_status status = tsr_cuda_new((void **)&c->p, (size_t)(c->nrows + 1) * sizeof *c->p);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&c->i, (size_t)c->nvals * sizeof *c->i);
    if (status == TSR_OK && rows->value_size)
        status = tsr_cuda_new(&c->x, (size_t)c->nvals * rows->value_size);
    return status;
}

/* Results wait in half of the room that is left until C's size is known. */
static tsr_status count(tsr_cuda_spgemm_work **work, size_t *taken, tsr_cuda_rows *rows, tsr_cuda_spgemm *q)
{
    tsr_cuda_spgemm_size size;
    const size_t least = (size_t)(rows->last - rows->first) * ROW_BYTES + LEAST_BYTES;
    if (!tsr_cuda_reserve(least))
        return TSR_DECLINED;
    const size_t room = (tsr_cuda->cap - tsr_cuda->used) / 2;
    tsr_cuda->used += room;
    q->memory = least + room;
    const tsr_status status = tsr_cuda_spgemm_count(work, &size, q);
    *taken = status == TSR_OK && size.most_bytes < q->memory ? size.most_bytes : status == TSR_OK ? q->memory : 0;
    tsr_cuda_unreserve(q->memory - *taken);
    if (status == TSR_OK) {
        rows->nvals = size.nvals;
        rows->tiles = size.tiles;
    }
    return status;
}

/* The places of products in half of the room that is left; without them what is known of rows still helps. */
static void keep(tsr_cuda_rows *rows, tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *q)
{
    const size_t least = (size_t)(rows->last - rows->first) * ROW_BYTES + LEAST_BYTES;
    size_t bytes = 0;
    if (!tsr_cuda_reserve(least))
        return;
    const size_t room = (tsr_cuda->cap - tsr_cuda->used) / 2;
    tsr_cuda->used += room;
    const tsr_status status = tsr_cuda_spgemm_keep(work, &bytes, q, &rows->csr, room);
    tsr_cuda_unreserve(room - bytes);
    rows->work_bytes = least + bytes;
    if (status == TSR_OK || status == TSR_DECLINED)
        rows->work = work;
}

tsr_status tsr_cuda_rows_compute(tsr_cuda_rows *rows, const tsr_cuda_spgemm *product)
{
    tsr_cuda_spgemm q = *product;
    const tsr_cuda_csr a = rows_of(product->a, rows->first, rows->last);
    const tsr_cuda_csr mask = product->mask ? rows_of(product->mask, rows->first, rows->last) : (tsr_cuda_csr){0};
    tsr_cuda_spgemm_work *work = NULL;
    size_t taken = 0;
    q.a = &a;
    q.mask = product->mask ? &mask : NULL;
    q.mask_bits = product->mask_bits ? product->mask_bits + rows->first * product->mask_words : NULL;
    rows->value_size = q.pattern ? 0 : tsr_type_size(q.semiring.type);
    tsr_status status = count(&work, &taken, rows, &q);
    if (status == TSR_OK)
        status = allocate(rows, product->b->ncols);
    if (status == TSR_OK)
        status = tsr_cuda_spgemm_fill(work, &q, &rows->csr, false);
    tsr_cuda_unreserve(taken);
    if (status == TSR_OK && rows->comes_again)
        keep(rows, work, &q);
    if (!rows->work)
        tsr_cuda_spgemm_free(work, q.stream);
    if (status != TSR_OK)
        tsr_cuda_rows_free(rows);
    return status;
}

tsr_status tsr_cuda_rows_again(tsr_cuda_rows *rows, const tsr_cuda_spgemm *product)
{
    return rows->work ? tsr_cuda_spgemm_fill(rows->work, product, &rows->csr, true) : TSR_DECLINED;
}

void tsr_cuda_rows_free(tsr_cuda_rows *rows)
{
    tsr_cuda_spgemm_free(rows->work, tsr_cuda->compute);
    rows->work = NULL;
    tsr_cuda_csr_delete(&rows->csr);
    tsr_cuda_unreserve(rows->bytes + rows->work_bytes);
    rows->bytes = rows->work_bytes = 0;
}

/* ---- the way to the host ---- */

tsr_status tsr_cuda_rows_download(const tsr_cuda_rows *rows, int64_t entries, tsr_download *to)
{
    return tsr_cuda_csr_download(&rows->csr, rows->value_size, rows->first, entries, to);
}
