/* SpMM of complex numbers: rows dealt to threads by their entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/spmm/spmm_complex.h"

typedef struct deal {
    const tsr_complex_spmm *product;
    void (*run)(const tsr_complex_job *job);
    const tsr_chunk *chunks;
} deal;

static void run_chunk(void *context, int64_t number)
{
    const deal *d = context;
    const tsr_complex_job job = { d->product, d->chunks[number].first, d->chunks[number].last };
    d->run(&job);
}

tsr_status tsr_cpu_spmm_complex(const tsr_complex_spmm *product)
{
    const tsr_complex_table *table = TSR_PICK_ISA(&tsr_complex_table);
    tsr_chunks chunks;
    tsr_status status = tsr_chunks_make(&chunks, tsr_offsets_of(product->a), product->a->nvec, product->nthreads, false);
    if (status != TSR_OK)
        return status;
    deal d = { product, product->type == TSR_FC32 ? table->fc32 : table->fc64, chunks.list };
    tsr_for_jobs(chunks.count, product->nthreads, run_chunk, &d);
    tsr_chunks_free(&chunks);
    return TSR_OK;
}
