/* Upload of sparse arrays: narrow indices, offsets for every vector.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/transfer/csr.h"

#include <string.h>

#include "backends/cuda/transfer/host_copy.h"

void tsr_cuda_csr_delete(tsr_cuda_csr *csr)
{
    tsr_cuda_csr_work_free(csr, tsr_cuda.compute);
    tsr_cuda_delete(csr->p);
    tsr_cuda_delete(csr->i);
    tsr_cuda_delete(csr->x);
    *csr = (tsr_cuda_csr){0};
}

int64_t tsr_cuda_find_name(const int64_t *h, int64_t nvec, int64_t name)
{
    int64_t low = 0, high = nvec;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (h[middle] < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_offsets(void *staging, const void *source, int64_t first, int64_t last)
{
    const tsr_view *v = source;
    int64_t *to = staging;
    if (!v->h) {
        memcpy(to, v->p + first, (size_t)(last - first) * sizeof *to);
        return;
    }
    int64_t low = tsr_cuda_find_name(v->h, v->nvec, first);
    for (int64_t vector = first; vector < last; vector++) {
        while (low < v->nvec && v->h[low] < vector)
            low++;
        to[vector - first] = v->p[low];
    }
}

static void fill_indices(void *staging, const void *source, int64_t first, int64_t last)
{
    const tsr_view *v = source;
    uint32_t *to = staging;
    if (v->index_size == 4) {
        memcpy(to, (const uint32_t *)v->i + first, (size_t)(last - first) * sizeof *to);
        return;
    }
    const int64_t *from = (const int64_t *)v->i + first;
    for (int64_t k = 0; k < last - first; k++)
        to[k] = (uint32_t)from[k];
}

static void fill_values(void *staging, const void *source, int64_t first, int64_t last)
{
    const tsr_view *v = source;
    size_t size = tsr_type_size(v->type);
    memcpy(staging, (const char *)v->x + (size_t)first * size, (size_t)(last - first) * size);
}

static tsr_status new_csr(tsr_cuda_csr *csr, size_t value_size)
{
    tsr_status status = tsr_cuda_new((void **)&csr->p, (size_t)(csr->nrows + 1) * sizeof *csr->p);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&csr->i, (size_t)csr->nvals * sizeof *csr->i);
    if (status == TSR_OK && value_size)
        status = tsr_cuda_new(&csr->x, (size_t)csr->nvals * value_size);
    return status;
}

tsr_status tsr_cuda_csr_upload_values(tsr_cuda_csr *csr, const tsr_view *v, int nthreads, int64_t *moved)
{
    tsr_status status = tsr_cuda_after(tsr_cuda.up, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(csr->x, csr->nvals, tsr_type_size(v->type), fill_values, v, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda.compute, tsr_cuda.up) : status;
}

tsr_status tsr_cuda_csr_upload(tsr_cuda_csr *csr, const tsr_view *v, size_t value_size, int nthreads, int64_t *moved)
{
    *csr = (tsr_cuda_csr){.nrows = v->by_col ? v->ncols : v->nrows, .ncols = v->vlen, .nvals = v->nvals};
    tsr_status status = new_csr(csr, value_size);
    if (status == TSR_OK)
        status = tsr_cuda_after(tsr_cuda.up, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(csr->p, csr->nrows + 1, sizeof *csr->p, fill_offsets, v, nthreads, moved);
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(csr->i, csr->nvals, sizeof *csr->i, fill_indices, v, nthreads, moved);
    if (status == TSR_OK && value_size)
        status = tsr_cuda_host_copy(csr->x, csr->nvals, value_size, fill_values, v, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda.compute, tsr_cuda.up) : status;
}
