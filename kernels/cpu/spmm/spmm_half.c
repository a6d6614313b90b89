/* SpMM with a B of 16-bit numbers: rows dealt to threads by their entries; a slab of columns after the other, so that what is hot of B stays
 * in cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/spmm/spmm_half.h"

typedef struct slab {
    tsr_half_job job; /* without rows */
    void (*run)(const tsr_half_job *job);
    const tsr_chunk *chunks;
} slab;

static void run_chunk(void *context, int64_t number)
{
    const slab *s = context;
    tsr_half_job job = s->job;
    job.begin = s->chunks[number].first;
    job.end = s->chunks[number].last;
    s->run(&job);
}

tsr_status tsr_cpu_spmm_half(const tsr_half_spmm *product)
{
    const tsr_half_table *table = TSR_PICK_ISA(&tsr_half_table);
    tsr_chunks chunks;
    tsr_status status = tsr_chunks_make(&chunks, tsr_offsets_of(product->a), product->a->nvec, product->nthreads, false);
    if (status != TSR_OK)
        return status;
    slab s = { .job = { .product = product }, .run = product->b_type == TSR_FP16 ? table->fp16 : table->bf16, .chunks = chunks.list };
    for (int64_t first = 0; first < product->n; first += s.job.columns) {
        s.job.first = first;
        s.job.columns = product->n - first < table->columns ? product->n - first : table->columns;
        tsr_for_jobs(chunks.count, product->nthreads, run_chunk, &s);
    }
    tsr_chunks_free(&chunks);
    return TSR_OK;
}
