/* Masked products on the lazy device: the oracle's, for a portion of the mask's entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/lazy_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/fp16_scaling.h"
#include "kernels/cuda/sddmm/scale.h"
#include "kernels/kernels.h"
#include "src/format/blocks/tc_blocks.h"
#include "src/format/sparse/format.h"

/* Arrays of one product, whichever kernel it was asked of. */
typedef struct masked_work {
    tsr_product product;
    tsr_cuda_csr a, b, mask;
    int64_t begin, end;
    uint64_t a_iso, b_iso;
    void *x;
    int8_t *present;
    uint64_t *products; /* NULL: not wanted */
} masked_work;

static tsr_view csr_view(const tsr_cuda_csr *c, tsr_type type, const uint64_t *iso)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .iso = !c->x, .index_size = 4, .nrows = c->nrows, .ncols = c->ncols,
                      .nvec = c->nrows, .vlen = c->ncols, .nvals = c->nvals, .p = c->p, .i = c->i, .x = c->x ? c->x : iso};
}

static tsr_view dense_view(const void *x, int64_t rows, int64_t cols, int64_t ld, tsr_type type, const uint64_t *iso)
{
    return (tsr_view){.format = TSR_FULL, .type = type, .iso = !x, .nrows = rows, .ncols = cols, .nvec = rows, .vlen = cols,
                      .ld = ld, .nvals = rows * cols, .x = x ? x : (const void *)iso};
}

/* Over all entries of the mask. */
static uint64_t count_products(const tsr_product *product)
{
    tsr_product p = *product;
    size_t n = (size_t)p.mask.nvals;
    uint64_t *x = malloc(n * sizeof *x + 1), sum = 0;
    int8_t *present = malloc(n + 1);
    p.semiring = (tsr_semiring){TSR_UINT64, TSR_ADD_PLUS, TSR_MUL_PAIR};
    if (!x || !present || tsr_ref_execute(&p, &(tsr_result){.x = x, .b = present}) != TSR_OK)
        abort();
    for (size_t k = 0; k < n; k++)
        sum += present[k] ? x[k] : 0;
    free(x);
    free(present);
    return sum;
}

/* All of the mask is computed, the portion copied. */
static void run_masked(const void *described)
{
    masked_work w = *(const masked_work *)described;
    tsr_product p = w.product;
    size_t size = tsr_type_size(p.semiring.type), n = (size_t)w.mask.nvals, count = (size_t)(w.end - w.begin);
    p.mask = csr_view(&w.mask, p.mask.type, NULL);
    p.mask.iso = false;
    p.mask_structural = !w.mask.x;
    if (p.op == TSR_OP_MASKED_DOT) {
        p.a = csr_view(&w.a, p.semiring.type, &w.a_iso);
        p.b = tsr_view_transposed(csr_view(&w.b, p.semiring.type, &w.b_iso));
    } else {
        p.a.x = p.a.iso ? (const void *)&w.a_iso : p.a.x;
        p.b.x = p.b.iso ? (const void *)&w.b_iso : p.b.x;
    }
    char *x = malloc(n * size + 1);
    int8_t *present = malloc(n + 1);
    if (!x || !present || lazy_product(&p, w.mask.nvals, &(tsr_result){.x = x, .b = present}) != TSR_OK)
        abort();
    memcpy(w.x, x + (size_t)w.begin * size, count * size);
    memcpy(w.present, present + w.begin, count);
    if (w.products)
        *w.products += count_products(&p);
    free(x);
    free(present);
}

static tsr_product product_of(tsr_op op, tsr_semiring semiring, const tsr_cuda_csr *mask, int mask_size, int64_t k)
{
    static const tsr_type of_size[9] = {[1] = TSR_UINT8, [2] = TSR_UINT16, [4] = TSR_UINT32, [8] = TSR_UINT64};
    return (tsr_product){.op = op, .semiring = semiring, .m = mask->nrows, .n = mask->ncols, .k = k, .nthreads = 1,
                         .mask = {.type = of_size[mask_size]}};
}

tsr_status tsr_cuda_masked_dot(const tsr_cuda_masked_plan *plan, const tsr_cuda_masked *q)
{
    masked_work w = {.product = product_of(TSR_OP_MASKED_DOT, q->semiring, q->mask, q->mask_size, q->a->ncols), .a = *q->a,
                     .b = *q->b, .mask = *q->mask, .begin = q->begin, .end = q->end, .a_iso = q->a_iso, .b_iso = q->b_iso,
                     .x = q->x, .present = q->present, .products = q->products};
    if (plan && (plan->begin != q->begin || plan->end != q->end || plan->positions < tsr_cuda_masked_reads(q)))
        return TSR_DECLINED;
    return lazy_queue(run_masked, &w, sizeof w, q->stream);
}

static masked_work work_of(const tsr_cuda_sddmm *q)
{
    masked_work w = {.product = product_of(TSR_OP_SDDMM, q->semiring, q->mask, q->mask_size, q->k), .mask = *q->mask,
                     .begin = q->begin, .end = q->end, .a_iso = q->a_iso, .b_iso = q->b_iso, .x = q->x, .present = q->present};
    tsr_type type = q->semiring.type;
    w.product.a = dense_view(q->a, q->mask->nrows, q->k, q->lda, type, NULL);
    w.product.b = tsr_view_transposed(dense_view(q->b, q->mask->ncols, q->k, q->ldb, type, NULL));
    return w;
}

tsr_status tsr_cuda_sddmm_csr(const tsr_cuda_sddmm *q)
{
    masked_work w = work_of(q);
    return lazy_queue(run_masked, &w, sizeof w, q->stream);
}

/* Operands as the arithmetic has them. */
typedef struct stencil_work {
    tsr_cuda_sddmm q;
    tsr_cuda_csr mask;
    tsr_number number;
} stencil_work;

static void run_stencil(const void *described)
{
    stencil_work s = *(const stencil_work *)described;
    s.q.mask = &s.mask;
    float *a = lazy_widened(s.q.a, s.number, s.mask.nrows ? (s.mask.nrows - 1) * s.q.lda + s.q.k : 0);
    float *b = lazy_widened(s.q.b, s.number, s.mask.ncols ? (s.mask.ncols - 1) * s.q.ldb + s.q.k : 0);
    s.q.a = a;
    s.q.b = b;
    masked_work w = work_of(&s.q);
    run_masked(&w);
    free(a);
    free(b);
}

tsr_status tsr_cuda_sddmm_stencil(const tsr_stencil *stencil, const tsr_work *work, tsr_cuda_math math, const tsr_cuda_sddmm *q)
{
    stencil_work s = {.q = *q, .mask = *q->mask, .number = tsr_cuda_number(math)};
    int64_t size = (int64_t)tsr_number_size(s.number);
    if (!stencil->slots || !work->block || q->k * size % 16 || q->lda * size % 16 || q->ldb * size % 16)
        return TSR_DECLINED;
    return lazy_queue(run_stencil, &s, sizeof s, q->stream);
}

typedef struct narrow_work {
    tsr_cuda_sddmm q;
    tsr_cuda_csr mask;
    uint16_t *rounded;
    uint8_t *exponent;
    const float *from;
    int64_t ld, rows, cols;
} narrow_work;

static float greatest_of(const float *x, int64_t count)
{
    float greatest = 0;
    for (int64_t k = 0; k < count; k++)
        greatest = fabsf(x[k]) <= greatest ? greatest : fabsf(x[k]);
    return greatest;
}

/* A row that has no finite greatest element is used as it is; the tests have none of too wide a range. */
static void run_narrow_rows(const void *described)
{
    const narrow_work *w = described;
    for (int64_t row = 0; row < w->rows; row++) {
        const float *from = w->from + row * w->ld;
        float greatest = greatest_of(from, w->cols);
        int exponent = greatest > 0 && ilogbf(greatest) > -112 ? ilogbf(greatest) + 113 : 1;
        w->exponent[row] = isfinite(greatest) ? (uint8_t)exponent : 255;
        for (int64_t k = 0; k < w->cols; k++) {
            float x = ldexpf(from[k], 127 - exponent);
            tsr_round_values(w->rounded + row * w->cols + k, TSR_NUMBER_FP16, &x, TSR_FP32, 1, 1);
        }
    }
}

tsr_status tsr_cuda_narrow_rows(void *dst, uint8_t *exponent, const void *src, int64_t ld, int64_t rows, int64_t cols, void *on)
{
    narrow_work w = {.rounded = dst, .exponent = exponent, .from = src, .ld = ld, .rows = rows, .cols = cols};
    return cols % 8 || ld % 4 ? TSR_DECLINED : lazy_queue(run_narrow_rows, &w, sizeof w, on);
}

static void run_sddmm_narrow(const void *described)
{
    narrow_work w = *(const narrow_work *)described;
    int64_t rows = w.mask.ncols, k = w.q.k;
    float *b = lazy_widened(w.rounded, TSR_NUMBER_FP16, rows * k);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t at = 0; at < k; at++)
            b[row * k + at] = w.exponent[row] == 255 ? ((const float *)w.q.b)[row * w.q.ldb + at]
                                                     : ldexpf(b[row * k + at], w.exponent[row] - 127);
    w.q.mask = &w.mask;
    w.q.b = b;
    w.q.ldb = k;
    masked_work product = work_of(&w.q);
    run_masked(&product);
    free(b);
}

tsr_status tsr_cuda_sddmm_narrow(const tsr_cuda_sddmm *q, const void *b, const uint8_t *exponent)
{
    narrow_work w = {.q = *q, .mask = *q->mask, .rounded = (uint16_t *)(intptr_t)b, .exponent = (uint8_t *)(intptr_t)exponent};
    return q->k % 8 || q->lda % 4 || !q->a || !q->b ? TSR_DECLINED : lazy_queue(run_sddmm_narrow, &w, sizeof w, q->stream);
}

bool tsr_cuda_masked_reads(const tsr_cuda_masked *q)
{
    return (tsr_mul_reads_a(q->semiring.mul) && q->a->x) || (tsr_mul_reads_b(q->semiring.mul) && q->b->x);
}

tsr_status tsr_cuda_make_masked_plan(tsr_cuda_masked_plan *plan, const tsr_cuda_masked *q, bool positions, int variant)
{
    (void)variant;
    *plan = (tsr_cuda_masked_plan){.begin = q->begin, .end = q->end, .positions = positions};
    plan->bytes = (size_t)(q->end - q->begin) * 16;
    tsr_status status = tsr_cuda_malloc(&plan->memory, plan->bytes + 1, q->stream);
    return status == TSR_OK ? tsr_cuda_wait(q->stream) : status;
}

void tsr_cuda_free_masked_plan(tsr_cuda_masked_plan *plan, void *stream)
{
    tsr_cuda_free(plan->memory, stream);
    *plan = (tsr_cuda_masked_plan){0};
}

/* Attention is for arrays in device memory, which nobody asks this device for. */
tsr_status tsr_cuda_attention_cut_rows(tsr_cuda_attention_cut *cut, const tsr_cuda_csr *s, const tsr_attention_operands *like, void *stream)
{
    (void)cut, (void)s, (void)like, (void)stream;
    return TSR_DECLINED;
}

void tsr_cuda_attention_cut_free(tsr_cuda_attention_cut *cut, void *stream)
{
    (void)cut, (void)stream;
}

size_t tsr_cuda_attention_bytes(const tsr_cuda_attention_cut *cut, const tsr_attention_operands *like)
{
    (void)cut, (void)like;
    return 0;
}

tsr_status tsr_cuda_attention(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_attention_operands *operands, void *partial, int variant)
{
    (void)s, (void)cut, (void)operands, (void)partial, (void)variant;
    return TSR_DECLINED;
}

size_t tsr_cuda_attention_backward_bytes(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_attention_cut *columns_cut,
                                         const tsr_attention_operands *operands)
{
    (void)s, (void)cut, (void)columns_cut, (void)operands;
    return 0;
}

tsr_status tsr_cuda_attention_backward(const tsr_cuda_csr *s, const tsr_cuda_attention_cut *cut, const tsr_cuda_csr *columns,
                                       const tsr_cuda_attention_cut *columns_cut, const tsr_attention_operands *operands, void *partial)
{
    (void)s, (void)cut, (void)columns, (void)columns_cut, (void)operands, (void)partial;
    return TSR_DECLINED;
}

bool tsr_cuda_attention_windows_fit(const tsr_cuda_csr *s, const tsr_attention_operands *like)
{
    (void)s, (void)like;
    return false;
}

bool tsr_cuda_attention_windows_pay(int64_t vectors, int64_t entries, const tsr_attention_operands *like)
{
    (void)vectors, (void)entries, (void)like;
    return false;
}

tsr_status tsr_cuda_attention_windows_make(tsr_cuda_attention_windows *out, const tsr_cuda_csr *s, const tsr_attention_operands *like,
                                           const tsr_cuda_device *device, void *stream)
{
    (void)out, (void)s, (void)like, (void)device, (void)stream;
    return TSR_DECLINED;
}

void tsr_cuda_attention_windows_free(tsr_cuda_attention_windows *s, void *stream)
{
    (void)s, (void)stream;
}

size_t tsr_cuda_attention_windows_bytes(const tsr_cuda_attention_windows *s, const tsr_attention_operands *like)
{
    (void)s, (void)like;
    return 0;
}

tsr_status tsr_cuda_attention_by_windows(const tsr_cuda_attention_windows *s, const tsr_attention_operands *operands, void *partial)
{
    (void)s, (void)operands, (void)partial;
    return TSR_DECLINED;
}

typedef struct softmax_work {
    void *y;
    const void *x;
    int64_t count, stride;
    tsr_cuda_csr pattern;
    tsr_type type;
} softmax_work;

static void run_softmax(const void *described)
{
    const softmax_work *w = described;
    for (int64_t k = 0; k < w->count; k++) {
        const size_t further = (size_t)(k * w->stride) * tsr_type_size(w->type);
        tsr_cpu_softmax_rows((char *)w->y + further, (const char *)w->x + further, w->pattern.p, w->pattern.nrows, w->type, 1);
    }
}

tsr_status tsr_cuda_softmax_batch(void *y, const void *x, int64_t count, int64_t stride, double scale, const tsr_cuda_csr *pattern, tsr_type type,
                                  void *stream)
{
    if (scale != 1)
        return TSR_DECLINED; /* of attention, as above */
    return lazy_queue(run_softmax, &(softmax_work){y, x, count, stride, *pattern, type}, sizeof(softmax_work), stream);
}

static double number_at(const void *x, tsr_type type, int64_t at)
{
    return type == TSR_FP32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
}

static void run_scale(const void *described)
{
    const tsr_cuda_scaling *s = described;
    for (int64_t k = 0; k < s->products * s->count; k++) {
        const int64_t to = k / s->count * s->x_stride + k % s->count, from = k / s->count * s->t_stride + k % s->count;
        const double sum = s->alpha * number_at(s->t, s->type, from) + (s->beta != 0 ? s->beta * number_at(s->x, s->type, to) : 0);
        if (s->type == TSR_FP32)
            ((float *)s->x)[to] = (float)sum;
        else
            ((double *)s->x)[to] = sum;
    }
}

tsr_status tsr_cuda_scale(const tsr_cuda_scaling *s, void *stream)
{
    return lazy_queue(run_scale, s, sizeof *s, stream);
}
