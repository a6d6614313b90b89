/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/operands/dense.h"

#include <string.h>

#include "backends/cuda/transfer/host_copy.h"
#include "src/base/half.h"

enum { ALIGNMENT = 16 }; /* of rows, for loads of 16 bytes */

static int64_t aligned(int64_t count, size_t size)
{
    int64_t step = ALIGNMENT / (int64_t)size;
    return (count + step - 1) / step * step;
}

/* The vectors as they are, `ld` elements apart. */
static tsr_status upload(void *to, const tsr_view *v, size_t size, int64_t ld, int nthreads, int64_t *moved)
{
    tsr_cuda_rectangle r = {.host = (char *)(uintptr_t)v->x, .host_ld = v->ld, .outer = v->nvec, .inner = v->vlen,
                            .device_ld = ld, .size = size, .device = to};
    return tsr_cuda_upload(&r, nthreads, moved);
}

static tsr_status upload_by_col(tsr_cuda_dense *d, const tsr_view *v, size_t size, int nthreads, int64_t *moved)
{
    size_t working = (size_t)(v->nvec * v->vlen) * size;
    void *by_col = NULL;
    if (!tsr_cuda_reserve(working))
        return TSR_DECLINED;
    tsr_status status = tsr_cuda_new(&by_col, working);
    if (status == TSR_OK)
        status = upload(by_col, v, size, v->vlen, nthreads, moved);
    if (status == TSR_OK)
        status = tsr_cuda_transpose(d->x, d->ld, by_col, v->vlen, v->nvec, v->vlen, (int)size, tsr_cuda->compute);
    if (status != TSR_OK)
        tsr_cuda_settle(); /* nothing writes there any more */
    tsr_cuda_delete(by_col);
    tsr_cuda_unreserve(working);
    return status;
}

static tsr_status turn(tsr_cuda_dense *d, const tsr_view *v, const tsr_cuda_array *value)
{
    return tsr_cuda_transpose(d->x, d->ld, value->x, v->vlen, v->nvec, v->vlen, (int)value->size, tsr_cuda->compute);
}

tsr_status tsr_cuda_dense_use(tsr_cuda_dense *d, const tsr_view *v, const tsr_cuda_array *value, bool reads, int nthreads,
                              int64_t *moved)
{
    size_t size = tsr_type_size(v->type);
    *d = (tsr_cuda_dense){0};
    if (reads && value && !v->by_col) {
        *d = (tsr_cuda_dense){.x = value->x, .ld = v->vlen};
        return TSR_OK;
    }
    if (!reads || (!value && (!v->x || v->iso))) {
        if (v->x)
            memcpy(&d->iso, v->x, size);
        return TSR_OK;
    }
    d->ld = aligned(v->ncols, size);
    d->bytes = (size_t)(v->nrows * d->ld) * size;
    if (!tsr_cuda_reserve(d->bytes)) {
        d->bytes = 0;
        return TSR_DECLINED;
    }
    tsr_status status = tsr_cuda_new(&d->x, d->bytes);
    if (status != TSR_OK || value)
        return status == TSR_OK ? turn(d, v, value) : status;
    return v->by_col ? upload_by_col(d, v, size, nthreads, moved) : upload(d->x, v, size, d->ld, nthreads, moved);
}

void tsr_cuda_dense_free(tsr_cuda_dense *d)
{
    if (d->bytes)
        tsr_cuda_delete(d->x);
    tsr_cuda_unreserve(d->bytes);
    *d = (tsr_cuda_dense){0};
}

tsr_status tsr_cuda_by_row(void *to, int64_t to_ld, const tsr_cuda_given *from, int64_t rows, int64_t columns, void *stream)
{
    const bool half = tsr_is_half(from->type);
    const int size = (int)tsr_type_size(from->type);
    if (half && from->by_col)
        return tsr_cuda_transpose_widened(to, to_ld, from->x, tsr_number_of(from->type), from->ld, columns, rows, stream);
    if (half)
        return tsr_cuda_convert(to, TSR_NUMBER_FP32, to_ld, from->x, tsr_number_of(from->type), from->ld, rows, columns, stream);
    if (from->by_col)
        return tsr_cuda_transpose(to, to_ld, from->x, from->ld, columns, rows, size, stream);
    if (columns == 1) /* of any size, to consecutive elements */
        return tsr_cuda_transpose(to, rows, from->x, from->ld, rows, 1, size, stream);
    const tsr_number number = size == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32; /* rows that are copied have elements of 4 or 8 bytes */
    return tsr_cuda_convert(to, number, to_ld, from->x, number, from->ld, rows, columns, stream);
}
