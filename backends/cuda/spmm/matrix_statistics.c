/* Counting a matrix on the device, and what follows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/matrix_statistics.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/operands/fp16_scaling.h"
#include "backends/cuda/operands/order.h"
#include "backends/cuda/spmm/kernel_table.h"

tsr_source tsr_cuda_source_of(const tsr_cuda_sparse *a)
{
    const tsr_cuda_csr *c = &a->csr;
    return (tsr_source){.nrows = c->nrows, .ncols = c->ncols, .nvals = c->nvals, .p = c->p, .i = c->i, .x = c->x,
                             .number = tsr_type_size(a->key.type) == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32};
}

/* Scratch for keys to sort and a copy; labels or sketches. */
static size_t counting_bytes(const tsr_cuda_sparse *a)
{
    return (size_t)a->csr.nvals * 28 + (size_t)(a->csr.nrows + a->csr.ncols) * 112;
}

static tsr_status count_windows(tsr_cuda_statistics *statistics, const tsr_source *sample, int at)
{
    int height = 8 << at;
    statistics->nwindows[at] = (sample->nrows + height - 1) / height;
    statistics->windows[at] = calloc((size_t)statistics->nwindows[at] + 1, sizeof *statistics->windows[at]);
    return statistics->windows[at] ? tsr_cuda_count_windows(statistics->windows[at], sample, height, tsr_cuda->compute) : TSR_OUT_OF_MEMORY;
}

void tsr_cuda_statistics_free(tsr_cuda_statistics *statistics)
{
    for (int at = 0; at < 2; at++) {
        free(statistics->windows[at]);
        statistics->windows[at] = NULL;
    }
}

tsr_status tsr_cuda_measure_rows(tsr_cuda_sparse *a)
{
    const tsr_source all = tsr_cuda_source_of(a);
    const size_t working = (size_t)a->csr.ncols * 2 * sizeof(uint32_t);
    tsr_degrees degrees = {0};
    if (a->statistics.measured)
        return TSR_OK;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    const tsr_status status = tsr_cuda_count_degrees(&degrees, &all, 1, tsr_cuda->compute);
    tsr_cuda_unreserve(working);
    a->statistics.longest = (double)degrees.longest_row;
    a->statistics.measured = status == TSR_OK;
    return status;
}

tsr_status tsr_cuda_sample_matrix(tsr_cuda_sparse *a)
{
    tsr_cuda_statistics *statistics = &a->statistics;
    size_t working = counting_bytes(a);
    int64_t vectors[5];
    tsr_degrees degrees = {0};
    tsr_source all = tsr_cuda_source_of(a), sample = {0};
    if (statistics->inspected)
        return TSR_OK;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_sample_rows(&sample, &all, NULL, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(vectors, &sample, tsr_cuda->compute);
    for (int at = 0; at < 2 && status == TSR_OK; at++)
        status = count_windows(statistics, &sample, at);
    if (status == TSR_OK)
        status = tsr_cuda_count_degrees(&degrees, &all, TSR_DEGREE_SAMPLE, tsr_cuda->compute);
    if (status == TSR_OK)
        tsr_hot_shares(statistics->hot, &degrees);
    statistics->longest = (double)degrees.longest_row;
    statistics->measured = status == TSR_OK;
    for (int h = 0; h < 5 && status == TSR_OK; h++)
        statistics->sampled[h] = sample.nvals ? (double)vectors[h] * (double)a->csr.nvals / (double)sample.nvals : (double)a->csr.nvals;
    tsr_cuda_free_source(&sample, tsr_cuda->compute);
    tsr_cuda_unreserve(working);
    if (status != TSR_OK)
        tsr_cuda_statistics_free(statistics);
    statistics->inspected = status == TSR_OK;
    return status;
}

static tsr_status decide_order(tsr_cuda_sparse *a, tsr_reorder wanted)
{
    size_t working = counting_bytes(a);
    tsr_source pattern = tsr_cuda_source_of(a);
    pattern.x = NULL;
    if (a->statistics.ordered)
        return TSR_OK;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_decide_order(&a->order, &pattern, wanted);
    tsr_cuda_unreserve(working);
    a->statistics.ordered = status == TSR_OK;
    return status;
}

tsr_status tsr_cuda_count_matrix(tsr_cuda_sparse *a, tsr_reorder wanted)
{
    size_t working = counting_bytes(a);
    tsr_source pattern = tsr_cuda_source_of(a), ordered = {0};
    pattern.x = NULL;
    if (a->statistics.counted)
        return TSR_OK;
    tsr_status status = decide_order(a, wanted);
    if (status != TSR_OK || !tsr_cuda_reserve(working))
        return status == TSR_OK ? TSR_OUT_OF_MEMORY : status;
    status = tsr_cuda_in_order(&ordered, &a->order, &pattern);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(a->statistics.vectors, &ordered, tsr_cuda->compute);
    tsr_cuda_end_order(&ordered, &a->order);
    tsr_cuda_unreserve(working);
    a->statistics.counted = status == TSR_OK;
    return status;
}

int64_t tsr_cuda_vectors_of(const tsr_cuda_sparse *a, int height)
{
    int at = 0;
    while (8 << at < height)
        at++;
    return a->statistics.vectors[at];
}

tsr_gpu_matrix tsr_cuda_matrix_of(const tsr_cuda_sparse *a)
{
    const tsr_cuda_statistics *statistics = &a->statistics;
    tsr_gpu_matrix m = {.nrows = (double)a->csr.nrows, .ncols = (double)a->csr.ncols, .nvals = (double)a->csr.nvals};
    for (int h = 0; h < 5; h++) {
        m.own[h] = statistics->inspected ? statistics->sampled[h] : m.nvals;
        m.vectors[h] = statistics->counted ? (double)statistics->vectors[h] : m.own[h];
        if (statistics->counted && !a->order.row)
            m.own[h] = m.vectors[h];
    }
    m.longest = statistics->longest;
    memcpy(m.hot, statistics->hot, sizeof m.hot);
    for (int at = 0; at < 2 && !a->order.row; at++) {
        m.nwindows[at] = statistics->nwindows[at];
        m.windows[at] = statistics->windows[at];
    }
    return m;
}

/* ---- values ---- */

tsr_status tsr_cuda_check_range(tsr_cuda_sparse *a)
{
    if (a->statistics.checked || !a->csr.x || a->csr.nvals == 0)
        return TSR_OK;
    int flag = 0, *device_flag;
    tsr_status status = tsr_cuda_new((void **)&device_flag, sizeof flag);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_set(device_flag, 0, sizeof flag, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_check_finite(device_flag, a->csr.x, TSR_NUMBER_FP32, a->csr.nvals, 1, a->csr.nvals,
                                       TSR_CUDA_FP16_LIMIT, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&flag, device_flag, sizeof flag, tsr_cuda->compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    tsr_cuda_delete(device_flag);
    status = status == TSR_OK ? waited : status;
    a->statistics.checked = status == TSR_OK;
    a->statistics.out_of_range = flag != 0;
    return status;
}

tsr_status tsr_cuda_find_shift(tsr_cuda_sparse *a)
{
    tsr_cuda_statistics *statistics = &a->statistics;
    const tsr_cuda_numbers values = {a->csr.x, a->csr.nvals, 1, a->csr.nvals};
    if (statistics->narrow_known)
        return TSR_OK;
    tsr_status status = tsr_cuda_find_fp16_scale(&statistics->shift, &statistics->narrow, &values, NULL);
    statistics->narrow_known = status == TSR_OK;
    return status;
}
