/* Between spmm_bmat.cu, which chooses a shape, and spmm_bmat_<arithmetic>.cu, which have the kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"

typedef struct tsr_bmat_choice {
    int tasks;       /* a warp computes one after the other: items x tiles of columns */
    bool tile_major; /* all items of one column tile before the next tile */
    int columns;     /* of a tile: 128 (not FP64), 64 or 32 */
} tsr_bmat_choice;

typedef tsr_status tsr_bmat_run(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *product,
                                const tsr_bmat_choice *choice);
extern "C" {
tsr_bmat_run tsr_bmat_exact, tsr_bmat_tf32, tsr_bmat_fp16, tsr_bmat_bf16, tsr_bmat_fp64;
}
