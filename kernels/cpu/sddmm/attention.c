/* Attention over a pattern by row (tessera/attention.h): rows dealt to threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/sddmm/attention.h"

enum { GRAIN_ROWS = 16 };

static const tsr_attention_kernels *kernels_for(tsr_type type)
{
    const tsr_attention_table *table = TSR_PICK_ISA(&tsr_attention_table);
    return &table->of[type == TSR_FP16 ? TSR_ATTENTION_FP16 : type == TSR_BF16 ? TSR_ATTENTION_BF16 : TSR_ATTENTION_FP32];
}

/* ---- forward ---- */

typedef struct attention {
    const tsr_view *s;
    const tsr_attention_operands *o;
    const tsr_attention_kernels *kernels;
    atomic_bool failed; /* a thread had no scratch */
} attention;

static void attend_rows(void *context, int64_t first, int64_t last)
{
    attention *a = context;
    const int64_t width = a->o->q.width;
    float *scratch = malloc((size_t)(2 * width) * sizeof *scratch);
    if (!scratch) {
        atomic_store(&a->failed, true);
        return;
    }
    tsr_attention_row r = { a->s, a->o, 0, 0, scratch, scratch + width };
    for (r.row = first; r.row < last; r.row++)
        for (r.head = 0; r.head < a->o->q.heads; r.head++)
            a->kernels->forward(&r);
    free(scratch);
}

tsr_status tsr_cpu_attention(const tsr_view *s, const tsr_attention_operands *operands, int nthreads)
{
    attention a = { .s = s, .o = operands, .kernels = kernels_for(operands->q.type) };
    tsr_for_ranges(s->nrows, GRAIN_ROWS, nthreads, attend_rows, &a);
    return atomic_load(&a.failed) ? TSR_OUT_OF_MEMORY : TSR_OK;
}

/* ---- gradients ---- */

typedef struct backward {
    tsr_attention_pass pass;
    void (*run)(const tsr_attention_pass *pass, int64_t row, int64_t head, float *scratch);
    atomic_bool failed;
} backward;

static void run_rows(void *context, int64_t first, int64_t last)
{
    backward *b = context;
    const tsr_heads *q = &b->pass.o->q;
    float *scratch = malloc((size_t)(4 * q->width) * sizeof *scratch);
    if (!scratch) {
        atomic_store(&b->failed, true);
        return;
    }
    for (int64_t row = first; row < last; row++)
        for (int64_t head = 0; head < q->heads; head++)
            b->run(&b->pass, row, head, scratch);
    free(scratch);
}

tsr_status tsr_cpu_attention_backward(const tsr_view *s, const tsr_view *columns, const tsr_attention_operands *operands, int nthreads)
{
    const tsr_attention_operands *o = operands;
    const tsr_attention_kernels *kernels = kernels_for(o->q.type);
    float *sums = malloc((size_t)(s->nrows * o->q.heads + 1) * sizeof *sums);
    if (!sums)
        return TSR_OUT_OF_MEMORY;
    backward b = { .pass = { .s = s, .o = o, .own_key = &o->q, .own_value = &o->grad_o, .key = &o->k, .value = &o->v, .out = &o->grad_q, .sums = sums },
                   .run = kernels->sum };
    tsr_for_ranges(s->nrows, GRAIN_ROWS, nthreads, run_rows, &b);
    b.run = kernels->backward;
    if (o->grad_q.data)
        tsr_for_ranges(s->nrows, GRAIN_ROWS, nthreads, run_rows, &b);
    b.pass = (tsr_attention_pass){ columns, o, &o->k, &o->v, &o->q, &o->grad_o, &o->grad_k, &o->grad_v, sums };
    if (o->grad_k.data || o->grad_v.data)
        tsr_for_ranges(columns->nrows, GRAIN_ROWS, nthreads, run_rows, &b);
    free(sums);
    return atomic_load(&b.failed) ? TSR_OUT_OF_MEMORY : TSR_OK;
}
