/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/attention.h"

#include <stdlib.h>

#include "backends/cuda/operands/sparse.h"

const tsr_kernel_row tsr_cuda_attention_kernel = {"attention", "attention", "attention", "FP32, FP16 and BF16; rows of at most 1024 bytes; operands in device memory", true};

/* A pattern by row, in use until drop. */
typedef struct pattern {
    tsr_cuda_sparse *s; /* NULL: it is not there */
    tsr_cuda_attention_cut cut;
} pattern;

typedef struct prepared {
    pattern rows, columns; /* columns: of the transpose, for gradients only */
    void *context;         /* of the device */
} prepared;

/* ---- long rows ---- */

static void count_parts(tsr_cuda_attention_cut *cut, const int64_t *p, int64_t nrows)
{
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t n = p[row + 1] - p[row];
        cut->nrows += n > cut->most;
        cut->nparts += n > cut->most ? (n + cut->most - 1) / cut->most : 0;
    }
}

static void list_parts(tsr_cuda_attention_part *parts, tsr_cuda_attention_row *rows, const tsr_cuda_attention_cut *cut, const int64_t *p, int64_t nrows)
{
    uint32_t part = 0;
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t n = p[row + 1] - p[row];
        if (n <= cut->most)
            continue;
        *rows = (tsr_cuda_attention_row){(uint32_t)row, part, (uint32_t)((n + cut->most - 1) / cut->most)};
        for (uint32_t k = 0; k < rows->parts; k++)
            parts[part++] = (tsr_cuda_attention_part){(uint32_t)row, k};
        rows++;
    }
}

static size_t bytes_of(const tsr_cuda_attention_cut *cut)
{
    return (size_t)cut->nparts * sizeof *cut->parts + (size_t)cut->nrows * sizeof *cut->rows;
}

static tsr_status upload_lists(tsr_cuda_attention_cut *cut, const void *parts, const void *rows)
{
    const size_t bytes = (size_t)cut->nparts * sizeof *cut->parts;
    tsr_status status = tsr_cuda_new((void **)&cut->parts, bytes_of(cut));
    if (status != TSR_OK)
        return status;
    cut->rows = (tsr_cuda_attention_row *)(void *)(cut->parts + cut->nparts);
    status = tsr_cuda_to_device(cut->parts, parts, bytes, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_device(cut->rows, rows, bytes_of(cut) - bytes, tsr_cuda.compute);
    const tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    return status == TSR_OK ? waited : status;
}

static void free_cut(tsr_cuda_attention_cut *cut)
{
    if (cut->parts) {
        tsr_cuda_delete(cut->parts);
        tsr_cuda_unreserve(bytes_of(cut));
    }
    cut->parts = NULL;
}

static tsr_status cut_rows(tsr_cuda_attention_cut *cut, const int64_t *p, int64_t nrows)
{
    count_parts(cut, p, nrows);
    if (cut->nrows == 0)
        return TSR_OK;
    tsr_cuda_attention_part *parts = malloc(bytes_of(cut));
    if (!parts || !tsr_cuda_reserve(bytes_of(cut))) {
        free(parts);
        return TSR_OUT_OF_MEMORY;
    }
    list_parts(parts, (tsr_cuda_attention_row *)(void *)(parts + cut->nparts), cut, p, nrows);
    const tsr_status status = upload_lists(cut, parts, parts + cut->nparts);
    if (!cut->parts)
        tsr_cuda_unreserve(bytes_of(cut));
    free(parts);
    return status;
}

/* The offsets may be known on the device only: the transpose is made there. */
static tsr_status cut_pattern(pattern *of)
{
    const tsr_cuda_csr *csr = &of->s->csr;
    const size_t bytes = (size_t)(csr->nrows + 1) * sizeof(int64_t);
    int64_t *p = malloc(bytes);
    if (!p)
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_to_host(p, csr->p, bytes, tsr_cuda.compute);
    const tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    status = status == TSR_OK ? waited : status;
    if (status == TSR_OK)
        status = cut_rows(&of->cut, p, csr->nrows);
    free(p);
    return status;
}

/* ---- preparing ---- */

static void leave(pattern *of)
{
    if (!of->s)
        return;
    free_cut(&of->cut);
    tsr_cuda_sparse_leave(of->s);
    of->s = NULL;
}

static tsr_status use(pattern *of, const tsr_view *view, void **slot, bool transposed, const tsr_attention_operands *like)
{
    int64_t moved = 0;
    const tsr_cuda_operand operand = tsr_cuda_operand_of(view, false, TSR_BOOL, slot, transposed, 1);
    tsr_status status = tsr_cuda_sparse_use(&of->s, &operand, &moved);
    if (status != TSR_OK) {
        of->s = NULL;
        return status;
    }
    status = tsr_cuda_attention_most(&of->cut.most, &of->s->csr, like);
    return status == TSR_OK ? cut_pattern(of) : status;
}

static tsr_status prepare(prepared *p, const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward)
{
    *p = (prepared){.context = tsr_cuda_current()};
    tsr_status status = use(&p->rows, s, slot, false, like);
    const tsr_view columns = tsr_view_transposed(*s);
    if (status == TSR_OK && backward)
        status = use(&p->columns, &columns, slot, true, like);
    const tsr_status settled = tsr_cuda_settle();
    status = status == TSR_OK ? settled : status;
    if (status != TSR_OK) {
        leave(&p->columns);
        leave(&p->rows);
    }
    return status;
}

tsr_status tsr_cuda_attention_prepare(const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward, void **out)
{
    if (!tsr_cuda_alive() || !slot || s->by_col)
        return TSR_DECLINED;
    prepared *p = malloc(sizeof *p);
    if (!p)
        return TSR_OUT_OF_MEMORY;
    void *before;
    tsr_status status = tsr_cuda_begin(&before);
    if (status == TSR_OK)
        status = prepare(p, s, slot, like, backward);
    if (status == TSR_OUT_OF_MEMORY) {
        tsr_cuda_evict_all();
        status = prepare(p, s, slot, like, backward);
    }
    tsr_cuda_end(before);
    if (status != TSR_OK) {
        free(p);
        return status;
    }
    *out = p;
    return TSR_OK;
}

void tsr_cuda_attention_drop(void *whole)
{
    prepared *p = whole;
    if (!tsr_cuda_alive())
        return; /* of the parent */
    void *before;
    if (tsr_cuda_begin(&before) == TSR_OK) {
        (void)tsr_cuda_wait_device();
        leave(&p->columns);
        leave(&p->rows);
    }
    tsr_cuda_end(before);
    free(p);
}

/* ---- running ---- */

static tsr_status queue(const prepared *p, const tsr_attention_operands *o)
{
    const size_t bytes = tsr_cuda_attention_bytes(&p->rows.cut, o);
    void *partial = NULL;
    tsr_status status = bytes ? tsr_cuda_malloc(&partial, bytes, o->stream) : TSR_OK;
    if (status == TSR_OK)
        status = tsr_cuda_attention(&p->rows.s->csr, &p->rows.cut, o, partial, 0);
    tsr_cuda_free(partial, o->stream);
    return status;
}

static tsr_status queue_backward(const prepared *p, const tsr_attention_operands *o)
{
    const tsr_cuda_csr *rows = &p->rows.s->csr, *columns = &p->columns.s->csr;
    void *scratch = NULL;
    tsr_status status = tsr_cuda_malloc(&scratch, tsr_cuda_attention_backward_bytes(rows, &p->rows.cut, &p->columns.cut, o), o->stream);
    if (status == TSR_OK)
        status = tsr_cuda_attention_backward(rows, &p->rows.cut, columns, &p->columns.cut, o, scratch);
    tsr_cuda_free(scratch, o->stream);
    return status;
}

static tsr_status run_on_device(const prepared *p, const tsr_attention_operands *operands,
                                tsr_status (*run)(const prepared *p, const tsr_attention_operands *operands))
{
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    if (tsr_cuda_current() == p->context)
        return run(p, operands);
    void *before;
    tsr_status status = tsr_cuda_enter(&before);
    if (status == TSR_OK)
        status = run(p, operands);
    tsr_cuda_leave(before);
    return status;
}

tsr_status tsr_cuda_attention_run(const void *prepared_for, const tsr_attention_operands *operands)
{
    return run_on_device(prepared_for, operands, queue);
}

tsr_status tsr_cuda_attention_differentiate(const void *prepared_for, const tsr_attention_operands *operands)
{
    return run_on_device(prepared_for, operands, queue_backward);
}
