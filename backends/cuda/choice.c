/* The choice among kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/choice.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/sparse.h"

/* What a prediction may be wrong by before blocks lose: they cost memory. */
static const double margin = 0.97;

static const tsr_model *model;

void tsr_cuda_set_model(const tsr_model *named)
{
    int arch = tsr_cuda.device.major * 10 + tsr_cuda.device.minor;
    bool ours = named && named->arch == arch && strcmp(named->device, tsr_cuda.device.name) == 0;
    if (named && !ours)
        fprintf(stderr, "tessera: the model is of an %s, this is an %s; the built-in one is used\n", named->device, tsr_cuda.device.name);
    model = ours ? named : tsr_model_default(arch);
}

static const tsr_cuda_shape shapes[TSR_GPU_KERNELS] = {
    [TSR_GPU_CSR] = {TSR_CUDA_CSR, 0, 0},          [TSR_GPU_PANEL_32] = {TSR_CUDA_PANEL, 32, 24},
    [TSR_GPU_PANEL_64] = {TSR_CUDA_PANEL, 64, 48}, [TSR_GPU_ME_TCF] = {TSR_CUDA_ME_TCF, 16, 8},
    [TSR_GPU_ME_BCRS] = {TSR_CUDA_ME_BCRS, 8, 8},  [TSR_GPU_HRPB_16] = {TSR_CUDA_HRPB, 16, 16},
    [TSR_GPU_HRPB_32] = {TSR_CUDA_HRPB, 32, 16},   [TSR_GPU_BMAT_8] = {TSR_CUDA_BMAT, 8, 8},
    [TSR_GPU_BMAT_16] = {TSR_CUDA_BMAT, 16, 8},
};

static tsr_gpu_product product_of(const tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n)
{
    tsr_gpu_product p = {.nrows = (double)a->csr.nrows, .ncols = (double)a->csr.ncols, .nvals = (double)a->csr.nvals, .n = (double)n,
                         .math = (tsr_gpu_math)math};
    for (int k = 0; k < 5; k++)
        p.vectors[k] = (double)a->account.vectors[k];
    return p;
}

tsr_cuda_shape tsr_cuda_choose(double *spared, const tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n, tsr_cuda_kind only)
{
    tsr_gpu_product product = product_of(a, math, n);
    double csr = tsr_predict_kernel_ms(model, TSR_GPU_CSR, &product), least = csr * margin;
    tsr_gpu_kernel best = TSR_GPU_CSR;
    for (int k = 0; k < TSR_GPU_KERNELS; k++) {
        double ms = tsr_predict_kernel_ms(model, (tsr_gpu_kernel)k, &product);
        if (ms > 0 && ms < least && (only == TSR_CUDA_CSR || shapes[k].kind == only)) {
            least = ms;
            best = (tsr_gpu_kernel)k;
        }
    }
    *spared = best == TSR_GPU_CSR ? 0 : 1 - least / csr;
    return shapes[best];
}

tsr_cuda_split_rule tsr_cuda_split_for(tsr_cuda_math math, int64_t n)
{
    tsr_cuda_split_rule rule;
    memcpy(rule.w, model->window[math][tsr_nearest_width((double)n)], sizeof rule.w);
    return rule;
}

tsr_cuda_shape tsr_cuda_split_shape(tsr_cuda_math math)
{
    return shapes[tsr_window_kernel((tsr_gpu_math)math)];
}
