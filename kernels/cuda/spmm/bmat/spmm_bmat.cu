// SpMM of BMat: which shape of the kernel in spmm_bmat.cuh computes a product.
//
// Variants: 0 is the kernel's own choice; others are 1 + width + 4 batch, where width is 0: own choice, 1: 128, 2: 64, 3: 32
// columns; batch is 0: own choice, 1, 2, 3: 1, 4, 16 tasks a warp.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/bmat/spmm_bmat.h"
#include "kernels/cuda/spmm/tensor.cuh"

static int widest_tile(const tsr_cuda_spmm *p) { return p->math == TSR_CUDA_FP64 ? 64 : 128; }

static int own_columns(const tsr_cuda_spmm *p)
{
    int columns = widest_tile(p);
    while (columns > 32 && p->n <= columns / 2)
        columns /= 2;
    return columns;
}

/* A warp that has several tasks fetches what the next one needs first while it computes.  But the last warps to end should not be
 * late: so many tasks that there are 16 rounds. */
static int own_tasks(const tsr_work *work, int64_t tiles, const tsr_cuda_spmm *p)
{
    int64_t tasks = work->nitems * tiles / (p->device->sms * 16 * 16);
    return static_cast<int>(tasks < 1 ? 1 : tasks < 8 ? tasks : 8);
}

static bool choose(tsr_bmat_choice *choice, const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *p)
{
    int variant = p->variant > 0 ? p->variant - 1 : 0, width = variant % 4, batch = variant / 4;
    choice->columns = width == 0 ? own_columns(p) : 256 >> width;
    int64_t tiles = (p->n + choice->columns - 1) / choice->columns;
    choice->tasks = batch == 0 ? own_tasks(work, tiles, p) : 1 << 2 * (batch - 1);
    choice->tile_major = tensor_tile_major(p, a->w.ncols, choice->columns, tsr_number_size(tsr_cuda_number(p->math)));
    return variant < 16 && choice->columns <= widest_tile(p);
}

extern "C" tsr_status tsr_cuda_spmm_bmat(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    static tsr_bmat_run *const runs[TSR_CUDA_MATH_COUNT] = {tsr_bmat_exact, tsr_bmat_tf32, tsr_bmat_fp16, tsr_bmat_bf16,
                                                            tsr_bmat_fp64};
    tsr_bmat_choice choice;
    /* the kernel multiplies 32-bit columns by a 32-bit pitch, and counts tiles with an int */
    int64_t pitch = product->ldb * static_cast<int64_t>(tsr_number_size(tsr_cuda_number(product->math)));
    if (!tensor_takes(product, !a->value) || pitch > UINT32_MAX)
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    if (!choose(&choice, a, work, product))
        return TSR_DECLINED;
    tsr_status status = runs[product->math](a, work, product, &choice);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}
