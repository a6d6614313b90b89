/* Memory of masked results, and their way to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/entries.h"

#include "backends/cuda/transfer/fetch.h"

enum { MOST_PORTIONS = 256 };

tsr_status tsr_cuda_entries_open(tsr_cuda_entries *e, int64_t begin, int64_t end, size_t size)
{
    *e = (tsr_cuda_entries){.begin = begin, .end = end, .size = size, .bytes = (size_t)(end - begin) * (size + 1)};
    if (!tsr_cuda_reserve(e->bytes))
        return TSR_DECLINED;
    tsr_status status = tsr_cuda_new(&e->x, (size_t)(end - begin) * size);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&e->present, (size_t)(end - begin));
    if (status != TSR_OK)
        tsr_cuda_entries_close(e);
    return status;
}

void tsr_cuda_entries_close(tsr_cuda_entries *e)
{
    tsr_cuda_delete(e->x);
    tsr_cuda_delete(e->present);
    tsr_cuda_unreserve(e->bytes);
    *e = (tsr_cuda_entries){0};
}

/* ---- to the host ---- */

tsr_status tsr_cuda_entries_download(const tsr_cuda_entries *e, tsr_download *to)
{
    int64_t count = e->end - e->begin;
    tsr_status status = tsr_cuda_fetch_array((char *)to->x + (size_t)e->begin * e->size, e->x, count, e->size, to->nthreads,
                                             &to->bytes_moved);
    if (status == TSR_OK)
        status = tsr_cuda_fetch_presence(to->b + e->begin, e->present, count, to->nthreads, &to->nvals, &to->bytes_moved);
    return status;
}

/* ---- portions ---- */

static tsr_status open_first(tsr_cuda_entries *e, int64_t count, size_t size)
{
    tsr_status status = TSR_DECLINED;
    for (int64_t portions = 1; portions <= MOST_PORTIONS && status == TSR_DECLINED; portions *= 2)
        status = tsr_cuda_entries_open(e, 0, (count + portions - 1) / portions, size);
    return status;
}

tsr_status tsr_cuda_entries_in_portions(int64_t count, size_t size, tsr_cuda_compute_entries compute, void *product,
                                        tsr_download *to)
{
    tsr_cuda_entries e;
    tsr_status status = open_first(&e, count, size);
    if (status != TSR_OK)
        return status;
    int64_t portion = e.end;
    for (; status == TSR_OK && e.begin < count; e.begin = e.end, e.end = e.end + portion < count ? e.end + portion : count) {
        status = compute(product, &e);
        if (status == TSR_OK)
            status = tsr_cuda_entries_download(&e, to);
    }
    tsr_cuda_entries_close(&e);
    return status;
}
