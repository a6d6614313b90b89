/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/sampled.h"

#include <stdlib.h>

#include "backends/cuda/operands/dense.h"
#include "backends/cuda/operands/sparse.h"
#include "kernels/cuda/sddmm/scale.h"
#include "src/base/half.h"

/* Runs share it without a lock: nothing changes after prepare. */
typedef struct prepared {
    tsr_cuda_sparse *mask; /* in use until drop */
    tsr_product product;   /* with its mask by row */
    bool turned;           /* X of the caller is B' of it, and Y is A' */
    size_t size;           /* bytes of a value */
    tsr_cuda_context *device;
} prepared;

/* The two operands as the kernel wants them: A, and B', both by row.  Scratch where the caller's are not. */
enum { A, B, OPERANDS };
typedef struct side {
    tsr_cuda_given given;
    int64_t rows;
    size_t scratch;
} side;

static side side_of(tsr_cuda_given given, const tsr_view *view, const prepared *p)
{
    side s = {.given = given, .rows = view->nrows};
    s.given.by_col = view->by_col;
    if (view->by_col && p->product.k == 1) { /* one column, consecutive */
        s.given.by_col = false;
        s.given.ld = 1;
    }
    if (s.given.by_col || tsr_is_half(given.type))
        s.scratch = ((size_t)(s.rows * p->product.k) * p->size + 255) / 256 * 256;
    return s;
}

static void sides_of(side sides[OPERANDS], const prepared *p, const tsr_device_samples *o)
{
    const tsr_view b = tsr_view_transposed(p->product.b);
    const tsr_cuda_given x = {.x = o->x, .ld = o->ldx, .type = o->x_type}, y = {.x = o->y, .ld = o->ldy, .type = o->y_type};
    sides[A] = side_of(p->turned ? y : x, &p->product.a, p);
    sides[B] = side_of(p->turned ? x : y, &b, p);
}

/* ---- preparing ---- */

static tsr_status prepare(prepared *p, const tsr_product *given)
{
    int64_t moved = 0;
    const tsr_product *q = &p->product;
    const tsr_cuda_operand operand = tsr_cuda_operand_of(&q->mask, false, q->mask.type, q->mask_slot, given->mask.by_col, q->nthreads);
    const tsr_status status = tsr_cuda_sparse_use(&p->mask, &operand, &moved);
    const tsr_status settled = tsr_cuda_settle();
    if (status == TSR_OK && settled != TSR_OK)
        tsr_cuda_sparse_leave(p->mask);
    return status == TSR_OK ? settled : status;
}

static bool takes(const tsr_product *p)
{
    return p->mask_slot && p->mask_structural && tsr_is_compressed(&p->mask) && !p->mask.jumbled && p->a.format == TSR_FULL &&
           p->b.format == TSR_FULL && p->m + p->n < UINT32_MAX - 1;
}

tsr_status tsr_cuda_sampled_prepare(const tsr_product *product, const tsr_device_samples *like, tsr_device_sddmm *sddmm)
{
    if (!tsr_cuda_alive() || !takes(product))
        return TSR_DECLINED;
    tsr_cuda_context *device = tsr_cuda_device_numbered(like->device);
    prepared *p = device ? malloc(sizeof *p) : NULL;
    if (!p)
        return device ? TSR_OUT_OF_MEMORY : TSR_DECLINED;
    *p = (prepared){.device = device, .product = tsr_product_by_row(product), .turned = product->mask.by_col,
                    .size = tsr_type_size(product->semiring.type)};
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_begin(device, &before);
    if (status == TSR_OK)
        status = prepare(p, product);
    if (status == TSR_OUT_OF_MEMORY) {
        tsr_cuda_evict_all();
        status = prepare(p, product);
    }
    tsr_cuda_end(before);
    if (status != TSR_OK) {
        free(p);
        return status;
    }
    side sides[OPERANDS];
    sides_of(sides, p, like);
    const tsr_semiring *s = &product->semiring;
    *sddmm = (tsr_device_sddmm){.prepared = p, .kernel = "sddmm", .workspace = sides[A].scratch + sides[B].scratch,
                                .scales = s->add == TSR_ADD_PLUS && (s->type == TSR_FP32 || s->type == TSR_FP64)};
    return TSR_OK;
}

void tsr_cuda_sampled_drop(tsr_device_sddmm *sddmm)
{
    prepared *p = sddmm->prepared;
    sddmm->prepared = NULL;
    if (!tsr_cuda_alive())
        return; /* of the parent */
    tsr_cuda_place before;
    if (tsr_cuda_begin(p->device, &before) == TSR_OK) {
        (void)tsr_cuda_wait_device();
        tsr_cuda_sparse_leave(p->mask);
    }
    tsr_cuda_end(before);
    free(p);
}

/* ---- running ---- */

/* The operands by row, those that are not in scratch, which begins at `to`. */
static tsr_status lay_out(side sides[OPERANDS], char *to, const prepared *p, void *stream)
{
    tsr_status status = TSR_OK;
    for (int k = 0; k < OPERANDS && status == TSR_OK; k++) {
        side *s = &sides[k];
        if (!s->scratch || !s->given.x)
            continue;
        status = tsr_cuda_by_row(to, p->product.k, &s->given, s->rows, p->product.k, stream);
        s->given.x = to;
        s->given.ld = p->product.k;
        to += s->scratch;
    }
    return status;
}

/* The batch, its values in `t`. */
static tsr_cuda_batch batch_of(const prepared *p, const tsr_device_samples *o, const void *t)
{
    const tsr_device_batch *of = &o->batch;
    const int64_t values = t == o->values ? of->values : p->mask->csr.nvals;
    return (tsr_cuda_batch){of->count, values, p->turned ? of->second : of->first, p->turned ? of->first : of->second};
}

/* Scalars, then softmax, which takes alpha itself where values are as they were computed. */
static tsr_status finish(const prepared *p, const tsr_device_samples *o, const void *t)
{
    const tsr_type type = p->product.semiring.type;
    const int64_t products = o->batch.count > 1 ? o->batch.count : 1;
    const tsr_cuda_csr *mask = &p->mask->csr;
    const bool in_softmax = o->softmax && o->beta == 0;
    tsr_status status = TSR_OK;
    if (!in_softmax && (o->alpha != 1 || o->beta != 0)) {
        const tsr_cuda_scaling scaling = {.type = type, .count = mask->nvals, .products = products, .x = o->values, .x_stride = o->batch.values,
                                          .t = t, .t_stride = t == o->values ? o->batch.values : mask->nvals, .alpha = o->alpha, .beta = o->beta};
        status = tsr_cuda_scale(&scaling, o->stream);
    }
    if (status == TSR_OK && o->softmax)
        status = tsr_cuda_softmax_batch(o->values, o->values, products, o->batch.values, in_softmax ? o->alpha : 1, mask, type, o->stream);
    return status;
}

/* t: where the sums go; the values themselves, or scratch. */
static tsr_status compute(const prepared *p, const side sides[OPERANDS], const tsr_device_samples *o, void *t)
{
    const tsr_product *q = &p->product;
    const tsr_cuda_csr *mask = &p->mask->csr;
    const tsr_cuda_sddmm product = {.batch = batch_of(p, o, t), .semiring = q->semiring, .mask = mask, .end = mask->nvals, .k = q->k,
                                    .a = tsr_reads_a(q) ? sides[A].given.x : NULL, .lda = sides[A].given.ld, .b = tsr_reads_b(q) ? sides[B].given.x : NULL,
                                    .ldb = sides[B].given.ld, .x = t, .device = &tsr_cuda->device, .stream = o->stream};
    const tsr_status status = tsr_cuda_sddmm_csr(&product);
    return status == TSR_OK ? finish(p, o, t) : status;
}

/* Bytes for sums that the old values are added to. */
static size_t bytes_of_sums(const prepared *p, const tsr_device_samples *o)
{
    const int64_t products = o->batch.count > 1 ? o->batch.count : 1;
    return o->beta != 0 ? (size_t)(products * p->mask->csr.nvals) * p->size : 0;
}

static tsr_status queue(const prepared *p, const tsr_device_samples *o)
{
    side sides[OPERANDS];
    void *scratch = NULL;
    sides_of(sides, p, o);
    const size_t of_operands = sides[A].scratch + sides[B].scratch, bytes = of_operands + bytes_of_sums(p, o);
    if (o->batch.count > 1 && of_operands)
        return TSR_DECLINED; /* several at once: from the caller's arrays */
    char *given = o->workspace_bytes >= bytes ? o->workspace : NULL;
    tsr_status status = bytes && !given ? tsr_cuda_malloc(&scratch, bytes, o->stream) : TSR_OK;
    char *const taken = given ? given : scratch;
    if (status == TSR_OK)
        status = lay_out(sides, taken, p, o->stream);
    if (status == TSR_OK)
        status = compute(p, sides, o, bytes > of_operands ? taken + of_operands : o->values);
    tsr_cuda_free(scratch, o->stream);
    return status;
}

tsr_status tsr_cuda_sampled_run(const tsr_device_sddmm *sddmm, const tsr_device_samples *operands)
{
    const prepared *p = sddmm->prepared;
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_enter(p->device, &before);
    if (status == TSR_OK)
        status = queue(p, operands);
    tsr_cuda_leave(before);
    return status;
}
