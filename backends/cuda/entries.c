/* Memory of masked results, and their way home.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/entries.h"

#include <string.h>

#include "backends/cuda/fetch.h"

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

/* ---- the way home ---- */

typedef struct target {
    char *values;
    size_t size;
} target;

static int64_t take_values(void *to, const void *staging, int64_t first, int64_t last)
{
    const target *t = to;
    memcpy(t->values + (size_t)first * t->size, staging, (size_t)(last - first) * t->size);
    return 0;
}

static int64_t take_presence(void *to, const void *staging, int64_t first, int64_t last)
{
    const int8_t *present = staging;
    int64_t count = 0;
    for (int64_t k = 0; k < last - first; k++)
        count += present[k];
    memcpy((int8_t *)to + first, present, (size_t)(last - first));
    return count;
}

tsr_status tsr_cuda_entries_fetch(const tsr_cuda_entries *e, tsr_result *result, int nthreads)
{
    int64_t count = e->end - e->begin;
    target values = {.values = (char *)result->x + (size_t)e->begin * e->size, .size = e->size};
    tsr_status status = tsr_cuda_fetch(e->x, count, e->size, take_values, &values, nthreads, NULL, &result->bytes_moved);
    if (status == TSR_OK)
        status = tsr_cuda_fetch(e->present, count, 1, take_presence, result->b + e->begin, nthreads, &result->nvals,
                                &result->bytes_moved);
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
                                        tsr_result *result, int nthreads)
{
    tsr_cuda_entries e;
    tsr_status status = open_first(&e, count, size);
    if (status != TSR_OK)
        return status;
    int64_t portion = e.end;
    for (; status == TSR_OK && e.begin < count; e.begin = e.end, e.end = e.end + portion < count ? e.end + portion : count) {
        status = compute(product, &e);
        if (status == TSR_OK)
            status = tsr_cuda_entries_fetch(&e, result, nthreads);
    }
    tsr_cuda_entries_close(&e);
    return status;
}
