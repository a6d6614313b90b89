/* Block formats and their products on the lazy device: what src/format makes, the oracle's products.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/lazy_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/runtime.h"
#include "kernels/ref/formats.h"
#include "kernels/ref/ref.h"
#include "src/format/blocks/tc_blocks.h"
#include "src/format/sparse/format.h"
#include "src/format/order/row_order.h"

/* ---- block formats: made by src/format, which is what converters on a device must equal ---- */

static tsr_status counted(tsr_status status)
{
    lazy_count(status == TSR_OK);
    return status;
}

/* Formats are freed by the host: what is queued has used them by then. */
static void uncounted(const void *array)
{
    lazy_finish();
    lazy_count(array ? -1 : 0);
}

tsr_number tsr_cuda_number(tsr_cuda_math math)
{
    static const tsr_number numbers[TSR_CUDA_MATH_COUNT] = {TSR_NUMBER_FP32, TSR_NUMBER_FP32, TSR_NUMBER_FP16, TSR_NUMBER_BF16,
                                                            TSR_NUMBER_FP64};
    return numbers[math];
}

#define WHEN_IDLE(on, make)                  \
    tsr_status waited = tsr_cuda_wait(on);   \
    return waited == TSR_OK ? counted(make) : waited

tsr_status tsr_cuda_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, void *on)
{
    WHEN_IDLE(on, tsr_make_me_tcf(out, in, 1));
}

tsr_status tsr_cuda_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, void *on)
{
    WHEN_IDLE(on, tsr_make_me_bcrs(out, in, width, iso, 1));
}

tsr_status tsr_cuda_make_bmat(tsr_bmat *out, const tsr_source *in, int height, void *on)
{
    WHEN_IDLE(on, tsr_make_bmat(out, in, height, 1));
}

tsr_status tsr_cuda_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, void *on)
{
    WHEN_IDLE(on, tsr_make_hrpb(out, in, height, 1));
}

tsr_status tsr_cuda_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most, void *on)
{
    WHEN_IDLE(on, tsr_make_work(out, windows, mask, most));
}

void tsr_cuda_free_me_tcf(tsr_me_tcf *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_me_tcf(a);
}

void tsr_cuda_free_me_bcrs(tsr_me_bcrs *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_me_bcrs(a);
}

void tsr_cuda_free_bmat(tsr_bmat *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_bmat(a);
}

void tsr_cuda_free_hrpb(tsr_hrpb *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_hrpb(a);
}

tsr_status tsr_cuda_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, void *on)
{
    WHEN_IDLE(on, tsr_make_panel(out, in, height, width, iso, 1));
}

void tsr_cuda_free_panel(tsr_panel *a, void *on)
{
    (void)on;
    uncounted(a->w.entry);
    tsr_free_panel(a);
}

tsr_status tsr_cuda_make_stencil(tsr_stencil *out, const tsr_source *in, void *on)
{
    WHEN_IDLE(on, tsr_make_stencil(out, in, 1));
}

void tsr_cuda_free_stencil(tsr_stencil *a, void *on)
{
    (void)on;
    uncounted(a->slots);
    tsr_free_stencil(a);
}

int64_t tsr_cuda_panel_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return windows->nblocks / device->sms + 1;
}

int64_t tsr_cuda_me_bcrs_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return tsr_cuda_panel_most(windows, device);
}

int64_t tsr_cuda_stencil_most(const tsr_windows *windows, const tsr_cuda_device *device)
{
    return tsr_cuda_panel_most(windows, device);
}

void tsr_cuda_free_work(tsr_work *work_list, void *on)
{
    (void)on;
    uncounted(work_list->block);
    tsr_free_work(work_list);
}

tsr_status tsr_cuda_count_vectors(int64_t vectors[5], const tsr_source *in, void *on)
{
    tsr_statistics s;
    tsr_status status = tsr_cuda_wait(on);
    if (status == TSR_OK)
        status = tsr_make_statistics(&s, in, 1);
    if (status == TSR_OK)
        memcpy(vectors, s.vectors, sizeof s.vectors);
    return status;
}

tsr_status tsr_cuda_count_degrees(tsr_degrees *out, const tsr_source *in, int64_t most, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    return status == TSR_OK ? tsr_count_degrees(out, in, most, 1) : status;
}

tsr_status tsr_cuda_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    return status == TSR_OK ? tsr_make_order(order, in, which, 1) : status;
}

tsr_status tsr_cuda_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, void *on)
{
    *out = (tsr_source){0};
    WHEN_IDLE(on, tsr_take_rows(out, in, rows, n, 1));
}

void tsr_cuda_free_source(tsr_source *source, void *on)
{
    (void)on;
    uncounted(source->p);
    tsr_free_source(source);
}

tsr_status tsr_cuda_sample_vectors(double vectors[5], const tsr_source *in, const uint32_t *order, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    return status == TSR_OK ? tsr_sample_vectors(vectors, in, order, 1) : status;
}

tsr_status tsr_cuda_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, void *on)
{
    *out = (tsr_source){0};
    WHEN_IDLE(on, tsr_sample_rows(out, in, order, 1));
}

tsr_status tsr_cuda_count_windows(tsr_window_count *windows, const tsr_source *in, int height, void *on)
{
    tsr_windows w;
    uint32_t *place;
    tsr_status status = tsr_cuda_wait(on);
    if (status == TSR_OK)
        status = tsr_make_windows(&w, &place, in, height, 8, 1);
    if (status != TSR_OK)
        return status;
    for (int64_t v = 0; v < w.nwindows; v++)
        windows[v] = (tsr_window_count){(uint32_t)(w.entry[v + 1] - w.entry[v]), (uint32_t)(w.vector[v + 1] - w.vector[v])};
    free(place);
    tsr_free_windows(&w);
    return TSR_OK;
}

tsr_status tsr_cuda_longest_window(int64_t *longest, const tsr_windows *windows, void *on)
{
    tsr_status status = tsr_cuda_wait(on);
    *longest = 0;
    for (int64_t v = 0; status == TSR_OK && v < windows->nwindows; v++) {
        int64_t blocks = windows->block[v + 1] - windows->block[v];
        *longest = blocks > *longest ? blocks : *longest;
    }
    return status;
}

int64_t tsr_cuda_me_tcf_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device)
{
    (void)windows;
    return longest / device->sms + 1;
}

int64_t tsr_cuda_hrpb_most(const tsr_windows *windows, int64_t longest, const tsr_cuda_device *device)
{
    return tsr_cuda_me_tcf_most(windows, longest, device);
}

/* ---- products of block formats ---- */

enum { ME_TCF, ME_BCRS, HRPB, BMAT, PANEL };

typedef struct block_work {
    int kind;
    const void *format;
    tsr_cuda_spmm product;
} block_work;

static const tsr_windows *windows_of(const block_work *w)
{
    switch (w->kind) {
    case ME_TCF: return &((const tsr_me_tcf *)w->format)->w;
    case ME_BCRS: return &((const tsr_me_bcrs *)w->format)->w;
    case HRPB: return &((const tsr_hrpb *)w->format)->w;
    case PANEL: return &((const tsr_panel *)w->format)->w;
    default: return &((const tsr_bmat *)w->format)->w;
    }
}

static tsr_status run_reference(const block_work *w, tsr_number number, const double *b, double *c)
{
    const tsr_cuda_spmm *q = &w->product;
    switch (w->kind) {
    case ME_TCF: return tsr_ref_spmm_me_tcf(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case ME_BCRS: return tsr_ref_spmm_me_bcrs(w->format, number, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case PANEL: return tsr_ref_spmm_panel(w->format, number == TSR_NUMBER_FP64 ? number : TSR_NUMBER_FP32, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    case HRPB: return tsr_ref_spmm_hrpb(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    default: return tsr_ref_spmm_bmat(w->format, number, q->iso, q->n, b, q->n, c, q->n, q->alpha, 0, NULL);
    }
}

static void store(const tsr_cuda_spmm *q, int64_t row, int64_t col, double value)
{
    if (q->math == TSR_CUDA_FP64)
        ((double *)q->c)[row * q->ldc + col] = value;
    else
        ((float *)q->c)[row * q->ldc + col] = (float)value;
}

static void run_blocks(const void *described)
{
    const block_work *w = described;
    const tsr_cuda_spmm *q = &w->product;
    const tsr_windows *windows = windows_of(w);
    tsr_number number = tsr_cuda_number(q->math);
    double *b = malloc((size_t)(windows->ncols * q->n) * sizeof *b), *c = malloc((size_t)(windows->nrows * q->n) * sizeof *c);
    if (!b || !c)
        lazy_fatal("no memory");
    for (int64_t row = 0; row < windows->ncols; row++)
        for (int64_t col = 0; col < q->n; col++)
            b[row * q->n + col] = tsr_ref_number(q->b, number, row * q->ldb + col);
    for (int64_t k = 0; k < windows->ncols * q->n; k++)
        if (!isfinite(b[k]) && w->kind != PANEL)
            lazy_fatal("B is not finite");
    if (run_reference(w, number, b, c) != TSR_OK)
        lazy_fatal("the reference kernel failed");
    for (int64_t row = 0; row < windows->nrows; row++)
        for (int64_t col = 0; col < q->n; col++)
            store(q, q->row ? q->row[row] : row, col, c[row * q->n + col]);
    free(b);
    free(c);
}

static tsr_status spmm_blocks(int kind, const void *format, const tsr_cuda_spmm *product)
{
    size_t size = tsr_number_size(tsr_cuda_number(product->math));
    if ((uintptr_t)product->b % 16 || (size_t)product->ldb * size % 16)
        lazy_fatal("B is not aligned");
    return lazy_queue(run_blocks, &(block_work){kind, format, *product}, sizeof(block_work), product->stream);
}

size_t tsr_cuda_partial_bytes(const tsr_work *work_list, int height, const tsr_cuda_spmm *product)
{
    return (size_t)(work_list->npartials * height * product->n) * (product->math == TSR_CUDA_FP64 ? 8 : 4);
}

tsr_status tsr_cuda_spmm_me_tcf(const tsr_me_tcf *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(ME_TCF, a, product);
}

tsr_status tsr_cuda_spmm_me_bcrs(const tsr_me_bcrs *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    const int width = tsr_number_size(tsr_cuda_number(product->math)) == 2 ? 16 : 8;
    return product->n % 2 || a->w.width != width ? TSR_DECLINED : spmm_blocks(ME_BCRS, a, product);
}

tsr_status tsr_cuda_spmm_hrpb(const tsr_hrpb *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(HRPB, a, product);
}

tsr_status tsr_cuda_spmm_bmat(const tsr_bmat *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(BMAT, a, product);
}

/* Layers are for operands in device memory, which nobody asks this device for. */
tsr_status tsr_cuda_finish_rows(const tsr_cuda_spmm *product, int64_t rows)
{
    (void)product, (void)rows;
    return TSR_DECLINED;
}

tsr_status tsr_cuda_spmm_panel(const tsr_panel *a, const tsr_work *work_list, const tsr_cuda_spmm *product)
{
    (void)work_list;
    return spmm_blocks(PANEL, a, product);
}

/* As a device before sm_90 answers. */
tsr_status tsr_cuda_spmm_panel_semiring(const tsr_panel *a, const tsr_work *work_list, const int64_t *offsets, const uint32_t *row,
                                        const tsr_cuda_csr_spmm *product)
{
    (void)a, (void)work_list, (void)offsets, (void)row, (void)product;
    return TSR_DECLINED;
}

/* Hybrid: its Tensor-Core half has all windows. */

tsr_status tsr_cuda_make_hybrid(tsr_cuda_hybrid *out, const tsr_source *in, tsr_cuda_half half, int height, double iso,
                                const tsr_cuda_split_rule *rule, const tsr_cuda_device *device, void *on)
{
    (void)rule, (void)device;
    *out = (tsr_cuda_hybrid){.half = half};
    switch (half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_make_me_bcrs(&out->as.me_bcrs, in, 8, iso, on);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_make_hrpb(&out->as.hrpb, in, height, on);
    default: return tsr_cuda_make_bmat(&out->as.bmat, in, height, on);
    }
}

void tsr_cuda_free_hybrid(tsr_cuda_hybrid *a, void *on)
{
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: tsr_cuda_free_me_bcrs(&a->as.me_bcrs, on); break;
    case TSR_CUDA_HALF_HRPB: tsr_cuda_free_hrpb(&a->as.hrpb, on); break;
    case TSR_CUDA_HALF_BMAT: tsr_cuda_free_bmat(&a->as.bmat, on); break;
    }
}

size_t tsr_cuda_hybrid_partial_bytes(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    return tsr_cuda_partial_bytes(&a->work, a->as.w.height, product);
}

tsr_status tsr_cuda_spmm_hybrid(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    if (product->row)
        lazy_fatal("a hybrid in another order");
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_spmm_me_bcrs(&a->as.me_bcrs, &a->work, product);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_spmm_hrpb(&a->as.hrpb, &a->work, product);
    default: return tsr_cuda_spmm_bmat(&a->as.bmat, &a->work, product);
    }
}
