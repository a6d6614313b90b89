/* W = A U of few vectors whose places are listed (kernels/cuda/spmv/few_listed.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FEW_LISTED_H
#define TSR_CUDA_FEW_LISTED_H

#include "kernels/cuda/common/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors lie one after the other: element r of vector v is number v * length + r. */
typedef struct tsr_cuda_few {
    tsr_semiring semiring;       /* of real types */
    const tsr_cuda_csr *rows;    /* A */
    const tsr_cuda_csr *columns; /* A' by row; of it p and i are used */
    int64_t vectors;
    const void *u;               /* of the semiring's type; NULL: not read */
    const int8_t *u_present;
    uint64_t iso;                /* as tsr_cuda_csr_spmm's */
    void *w;                     /* 0 before, as is … */
    int8_t *w_present;           /* … this, which has room for whole words of 4 bytes */
    const tsr_cuda_device *device;
    void *stream;
} tsr_cuda_few;

/* Two kernels: columns of A say where there are products, rows of A add them up, entry by entry, so that sums do not depend on the run.  from: of U;
 * to: becomes that of W, its head 0 before; told: of to's head.  Both kernels take one row or column after the other: all are to have few entries. */
tsr_status tsr_cuda_few_listed(const tsr_cuda_few *few, const tsr_cuda_list *from, const tsr_cuda_list *to, const tsr_cuda_told *told);

#ifdef __cplusplus
}
#endif

#endif
