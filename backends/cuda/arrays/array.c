/* One device array: its memory, and its way to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/array.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/transfer/fetch.h"
#include "backends/cuda/transfer/lists.h"

static size_t aligned(size_t bytes)
{
    return (bytes + TSR_CUDA_ALIGNMENT - 1) / TSR_CUDA_ALIGNMENT * TSR_CUDA_ALIGNMENT;
}

/* Elements; their presence; what is beside both. */
static tsr_status allocate(tsr_cuda_array *v, bool bitmap, size_t beside)
{
    const size_t elements = (size_t)v->count * v->size, bytes = bitmap ? aligned(elements) + (size_t)v->count : elements;
    const size_t whole = beside ? aligned(bytes) + beside : bytes;
    if (!tsr_cuda_reserve(whole))
        return TSR_OUT_OF_MEMORY;
    v->bytes = whole;
    tsr_status status = tsr_cuda_new(&v->x, whole);
    if (status == TSR_OK && bitmap)
        v->present = (int8_t *)v->x + aligned(elements);
    return status;
}

static tsr_status download(void *whole, tsr_download *to)
{
    return tsr_cuda_array_download(whole, to);
}

static void free_value(void *whole)
{
    tsr_cuda_array_free(whole);
}

static tsr_status new_array(tsr_cuda_array **out, int64_t count, size_t size, bool bitmap, size_t beside)
{
    tsr_cuda_array *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v)
        return TSR_OUT_OF_MEMORY;
    *v = (tsr_cuda_array){.count = count, .size = size, .nvals = bitmap ? -1 : count};
    tsr_cuda_array_start(v, free_value);
    tsr_status status = allocate(v, bitmap, beside);
    if (status == TSR_OK)
        *out = v;
    else
        tsr_cuda_array_free(v);
    return status;
}

void tsr_cuda_array_start(tsr_cuda_array *v, void (*free)(void *whole))
{
    tsr_cuda_contents_start(&v->contents, download, free);
}

tsr_status tsr_cuda_array_new(tsr_cuda_array **out, int64_t count, size_t size, bool bitmap)
{
    return new_array(out, count, size, bitmap, 0);
}

tsr_status tsr_cuda_array_new_beside(tsr_cuda_array **out, int64_t count, size_t size, size_t beside)
{
    return new_array(out, count, size, true, beside);
}

size_t tsr_cuda_array_beside(const tsr_cuda_array *v)
{
    return aligned((size_t)(v->present - (int8_t *)v->x) + (size_t)v->count);
}

void tsr_cuda_array_let_go(tsr_cuda_array *v)
{
    if (v && atomic_fetch_sub(&v->contents.refs, 1) == 1)
        v->contents.dead.free(&v->contents.dead);
}

void tsr_cuda_array_free(tsr_cuda_array *v)
{
    if (!v)
        return;
    if (v->lister != v)
        tsr_cuda_array_let_go(v->lister);
    tsr_cuda_delete(v->x);
    tsr_cuda_unreserve(v->bytes);
    free(v);
}

tsr_status tsr_cuda_array_download(tsr_cuda_array *v, tsr_download *to)
{
    int64_t present = 0;
    const bool numbers = !to->x && to->i;
    tsr_status status = numbers ? tsr_cuda_list_fetch(to->i, v->x, v->count, to->nthreads, &to->bytes_moved)
                                : tsr_cuda_fetch_array(to->x, v->x, v->count, v->size, to->nthreads, &to->bytes_moved);
    if (status == TSR_OK && v->present && to->b)
        status = tsr_cuda_fetch_presence(to->b, v->present, v->count, to->nthreads, &present, &to->bytes_moved);
    if (status != TSR_OK) {
        tsr_cuda_settle();
        return status;
    }
    if (to->b && !v->present && v->count)
        memset(to->b, 1, (size_t)v->count);
    if (to->b && v->nvals < 0)
        v->nvals = present;
    to->nvals = to->b ? v->nvals : v->count;
    return TSR_OK;
}
