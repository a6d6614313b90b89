/* Some rows of a sparse C on the device, and their way to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPGEMM_ROWS_H
#define TSR_CUDA_SPGEMM_ROWS_H

#include "backends/cuda/device/context.h"
#include "kernels/cuda/spgemm/spgemm.h"

typedef struct tsr_cuda_rows {
    int64_t first, last; /* rows [first, last) of C */
    int64_t nvals;
    tsr_cuda_csr csr;    /* theirs; p NULL: they are not there */
    size_t bytes;        /* reserved for it */
    size_t value_size;   /* 0: no values */
    bool tiles;          /* they were computed by tiles of bits */
    bool comes_again;    /* other values may: what helps then is kept */
    tsr_cuda_spgemm_work *work; /* NULL: it is not */
    size_t work_bytes;   /* reserved for it */
} tsr_cuda_rows;

/* Computes rows->first to ->last of the product.  TSR_DECLINED and TSR_OUT_OF_MEMORY leave no arrays; nvals is set if it came so far. */
tsr_status tsr_cuda_rows_compute(tsr_cuda_rows *rows, const tsr_cuda_spgemm *product);
/* Other values of the product's operands.  TSR_DECLINED: nothing was kept. */
tsr_status tsr_cuda_rows_again(tsr_cuda_rows *rows, const tsr_cuda_spgemm *product);
void tsr_cuda_rows_free(tsr_cuda_rows *rows);

/* To their places: entries from number `entries` on.  The last offset, of what comes after all rows, is left out. */
tsr_status tsr_cuda_rows_download(const tsr_cuda_rows *rows, int64_t entries, tsr_download *to);

#endif
