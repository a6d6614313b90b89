/* Products timed on the device: A as the plug-in keeps it, B and C only there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/sparse.h"

/* A batch of products lasts so long, to tell its start from them; the best of some batches counts. */
static const double batch_ms = 1.0;
enum { BATCHES = 3, MOST_IN_BATCH = 64 };

/* What a timed product needs beside A and its plan. */
typedef struct timed {
    tsr_cuda_sparse *a;
    const tsr_cuda_plan *plan;
    const tsr_product *product;
    int64_t ld;
    void *b, *c, *partial;
} timed;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static tsr_cuda_csr_spmm csr_product(const timed *t)
{
    tsr_cuda_csr_spmm q = {.semiring = t->product->semiring, .n = t->product->n, .b = t->b, .ldb = t->ld, .c = t->c, .ldc = t->ld,
                           .alpha = 1, .partial = t->partial, .device = &tsr_cuda.device, .stream = tsr_cuda.compute};
    if (t->product->a.x)
        memcpy(&q.iso, t->product->a.x, tsr_cuda_type_size(t->product->semiring.type));
    return q;
}

static tsr_cuda_spmm blocks_product(const timed *t)
{
    return (tsr_cuda_spmm){.math = t->plan->math, .n = t->product->n, .b = t->b, .ldb = t->ld, .c = t->c, .ldc = t->ld, .alpha = 1,
                           .iso = t->plan->iso, .partial = t->partial, .device = &tsr_cuda.device, .stream = tsr_cuda.compute};
}

static tsr_status run(const timed *t)
{
    tsr_cuda_spmm by_blocks = blocks_product(t);
    tsr_cuda_csr_spmm by_csr = csr_product(t);
    return t->plan->blocks ? tsr_cuda_run_blocks(t->plan, t->a, &by_blocks) : tsr_cuda_spmm_csr(&t->a->csr, &by_csr);
}

static tsr_status run_batch(const timed *t, int count, double *ms)
{
    double began = now_ms();
    tsr_status status = TSR_OK;
    for (int k = 0; k < count && status == TSR_OK; k++)
        status = run(t);
    tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    *ms = (now_ms() - began) / count;
    return status == TSR_OK ? waited : status;
}

static tsr_status run_batches(const timed *t, double *best)
{
    double ms = 0;
    tsr_status status = run_batch(t, 1, &ms); /* the first one loads the kernel */
    if (status == TSR_OK)
        status = run_batch(t, 1, best);
    int count = *best * MOST_IN_BATCH < batch_ms ? MOST_IN_BATCH : (int)(batch_ms / *best) + 1;
    for (int k = 0; k < BATCHES && status == TSR_OK; k++) {
        status = run_batch(t, count, &ms);
        *best = ms < *best ? ms : *best;
    }
    return status;
}

/* Numbers that are finite in every arithmetic: all bytes alike. */
enum { FILL = 0x3c };

static tsr_status with_operands(timed *t, double *ms)
{
    size_t size = tsr_cuda_type_size(t->product->semiring.type);
    size_t b_bytes = (size_t)(t->product->k * t->ld) * size, c_bytes = (size_t)(t->product->m * t->ld) * size;
    tsr_cuda_spmm by_blocks = blocks_product(t);
    tsr_cuda_csr_spmm by_csr = csr_product(t);
    size_t partial = t->plan->blocks ? tsr_cuda_blocks_partial_bytes(t->plan, t->a, &by_blocks)
                                     : tsr_cuda_csr_partial_bytes(&t->a->csr, &by_csr);
    if (!tsr_cuda_reserve(b_bytes + c_bytes + partial))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_new(&t->b, b_bytes);
    if (status == TSR_OK)
        status = tsr_cuda_new(&t->c, c_bytes);
    if (status == TSR_OK)
        status = tsr_cuda_new(&t->partial, partial);
    if (status == TSR_OK)
        status = tsr_cuda_set(t->b, FILL, b_bytes, tsr_cuda.compute);
    if (status == TSR_OK)
        status = run_batches(t, ms);
    void *const all[] = {t->b, t->c, t->partial};
    for (int k = 0; k < 3; k++)
        tsr_cuda_delete(all[k]);
    tsr_cuda_unreserve(b_bytes + c_bytes + partial);
    return status;
}

static void describe_device(tsr_measured *m)
{
    snprintf(m->device, sizeof m->device, "%s", tsr_cuda.device.name);
    m->arch = tsr_cuda.device.major * 10 + tsr_cuda.device.minor;
}

static tsr_status measure_with(tsr_cuda_sparse *a, const tsr_product *product, tsr_measured *m)
{
    tsr_cuda_plan plan;
    double began = now_ms();
    tsr_status status = tsr_cuda_make_plan(&plan, a, product, false), waited = tsr_cuda_wait(tsr_cuda.compute);
    m->build_ms = now_ms() - began;
    m->kernel = plan.name;
    timed t = {.a = a, .plan = &plan, .product = product, .ld = product->n > 1 ? (product->n + 7) / 8 * 8 : 1};
    if (status == TSR_OK)
        status = waited;
    return status == TSR_OK ? with_operands(&t, &m->ms) : status;
}

tsr_status tsr_cuda_measure(const tsr_product *product, tsr_measured *m)
{
    tsr_cuda_sparse *a;
    int64_t moved = 0;
    tsr_cuda_operand operand = tsr_cuda_operand_a(product);
    *m = (tsr_measured){0};
    if (!tsr_cuda_alive() || !product->a_slot || product->m == 0 || product->n == 0 || product->a.nvals == 0)
        return TSR_DECLINED;
    void *before;
    tsr_status status = tsr_cuda_begin(&before);
    describe_device(m);
    if (status == TSR_OK)
        status = tsr_cuda_sparse_use(&a, &operand, &moved);
    if (status == TSR_OK) {
        status = measure_with(a, product, m);
        tsr_cuda_sparse_leave(a);
    }
    tsr_cuda_end(before);
    return status;
}
