/* Products timed on the device: A as the plug-in keeps it, B and C only there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/spmm/matrix_statistics.h"
#include "backends/cuda/spmm/multiply.h"

/* A batch of products lasts so long, to tell its start from them; the best of some batches counts. */
static const double batch_ms = 1.0;
enum { BATCHES = 3, MOST_IN_BATCH = 64 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static tsr_status run_batch(const tsr_cuda_multiplication *m, int count, double *ms)
{
    double began = now_ms();
    tsr_status status = TSR_OK;
    for (int k = 0; k < count && status == TSR_OK; k++)
        status = tsr_cuda_multiply_arrays(m);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    *ms = (now_ms() - began) / count;
    return status == TSR_OK ? waited : status;
}

static tsr_status run_batches(const tsr_cuda_multiplication *m, double *best)
{
    double ms = 0;
    tsr_status status = run_batch(m, 1, &ms); /* the first one loads the kernel */
    if (status == TSR_OK)
        status = run_batch(m, 1, best);
    int count = *best * MOST_IN_BATCH < batch_ms ? MOST_IN_BATCH : (int)(batch_ms / *best) + 1;
    for (int k = 0; k < BATCHES && status == TSR_OK; k++) {
        status = run_batch(m, count, &ms);
        *best = ms < *best ? ms : *best;
    }
    return status;
}

/* Numbers that are small in every arithmetic: all bytes alike. */
enum { FILL = 0x3c };

static tsr_status with_operands(tsr_cuda_multiplication *m, double *ms)
{
    size_t size = tsr_type_size(m->product->semiring.type), scratch = tsr_cuda_scratch_bytes(m);
    size_t b_bytes = (size_t)(m->product->k * m->ldb) * size, c_bytes = (size_t)(m->product->m * m->ldc) * size;
    void *b = NULL, *c = NULL, *partial = NULL;
    if (!tsr_cuda_reserve(b_bytes + c_bytes + scratch))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_new(&b, b_bytes);
    if (status == TSR_OK)
        status = tsr_cuda_new(&c, c_bytes);
    if (status == TSR_OK)
        status = tsr_cuda_new(&partial, scratch);
    if (status == TSR_OK)
        status = tsr_cuda_set(b, FILL, b_bytes, tsr_cuda->compute);
    m->b = b;
    m->c = c;
    m->partial = partial;
    if (status == TSR_OK)
        status = run_batches(m, ms);
    void *const all[] = {b, c, partial};
    for (int k = 0; k < 3; k++)
        tsr_cuda_delete(all[k]);
    tsr_cuda_unreserve(b_bytes + c_bytes + scratch);
    return status;
}

static void describe_device(tsr_measured *m)
{
    snprintf(m->device, sizeof m->device, "%s", tsr_cuda->device.name);
    m->arch = tsr_cuda->device.major * 10 + tsr_cuda->device.minor;
}

static tsr_status measure_with(tsr_cuda_sparse *a, const tsr_product *product, tsr_measured *m)
{
    tsr_cuda_plan plan;
    tsr_status status = tsr_cuda_count_matrix(a, product->reorder), waited; /* is no part of building one of several formats */
    if (status != TSR_OK)
        return status;
    double began = now_ms();
    status = tsr_cuda_make_plan(&plan, a, product, false);
    waited = tsr_cuda_wait(tsr_cuda->compute);
    m->build_ms = now_ms() - began;
    double below = 1; /* that of FILL */
    int64_t ld = product->n > 1 ? (product->n + 7) / 8 * 8 : 1;
    tsr_cuda_multiplication multiplication = {.a = a, .plan = &plan, .product = product, .n = product->n, .ldb = ld, .ldc = ld,
                                              .below = &below, .alpha = {1, 0}, .stream = tsr_cuda->compute};
    if (status == TSR_OK)
        status = waited;
    if (status == TSR_OK)
        status = with_operands(&multiplication, &m->ms);
    m->kernel = plan.name;
    return status;
}

tsr_status tsr_cuda_measure(const tsr_product *product, tsr_measured *m)
{
    tsr_cuda_sparse *a;
    int64_t moved = 0;
    tsr_cuda_operand operand = tsr_cuda_operand_a(product);
    *m = (tsr_measured){0};
    if (!tsr_cuda_alive() || !product->a_slot || product->m == 0 || product->n == 0 || product->a.nvals == 0)
        return TSR_DECLINED;
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_begin(tsr_cuda_first(), &before);
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
