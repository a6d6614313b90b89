/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/attention_three.h"

#include "backends/cuda/masked/stencil.h"

/* Rows of all heads begin at multiples of 16 bytes, and are whole multiples. */
static bool is_whole(const tsr_heads *h)
{
    return (uintptr_t)h->data % 16 == 0 && h->ld % 4 == 0 && h->head_stride % 4 == 0 && h->width % 4 == 0;
}

bool tsr_cuda_three_fit(const tsr_attention_operands *o)
{
    return !o->lse && is_whole(&o->q) && is_whole(&o->k);
}

static tsr_status list_work(tsr_cuda_sparse *s)
{
    return s->csr.work ? TSR_OK : tsr_cuda_csr_work(&s->csr, &tsr_cuda->device, tsr_cuda->compute);
}

tsr_status tsr_cuda_three_prepare(bool *good, tsr_cuda_sparse *s, const tsr_attention_operands *like)
{
    *good = false;
    if (s->csr.nvals == 0 || like->q.type != TSR_FP32)
        return TSR_OK;
    tsr_status status = list_work(s);
    if (status == TSR_OK && tsr_cuda->device.major >= 9 && !s->stencil.failed)
        status = tsr_cuda_stencil_prepare(&s->stencil, &s->csr, like->q.width * 4, TSR_CUDA_EXACT);
    *good = status == TSR_OK;
    return status == TSR_OUT_OF_MEMORY || status == TSR_DECLINED ? TSR_OK : status;
}

/* ---- running ---- */

typedef struct three {
    const tsr_cuda_sparse *s;
    const tsr_attention_operands *o;
    tsr_cuda_csr csr; /* with the weights of a head */
    void *partial;
} three;

/* Element 0 of a head. */
static float *head_of(const tsr_heads *h, int64_t head)
{
    return (float *)h->data + head * h->head_stride;
}

static tsr_status sample(const three *t, int64_t head)
{
    const tsr_attention_operands *o = t->o;
    const tsr_cuda_csr *mask = &t->s->csr;
    const tsr_cuda_sddmm product = {.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .mask = mask, .end = mask->nvals, .k = o->q.width,
                                    .a = head_of(&o->q, head), .lda = o->q.ld, .b = head_of(&o->k, head), .ldb = o->k.ld, .x = t->csr.x,
                                    .device = &tsr_cuda->device, .stream = o->stream};
    const tsr_cuda_stencil *stencil = &t->s->stencil;
    return stencil->bytes ? tsr_cuda_sddmm_stencil(&stencil->blocks, &stencil->work, TSR_CUDA_EXACT, &product) : tsr_cuda_sddmm_csr(&product);
}

static tsr_cuda_csr_spmm product_of(const three *t, int64_t head)
{
    const tsr_attention_operands *o = t->o;
    return (tsr_cuda_csr_spmm){.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .n = o->v.width, .b = head_of(&o->v, head), .ldb = o->v.ld,
                               .c = head_of(&o->o, head), .ldc = o->o.ld, .alpha = 1, .partial = t->partial, .device = &tsr_cuda->device,
                               .stream = o->stream};
}

static tsr_status run_head(const three *t, int64_t head)
{
    const tsr_cuda_csr_spmm product = product_of(t, head);
    tsr_status status = sample(t, head);
    if (status == TSR_OK)
        status = tsr_cuda_softmax_batch(t->csr.x, t->csr.x, 1, 0, t->o->scale, &t->s->csr, TSR_FP32, t->o->stream);
    return status == TSR_OK ? tsr_cuda_spmm_csr(&t->csr, &product) : status;
}

tsr_status tsr_cuda_three_run(const tsr_cuda_sparse *s, const tsr_attention_operands *o)
{
    three t = {.s = s, .o = o, .csr = s->csr};
    const tsr_cuda_csr_spmm like = product_of(&t, 0);
    const size_t scores = ((size_t)s->csr.nvals * sizeof(float) + 255) / 256 * 256;
    char *scratch = NULL;
    tsr_status status = tsr_cuda_malloc((void **)&scratch, scores + tsr_cuda_csr_partial_bytes(&s->csr, &like), o->stream);
    if (status != TSR_OK)
        return status;
    t.csr.x = scratch;
    t.partial = scratch + scores;
    for (int64_t head = 0; head < o->q.heads && status == TSR_OK; head++)
        status = run_head(&t, head);
    tsr_cuda_free(scratch, o->stream);
    return status;
}
