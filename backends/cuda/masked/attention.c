/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/attention.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/masked/attention_three.h"
#include "backends/cuda/operands/sparse.h"
#include "src/policy/price/attention.h"

const tsr_kernel_row tsr_cuda_attention_kernels[] = {
    [TSR_CUDA_ATTENTION_ONE] = {"attention", "attention", "attention", "FP32, FP16 and BF16; rows of at most 1024 bytes; operands in device memory", true},
    [TSR_CUDA_ATTENTION_THREE] = {"attention", "attention-three", "attention-three", "FP32, forward without lse; rows of whole 16 bytes", true}};

/* A pattern by row, in use until drop. */
typedef struct pattern {
    tsr_cuda_sparse *s; /* NULL: it is not there */
    tsr_cuda_attention_cut cut;
} pattern;

/* The same by windows; bytes 0: not made. */
typedef struct windows {
    tsr_cuda_attention_windows of;
    size_t bytes;
} windows;

typedef struct prepared {
    pattern rows, columns; /* columns: of the transpose, for gradients only */
    windows windows;
    bool three;            /* calls that do not want lse are computed in three */
    tsr_cuda_context *device;
} prepared;

static size_t bytes_of(const tsr_cuda_attention_cut *cut)
{
    return (size_t)cut->nparts * sizeof *cut->parts + (size_t)cut->nrows * sizeof *cut->rows;
}

/* ---- preparing ---- */

static void leave(pattern *of)
{
    if (!of->s)
        return;
    tsr_cuda_unreserve(bytes_of(&of->cut));
    tsr_cuda_attention_cut_free(&of->cut, tsr_cuda->compute);
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
    status = tsr_cuda_attention_cut_rows(&of->cut, &of->s->csr, like, tsr_cuda->compute);
    if (status == TSR_OK && !tsr_cuda_reserve(bytes_of(&of->cut))) {
        tsr_cuda_attention_cut_free(&of->cut, tsr_cuda->compute);
        return TSR_OUT_OF_MEMORY;
    }
    return status;
}

static void leave_windows(windows *w)
{
    if (w->bytes) {
        tsr_cuda_attention_windows_free(&w->of, tsr_cuda->compute);
        tsr_cuda_unreserve(w->bytes);
        w->bytes = 0;
    }
}

/* At most: every entry a column of its window.  48: a step of two blocks. */
static size_t at_most_bytes(const tsr_cuda_csr *s)
{
    const size_t count = (size_t)s->nrows / 16 + 1, entries = (size_t)s->nvals, blocks = entries / 8 + count, items = blocks / 16 + count;
    return 24 * count + 4 * entries + (16 + 48) * blocks + (80 + 48) * items + 65536;
}

/* Without them, for want of memory or because they do not pay, the pattern by row does. */
static tsr_status make_windows(windows *w, const tsr_cuda_csr *s, const tsr_attention_operands *like)
{
    const size_t bytes = at_most_bytes(s), working = (size_t)s->nvals * 32;
    if (!tsr_cuda_attention_windows_fit(s, like) || !tsr_cuda_reserve(bytes + working))
        return TSR_OK;
    const tsr_status status = tsr_cuda_attention_windows_make(&w->of, s, like, &tsr_cuda->device, tsr_cuda->compute);
    tsr_cuda_unreserve(status == TSR_OK ? working : bytes + working);
    w->bytes = status == TSR_OK ? bytes : 0;
    if (status == TSR_OK && !tsr_cuda_attention_windows_pay(w->of.blocks.w.nvectors, s->nvals, like))
        leave_windows(w);
    return status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
}

static bool three_are_faster(const prepared *p, const tsr_attention_operands *like)
{
    const tsr_cuda_csr *s = &p->rows.s->csr;
    const tsr_attention_features f = {.rows = (double)s->nrows, .columns = (double)s->ncols, .entries = (double)s->nvals,
                                      .heads = (double)like->q.heads, .width = (double)like->q.width};
    return like->q.type == TSR_FP32 && tsr_attention_splits(&f);
}

static tsr_status consider_three(prepared *p, const tsr_attention_operands *like)
{
    const bool named = like->kernel && *like->kernel;
    const bool wanted = named ? strcmp(like->kernel, tsr_cuda_attention_kernels[TSR_CUDA_ATTENTION_THREE].name) == 0 : three_are_faster(p, like);
    return wanted ? tsr_cuda_three_prepare(&p->three, p->rows.s, like) : TSR_OK;
}

static tsr_status prepare(prepared *p, const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward)
{
    *p = (prepared){.device = tsr_cuda};
    tsr_status status = use(&p->rows, s, slot, false, like);
    const tsr_view columns = tsr_view_transposed(*s);
    if (status == TSR_OK)
        status = make_windows(&p->windows, &p->rows.s->csr, like);
    if (status == TSR_OK)
        status = consider_three(p, like);
    if (status == TSR_OK && backward)
        status = use(&p->columns, &columns, slot, true, like);
    const tsr_status settled = tsr_cuda_settle();
    status = status == TSR_OK ? settled : status;
    if (status != TSR_OK) {
        leave_windows(&p->windows);
        leave(&p->columns);
        leave(&p->rows);
    }
    return status;
}

tsr_status tsr_cuda_attention_prepare(const tsr_view *s, void **slot, const tsr_attention_operands *like, bool backward, void **out,
                                      const char **kernel)
{
    if (!tsr_cuda_alive() || !slot || s->by_col)
        return TSR_DECLINED;
    tsr_cuda_context *device = tsr_cuda_device_numbered(like->device);
    prepared *p = device ? malloc(sizeof *p) : NULL;
    if (!p)
        return device ? TSR_OUT_OF_MEMORY : TSR_DECLINED;
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_begin(device, &before);
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
    *kernel = p->three ? "attention-three" : p->windows.bytes ? "attention-windows" : "attention";
    return TSR_OK;
}

void tsr_cuda_attention_drop(void *whole)
{
    prepared *p = whole;
    if (!tsr_cuda_alive())
        return; /* of the parent */
    tsr_cuda_place before;
    if (tsr_cuda_begin(p->device, &before) == TSR_OK) {
        (void)tsr_cuda_wait_device();
        leave_windows(&p->windows);
        leave(&p->columns);
        leave(&p->rows);
    }
    tsr_cuda_end(before);
    free(p);
}

/* ---- running ---- */

/* The operands of a call may lie otherwise than those that the plan was made for. */
static tsr_status queue(const prepared *p, const tsr_attention_operands *o)
{
    const tsr_cuda_csr *s = &p->rows.s->csr;
    if (p->three && tsr_cuda_three_fit(o))
        return tsr_cuda_three_run(p->rows.s, o);
    const bool by_windows = p->windows.bytes && tsr_cuda_attention_windows_fit(s, o);
    const size_t bytes = by_windows ? tsr_cuda_attention_windows_bytes(&p->windows.of, o) : tsr_cuda_attention_bytes(&p->rows.cut, o);
    void *partial = NULL;
    tsr_status status = bytes ? tsr_cuda_malloc(&partial, bytes, o->stream) : TSR_OK;
    if (status == TSR_OK)
        status = by_windows ? tsr_cuda_attention_by_windows(&p->windows.of, o, partial) : tsr_cuda_attention(s, &p->rows.cut, o, partial, 0);
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
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_enter(p->device, &before);
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
