/* Random products for the tests of the Tensor-Core kernels: made on the host, run on the device (or the emulator), compared
 * with the reference executor of the format.  A test program describes its format and calls tensor_main.
 *     --seed=N    the one case N     --count=N  cases     --first=N  seed of the first case     --variant=N  only this variant
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_TENSOR_TEST_H
#define TEST_CUDA_TENSOR_TEST_H

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/ref/formats.h"
#include "src/format/blocks/tc_blocks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/cuda/seeds.h"

#define TENSOR_ARRAYS 8

/* An array of a format, to be copied to the device. */
typedef struct tensor_array {
    void **p;
    size_t bytes;
} tensor_array;

/* A format is a struct that begins with its tsr_windows and is at most this large. */
typedef union tensor_any {
    tsr_windows w;
    tsr_me_tcf me_tcf;
    tsr_me_bcrs me_bcrs;
    tsr_bmat bmat;
    tsr_hrpb hrpb;
    tsr_panel panel;
} tensor_any;

typedef struct tensor_format {
    const char *name;
    int nshapes, shapes[8]; /* heights or widths: what `make` is told */
    int nvariants;          /* variants 0 .. nvariants-1; any but 0 may decline */
    unsigned maths;         /* bit per tsr_cuda_math that the kernel has */
    bool any_b;             /* WILD cases may have Inf and NaN in B */
    bool finishes;          /* adds a bias and rectifies, in 32 and 64 bits */
    tsr_status (*make)(tensor_any *out, const tsr_source *in, int shape, double iso);
    void (*free)(tensor_any *a);
    /* The arrays besides those of the windows; returns how many. */
    int (*arrays)(tensor_any *a, tsr_number number, tensor_array out[TENSOR_ARRAYS]);
    const uint64_t *(*mask)(const tensor_any *a); /* for the work; NULL: the format has none */
    tsr_status (*run)(const tensor_any *a, const tsr_work *work, const tsr_cuda_spmm *product);
    tsr_status (*reference)(const tensor_any *a, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                            double *c, int64_t ldc, double alpha, double beta, double *magnitude);
} tensor_format;

/* How values are drawn.  DYADIC: small integers, every arithmetic is exact.  PLAIN: in [-1, 1].  WILD: as PLAIN, some values of
 * A are infinite, NaN or near the largest. */
typedef enum tensor_draw { TENSOR_DYADIC, TENSOR_PLAIN, TENSOR_WILD } tensor_draw;

typedef struct tensor_case {
    uint64_t seed, state;
    tensor_draw draw;
    tsr_cuda_math math;
    int shape, variant;
    int64_t nrows, ncols, n, ldb, ldc, shift, most; /* shift: elements of C before row 0 */
    bool pattern, large; /* large: values near the largest, none infinite */
    double alpha, beta, iso;
    int64_t *p;
    uint32_t *i;
    uint32_t *row;     /* rows of C, shuffled; NULL: as those of A */
    void *x;           /* as number; NULL: pattern */
    void *b, *c;       /* as number; FP32 or FP64 */
    double *b_exact;
    void *bias;        /* as C; NULL: none */
    bool rectified;
    tsr_number number;
    size_t element, sum; /* bytes of an element of B, of C */
} tensor_case;

static inline uint64_t tensor_next(tensor_case *t) { return seeds_next(&t->state); }
static inline int64_t tensor_below(tensor_case *t, int64_t bound) { return (int64_t)(tensor_next(t) % (uint64_t)bound); }
static inline bool tensor_chance(tensor_case *t, int percent) { return tensor_below(t, 100) < percent; }

static inline void *tensor_alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

static inline double tensor_draw_value(tensor_case *t)
{
    if (t->draw == TENSOR_DYADIC)
        return (double)(tensor_below(t, 9) - 4);
    return (double)(int64_t)tensor_next(t) * 0x1p-63;
}

/* Entries of one row: ascending columns to `out`; returns how many. */
static inline int64_t tensor_row(tensor_case *t, int kind, int64_t row, uint32_t *out)
{
    static const int percent[] = { 3, 10, 50, 100 };
    int chance = percent[t->seed / 8 % 4], k = 0;
    if (kind == 0 || (kind == 1 && row / 8 % 2 == 0) || (kind == 2 && row != t->nrows / 2 && tensor_chance(t, 80)))
        return 0; /* no entry, empty windows, nearly all rows empty */
    for (int64_t j = 0; j < t->ncols; j++) {
        bool take = tensor_chance(t, chance);
        if (kind == 2 && row == t->nrows / 2)
            take = true; /* one dense row */
        if (kind == 3)
            take = (row / 8 + j / 8) % 3 == 0; /* dense 8 x 8 blocks */
        if (take)
            out[k++] = (uint32_t)j;
    }
    return k;
}

static inline void tensor_make_matrix(tensor_case *t)
{
    static const int64_t few[] = { 0, 1, 7, 8, 9 };
    int kind = (int)tensor_below(t, 8); /* 4 and above: uniform */
    t->nrows = tensor_chance(t, 20) ? few[tensor_below(t, 5)] : 1 + tensor_below(t, 60);
    t->ncols = tensor_chance(t, 10) ? few[tensor_below(t, 5)] : 1 + tensor_below(t, tensor_chance(t, 20) ? 600 : 90);
    t->p = tensor_alloc(sizeof(int64_t) * (size_t)(t->nrows + 1));
    t->i = tensor_alloc(sizeof(uint32_t) * (size_t)(t->nrows * t->ncols));
    for (int64_t r = 0; r < t->nrows; r++)
        t->p[r + 1] = t->p[r] + tensor_row(t, kind, r, t->i + t->p[r]);
}

/* A shuffled order of the rows. */
static inline void tensor_make_order(tensor_case *t)
{
    t->row = tensor_alloc(sizeof(uint32_t) * (size_t)t->nrows);
    for (int64_t r = 0; r < t->nrows; r++) {
        int64_t other = tensor_below(t, r + 1);
        t->row[r] = t->row[other];
        t->row[other] = (uint32_t)r;
    }
}

static inline void tensor_make_values(tensor_case *t)
{
    /* Not both kinds in one case: some order of adding large values overflows, and infinities of both signs are NaN. */
    static const double odd[] = { INFINITY, -INFINITY, NAN, 1e-42, 0.0, -0.0, 3.4028234e38, -3.40282e38 };
    bool large = t->large = tensor_chance(t, 50);
    int64_t nvals = t->p[t->nrows];
    double *x = tensor_alloc(sizeof(double) * (size_t)nvals);
    for (int64_t k = 0; k < nvals; k++)
        if (t->draw == TENSOR_WILD && tensor_chance(t, 3))
            x[k] = odd[large ? 3 + tensor_below(t, 5) : tensor_below(t, 6)];
        else
            x[k] = tensor_draw_value(t);
    t->x = tensor_alloc(tsr_number_size(t->number) * (size_t)nvals);
    tsr_round_values(t->x, t->number, x, TSR_FP64, nvals, 1);
    free(x);
}

static inline double tensor_get(const void *x, size_t size, int64_t k)
{
    return size == 8 ? ((const double *)x)[k] : (double)((const float *)x)[k];
}
static inline void tensor_put(void *x, size_t size, int64_t k, double value)
{
    if (size == 8)
        ((double *)x)[k] = value;
    else
        ((float *)x)[k] = (float)value;
}

static inline int64_t tensor_c_count(const tensor_case *t) { return t->shift + t->nrows * t->ldc + 8; }

/* Padding of B is NaN; C is NaN where it must not be read, and a sentinel where it must not be written. */
#define TENSOR_SENTINEL 12345.0

static inline void tensor_make_dense(tensor_case *t, bool any_b)
{
    int64_t nb = t->ncols * t->ldb, nc = tensor_c_count(t);
    double *b = tensor_alloc(sizeof(double) * (size_t)nb);
    for (int64_t k = 0; k < nb; k++)
        b[k] = k % t->ldb < t->n ? tensor_draw_value(t) : NAN;
    for (int64_t k = 0; any_b && t->draw == TENSOR_WILD && !t->large && k < nb; k++)
        if (tensor_chance(t, 1))
            b[k] = tensor_chance(t, 50) ? INFINITY : NAN;
    t->b = tensor_alloc(t->element * (size_t)nb);
    tsr_round_values(t->b, t->number, b, TSR_FP64, nb, 1);
    for (int64_t k = 0; k < nb; k++)
        b[k] = tsr_ref_number(t->b, t->number, k);
    t->b_exact = b;
    t->c = tensor_alloc(t->sum * (size_t)nc);
    for (int64_t k = 0; k < nc; k++) {
        int64_t place = k - t->shift;
        bool inside = place >= 0 && place / t->ldc < t->nrows && place % t->ldc < t->n;
        tensor_put(t->c, t->sum, k, !inside ? TENSOR_SENTINEL : t->beta != 0 ? tensor_draw_value(t) : (double)NAN);
    }
}

static inline void tensor_make_epilogue(tensor_case *t)
{
    const bool biased = tensor_chance(t, 70);
    t->rectified = !biased || tensor_chance(t, 60);
    t->bias = biased ? tensor_alloc(t->sum * (size_t)t->n) : NULL;
    for (int64_t k = 0; biased && k < t->n; k++)
        tensor_put(t->bias, t->sum, k, tensor_draw_value(t));
}

/* What the exact result then becomes. */
static inline void tensor_finish_exactly(const tensor_case *t, double *wanted, double *magnitude)
{
    for (int64_t k = 0; k < t->nrows * t->ldc; k++) {
        const double bias = t->bias && k % t->ldc < t->n ? tensor_get(t->bias, t->sum, k % t->ldc) : 0;
        wanted[k] += bias;
        magnitude[k] += fabs(bias);
        wanted[k] = t->rectified && wanted[k] < 0 ? 0 : wanted[k];
    }
}

static inline void tensor_make_case(tensor_case *t, uint64_t seed, const tensor_format *f, int variant)
{
    static const int64_t widths[] = { 1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 100, 128, 130, 256, 300 };
    static const double scales[] = { 1, 0, -2, 0.5 };
    static const int64_t mosts[] = { 1, 2, 3, 7, 64 };
    memset(t, 0, sizeof *t);
    t->seed = t->state = seed;
    do
        t->math = (tsr_cuda_math)tensor_below(t, TSR_CUDA_MATH_COUNT);
    while (!(f->maths >> t->math & 1));
    t->shape = f->shapes[tensor_below(t, f->nshapes)];
    t->variant = variant >= 0 ? variant : tensor_chance(t, 50) ? 0 : (int)tensor_below(t, f->nvariants);
    t->draw = (tensor_draw)tensor_below(t, 3);
    t->number = tsr_cuda_number(t->math);
    t->element = tsr_number_size(t->number);
    t->sum = t->math == TSR_CUDA_FP64 ? 8 : 4;
    t->n = widths[tensor_below(t, 15)];
    int64_t unit = (int64_t)(16 / t->element);
    t->ldb = (t->n + unit - 1) / unit * unit + unit * tensor_below(t, 3);
    t->ldc = t->n + (tensor_chance(t, 50) ? 0 : tensor_below(t, 6));
    t->shift = tensor_chance(t, 50) ? 0 : tensor_below(t, 4);
    t->most = mosts[tensor_below(t, 5)];
    t->pattern = t->draw != TENSOR_WILD && tensor_chance(t, 20);
    t->iso = t->draw == TENSOR_DYADIC ? (double)(1 + tensor_below(t, 4)) : 1 + tensor_draw_value(t);
    t->alpha = scales[tensor_chance(t, 50) ? 0 : tensor_below(t, 4)];
    t->beta = scales[tensor_chance(t, 50) ? 1 : tensor_below(t, 4)];
    if (t->draw == TENSOR_WILD)
        t->alpha = 1; /* 0 times Inf is not the point here */
    tensor_make_matrix(t);
    if (!t->pattern)
        tensor_make_values(t);
    tensor_make_dense(t, f->any_b);
    if (tensor_chance(t, 30))
        tensor_make_order(t);
    if (f->finishes && tsr_number_size(t->number) > 2 && tensor_chance(t, 40))
        tensor_make_epilogue(t);
}

static inline void tensor_free_case(tensor_case *t)
{
    void *all[] = { t->p, t->i, t->row, t->x, t->b, t->c, t->b_exact, t->bias };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

/* ---- Copies on the device ---- */

static inline void tensor_check(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static inline void *tensor_upload(const void *host, size_t bytes, void *stream)
{
    void *p = NULL;
    tensor_check(tsr_cuda_malloc(&p, bytes ? bytes : 1, stream), "tsr_cuda_malloc");
    if (bytes)
        tensor_check(tsr_cuda_to_device(p, host, bytes, stream), "tsr_cuda_to_device");
    return p;
}

static inline int tensor_window_arrays(tsr_windows *w, tensor_array out[4])
{
    size_t offsets = sizeof(int64_t) * (size_t)(w->nwindows + 1);
    tensor_array all[4] = { { (void **)&w->entry, offsets }, { (void **)&w->vector, offsets }, { (void **)&w->block, offsets },
        { (void **)&w->column, sizeof(uint32_t) * (size_t)w->nvectors } };
    memcpy(out, all, sizeof all);
    return 4;
}

static inline int tensor_work_arrays(tsr_work *w, tensor_array out[6])
{
    size_t items = sizeof(int64_t) * (size_t)w->nitems;
    tensor_array all[6] = { { (void **)&w->window, items }, { (void **)&w->block, items + 8 }, { (void **)&w->entry, items },
        { (void **)&w->partial, items }, { (void **)&w->split_window, sizeof(int64_t) * (size_t)w->nsplit },
        { (void **)&w->split_partial, sizeof(int64_t) * (size_t)(w->nsplit + 1) } };
    memcpy(out, all, sizeof all);
    return 6;
}

/* Replaces arrays of the host by copies on the device; NULL stays NULL. */
static inline void tensor_upload_all(tensor_array *arrays, int count, void *stream)
{
    for (int k = 0; k < count; k++)
        if (*arrays[k].p)
            *arrays[k].p = tensor_upload(*arrays[k].p, arrays[k].bytes, stream);
}
static inline void tensor_free_all(tensor_array *arrays, int count, void *stream)
{
    for (int k = 0; k < count; k++)
        tsr_cuda_free(*arrays[k].p, stream);
}

/* ---- One case ---- */

static inline void tensor_print(const tensor_format *f, const tensor_case *t)
{
    static const char *const maths[] = { "exact", "tf32", "fp16", "bf16", "fp64" };
    fprintf(stderr,
            "%s --seed=%llu: %s shape %d variant %d, %lld x %lld, nvals %lld, n %lld, ldb %lld, ldc %lld, shift %lld, most %lld, "
            "alpha %g, beta %g, draw %d%s\n",
            f->name, (unsigned long long)t->seed, maths[t->math], t->shape, t->variant, (long long)t->nrows, (long long)t->ncols,
            (long long)t->p[t->nrows], (long long)t->n, (long long)t->ldb, (long long)t->ldc, (long long)t->shift,
            (long long)t->most, t->alpha, t->beta, (int)t->draw, t->pattern ? ", pattern" : t->row ? ", rows shuffled" : "");
}

/* What an element may differ by, as a multiple of sum |a| |b|. */
static inline double tensor_tolerance(tsr_cuda_math math)
{
    switch (math) {
    case TSR_CUDA_EXACT: return 1e-6;
    case TSR_CUDA_TF32: return 0x1.1p-10;
    case TSR_CUDA_FP64: return 1e-14;
    default: return 4e-6;
    }
}

static inline bool tensor_agrees(const tensor_case *t, double got, double wanted, double magnitude)
{
    if (t->sum == 4 && magnitude >= FLT_MAX && !isinf(magnitude) && !isnan(magnitude))
        return true; /* some order of adding overflows */
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got))
        return wanted == got;
    if (t->draw == TENSOR_DYADIC)
        return wanted == got;
    return fabs(got - wanted) <= tensor_tolerance(t->math) * magnitude + (t->sum == 8 ? 1e-300 : 1e-36);
}

/* 0: all of C is as it should be. */
static inline int tensor_compare(const tensor_format *f, const tensor_case *t, const void *c, const double *wanted,
                                 const double *magnitude)
{
    int64_t nc = tensor_c_count(t);
    for (int64_t k = 0; k < nc; k++) {
        int64_t place = k - t->shift;
        double got = tensor_get(c, t->sum, k);
        bool inside = place >= 0 && place / t->ldc < t->nrows && place % t->ldc < t->n;
        if (inside ? tensor_agrees(t, got, wanted[place], magnitude[place]) : got == TENSOR_SENTINEL)
            continue;
        tensor_print(f, t);
        if (inside)
            fprintf(stderr, "    C(%lld, %lld) is %.9g, not %.9g (magnitude %.3g)\n", (long long)(place / t->ldc),
                    (long long)(place % t->ldc), got, wanted[place], magnitude[place]);
        else
            fprintf(stderr, "    written outside C at element %lld: %g\n", (long long)place, got);
        return 1;
    }
    return 0;
}

/* Runs the kernel on copies; C comes back in `out` (tensor_c_count elements). */
static inline tsr_status tensor_run_device(const tensor_format *f, const tensor_case *t, const tensor_any *host,
                                           const tsr_work *host_work, const tsr_cuda_device *device, void *out)
{
    void *stream = NULL;
    tensor_check(tsr_cuda_stream_new(&stream), "tsr_cuda_stream_new");
    tensor_any a = *host;
    tsr_work work = *host_work;
    tensor_array arrays[4 + 6 + TENSOR_ARRAYS];
    int count = tensor_window_arrays(&a.w, arrays);
    count += tensor_work_arrays(&work, arrays + count);
    count += f->arrays(&a, t->number, arrays + count);
    tensor_upload_all(arrays, count, stream);
    size_t c_bytes = t->sum * (size_t)tensor_c_count(t);
    void *row = t->row ? tensor_upload(t->row, sizeof(uint32_t) * (size_t)t->nrows, stream) : NULL;
    void *b = tensor_upload(t->b, t->element * (size_t)(t->ncols * t->ldb), stream), *c = tensor_upload(t->c, c_bytes, stream);
    tsr_cuda_spmm product = { .math = t->math, .n = t->n, .b = b, .ldb = t->ldb, .ldc = t->ldc, .row = row, .alpha = t->alpha,
        .beta = t->beta, .iso = t->iso, .rectified = t->rectified, .device = device, .stream = stream, .variant = t->variant };
    product.c = (char *)c + (size_t)t->shift * t->sum;
    product.bias = t->bias ? tensor_upload(t->bias, t->sum * (size_t)t->n, stream) : NULL;
    size_t partial = tsr_cuda_partial_bytes(&work, a.w.height, &product);
    if (partial) {
        tensor_check(tsr_cuda_malloc(&product.partial, partial, stream), "tsr_cuda_malloc");
        tensor_check(tsr_cuda_set(product.partial, 0xff, partial, stream), "tsr_cuda_set");
    }
    tsr_status status = f->run(&a, &work, &product);
    if (status == TSR_OK) {
        tensor_check(tsr_cuda_to_host(out, c, c_bytes, stream), "tsr_cuda_to_host");
        tensor_check(tsr_cuda_wait(stream), "tsr_cuda_wait");
    }
    tsr_cuda_free(product.partial, stream);
    tsr_cuda_free((void *)(uintptr_t)product.bias, stream);
    tsr_cuda_free(row, stream);
    tsr_cuda_free(b, stream);
    tsr_cuda_free(c, stream);
    tensor_free_all(arrays, count, stream);
    tsr_cuda_stream_free(stream);
    return status;
}

/* to: rows of t->ldc elements, row r of it = row t->row[r] of `from`. */
static inline void tensor_gather_rows(const tensor_case *t, double *to, const double *from)
{
    for (int64_t r = 0; r < t->nrows; r++)
        memcpy(to + r * t->ldc, from + (t->row ? t->row[r] : r) * t->ldc, sizeof *to * (size_t)t->ldc);
}
static inline void tensor_scatter_rows(const tensor_case *t, double *to, const double *from)
{
    for (int64_t r = 0; r < t->nrows; r++)
        memcpy(to + (t->row ? t->row[r] : r) * t->ldc, from + r * t->ldc, sizeof *to * (size_t)t->ldc);
}

/* The reference result, shaped like C without the shift.  The executor knows the representation's order of rows only. */
static inline void tensor_reference(const tensor_format *f, const tensor_case *t, const tensor_any *a, double *wanted,
                                    double *magnitude)
{
    size_t bytes = sizeof(double) * (size_t)(t->nrows * t->ldc);
    double *ordered = tensor_alloc(bytes), *ordered_magnitude = tensor_alloc(bytes);
    for (int64_t k = 0; k < t->nrows * t->ldc; k++)
        wanted[k] = tensor_get(t->c, t->sum, t->shift + k);
    tensor_gather_rows(t, ordered, wanted);
    tensor_check(f->reference(a, t->number, t->iso, t->n, t->b_exact, t->ldb, ordered, t->ldc, t->alpha, t->beta, ordered_magnitude),
                 "reference");
    tensor_scatter_rows(t, wanted, ordered);
    tensor_scatter_rows(t, magnitude, ordered_magnitude);
    tensor_finish_exactly(t, wanted, magnitude);
    free(ordered);
    free(ordered_magnitude);
}

/* 0: passed (or declined by a variant that may). */
static inline int tensor_run_case(const tensor_format *f, const tsr_cuda_device *device, uint64_t seed, int variant)
{
    tensor_case t;
    tensor_make_case(&t, seed, f, variant);
    tsr_source source = { t.nrows, t.ncols, t.p[t.nrows], t.p, t.i, t.x, t.number };
    tensor_any a;
    tsr_work work;
    tensor_check(f->make(&a, &source, t.shape, t.iso), "make");
    tensor_check(tsr_make_work(&work, &a.w, f->mask ? f->mask(&a) : NULL, t.most), "tsr_make_work");
    size_t places = (size_t)(t.nrows * t.ldc), c_bytes = t.sum * (size_t)tensor_c_count(&t);
    double *wanted = tensor_alloc(sizeof(double) * places), *magnitude = tensor_alloc(sizeof(double) * places);
    void *c = tensor_alloc(c_bytes), *again = tensor_alloc(c_bytes);
    tensor_reference(f, &t, &a, wanted, magnitude);
    tsr_status status = tensor_run_device(f, &t, &a, &work, device, c);
    int failed = 0;
    if (status != TSR_OK && !(status == TSR_DECLINED && t.variant != 0)) {
        tensor_print(f, &t);
        fprintf(stderr, "    status %d\n", (int)status);
        failed = 1;
    } else if (status == TSR_OK) {
        failed = tensor_compare(f, &t, c, wanted, magnitude);
        if (!failed && seed % 8 == 0) {
            tensor_check(tensor_run_device(f, &t, &a, &work, device, again), "second run");
            failed = memcmp(c, again, c_bytes) != 0;
            if (failed) {
                tensor_print(f, &t);
                fprintf(stderr, "    another run gave other bits\n");
            }
        }
    }
    void *all[] = { wanted, magnitude, c, again };
    for (int k = 0; k < 4; k++)
        free(all[k]);
    tsr_free_work(&work);
    f->free(&a);
    tensor_free_case(&t);
    return failed;
}

/* 77 without a device.  `count`: cases to run by default. */
static inline int tensor_main(int argc, char **argv, const tensor_format *f, int count)
{
    tsr_cuda_device device;
    uint64_t first = 1;
    int variant = -1, failed = 0;
    for (int k = 1; k < argc; k++) {
        unsigned long long seed;
        if (sscanf(argv[k], "--seed=%llu", &seed) == 1) {
            first = seed;
            count = 1;
        } else if (sscanf(argv[k], "--first=%llu", &seed) == 1) {
            first = seed;
        } else if (sscanf(argv[k], "--count=%d", &count) != 1 && sscanf(argv[k], "--variant=%d", &variant) != 1) {
            fprintf(stderr, "unknown argument %s\n", argv[k]);
            return 2;
        }
    }
    if (tsr_cuda_count() == 0)
        return 77;
    tensor_check(tsr_cuda_open(0, &device), "tsr_cuda_open");
    for (int k = 0; k < count && failed < 10; k++)
        failed += tensor_run_case(f, &device, first + (uint64_t)k, variant);
    printf("%s: %d cases, %d failed\n", f->name, count, failed);
    return failed != 0;
}

#endif
