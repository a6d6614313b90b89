/* Representations beside plain CSR: described, found among those of a matrix, built, run and freed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/representations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/operands/order.h"
#include "backends/cuda/spmm/matrix_statistics.h"

tsr_cuda_blocks tsr_cuda_describe(const tsr_cuda_kernel *kernel, const tsr_cuda_arithmetic *how, const tsr_cuda_sparse *a, int64_t n)
{
    tsr_number number = tsr_cuda_stored_number(kernel, how->math);
    bool shifted = how->narrow && a->csr.x && number == TSR_NUMBER_FP16;
    bool with_iso = kernel->format->stores_iso && !a->csr.x;
    tsr_cuda_blocks b = {.kernel = kernel, .height = tsr_gpu_kernel_height(kernel->form), .width = tsr_cuda_block_width(kernel, number),
                         .number = number, .shift = shifted ? a->statistics.shift : 0, .iso = with_iso ? how->iso : 1.0};
    if (kernel->form == TSR_GPU_HYBRID) {
        b.height = tsr_gpu_kernel_height(tsr_window_kernel((tsr_gpu_math)how->math));
        b.math = how->math;
        b.split = tsr_nearest_width((double)n);
    }
    return b;
}

tsr_cuda_blocks *tsr_cuda_find_blocks(tsr_cuda_blocks *list, const tsr_cuda_blocks *like)
{
    tsr_cuda_blocks *b = list;
    while (b && (b->kernel != like->kernel || b->number != like->number || b->height != like->height || b->math != like->math ||
                 b->split != like->split || b->shift != like->shift || memcmp(&b->iso, &like->iso, sizeof b->iso) != 0))
        b = b->next;
    return b;
}

/* ---- building ---- */

static size_t at_most_bytes(const tsr_cuda_sparse *a, const tsr_cuda_blocks *b)
{
    const tsr_cuda_kernel *kernel = b->kernel;
    tsr_cuda_counts c = {.nrows = (size_t)a->csr.nrows, .nvals = (size_t)a->csr.nvals};
    c.value = a->csr.x || kernel->format->stores_iso ? tsr_number_size(b->number) : 0;
    if (b->width > 0) {
        c.vectors = (size_t)tsr_cuda_vectors_of(a, b->height);
        c.windows = c.nrows / (size_t)b->height + 1;
        c.blocks = c.vectors / (size_t)b->width + c.windows;
    }
    return kernel->format->bytes(&c);
}

static void free_format(tsr_cuda_blocks *b)
{
    b->kernel->format->free(b);
    tsr_cuda_delete(b->rounded);
    b->rounded = NULL;
}

/* Blocks of a work item: long enough to hide its start, short enough to spread a dense window over the device. */
static tsr_status list_work(tsr_cuda_blocks *b)
{
    const tsr_cuda_format *format = b->kernel->format;
    int64_t most = 64;
    tsr_status status = format->most ? format->most(&most, b) : TSR_OK;
    const uint64_t *mask = format->mask ? format->mask(b) : NULL;
    return status == TSR_OK ? tsr_cuda_make_work(&b->work, &b->as.w, mask, most, tsr_cuda->compute) : status;
}

static tsr_status make_blocks(tsr_cuda_blocks *b, const tsr_source *source)
{
    tsr_status status = b->kernel->format->make(b, source);
    if (status != TSR_OK || b->kernel->format->own_rows)
        return status;
    status = list_work(b);
    if (status != TSR_OK)
        free_format(b);
    return status;
}

static tsr_status make_in_order(tsr_cuda_blocks *b, const tsr_cuda_sparse *a, const tsr_source *source)
{
    tsr_source ordered = {0};
    tsr_status status = tsr_cuda_in_order(&ordered, &a->order, source);
    if (status == TSR_OK)
        status = make_blocks(b, &ordered);
    tsr_cuda_end_order(&ordered, &a->order);
    return status;
}

/* The values as the format stores them; *rounded: where they are not those of A. */
static tsr_status round_values(void **rounded, tsr_source *source, const tsr_cuda_blocks *b)
{
    int64_t n = source->nvals;
    tsr_status status = TSR_OK;
    *rounded = NULL;
    if (source->x && b->number != source->number) {
        status = tsr_cuda_new(rounded, (size_t)n * tsr_number_size(b->number));
        if (status == TSR_OK && b->shift)
            status = tsr_cuda_narrow(*rounded, n, source->x, n, 1, n, ldexpf(1, b->shift), tsr_cuda->compute);
        else if (status == TSR_OK)
            status = tsr_cuda_convert(*rounded, b->number, n, source->x, source->number, n, 1, n, tsr_cuda->compute);
        source->x = *rounded;
    }
    source->number = b->number;
    return status;
}

static tsr_status make_from_values(tsr_cuda_blocks *b, const tsr_cuda_sparse *a)
{
    const tsr_cuda_format *format = b->kernel->format;
    tsr_source source = tsr_cuda_source_of(a);
    void *rounded;
    tsr_status status = round_values(&rounded, &source, b);
    if (status == TSR_OK && !format->make) {
        b->as.half = rounded;
        return TSR_OK;
    }
    if (status == TSR_OK)
        status = format->own_rows ? make_blocks(b, &source) : make_in_order(b, a, &source);
    if (status == TSR_OK && format->own_rows)
        b->rounded = rounded; /* its csr half reads them */
    else
        tsr_cuda_delete(rounded);
    return status;
}

tsr_status tsr_cuda_build_blocks(tsr_cuda_blocks **out, tsr_cuda_sparse *a, const tsr_cuda_blocks *like)
{
    tsr_cuda_blocks *b = calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return TSR_OUT_OF_MEMORY;
    *b = *like;
    size_t working = !b->kernel->format->make ? 0 : (size_t)a->csr.nvals * (a->order.row ? 44 : 32);
    b->bytes = at_most_bytes(a, b);
    if (!tsr_cuda_reserve(b->bytes + working)) {
        free(b);
        return TSR_OUT_OF_MEMORY;
    }
    tsr_status status = make_from_values(b, a);
    tsr_cuda_unreserve(working);
    if (status == TSR_OK) {
        b->next = a->blocks;
        *out = a->blocks = b;
        tsr_cuda_all.built++;
        return TSR_OK;
    }
    tsr_cuda_unreserve(b->bytes);
    free(b);
    return status;
}

void tsr_cuda_blocks_free(tsr_cuda_blocks *list)
{
    for (tsr_cuda_blocks *b = list, *next; b; b = next) {
        next = b->next;
        tsr_cuda_free_work(&b->work, tsr_cuda->compute);
        free_format(b);
        tsr_cuda_unreserve(b->bytes);
        free(b);
    }
}

/* ---- running ---- */

tsr_status tsr_cuda_run_blocks(const tsr_cuda_blocks *b, const tsr_cuda_sparse *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    tsr_cuda_spmm ordered = *product;
    if (!b->kernel->format->own_rows)
        ordered.row = a->order.row;
    return b->kernel->format->run(b, &a->csr, semiring, &ordered);
}

size_t tsr_cuda_blocks_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_sparse *a, const tsr_cuda_spmm *product)
{
    return b->kernel->format->partial_bytes(b, &a->csr, product);
}
