/* HRPB in the table of kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/context.h"
#include "backends/cuda/spmm/kernel_table.h"

static size_t hrpb_bytes(const tsr_cuda_counts *c)
{
    return tsr_cuda_common_bytes(c) + 8 * c->windows + 4 * c->blocks + 13 * c->vectors + c->nvals * c->value;
}

static tsr_status hrpb_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_hrpb(&b->as.hrpb, source, b->height, tsr_cuda->compute);
}

static void hrpb_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_hrpb(&b->as.hrpb, tsr_cuda->compute);
}

static tsr_status hrpb_most(int64_t *most, const tsr_cuda_blocks *b)
{
    int64_t longest = 0;
    tsr_status status = tsr_cuda_longest_window(&longest, &b->as.w, tsr_cuda->compute);
    *most = tsr_cuda_hrpb_most(&b->as.w, longest, &tsr_cuda->device);
    return status;
}

static tsr_status hrpb_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_hrpb(&b->as.hrpb, &b->work, product);
}

const tsr_cuda_format tsr_cuda_format_hrpb = {
    .semirings = TSR_CUDA_SUMS, TSR_CUDA_TENSOR_NAMES("hrpb"), .exact_rounds = true, .bytes = hrpb_bytes, .make = hrpb_make, .free = hrpb_free,
    .most = hrpb_most, .run = hrpb_run, .partial_bytes = tsr_cuda_block_partial_bytes};
