/* Predictions of a model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/route/model.h"

#include <math.h>

#include "src/route/solve.h"

const char *const tsr_gpu_kernel_names[TSR_GPU_KERNELS] = {"csr",     "panel-32", "panel-64", "me-tcf", "me-bcrs",
                                                           "hrpb-16", "hrpb-32",  "bmat-8",   "bmat-16"};
const char *const tsr_gpu_math_names[TSR_GPU_MATHS] = {"exact", "tf32", "fp16", "bf16", "fp64"};

int tsr_gpu_kernel_height(tsr_gpu_kernel kernel)
{
    static const int heights[TSR_GPU_KERNELS] = {1, 32, 64, 16, 8, 16, 32, 8, 16};
    return heights[kernel];
}

/* Rows of B fetched. */
static double fetched(tsr_gpu_kernel kernel, const tsr_gpu_product *p)
{
    int height = tsr_gpu_kernel_height(kernel), at = 0;
    while (8 << at < height)
        at++;
    return height == 1 ? p->nvals : p->vectors[at];
}

static double b_bytes(const tsr_gpu_product *p)
{
    return p->math == TSR_GPU_FP64 ? 8 : p->math == TSR_GPU_FP16 || p->math == TSR_GPU_BF16 ? 2 : 4;
}

/* Share of B that the cache does not hold. */
static double missing(const tsr_gpu_product *p)
{
    static const double cache = 50e6;
    double bytes = p->ncols * p->n * b_bytes(p);
    return bytes > cache ? 1 - cache / bytes : 0;
}

void tsr_kernel_terms(double terms[TSR_KERNEL_TERMS], tsr_gpu_kernel kernel, const tsr_gpu_product *p)
{
    double rows = fetched(kernel, p), bytes = b_bytes(p), c_bytes = bytes == 8 ? 8 : 4;
    terms[0] = 1;
    terms[1] = p->nvals;
    terms[2] = p->nrows;
    terms[3] = rows;
    terms[4] = p->nvals * p->n;
    terms[5] = rows * p->n * bytes;
    terms[6] = rows * p->n * bytes * missing(p);
    terms[7] = (p->ncols * bytes + p->nrows * c_bytes) * p->n;
}

double tsr_predict_kernel_ms(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product)
{
    double terms[TSR_KERNEL_TERMS], ms = 0;
    tsr_kernel_terms(terms, kernel, product);
    for (int k = 0; k < TSR_KERNEL_TERMS; k++)
        ms += model->kernel[kernel][product->math][k] * terms[k];
    return ms;
}

tsr_gpu_kernel tsr_window_kernel(tsr_gpu_math math)
{
    static const tsr_gpu_kernel kernels[TSR_GPU_MATHS] = {TSR_GPU_ME_BCRS, TSR_GPU_HRPB_16, TSR_GPU_HRPB_16, TSR_GPU_HRPB_16,
                                                          TSR_GPU_BMAT_16};
    return kernels[math];
}

void tsr_window_terms(double terms[TSR_WINDOW_TERMS], double nvals, double vectors, double n)
{
    double intensity = log2(nvals / vectors), size = log2(vectors);
    terms[0] = 1;
    terms[1] = intensity;
    terms[2] = size;
    terms[3] = log2(n);
    terms[4] = intensity * size;
    terms[5] = size * size;
}

double tsr_window_probability(const tsr_model *model, tsr_gpu_math math, double nvals, double vectors, double n)
{
    double terms[TSR_WINDOW_TERMS];
    const double *w = model->window[math];
    bool known = false;
    for (int k = 0; k < TSR_WINDOW_TERMS; k++)
        known |= w[k] != 0;
    if (!known || !(nvals > 0) || !(vectors > 0) || !(n > 0))
        return 0;
    tsr_window_terms(terms, nvals, vectors, n);
    return tsr_logistic(w, terms, TSR_WINDOW_TERMS);
}
