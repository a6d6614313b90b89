// SpMM of BMat: which shape of the kernel in spmm_bmat.cuh computes a product.
//
// Variants: 0 is the kernel's own choice; 1 + bulk + 2 persistent + 4 width + 16 deep + 32 cached, where width is 0: own choice, 1: 128,
// 2: 64, 3: 32 columns (see tsr_bmat_choice); of bulk, deep and cached at most one.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm_bmat.h"
#include "kernels/cuda/tensor.cuh"

static int widest_tile(const tsr_cuda_spmm *p) { return p->math == TSR_CUDA_FP64 ? 64 : 128; }

static int own_columns(const tsr_cuda_spmm *p)
{
    int columns = widest_tile(p);
    while (columns > 32 && p->n <= columns / 2)
        columns /= 2;
    return columns;
}

static bool choose(tsr_bmat_choice *choice, const tsr_bmat *a, const tsr_cuda_spmm *p)
{
    int variant = p->variant > 0 ? p->variant - 1 : 0, width = variant / 4 % 4;
    int ways = variant & (1 | 16 | 32);
    choice->way = variant & 1 ? TSR_BMAT_BULK : variant & 32 ? TSR_BMAT_CACHED : TSR_BMAT_ASYNC;
    choice->persistent = variant & 2;
    choice->deep = variant & 16;
    choice->columns = width == 0 ? own_columns(p) : 256 >> width;
    choice->tile_major = tensor_tile_major(p, a->w.ncols, choice->columns, tsr_number_size(tsr_cuda_number(p->math)));
    return variant < 64 && (ways & (ways - 1)) == 0 && choice->columns <= widest_tile(p) &&
           (choice->way != TSR_BMAT_BULK || p->device->major >= 9);
}

extern "C" tsr_status tsr_cuda_spmm_bmat(const tsr_bmat *a, const tsr_work *work, const tsr_cuda_spmm *product)
{
    static tsr_bmat_run *const runs[TSR_CUDA_MATH_COUNT] = {tsr_bmat_exact, tsr_bmat_tf32, tsr_bmat_fp16, tsr_bmat_bf16, tsr_bmat_fp64};
    tsr_bmat_choice choice;
    /* the kernel multiplies 32-bit columns by a 32-bit pitch, and counts tiles with an int */
    int64_t pitch = product->ldb * static_cast<int64_t>(tsr_number_size(tsr_cuda_number(product->math)));
    if (!tensor_takes(product, !a->value) || pitch > UINT32_MAX || !choose(&choice, a, product))
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    tsr_status status = runs[product->math](a, work, product, &choice);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, product) : status;
}
