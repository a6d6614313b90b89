/* Predictions of a model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/model/model.h"

#include <math.h>

const char *const tsr_gpu_math_names[TSR_GPU_MATHS] = {"exact", "tf32", "fp16", "bf16", "fp64"};

const int tsr_model_widths[TSR_MODEL_WIDTHS] = {8, 32, 128, 512};

double tsr_gpu_rows_fetched(tsr_gpu_kernel kernel, const tsr_gpu_product *p)
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

/* ---- the cache ---- */

void tsr_hot_shares(double hot[TSR_HOT_SIZES], const tsr_degrees *counts)
{
    double all = 0;
    for (int class = 0; class < TSR_COLUMN_CLASSES; class++)
        all += (double)counts->entries[class];
    for (int k = 0; k < TSR_HOT_SIZES; k++) {
        double left = ldexp(TSR_HOT_LEAST, k), found = 0;
        for (int class = TSR_COLUMN_CLASSES - 1; class >= 0 && left > 0; class--) {
            double columns = (double)counts->columns[class];
            found += (double)counts->entries[class] * (columns > left ? left / columns : 1);
            left -= columns;
        }
        hot[k] = all > 0 ? found / all : 1;
    }
}

/* Share of the entries in the `columns` hottest ones. */
static double hot_share(const tsr_gpu_product *p, double columns)
{
    double size = TSR_HOT_LEAST, even = columns / p->ncols;
    int k = 0;
    while (k < TSR_HOT_SIZES - 1 && columns > size) {
        size *= 2;
        k++;
    }
    double below = k ? p->hot[k - 1] : 0, from = k ? size / 2 : 0, at = columns < size ? columns : size;
    return fmin(1, fmax(even, below + (p->hot[k] - below) * (at - from) / (size - from)));
}

/* Share of the rows of B fetched that the cache, which holds those of the hottest columns, does not have. */
static double missing(const tsr_gpu_product *p)
{
    static const double cache = 50e6;
    return 1 - hot_share(p, cache / (p->n * b_bytes(p)));
}

void tsr_kernel_terms(double terms[TSR_KERNEL_TERMS], tsr_gpu_kernel kernel, const tsr_gpu_product *p)
{
    terms[0] = 1;
    terms[1] = p->nvals;
    terms[2] = p->nrows;
    terms[3] = p->ncols;
    terms[4] = tsr_gpu_rows_fetched(kernel, p);
    terms[5] = p->vectors[4] * missing(p);
    terms[6] = p->longest;
}

/* For one of the widths; 0: not known. */
static double predict_width(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product, int width)
{
    tsr_gpu_product wide = *product;
    double terms[TSR_KERNEL_TERMS], ms = 0;
    wide.n = tsr_model_widths[width];
    tsr_kernel_terms(terms, kernel, &wide);
    for (int k = 0; k < TSR_KERNEL_TERMS; k++)
        ms += model->kernel[kernel][product->math][width][k] * terms[k];
    return ms;
}

double tsr_predict_kernel_ms(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product)
{
    int above = 0, last = TSR_MODEL_WIDTHS - 1;
    while (above < last && tsr_model_widths[above] < product->n)
        above++;
    double at = tsr_model_widths[above], ms = predict_width(model, kernel, product, above);
    if (above == 0)
        return ms; /* hardly less than the least */
    if (product->n >= at)
        return ms * product->n / at; /* beyond the last: column tiles, one after the other */
    double below = predict_width(model, kernel, product, above - 1), from = tsr_model_widths[above - 1];
    return ms > 0 && below > 0 ? below + (ms - below) * (product->n - from) / (at - from) : 0;
}

void tsr_making_terms(double terms[TSR_MAKING_TERMS], tsr_gpu_kernel kernel, const tsr_gpu_product *p)
{
    terms[0] = 1;
    terms[1] = p->nvals;
    terms[2] = tsr_gpu_rows_fetched(kernel, p);
    terms[3] = p->nrows;
}

double tsr_predict_making_ms(const tsr_model *model, tsr_gpu_kernel kernel, const tsr_gpu_product *product)
{
    double terms[TSR_MAKING_TERMS], ms = 0;
    tsr_making_terms(terms, kernel, product);
    for (int k = 0; k < TSR_MAKING_TERMS; k++)
        ms += model->making[kernel][k] * terms[k];
    return ms > 0 ? ms : -1;
}

tsr_gpu_kernel tsr_window_kernel(tsr_gpu_math math)
{
    static const tsr_gpu_kernel kernels[TSR_GPU_MATHS] = {TSR_GPU_ME_BCRS, TSR_GPU_HRPB_16, TSR_GPU_HRPB_16, TSR_GPU_HRPB_16,
                                                          TSR_GPU_BMAT_16};
    return kernels[math];
}

int tsr_nearest_width(double n)
{
    int nearest = 0;
    for (int k = 1; k < TSR_MODEL_WIDTHS; k++)
        if (n * n > (double)tsr_model_widths[k - 1] * tsr_model_widths[k])
            nearest = k;
    return nearest;
}

void tsr_window_terms(double terms[TSR_WINDOW_TERMS], double nvals, double vectors, int height)
{
    double intensity = log2(nvals / vectors), size = log2(vectors), row = log2(nvals / height);
    terms[0] = 1;
    terms[1] = intensity;
    terms[2] = size;
    terms[3] = intensity * size;
    terms[4] = size * size;
    terms[5] = intensity * intensity;
    terms[6] = fmax(0, 2 - row);
    terms[7] = fmax(0, row - 2);
    terms[8] = fmax(0, row - 5);
}

double tsr_logistic(const double *w, const double *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += w[k] * x[k];
    return 1 / (1 + exp(-sum));
}

double tsr_window_probability(const tsr_model *model, tsr_gpu_math math, double nvals, double vectors, double n)
{
    double terms[TSR_WINDOW_TERMS];
    const double *w = model->window[math][tsr_nearest_width(n)];
    bool known = false;
    for (int k = 0; k < TSR_WINDOW_TERMS; k++)
        known |= w[k] != 0;
    if (!known || !(nvals > 0) || !(vectors > 0))
        return 0;
    tsr_window_terms(terms, nvals, vectors, tsr_gpu_kernel_height(tsr_window_kernel(math)));
    return tsr_logistic(w, terms, TSR_WINDOW_TERMS);
}
