/* Fitting models to samples, and judging them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/train/fit/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/train/fit/solve.h"

static const char *const role_names[TSR_SAMPLE_ROLES] = {"window", "real-window", "graph", "real"};

/* ---- text ---- */

int tsr_sample_print(char *text, size_t size, const tsr_sample *s)
{
    const tsr_gpu_product *p = &s->product;
    char spread[16 * TSR_HOT_SIZES + 32];
    size_t length = (size_t)snprintf(spread, sizeof spread, "%.0f\t", p->longest);
    for (int k = 0; k < TSR_HOT_SIZES; k++)
        length += (size_t)snprintf(spread + length, sizeof spread - length, "%.5f\t", p->hot[k]);
    return snprintf(text, size,
                    "%s\t%s\t%d\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s%.6g\t%.4g\n", role_names[s->role],
                    s->matrix, s->height, tsr_gpu_kernel_names[s->kernel], tsr_gpu_math_names[p->math], p->n, p->nrows, p->ncols,
                    p->nvals, p->vectors[0], p->vectors[1], p->vectors[2], p->vectors[3], p->vectors[4], spread, s->ms, s->build_ms);
}

static int find_name(const char *name, const char *const *names, int count)
{
    for (int k = 0; k < count; k++)
        if (strcmp(name, names[k]) == 0)
            return k;
    return -1;
}

static bool is_sane(const tsr_sample *s)
{
    const tsr_gpu_product *p = &s->product;
    double all[] = {p->nrows, p->ncols, p->nvals, p->n, p->longest, s->ms, p->vectors[0], p->vectors[1], p->vectors[2], p->vectors[3], p->vectors[4]};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!(all[k] > 0 && all[k] < 1e18))
            return false;
    for (int k = 0; k < TSR_HOT_SIZES; k++)
        if (!(p->hot[k] >= 0 && p->hot[k] <= 1))
            return false;
    return isfinite(s->build_ms) && (s->height == 0 || (s->height >= 8 && s->height <= 128));
}

bool tsr_sample_parse(tsr_sample *s, const char *line)
{
    char role[16], kernel[16], math[16];
    tsr_sample r = {0};
    tsr_gpu_product *p = &r.product;
    int at = 0, end = 0;
    int found = sscanf(line, "%15s %47s %d %15s %15s %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %n", role, r.matrix, &r.height, kernel, math,
                       &p->n, &p->nrows, &p->ncols, &p->nvals, &p->vectors[0], &p->vectors[1], &p->vectors[2], &p->vectors[3], &p->vectors[4],
                       &p->longest, &at);
    for (int k = 0; k < TSR_HOT_SIZES && found == 15 + k; k++, at += end)
        found += sscanf(line + at, "%lf %n", &p->hot[k], &end) == 1;
    if (found != 15 + TSR_HOT_SIZES || sscanf(line + at, "%lf %lf %n", &r.ms, &r.build_ms, &end) != 2 || line[at + end])
        return false;
    int which[3] = {find_name(role, role_names, TSR_SAMPLE_ROLES), find_name(kernel, tsr_gpu_kernel_names, TSR_GPU_KERNELS),
                    find_name(math, tsr_gpu_math_names, TSR_GPU_MATHS)};
    if (which[0] < 0 || which[1] < 0 || which[2] < 0 || !is_sane(&r))
        return false;
    r.role = (tsr_sample_role)which[0];
    r.kernel = (tsr_gpu_kernel)which[1];
    p->math = (tsr_gpu_math)which[2];
    *s = r;
    return true;
}

/* ---- cases: the samples of one matrix, arithmetic and n ---- */

static bool same_case(const tsr_sample *a, const tsr_sample *b)
{
    return a->role == b->role && a->product.math == b->product.math && a->product.n == b->product.n && strcmp(a->matrix, b->matrix) == 0;
}

static const tsr_sample *find_sample(const tsr_sample *samples, size_t count, const tsr_sample *like, tsr_gpu_kernel kernel)
{
    for (size_t k = 0; k < count; k++)
        if (samples[k].kernel == kernel && same_case(&samples[k], like))
            return &samples[k];
    return NULL;
}

/* A window that was measured both ways. */
typedef struct duel {
    double nvals, vectors, n; /* of one window */
    double csr_ms, tensor_ms; /* of all of them */
} duel;

static double vectors_at(const tsr_gpu_product *p, int height)
{
    int at = 0;
    while (8 << at < height)
        at++;
    return p->vectors[at];
}

/* False: this is not the Tensor-Core half of one. */
static bool find_duel(duel *d, const tsr_sample *samples, size_t count, const tsr_sample *tensor)
{
    const tsr_gpu_product *p = &tensor->product;
    if (!tensor->height || tensor->kernel != tsr_window_kernel(p->math) || tensor->height != tsr_gpu_kernel_height(tensor->kernel))
        return false;
    const tsr_sample *csr = find_sample(samples, count, tensor, TSR_GPU_CSR);
    if (!csr)
        return false;
    double windows = p->nrows / tensor->height;
    *d = (duel){.nvals = p->nvals / windows, .vectors = vectors_at(p, tensor->height) / windows, .n = p->n, .csr_ms = csr->ms,
                .tensor_ms = tensor->ms};
    return true;
}

/* ---- fitting ---- */

static const double ridge = 1e-2;
enum { LEAST_SAMPLES = 8 };

static bool is_for(const tsr_sample *s, tsr_sample_role role, tsr_gpu_math math, int width)
{
    return s->role == role && s->product.math == math && s->product.n == tsr_model_widths[width];
}

/* What a wrong choice costs is what a sample is worth. */
static double importance_of(const duel *d)
{
    return fabs(log(d->csr_ms / d->tensor_ms));
}

typedef struct rows {
    double *x, *y; /* y: times, or importance */
    uint8_t *label;
    size_t count;
} rows;

static void free_rows(rows *r)
{
    free(r->x);
    free(r->y);
    free(r->label);
}

static bool new_rows(rows *r, size_t most, int terms)
{
    *r = (rows){.x = calloc(most + 1, (size_t)terms * sizeof(double)), .y = calloc(most + 1, sizeof(double)), .label = calloc(most + 1, 1)};
    if (r->x && r->y && r->label)
        return true;
    free_rows(r);
    return false;
}

static bool fit_window(tsr_model *model, tsr_gpu_math math, int width, const tsr_sample *samples, size_t count)
{
    rows r;
    duel d;
    double w[TSR_WINDOW_TERMS];
    if (!new_rows(&r, count, TSR_WINDOW_TERMS))
        return false;
    for (size_t k = 0; k < count; k++)
        if (is_for(&samples[k], TSR_SAMPLE_WINDOW, math, width) && find_duel(&d, samples, count, &samples[k])) {
            tsr_window_terms(r.x + r.count * TSR_WINDOW_TERMS, d.nvals, d.vectors, tsr_gpu_kernel_height(tsr_window_kernel(math)));
            r.y[r.count] = importance_of(&d);
            r.label[r.count++] = d.tensor_ms < d.csr_ms;
        }
    if (r.count >= LEAST_SAMPLES && tsr_fit_logistic(w, r.x, r.label, r.y, r.count, TSR_WINDOW_TERMS, ridge))
        memcpy(model->window[math][width], w, sizeof w);
    free_rows(&r);
    return true;
}

static bool fit_kernel(tsr_model *model, tsr_gpu_kernel kernel, tsr_gpu_math math, int width, const tsr_sample *samples, size_t count)
{
    rows r;
    if (!new_rows(&r, count, TSR_KERNEL_TERMS))
        return false;
    for (size_t k = 0; k < count; k++)
        if (samples[k].kernel == kernel && is_for(&samples[k], TSR_SAMPLE_GRAPH, math, width)) {
            tsr_kernel_terms(r.x + r.count * TSR_KERNEL_TERMS, kernel, &samples[k].product);
            r.y[r.count++] = samples[k].ms;
        }
    if (r.count >= LEAST_SAMPLES)
        tsr_fit_nonnegative(model->kernel[kernel][math][width], r.x, r.y, r.count, TSR_KERNEL_TERMS);
    free_rows(&r);
    return true;
}

/* Formats that were there already took no time to make. */
static const double least_making_ms = 0.05;

static bool fit_making(tsr_model *model, tsr_gpu_kernel kernel, const tsr_sample *samples, size_t count)
{
    rows r;
    if (!new_rows(&r, count, TSR_MAKING_TERMS))
        return false;
    for (size_t k = 0; k < count; k++)
        if (samples[k].kernel == kernel && samples[k].role == TSR_SAMPLE_GRAPH && samples[k].build_ms > least_making_ms) {
            tsr_making_terms(r.x + r.count * TSR_MAKING_TERMS, kernel, &samples[k].product);
            r.y[r.count++] = samples[k].build_ms;
        }
    if (r.count >= LEAST_SAMPLES)
        tsr_fit_nonnegative(model->making[kernel], r.x, r.y, r.count, TSR_MAKING_TERMS);
    free_rows(&r);
    return true;
}

/* BF16 moves as many bytes as FP16 by the same kernels. */
static void fit_bf16(tsr_model *model)
{
    memcpy(model->window[TSR_GPU_BF16], model->window[TSR_GPU_FP16], sizeof model->window[0]);
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++)
        memcpy(model->kernel[kernel][TSR_GPU_BF16], model->kernel[kernel][TSR_GPU_FP16], sizeof model->kernel[0][0]);
}

bool tsr_model_fit(tsr_model *model, const tsr_sample *samples, size_t count)
{
    bool good = true;
    for (int at = 0; at < TSR_GPU_MATHS * TSR_MODEL_WIDTHS && good; at++) {
        if (at / TSR_MODEL_WIDTHS == TSR_GPU_BF16)
            continue;
        tsr_gpu_math math = (tsr_gpu_math)(at / TSR_MODEL_WIDTHS);
        int width = at % TSR_MODEL_WIDTHS;
        good = fit_window(model, math, width, samples, count);
        for (int kernel = 0; kernel < TSR_GPU_KERNELS && good; kernel++)
            good = fit_kernel(model, (tsr_gpu_kernel)kernel, math, width, samples, count);
    }
    for (int kernel = TSR_GPU_CSR + 1; kernel < TSR_GPU_KERNELS && good; kernel++)
        good = fit_making(model, (tsr_gpu_kernel)kernel, samples, count);
    fit_bf16(model);
    return good;
}

/* ---- judging ---- */

tsr_accuracy tsr_judge_windows(const tsr_model *model, const tsr_sample *samples, size_t count, tsr_sample_role role, int math)
{
    tsr_accuracy a = {.worst = 0};
    double chosen = 0, best = 0;
    duel d;
    for (size_t k = 0; k < count; k++) {
        const tsr_sample *s = &samples[k];
        if (s->role != role || (math >= 0 && s->product.math != (tsr_gpu_math)math) || !find_duel(&d, samples, count, s))
            continue;
        bool tensor = tsr_window_probability(model, s->product.math, d.nvals, d.vectors, d.n) > 0.5;
        double mine = tensor ? d.tensor_ms : d.csr_ms, least = fmin(d.csr_ms, d.tensor_ms);
        a.cases++;
        a.right += tensor == (d.tensor_ms < d.csr_ms);
        a.worst = fmax(a.worst, mine / least - 1);
        /* The same number of entries each, whatever the matrix had. */
        chosen += mine / s->product.nvals;
        best += least / s->product.nvals;
    }
    a.right = a.cases ? a.right / (double)a.cases : 0;
    a.loss = best > 0 ? chosen / best - 1 : 0;
    return a;
}

/* Is this the first sample of its case? */
static bool is_first(const tsr_sample *samples, size_t at)
{
    for (size_t k = 0; k < at; k++)
        if (same_case(&samples[k], &samples[at]))
            return false;
    return true;
}

/* Time of the kernel that is predicted to be the fastest of those measured, and of the fastest. */
static void play(const tsr_model *model, const tsr_sample *samples, size_t count, const tsr_sample *like, double *chosen, double *best)
{
    double least = INFINITY;
    *chosen = *best = INFINITY;
    for (int kernel = 0; kernel < TSR_GPU_KERNELS; kernel++) {
        const tsr_sample *s = find_sample(samples, count, like, (tsr_gpu_kernel)kernel);
        double predicted = s ? tsr_predict_kernel_ms(model, s->kernel, &s->product) : 0;
        if (!(predicted > 0))
            continue;
        *best = fmin(*best, s->ms);
        if (predicted < least && (TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(kernel))) {
            least = predicted;
            *chosen = s->ms;
        }
    }
}

tsr_accuracy tsr_judge_kernels(const tsr_model *model, const tsr_sample *samples, size_t count, tsr_sample_role role, int math)
{
    tsr_accuracy a = {.worst = 0};
    double logs = 0, chosen, best;
    for (size_t k = 0; k < count; k++) {
        if (samples[k].role != role || (math >= 0 && samples[k].product.math != (tsr_gpu_math)math) || !is_first(samples, k))
            continue;
        play(model, samples, count, &samples[k], &chosen, &best);
        if (!isfinite(chosen))
            continue;
        a.cases++;
        a.right += chosen == best;
        a.worst = fmax(a.worst, chosen / best - 1);
        logs += log(chosen / best);
    }
    a.right = a.cases ? a.right / (double)a.cases : 0;
    a.loss = a.cases ? exp(logs / (double)a.cases) - 1 : 0;
    return a;
}
