/* Choosing among representations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/model/forms.h"

#include <math.h>
#include <string.h>

/* A form must be predicted to be so much faster: predictions are wrong by as much. */
static const double margin = 0.97;
/* Looking at A costs at most so small a part of what products with it take. */
static const double inspections = 12;
/* B is read to find its range, read again and written in 16 bits: ms for an element, at the memory's speed, and for the start and the
 * answer before it returns. */
static const double narrow_ms = 10 / 4.0e9, narrow_start_ms = 0.02;
/* Bytes of C in a ms, read and written back, and the start of a pass (an H200: layers of bench/results/h200/device, passes of 1 to 3 GB). */
static const double finish_bytes_ms = 1.4e9, finish_start_ms = 0.004;
/* Panels of a product that crosses the bus: the kernels of all but one run while others cross. */
static const double panels = 8;

/* ---- times ---- */

static tsr_gpu_product product_of(const tsr_gpu_matrix *a, tsr_gpu_kernel kernel, tsr_gpu_math math, double n)
{
    tsr_gpu_product p = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals, .n = n, .longest = a->longest, .math = math};
    for (int h = 0; h < 5; h++)
        p.vectors[h] = kernel == TSR_GPU_CSR ? a->own[h] : a->vectors[h];
    memcpy(p.hot, a->hot, sizeof p.hot);
    return p;
}

static int height_index(tsr_gpu_math math)
{
    return tsr_gpu_kernel_height(tsr_window_kernel(math)) == 16;
}

tsr_gpu_split tsr_split_windows(const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n)
{
    int at = height_index(math);
    double windows = 0, nvals = 0, vectors = 0, all = 0;
    for (int64_t v = 0; a->windows[at] && v < a->nwindows[at]; v++) {
        const tsr_window_count *w = &a->windows[at][v];
        all += w->nvals;
        if (tsr_window_probability(model, math, w->nvals, w->vectors, n) <= 0.5)
            continue;
        windows++;
        nvals += w->nvals;
        vectors += w->vectors;
    }
    if (all <= 0)
        return (tsr_gpu_split){0};
    double scale = a->nvals / all;
    return (tsr_gpu_split){.nrows = a->nrows * windows / (double)a->nwindows[at], .nvals = nvals * scale, .vectors = vectors * scale};
}

/* Both halves fetch through the same cache: one after the other, but for the start of one. */
static double predict_hybrid(const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n)
{
    tsr_gpu_split split = tsr_split_windows(model, a, math, n);
    if (!(split.nvals > 0) || split.nvals >= a->nvals)
        return -1;
    tsr_gpu_kernel kernel = tsr_window_kernel(math);
    tsr_gpu_product dense = product_of(a, TSR_GPU_CSR, math, n), sparse = dense;
    int at = height_index(math);
    double share = a->own[at] > 0 ? split.vectors / a->own[at] : 0;
    for (int h = 0; h < 5; h++) {
        dense.vectors[h] *= share;
        sparse.vectors[h] -= dense.vectors[h];
    }
    dense.nrows = split.nrows;
    dense.nvals = split.nvals;
    dense.longest = split.nvals / split.nrows; /* hubs share few columns with their neighbours */
    sparse.nrows -= split.nrows;
    sparse.nvals -= split.nvals;
    double by_tensor = tsr_predict_kernel_ms(model, kernel, &dense), by_csr = tsr_predict_kernel_ms(model, TSR_GPU_CSR, &sparse);
    return by_tensor > 0 && by_csr > 0 ? by_tensor + by_csr : -1;
}

static double predict_kernel(const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_kernel kernel, tsr_gpu_math math, double n)
{
    tsr_gpu_product product = product_of(a, kernel, math, n);
    return kernel < TSR_GPU_KERNELS ? tsr_predict_kernel_ms(model, kernel, &product) : -1;
}

void tsr_predict_forms(double ms[TSR_FORMS], const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n,
                       unsigned allowed)
{
    for (int form = 0; form < TSR_FORMS; form++) {
        tsr_gpu_kernel kernel = (tsr_gpu_kernel)form;
        ms[form] = -1;
        if (!(allowed & TSR_FORM_BIT(form)))
            continue;
        double predicted = form == TSR_GPU_HYBRID ? predict_hybrid(model, a, math, n) : predict_kernel(model, a, kernel, math, n);
        ms[form] = predicted > 0 ? predicted : -1;
    }
}

void tsr_predict_making(double ms[TSR_FORMS], const tsr_model *model, const tsr_gpu_matrix *a, tsr_gpu_math math, double n)
{
    for (int form = 0; form < TSR_FORMS; form++) {
        tsr_gpu_product product = product_of(a, (tsr_gpu_kernel)form, math, n);
        ms[form] = form < TSR_GPU_KERNELS ? tsr_predict_making_ms(model, (tsr_gpu_kernel)form, &product) : -1;
    }
    /* The Tensor-Core half is made of a part of A, after the windows of the whole are counted and the part is copied. */
    double whole = ms[tsr_window_kernel(math)];
    ms[TSR_GPU_CSR] = 0;
    ms[TSR_GPU_HYBRID] = whole < 0 ? -1 : 1.4 * whole;
}

static double fastest(const double ms[TSR_FORMS])
{
    double least = -1;
    for (int form = 0; form < TSR_FORMS; form++)
        least = ms[form] >= 0 && (least < 0 || ms[form] < least) ? ms[form] : least;
    return least;
}

bool tsr_prefers_narrow(const tsr_model *model, const tsr_gpu_matrix *a, double n, unsigned allowed)
{
    double wide[TSR_FORMS], half[TSR_FORMS];
    tsr_predict_forms(wide, model, a, TSR_GPU_TF32, n, allowed);
    tsr_predict_forms(half, model, a, TSR_GPU_FP16, n, allowed);
    double more = a->ncols * n * narrow_ms + narrow_start_ms;
    return fastest(half) >= 0 && fastest(half) + more < margin * fastest(wide);
}

double tsr_exposed_ms(double kernel_ms, double transfer_ms)
{
    double more = kernel_ms > transfer_ms ? kernel_ms : transfer_ms, less = kernel_ms > transfer_ms ? transfer_ms : kernel_ms;
    return more + less / panels;
}

/* ---- layers ---- */

double tsr_finish_ms(double c_bytes)
{
    return c_bytes / finish_bytes_ms + finish_start_ms;
}

/* csr takes no longer with bias and activation than without them. */
tsr_finish_way tsr_choose_finish(bool can, double kernel_ms, double csr_ms, double c_bytes)
{
    const bool known = kernel_ms >= 0 && csr_ms >= 0;
    const double own_ms = can ? kernel_ms : (kernel_ms + tsr_finish_ms(c_bytes)) / margin;
    if (known && csr_ms < own_ms)
        return TSR_FINISH_BY_CSR;
    return can ? TSR_FINISH_IN_KERNEL : TSR_FINISH_IN_PASS;
}

/* ---- when ---- */

bool tsr_may_inspect(tsr_ski_rental *rental, double csr_ms, double expected)
{
    double before = rental->spent_ms;
    rental->spent_ms += csr_ms > 0 ? csr_ms : 0;
    return (expected > 0 ? expected * csr_ms : before) >= inspections * TSR_INSPECT_MS;
}

static int fastest_built(const double ms[TSR_FORMS], unsigned built)
{
    int best = TSR_GPU_CSR;
    for (int form = 0; form < TSR_FORMS; form++)
        if ((built & TSR_FORM_BIT(form)) && ms[form] >= 0 && (ms[best] < 0 || ms[form] < ms[best]))
            best = form;
    return best;
}

int tsr_choose_form(tsr_ski_rental *rental, const double ms[TSR_FORMS], const double price[TSR_FORMS], unsigned built, tsr_gpu_math math,
                    double expected)
{
    int current = fastest_built(ms, built | TSR_FORM_BIT(TSR_GPU_CSR)), chosen = current;
    double most = 0;
    for (int form = 0; form < TSR_FORMS; form++) {
        if ((built & TSR_FORM_BIT(form)) || ms[form] < 0 || price[form] < 0 || ms[form] >= margin * ms[current])
            continue;
        double gain = ms[current] - ms[form], *regret = &rental->regret[form][math];
        *regret += gain;
        double surplus = (expected > 0 ? gain * expected : *regret) - price[form];
        if (surplus >= 0 && (chosen == current || surplus > most)) {
            chosen = form;
            most = surplus;
        }
    }
    return chosen;
}
