/* Dense operands and products of CSR on the lazy device: the oracle's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/lazy_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/runtime.h"
#include "backends/cuda/spmm/kernel_table.h"
#include "kernels/cuda/kronecker/kronecker.h"
#include "kernels/cuda/selection/join_entries.h"
#include "kernels/cuda/selection/keep_entries.h"
#include "kernels/cuda/spmv/few_listed.h"
#include "kernels/cuda/spmv/spmv_push.h"
#include "kernels/kernels.h"
#include "kernels/kronecker.h"
#include "kernels/ref/compressed.h"
#include "kernels/ref/formats.h"
#include "kernels/ref/ref.h"
#include "src/base/half.h"
#include "src/format/blocks/tc_blocks.h"
#include "src/format/sparse/format.h"

/* ---- dense operands ---- */

typedef struct dense_work {
    void *to;
    const void *from;
    int64_t to_ld, from_ld, rows, cols;
    size_t element;
    tsr_number number, number_from;
    double limit; /* narrow: factor */
} dense_work;

static void run_transpose(const void *described)
{
    const dense_work *w = described;
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t j = 0; j < w->cols; j++)
            memcpy((char *)w->to + (size_t)(j * w->to_ld + i) * w->element,
                   (const char *)w->from + (size_t)(i * w->from_ld + j) * w->element, w->element);
}

tsr_status tsr_cuda_transpose(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, int size,
                              void *on)
{
    dense_work w = {.to = dst, .from = src, .to_ld = dst_ld, .from_ld = src_ld, .rows = rows, .cols = cols, .element = (size_t)size};
    return lazy_queue(run_transpose, &w, sizeof w, on);
}

static void run_transpose_widened(const void *described)
{
    const dense_work *w = described;
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t j = 0; j < w->cols; j++)
            tsr_widen_values((float *)w->to + j * w->to_ld + i, (const uint16_t *)w->from + i * w->from_ld + j,
                             w->number_from == TSR_NUMBER_FP16 ? TSR_FP16 : TSR_BF16, 1);
}

tsr_status tsr_cuda_transpose_widened(float *dst, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld, int64_t rows, int64_t cols,
                                      void *on)
{
    dense_work w = {.to = dst, .from = src, .to_ld = dst_ld, .from_ld = src_ld, .rows = rows, .cols = cols, .number_from = from};
    return lazy_queue(run_transpose_widened, &w, sizeof w, on);
}

static void run_convert(const void *described)
{
    const dense_work *w = described;
    size_t to_size = tsr_number_size(w->number), from_size = tsr_number_size(w->number_from);
    for (int64_t row = 0; row < w->rows; row++) {
        void *to = (char *)w->to + (size_t)(row * w->to_ld) * to_size;
        const void *from = (const char *)w->from + (size_t)(row * w->from_ld) * from_size;
        if (from_size == 2)
            tsr_widen_values(to, from, w->number_from == TSR_NUMBER_FP16 ? TSR_FP16 : TSR_BF16, w->cols);
        else
            tsr_round_values(to, w->number, from, w->number_from == TSR_NUMBER_FP64 ? TSR_FP64 : TSR_FP32, w->cols, 1);
    }
}

tsr_status tsr_cuda_convert(void *dst, tsr_number to, int64_t dst_ld, const void *src, tsr_number from, int64_t src_ld,
                            int64_t rows, int64_t cols, void *on)
{
    dense_work w = {.to = dst, .from = src, .to_ld = dst_ld, .from_ld = src_ld, .rows = rows, .cols = cols, .number = to,
                    .number_from = from};
    return lazy_queue(run_convert, &w, sizeof w, on);
}

/* Scaled as on the device, in FP32. */
static void run_narrow(const void *described)
{
    const dense_work *w = described;
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t col = 0; col < w->cols; col++) {
            float x = (float)w->limit * ((const float *)w->from)[row * w->from_ld + col];
            tsr_round_values((uint16_t *)w->to + row * w->to_ld + col, TSR_NUMBER_FP16, &x, TSR_FP32, 1, 1);
        }
}

tsr_status tsr_cuda_narrow(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t cols, float scale, void *on)
{
    dense_work w = {.to = dst, .from = src, .to_ld = dst_ld, .from_ld = src_ld, .rows = rows, .cols = cols, .limit = scale};
    return lazy_queue(run_narrow, &w, sizeof w, on);
}

static void run_range(const void *described)
{
    const dense_work *w = described;
    uint32_t *range = w->to;
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t col = 0; col < w->cols; col++) {
            float x = fabsf(((const float *)w->from)[row * w->from_ld + col]);
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            range[0] = bits > range[0] ? bits : range[0];
            range[1] = bits && ~bits > range[1] ? ~bits : range[1];
        }
}

tsr_status tsr_cuda_find_range(uint32_t *range, const void *x, int64_t ld, int64_t rows, int64_t cols, void *on)
{
    dense_work w = {.to = range, .from = x, .from_ld = ld, .rows = rows, .cols = cols};
    return lazy_queue(run_range, &w, sizeof w, on);
}

static void run_check(const void *described)
{
    const dense_work *w = described;
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t col = 0; col < w->cols; col++)
            if (!(fabs(tsr_ref_number(w->from, w->number_from, row * w->from_ld + col)) < w->limit))
                *(int *)w->to = 1;
}

tsr_status tsr_cuda_check_finite(int *flag, const void *x, tsr_number number, int64_t ld, int64_t rows, int64_t cols,
                                 double limit, void *on)
{
    dense_work w = {.to = flag, .from = x, .number_from = number, .from_ld = ld, .rows = rows, .cols = cols, .limit = limit};
    return lazy_queue(run_check, &w, sizeof w, on);
}

/* ---- CSR ---- */

tsr_status tsr_cuda_csr_work(tsr_cuda_csr *a, const tsr_cuda_device *device, void *on)
{
    (void)device;
    tsr_status status = tsr_cuda_malloc(&a->work, 1, on);
    return status == TSR_OK ? tsr_cuda_wait(on) : status;
}

void tsr_cuda_csr_work_free(tsr_cuda_csr *a, void *on)
{
    tsr_cuda_free(a->work, on);
    a->work = NULL;
}

size_t tsr_cuda_csr_partial_bytes(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    (void)a;
    return (size_t)product->n * 8;
}

/* Sums of floating-point numbers are exact but for the last rounding, whatever the order of the entries. */
tsr_status lazy_product(const tsr_product *p, int64_t places, tsr_result *result)
{
    bool sums = tsr_type_is_float(p->semiring.type) && p->semiring.add == TSR_ADD_PLUS;
    if (!sums)
        return tsr_ref_execute(p, result);
    long double *exact = malloc((size_t)places * sizeof *exact + 1);
    tsr_status status = exact ? tsr_ref_execute_exact(p, exact, result->b, &result->nvals) : TSR_OUT_OF_MEMORY;
    for (int64_t place = 0; status == TSR_OK && place < places; place++)
        tsr_value_store(p->semiring.type, result->x, place, (tsr_value){.real = result->b[place] ? exact[place] : 0});
    free(exact);
    return status;
}

float *lazy_widened(const void *from, tsr_number number, int64_t count)
{
    float *wide = from ? malloc((size_t)count * sizeof *wide + 1) : NULL;
    for (int64_t k = 0; wide && k < count; k++)
        wide[k] = (float)tsr_ref_number(from, number, k);
    return wide;
}

typedef struct csr_work {
    tsr_cuda_csr a;
    tsr_cuda_csr_spmm product;
} csr_work;

static void run_csr(const void *described);

/* The same product with everything widened to FP32. */
static void run_half(const csr_work *w)
{
    int64_t last = w->a.ncols ? (w->a.ncols - 1) * w->product.ldb + w->product.n : 0;
    csr_work wide = *w;
    wide.product.half = false;
    wide.product.b = lazy_widened(w->product.b, w->product.number, last);
    wide.a.x = lazy_widened(w->a.x, w->product.number, w->a.nvals);
    run_csr(&wide);
    for (int64_t row = 0; row < w->a.nrows; row++)
        for (int64_t col = 0; col < w->product.n; col++)
            ((float *)w->product.c)[row * w->product.ldc + col] *= (float)w->product.alpha;
    free(wide.a.x);
    free((void *)(uintptr_t)wide.product.b);
}

static void run_csr(const void *described)
{
    const csr_work *w = described;
    const tsr_cuda_csr_spmm *q = &w->product;
    const tsr_cuda_csr *c = &w->a;
    if (q->half) {
        run_half(w);
        return;
    }
    size_t size = tsr_type_size(q->semiring.type), places = (size_t)(c->nrows * q->n);
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = q->semiring, .m = c->nrows, .n = q->n, .k = c->ncols, .nthreads = 1};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = q->semiring.type, .iso = !c->x, .index_size = 4, .nrows = c->nrows,
                     .ncols = c->ncols, .nvec = c->nrows, .vlen = c->ncols, .nvals = c->nvals,
                     .p = c->p, .i = c->i, .x = c->x ? c->x : &q->iso};
    p.b = (tsr_view){.format = q->b_present ? TSR_BITMAP : TSR_FULL, .type = q->semiring.type, .nrows = c->ncols, .ncols = q->n,
                     .nvec = c->ncols, .vlen = q->n, .ld = q->ldb, .nvals = c->ncols * q->n, .b = q->b_present, .x = q->b};
    char *x = malloc(places * size);
    int8_t *present = malloc(places);
    tsr_result result = {.x = x, .b = present};
    if (!x || !present || lazy_product(&p, (int64_t)places, &result) != TSR_OK)
        lazy_fatal("the reference kernel failed");
    memset(q->partial, 0xff, (size_t)q->n * 8);
    for (int64_t row = 0; row < c->nrows; row++) {
        memcpy((char *)q->c + (size_t)(row * q->ldc) * size, x + (size_t)(row * q->n) * size, (size_t)q->n * size);
        if (q->c_present)
            memcpy(q->c_present + row * q->ldc, present + row * q->n, (size_t)q->n);
    }
    free(x);
    free(present);
}

tsr_status tsr_cuda_spmm_csr(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product)
{
    return lazy_queue(run_csr, &(csr_work){*a, *product}, sizeof(csr_work), product->stream);
}

/* The others, which get the same. */
#define OTHER(unused, id, format, name) \
    tsr_status tsr_cuda_spmm_##format(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *product) { return tsr_cuda_spmm_csr(a, product); }
TSR_GPU_CSR_LIST(OTHER, )

typedef struct push_work {
    tsr_cuda_push push;
    tsr_cuda_csr columns;
    tsr_cuda_push_work *work;
} push_work;

size_t tsr_cuda_push_bytes(const tsr_cuda_csr *columns)
{
    return (size_t)columns->nrows + 1;
}

static void run_list(const void *described)
{
    const push_work *w = described;
    *w->work = (tsr_cuda_push_work){0};
    for (int64_t k = 0; k < w->columns.nrows; k++) {
        const uint64_t entries = !w->push.u_present || w->push.u_present[k] ? (uint64_t)(w->columns.p[k + 1] - w->columns.p[k]) : 0;
        w->work->entries += entries;
        w->work->pieces += entries > 0;
    }
}

tsr_status tsr_cuda_push_list(tsr_cuda_push_work *work, void *pieces, const tsr_cuda_push *push)
{
    (void)pieces;
    return lazy_queue(run_list, &(push_work){*push, *push->columns, work}, sizeof(push_work), push->stream);
}

static void run_push(const void *described)
{
    const push_work *w = described;
    const tsr_cuda_push *q = &w->push;
    const tsr_cuda_csr *c = &w->columns;
    const tsr_type type = q->semiring.type;
    tsr_product p = {.op = TSR_OP_SPMV, .semiring = q->semiring, .m = c->ncols, .n = 1, .k = c->nrows, .c_by_col = true, .nthreads = 1};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = type, .by_col = true, .iso = !c->x, .index_size = 4, .nrows = c->ncols,
                     .ncols = c->nrows, .nvec = c->nrows, .vlen = c->ncols, .nvals = c->nvals, .p = c->p, .i = c->i,
                     .x = c->x ? c->x : &q->iso};
    p.b = (tsr_view){.format = q->u_present ? TSR_BITMAP : TSR_FULL, .type = type, .by_col = true, .nrows = c->nrows, .ncols = 1, .nvec = 1, .vlen = c->nrows,
                     .ld = c->nrows, .nvals = c->nrows, .b = q->u_present, .x = q->u};
    tsr_result result = {.x = q->w, .b = q->w_present};
    if (lazy_product(&p, c->ncols, &result) != TSR_OK)
        lazy_fatal("the reference kernel failed");
}

uint64_t tsr_cuda_push_pieces(uint64_t entries)
{
    return entries;
}

tsr_status tsr_cuda_push_run(const tsr_cuda_push *push, const void *pieces, const tsr_cuda_push_work *work, uint64_t most)
{
    (void)pieces;
    (void)work;
    (void)most;
    if (!tsr_cuda_push_takes(push->semiring))
        return TSR_DECLINED;
    return lazy_queue(run_push, &(push_work){*push, *push->columns, NULL}, sizeof(push_work), push->stream);
}

typedef struct listed_push {
    push_work all;
    tsr_cuda_list from, to;
    tsr_cuda_told told;
} listed_push;

static void check_list(const tsr_cuda_list *list, const int8_t *present, int64_t count)
{
    int64_t entries = 0, listed = 0;
    for (int64_t k = 0; k < count; k++)
        entries += present[k];
    for (uint32_t k = 0; k < list->head->length; k++)
        listed += present[list->places[k]];
    if (listed != entries || list->head->length > list->most)
        lazy_fatal("a list does not have the entries");
}

static void list_all(const tsr_cuda_list *to, const int8_t *present, int64_t count, const tsr_cuda_told *told)
{
    tsr_cuda_list_head *head = to->head;
    for (int64_t k = count - 1; k >= 0; k--) {
        if (present[k])
            to->places[head->length++] = (uint32_t)k;
    }
    if (head->length > to->most)
        lazy_fatal("a list is too long");
    lazy_tell(told, head->length);
}

static void run_listed_push(const void *described)
{
    const listed_push *w = described;
    check_list(&w->from, w->all.push.u_present, w->all.columns.nrows);
    run_push(&w->all);
    list_all(&w->to, w->all.push.w_present, w->all.columns.ncols, &w->told);
}

tsr_status tsr_cuda_push_listed(const tsr_cuda_push *push, const tsr_cuda_list *from, int64_t longest, const tsr_cuda_list *to,
                                const tsr_cuda_told *told)
{
    (void)longest;
    if (!tsr_cuda_push_takes(push->semiring))
        return TSR_DECLINED;
    return lazy_queue(run_listed_push, &(listed_push){{*push, *push->columns, NULL}, *from, *to, *told}, sizeof(listed_push), push->stream);
}

typedef struct listed_few {
    tsr_cuda_few few;
    tsr_cuda_csr rows;
    tsr_cuda_list from, to;
    tsr_cuda_told told;
} listed_few;

static void run_listed_few(const void *described)
{
    const listed_few *w = described;
    const tsr_cuda_few *q = &w->few;
    const tsr_cuda_csr *a = &w->rows;
    const tsr_type type = q->semiring.type;
    const int64_t n = q->vectors;
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = q->semiring, .m = a->nrows, .n = n, .k = a->ncols, .c_by_col = true, .nthreads = 1};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = type, .iso = !a->x, .index_size = 4, .nrows = a->nrows, .ncols = a->ncols, .nvec = a->nrows,
                     .vlen = a->ncols, .nvals = a->nvals, .p = a->p, .i = a->i, .x = a->x ? a->x : &q->iso};
    p.b = (tsr_view){.format = TSR_BITMAP, .type = type, .by_col = true, .nrows = a->ncols, .ncols = n, .nvec = n, .vlen = a->ncols,
                     .ld = a->ncols, .nvals = a->ncols * n, .b = q->u_present, .x = q->u};
    tsr_result result = {.x = q->w, .b = q->w_present};
    if (lazy_product(&p, a->nrows * n, &result) != TSR_OK)
        lazy_fatal("the reference kernel failed");
    list_all(&w->to, q->w_present, a->nrows * n, &w->told);
}

tsr_status tsr_cuda_few_listed(const tsr_cuda_few *few, const tsr_cuda_list *from, const tsr_cuda_list *to, const tsr_cuda_told *told)
{
    return lazy_queue(run_listed_few, &(listed_few){*few, *few->rows, *from, *to, *told}, sizeof(listed_few), few->stream);
}

static void fill_flipped(tsr_cuda_csr *out, const tsr_cuda_csr *in, size_t size)
{
    memset(out->p, 0, (size_t)(out->nrows + 1) * sizeof *out->p);
    for (int64_t k = 0; k < in->nvals; k++)
        out->p[in->i[k] + 1]++;
    for (int64_t row = 0; row < out->nrows; row++)
        out->p[row + 1] += out->p[row];
    int64_t *at = malloc((size_t)(out->nrows + 1) * sizeof *at);
    memcpy(at, out->p, (size_t)(out->nrows + 1) * sizeof *at);
    for (int64_t row = 0; row < in->nrows; row++)
        for (int64_t k = in->p[row]; k < in->p[row + 1]; k++) {
            int64_t to = at[in->i[k]]++;
            out->i[to] = (uint32_t)row;
            if (in->x)
                memcpy((char *)out->x + (size_t)to * size, (const char *)in->x + (size_t)k * size, size);
        }
    free(at);
}

tsr_status tsr_cuda_flip(tsr_cuda_csr *out, const tsr_cuda_csr *in, int element_size, void *on)
{
    *out = (tsr_cuda_csr){.nrows = in->ncols, .ncols = in->nrows, .nvals = in->nvals};
    tsr_status status = tsr_cuda_malloc((void **)&out->p, (size_t)(out->nrows + 1) * sizeof *out->p, on);
    if (status == TSR_OK)
        status = tsr_cuda_malloc((void **)&out->i, (size_t)in->nvals * sizeof *out->i, on);
    if (status == TSR_OK && in->x)
        status = tsr_cuda_malloc(&out->x, (size_t)in->nvals * (size_t)element_size, on);
    tsr_status waited = tsr_cuda_wait(on);
    status = status == TSR_OK ? waited : status;
    if (status == TSR_OK) {
        fill_flipped(out, in, (size_t)element_size);
        return status;
    }
    tsr_cuda_free(out->p, on);
    tsr_cuda_free(out->i, on);
    tsr_cuda_free(out->x, on);
    *out = (tsr_cuda_csr){0};
    return status;
}

/* ---- entries and rows that are taken: as the device does it, after all that is queued ---- */

static tsr_ref_rows rows_of(const tsr_cuda_csr *a, int value_size)
{
    return (tsr_ref_rows){.nrows = a->nrows, .p = a->p, .i = a->i, .x = a->x, .size = (size_t)value_size};
}

static void forget(tsr_cuda_csr *csr, void *on)
{
    tsr_cuda_free(csr->p, on);
    tsr_cuda_free(csr->i, on);
    tsr_cuda_free(csr->x, on);
    *csr = (tsr_cuda_csr){0};
}

static tsr_status new_entries(tsr_cuda_csr *out, int value_size, void *on)
{
    tsr_status status = tsr_cuda_malloc((void **)&out->i, (size_t)out->nvals * sizeof *out->i + 1, on);
    return status == TSR_OK && value_size ? tsr_cuda_malloc(&out->x, (size_t)out->nvals * (size_t)value_size + 1, on) : status;
}

size_t tsr_cuda_keep_bytes(int64_t nvals)
{
    return (size_t)nvals + 1;
}

/* keep NULL: the rows of a list. */
static tsr_status take(tsr_cuda_csr *out, const tsr_cuda_csr *in, int64_t nrows, const tsr_cuda_keep *keep, const uint32_t *rows, int value_size, void *on)
{
    *out = (tsr_cuda_csr){.nrows = nrows, .ncols = in->ncols};
    tsr_status status = tsr_cuda_malloc((void **)&out->p, (size_t)(nrows + 1) * sizeof *out->p, on), waited = tsr_cuda_wait(on);
    status = status == TSR_OK ? waited : status;
    const tsr_ref_rows a = rows_of(in, value_size);
    for (int pass = 0; status == TSR_OK && pass < 2; pass++) {
        tsr_ref_rows taken = rows_of(out, value_size);
        if (keep)
            tsr_ref_keep_entries(&taken, &a, &keep->rule, keep->type, keep->flags);
        else
            tsr_ref_take_rows(&taken, &a, rows);
        out->nvals = out->p[nrows];
        status = pass == 0 ? new_entries(out, value_size, on) : TSR_OK;
    }
    if (status != TSR_OK)
        forget(out, on);
    return status;
}

tsr_status tsr_cuda_keep_entries(tsr_cuda_csr *out, const tsr_cuda_csr *in, const tsr_cuda_keep *keep, int value_size, void *on)
{
    return take(out, in, in->nrows, keep, NULL, value_size, on);
}

tsr_status tsr_cuda_take_rows_of(tsr_cuda_csr *out, const tsr_cuda_csr *in, const uint32_t *rows, int64_t n, int value_size, void *on)
{
    return take(out, in, n, NULL, rows, value_size, on);
}

typedef struct numbering {
    uint32_t *list;
    int64_t *p; /* NULL: the list */
    int64_t first, step, count;
} numbering;

static void run_number(const void *described)
{
    const numbering *n = described;
    for (int64_t k = 0; k < n->count; k++)
        if (n->p)
            n->p[k] = k;
        else
            n->list[k] = (uint32_t)(n->first + k * n->step);
}

tsr_status tsr_cuda_number_list(uint32_t *list, int64_t first, int64_t step, int64_t count, void *on)
{
    return lazy_queue(run_number, &(numbering){list, NULL, first, step, count}, sizeof(numbering), on);
}

tsr_status tsr_cuda_number_offsets(int64_t *p, int64_t count, void *on)
{
    return lazy_queue(run_number, &(numbering){.p = p, .count = count}, sizeof(numbering), on);
}

typedef struct copying {
    void *to;
    const void *from;
    int to_size, from_size;
    int64_t count;
} copying;

static void run_copy_indices(const void *described)
{
    const copying *c = described;
    for (int64_t k = 0; k < c->count; k++) {
        const int64_t index = c->from_size == 8 ? ((const int64_t *)c->from)[k] : (int64_t)((const uint32_t *)c->from)[k];
        if (c->to_size == 8)
            ((int64_t *)c->to)[k] = index;
        else
            ((uint32_t *)c->to)[k] = (uint32_t)index;
    }
}

tsr_status tsr_cuda_copy_indices(void *to, int to_size, const void *from, int from_size, int64_t count, void *on)
{
    return lazy_queue(run_copy_indices, &(copying){to, from, to_size, from_size, count}, sizeof(copying), on);
}

/* ---- two matrices side by side ---- */

size_t tsr_cuda_join_bytes(int64_t nvals_a)
{
    return (size_t)nvals_a + 1;
}

void tsr_cuda_join_free(tsr_cuda_joined *joined, void *on)
{
    forget(&joined->csr, on);
    tsr_cuda_free(joined->y, on);
    tsr_cuda_free(joined->x_present, on);
    tsr_cuda_free(joined->y_present, on);
    *joined = (tsr_cuda_joined){0};
}

static tsr_status new_joined(tsr_cuda_joined *out, int value_size, void *on)
{
    const size_t most = (size_t)out->csr.nvals + 1;
    tsr_status status = tsr_cuda_malloc((void **)&out->csr.p, (size_t)(out->csr.nrows + 1) * sizeof *out->csr.p, on);
    if (status == TSR_OK)
        status = new_entries(&out->csr, value_size, on);
    if (status == TSR_OK)
        status = tsr_cuda_malloc(&out->y, most * (size_t)value_size, on);
    if (status == TSR_OK)
        status = tsr_cuda_malloc((void **)&out->x_present, most, on);
    if (status == TSR_OK)
        status = tsr_cuda_malloc((void **)&out->y_present, most, on);
    const tsr_status waited = tsr_cuda_wait(on);
    return status == TSR_OK ? waited : status;
}

tsr_status tsr_cuda_join_entries(tsr_cuda_joined *out, const tsr_cuda_csr *a, const tsr_cuda_csr *b, bool unite, int value_size, void *on)
{
    *out = (tsr_cuda_joined){.csr = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals + b->nvals}};
    const tsr_status status = new_joined(out, value_size, on);
    if (status != TSR_OK) {
        tsr_cuda_join_free(out, on);
        return status;
    }
    tsr_ref_rows joined = rows_of(&out->csr, value_size);
    const tsr_ref_rows of_a = rows_of(a, value_size), of_b = rows_of(b, value_size);
    tsr_ref_join_entries(&joined, out->y, out->x_present, out->y_present, &of_a, &of_b, unite);
    out->csr.nvals = out->csr.p[out->csr.nrows];
    if (!unite) {
        tsr_cuda_free(out->x_present, on);
        tsr_cuda_free(out->y_present, on);
        out->x_present = out->y_present = NULL;
    }
    return TSR_OK;
}

/* ---- Kronecker products ---- */

typedef struct multiplying {
    tsr_cuda_kronecker k;
    tsr_cuda_csr c;
} multiplying;

static tsr_type type_of_result(const tsr_cuda_kronecker *k)
{
    return tsr_ewise_compares(k->op) ? TSR_BOOL : k->type;
}

static tsr_view factor_of(const tsr_cuda_csr *a, tsr_type type, const uint64_t *one)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .iso = !a->x, .index_size = 4, .nrows = a->nrows, .ncols = a->ncols, .nvec = a->nrows,
                      .vlen = a->ncols, .nvals = a->nvals, .p = a->p, .i = a->i, .x = a->x ? a->x : one};
}

static void run_kronecker(const void *described)
{
    const multiplying *m = described;
    const tsr_type result = type_of_result(&m->k);
    const tsr_kronecker k = {.a = factor_of(&m->k.a, m->k.type, &m->k.x), .b = factor_of(&m->k.b, m->k.type, &m->k.y), .op = m->k.op,
                             .type = m->k.type, .result = result, .c_type = result, .narrow = true, .nthreads = 1};
    tsr_ref_kronecker(&k, &(tsr_kronecker_c){.p = (uint64_t *)m->c.p, .i = m->c.i, .x = m->c.x});
}

tsr_status tsr_cuda_kronecker_product(tsr_cuda_csr *out, const tsr_cuda_kronecker *k, void *on)
{
    multiplying m = {*k, {.nrows = k->a.nrows * k->b.nrows, .ncols = k->a.ncols * k->b.ncols, .nvals = k->a.nvals * k->b.nvals}};
    tsr_status status = tsr_cuda_malloc((void **)&m.c.p, (size_t)(m.c.nrows + 1) * sizeof *m.c.p, on);
    if (status == TSR_OK)
        status = new_entries(&m.c, k->pattern ? 0 : (int)tsr_type_size(type_of_result(k)), on);
    if (status == TSR_OK)
        status = lazy_queue(run_kronecker, &m, sizeof m, on);
    if (status != TSR_OK)
        forget(&m.c, on);
    *out = m.c;
    return status;
}
