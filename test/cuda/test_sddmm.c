/* SDDMM against the oracle: every semiring of every type on the random products of test/kernels (dense operands in any
 * orientation, masks of any format, turned into row-major arrays and CSR here), then plus_times of FP32 and FP64 for every length
 * of rows, leading dimension and alignment against sums in long double, two runs of the same bits.  Softmax of rows likewise;
 * SDDMM over stencils in every arithmetic, with mask values, in portions, and with elements that are not finite; and with rows of
 * B' rounded to FP16, of any magnitude and spread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/common/fp16_scaling.h"
#include "kernels/cuda/sddmm/scale.h"
#include "kernels/kernels.h"
#include "kernels/ref/formats.h"
#include "src/format/blocks/tc_blocks.h"
#include "test/cuda/semirings.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Products of test/kernels ---- */

/* All entries at once, or in two portions. */
static tsr_status run(tsr_cuda_sddmm *q, rng *r)
{
    int64_t end = q->end, middle = rng_chance(r, 20) ? rng_below(r, end + 1) : end;
    char *x = q->x;
    int8_t *present = q->present;
    q->end = middle;
    tsr_status status = tsr_cuda_sddmm_csr(q);
    q->begin = middle;
    q->end = end;
    q->x = x + (size_t)middle * type_size(q->semiring.type);
    q->present = present != NULL ? present + middle : NULL;
    if (status == TSR_OK)
        status = tsr_cuda_sddmm_csr(q);
    return status == TSR_OK ? tsr_cuda_wait(NULL) : status;
}

static tsr_status run_product(const tsr_product *p, tsr_result *result)
{
    size_t size = type_size(p->semiring.type), mask_size = type_size(p->mask.type);
    int64_t lda = p->k + rng_below(&layout, 4), ldb = p->k + rng_below(&layout, 4);
    int64_t a_shift = rng_below(&layout, 3), b_shift = rng_below(&layout, 3), n = p->mask.nvals;
    char *a = p->a.x != NULL && !p->a.iso ? upload_dense(&p->a, p->a.x, false, false, size, lda, a_shift) : NULL;
    char *b = p->b.x != NULL && !p->b.iso ? upload_dense(&p->b, p->b.x, false, true, size, ldb, b_shift) : NULL;
    tsr_cuda_csr mask = upload_view(&p->mask, false, mask_size, !p->mask_structural);
    char *x = device_new((size_t)n * size);
    int8_t *present = device_new((size_t)n);
    tsr_cuda_sddmm q = { .semiring = p->semiring, .mask = &mask, .mask_size = (int)mask_size, .end = n, .k = p->k,
        .a = a != NULL ? a + (size_t)a_shift * size : NULL, .lda = lda, .b = b != NULL ? b + (size_t)b_shift * size : NULL,
        .ldb = ldb,
        .a_iso = first_value(&p->a, size), .b_iso = first_value(&p->b, size), .x = x, .present = present, .device = &device };
    tsr_status status = run(&q, &layout);
    if (status == TSR_OK)
        download_entries(result, &p->mask, x, present, size);
    tsr_cuda_free(a, NULL);
    tsr_cuda_free(b, NULL);
    tsr_cuda_free(x, NULL);
    tsr_cuda_free(present, NULL);
    free_csr(&mask);
    return status;
}

/* ---- plus_times of every shape ---- */

typedef struct sums_case {
    uint64_t seed;
    tsr_type type;
    int64_t m, n, k, lda, ldb, a_shift, b_shift;
    tsr_cuda_csr mask;
    entry *entries;
    double *a, *b; /* exactly what is stored */
} sums_case;

static double draw_number(rng *r, tsr_type type)
{
    double value = (double)(rng_below(r, 1 << 24) - (1 << 23)) / (double)(1 << 22);
    return type == TSR_FP32 ? (double)(float)value : value;
}

/* Rows far apart, empty ones, one with everything. */
static void draw_mask(sums_case *t, rng *r)
{
    int64_t full = rng_chance(r, 40) ? rng_below(r, t->m) : -1, count = 0, percent = rng_below(r, 40);
    t->entries = checked(malloc((size_t)(t->m * t->n + 1) * sizeof *t->entries));
    for (int64_t i = 0; i < t->m; i++) {
        bool empty = rng_chance(r, 40);
        for (int64_t j = 0; j < t->n; j++)
            if (i == full || (!empty && rng_chance(r, (int)percent))) {
                t->entries[count] = (entry){ i, j, count };
                count++;
            }
    }
    t->mask = upload_rows(t->entries, count, t->m, t->n, NULL, false, 8);
}

static double *draw_operand(rng *r, tsr_type type, int64_t count)
{
    double *x = checked(malloc((size_t)(count + 1) * sizeof *x));
    for (int64_t at = 0; at < count; at++)
        x[at] = draw_number(r, type);
    return x;
}

static void draw_case(sums_case *t, uint64_t seed, rng *r)
{
    static const int64_t lengths[] = { 1, 2, 3, 4, 5, 8, 12, 16, 20, 31, 32, 33, 48, 64, 64, 100, 128, 128, 130, 256, 300 };
    memset(t, 0, sizeof *t);
    t->seed = seed;
    t->type = rng_chance(r, 60) ? TSR_FP32 : TSR_FP64;
    t->m = 1 + rng_below(r, rng_chance(r, 15) ? 2000 : 60);
    t->n = 1 + rng_below(r, t->m > 200 ? 8 : 200);
    t->k = lengths[rng_below(r, 21)];
    int64_t multiple = rng_chance(r, 70) ? 4 : 1;
    t->lda = (t->k + rng_below(r, 5) + multiple - 1) / multiple * multiple;
    t->ldb = (t->k + rng_below(r, 5) + multiple - 1) / multiple * multiple;
    t->a_shift = rng_chance(r, 70) ? 0 : rng_below(r, 9);
    t->b_shift = rng_chance(r, 70) ? 0 : rng_below(r, 9);
    draw_mask(t, r);
    t->a = draw_operand(r, t->type, t->m * t->lda + t->a_shift);
    t->b = draw_operand(r, t->type, t->n * t->ldb + t->b_shift);
}

static double number_at(const void *x, tsr_type type, int64_t at)
{
    return type == TSR_FP32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
}

static void *upload_numbers(tsr_type type, const double *from, int64_t count)
{
    size_t bytes = (size_t)count * type_size(type);
    char *host = checked(malloc(bytes + 1));
    for (int64_t at = 0; at < count; at++)
        if (type == TSR_FP32)
            ((float *)host)[at] = (float)from[at];
        else
            ((double *)host)[at] = from[at];
    void *p = upload(host, bytes);
    free(host);
    return p;
}

/* At most the error of adding one by one. */
static bool right(const sums_case *t, const entry *e, double out)
{
    const double *a = t->a + t->a_shift + e->row * t->lda, *b = t->b + t->b_shift + e->col * t->ldb;
    long double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < t->k; k++) {
        sum += (long double)a[k] * b[k];
        magnitude += fabsl((long double)a[k] * b[k]);
    }
    long double unit = t->type == TSR_FP64 ? DBL_EPSILON : FLT_EPSILON;
    return fabsl(out - sum) <= unit * (magnitude * (1 + sqrtl((long double)t->k)) / 2 + fabsl(sum));
}

static bool compare(const sums_case *t, const char *x, const char *again)
{
    for (int64_t at = 0; at < t->mask.nvals; at++) {
        double out = number_at(x, t->type, at);
        if (right(t, &t->entries[at], out))
            continue;
        printf("FAIL case %llu: entry %lld of %lld (%lld, %lld) is %.17g\n", (unsigned long long)t->seed, (long long)at,
            (long long)t->mask.nvals, (long long)t->entries[at].row, (long long)t->entries[at].col, out);
        return false;
    }
    if (memcmp(x, again, (size_t)t->mask.nvals * type_size(t->type)) != 0) {
        printf("FAIL case %llu: two runs differ\n", (unsigned long long)t->seed);
        return false;
    }
    return true;
}

static bool test_sums(uint64_t seed)
{
    rng r = { seed };
    sums_case t;
    draw_case(&t, seed, &r);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    size_t size = type_size(t.type), bytes = (size_t)t.mask.nvals * size;
    char *a = upload_numbers(t.type, t.a, t.m * t.lda + t.a_shift), *b = upload_numbers(t.type, t.b, t.n * t.ldb + t.b_shift);
    char *out[2];
    for (int k = 0; k < 2; k++) {
        char *x = device_new(bytes);
        rng same = { seed };
        tsr_cuda_sddmm q = { .semiring = { t.type, TSR_ADD_PLUS, TSR_MUL_TIMES }, .mask = &t.mask, .end = t.mask.nvals, .k = t.k,
            .a = a + (size_t)t.a_shift * size, .lda = t.lda, .b = b + (size_t)t.b_shift * size, .ldb = t.ldb, .x = x,
            .device = &device };
        must(run(&q, &same), "product");
        out[k] = checked(malloc(bytes + 1));
        download(out[k], x, bytes);
        tsr_cuda_free(x, NULL);
    }
    bool ok = compare(&t, out[0], out[1]);
    if (!ok)
        printf("  type %s, %lld x %lld, k %lld, lda %lld+%lld ldb %lld+%lld\n", type_name(t.type), (long long)t.m, (long long)t.n,
            (long long)t.k, (long long)t.lda, (long long)t.a_shift, (long long)t.ldb, (long long)t.b_shift);
    free(out[0]);
    free(out[1]);
    tsr_cuda_free(a, NULL);
    tsr_cuda_free(b, NULL);
    free_csr(&t.mask);
    free(t.entries);
    free(t.a);
    free(t.b);
    return ok;
}

/* ---- The same over a stencil, in every arithmetic ---- */

typedef struct stencil_case {
    sums_case t; /* a and b: what is stored */
    tsr_cuda_math math;
    tsr_stencil stencil;
    tsr_work work;
    void *host_mask, *x_host; /* mask values: NULL: structural */
    int8_t *present_host;
    int mask_size;
    bool wild;                /* some elements are not finite, or large */
} stencil_case;

static double draw_element(rng *r, bool wild)
{
    static const double strange[] = { INFINITY, -INFINITY, NAN, 3e38, -3.4e38, 1e-40, 0, -0.0 };
    return wild && rng_chance(r, 3) ? strange[rng_below(r, 8)] : draw_number(r, TSR_FP32);
}

/* As many numbers as there are, rounded to what is stored; returned on the device. */
static void *store_operand(double *x, int64_t count, tsr_cuda_math math)
{
    tsr_number number = tsr_cuda_number(math);
    void *stored = checked(malloc((size_t)(count + 1) * 8));
    tsr_round_values(stored, number, x, TSR_FP64, count, 1);
    for (int64_t at = 0; at < count; at++)
        x[at] = tsr_ref_number(stored, number, at);
    void *p = upload(stored, (size_t)count * tsr_number_size(number));
    free(stored);
    return p;
}

static void draw_stencil_case(stencil_case *s, uint64_t seed, rng *r)
{
    static const int64_t lengths[] = { 4, 8, 12, 16, 24, 32, 40, 64, 72, 100, 128, 136, 200, 256, 300 };
    memset(s, 0, sizeof *s);
    s->math = (tsr_cuda_math)rng_below(r, TSR_CUDA_MATH_COUNT);
    s->wild = s->math != TSR_CUDA_TF32 && rng_chance(r, 20);
    sums_case *t = &s->t;
    *t = (sums_case){ .seed = seed, .type = s->math == TSR_CUDA_FP64 ? TSR_FP64 : TSR_FP32, .m = 1 + rng_below(r, 100),
        .n = 1 + rng_below(r, 300) };
    int64_t pieces = (int64_t)(16 / tsr_number_size(tsr_cuda_number(s->math)));
    t->k = (lengths[rng_below(r, 15)] + pieces - 1) / pieces * pieces;
    t->lda = t->k + pieces * rng_below(r, 3);
    t->ldb = t->k + pieces * rng_below(r, 3);
    draw_mask(t, r);
    t->a = checked(malloc((size_t)(t->m * t->lda + 1) * sizeof *t->a));
    t->b = checked(malloc((size_t)(t->n * t->ldb + 1) * sizeof *t->b));
    for (int64_t at = 0; at < t->m * t->lda; at++)
        t->a[at] = draw_element(r, s->wild);
    for (int64_t at = 0; at < t->n * t->ldb; at++)
        t->b[at] = draw_element(r, s->wild);
    if (rng_chance(r, 30)) {
        s->mask_size = 1 << rng_below(r, 4);
        s->host_mask = checked(calloc((size_t)t->mask.nvals + 1, (size_t)s->mask_size));
        for (int64_t e = 0; e < t->mask.nvals; e++)
            ((char *)s->host_mask)[e * s->mask_size + rng_below(r, s->mask_size)] = (char)rng_below(r, 2);
        t->mask.x = upload(s->host_mask, (size_t)(t->mask.nvals * s->mask_size));
    }
    tsr_source source = { .nrows = t->m, .ncols = t->n, .nvals = t->mask.nvals, .p = t->mask.p, .i = t->mask.i };
    must(tsr_cuda_make_stencil(&s->stencil, &source, NULL), "stencil");
    must(tsr_cuda_make_work(&s->work, &s->stencil.w, NULL, 1 + rng_below(r, 5), NULL), "work");
}

static bool passes(const stencil_case *s, int64_t e)
{
    static const char zero[8];
    return s->host_mask == NULL || memcmp((const char *)s->host_mask + e * s->mask_size, zero, (size_t)s->mask_size) != 0;
}

/* Entry e: what is not finite must be just that; else the error that the arithmetic allows. */
static bool right_dot(const stencil_case *s, int64_t e)
{
    const sums_case *t = &s->t;
    const double *a = t->a + t->entries[e].row * t->lda, *b = t->b + t->entries[e].col * t->ldb;
    double out = number_at(s->x_host, t->type, e);
    if (s->present_host != NULL && s->present_host[e] != passes(s, e))
        return false;
    if (!passes(s, e))
        return out == 0;
    long double sum = 0, magnitude = 0, unit = t->type == TSR_FP64 ? DBL_EPSILON : FLT_EPSILON;
    for (int64_t k = 0; k < t->k; k++) {
        long double term = (long double)a[k] * b[k];
        sum += term;
        magnitude += isinf(term) || isnan(term) ? 0 : fabsl(term);
    }
    if (t->type == TSR_FP32 && magnitude > 1e37L) /* sums on the way may overflow */
        return true;
    if (isnan(sum) || isinf(sum))
        return isnan(sum) ? isnan(out) : (double)sum == out;
    long double one_by_one = unit * (magnitude * (1 + sqrtl((long double)t->k)) / 2 + fabsl(sum)) + 1e-37L;
    return fabsl(out - sum) <= (s->math == TSR_CUDA_TF32 ? magnitude / 1024 : 2 * one_by_one);
}

static bool compare_dots(stencil_case *s)
{
    for (int64_t e = 0; e < s->t.mask.nvals; e++)
        if (!right_dot(s, e)) {
            printf("FAIL stencil %llu: math %d, %lld x %lld, k %lld, lda %lld ldb %lld: entry %lld (%lld, %lld) is %.17g\n",
                (unsigned long long)s->t.seed, (int)s->math, (long long)s->t.m, (long long)s->t.n, (long long)s->t.k,
                (long long)s->t.lda, (long long)s->t.ldb, (long long)e, (long long)s->t.entries[e].row,
                (long long)s->t.entries[e].col, number_at(s->x_host, s->t.type, e));
            return false;
        }
    return true;
}

/* All entries at once, or in two portions. */
static void run_stencil(const stencil_case *s, tsr_cuda_sddmm *q, int64_t middle)
{
    char *x = q->x;
    int8_t *present = q->present;
    size_t size = type_size(q->semiring.type);
    for (int part = 0; part < 2; part++) {
        q->begin = part ? middle : 0;
        q->end = part ? s->t.mask.nvals : middle;
        q->x = x + (size_t)q->begin * size;
        q->present = present != NULL ? present + q->begin : NULL;
        must(tsr_cuda_sddmm_stencil(&s->stencil, &s->work, s->math, q), "product over a stencil");
    }
    q->x = x;
    q->present = present;
}

static bool test_stencil(uint64_t seed)
{
    rng r = { seed };
    stencil_case s;
    draw_stencil_case(&s, seed, &r);
    sums_case *t = &s.t;
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    size_t n = (size_t)t->mask.nvals, bytes = n * type_size(t->type);
    void *a = store_operand(t->a, t->m * t->lda, s.math), *b = store_operand(t->b, t->n * t->ldb, s.math);
    int8_t *present = rng_chance(&r, 30) ? device_new(n) : NULL;
    tsr_cuda_sddmm q = { .semiring = { t->type, TSR_ADD_PLUS, TSR_MUL_TIMES }, .mask = &t->mask, .mask_size = s.mask_size,
        .k = t->k, .a = a, .lda = t->lda, .b = b, .ldb = t->ldb, .x = device_new(bytes), .present = present, .device = &device };
    run_stencil(&s, &q, rng_chance(&r, 30) ? rng_below(&r, t->mask.nvals + 1) : t->mask.nvals);
    s.x_host = checked(malloc(bytes + 1));
    download(s.x_host, q.x, bytes);
    if (present != NULL) {
        s.present_host = checked(malloc(n + 1));
        download(s.present_host, present, n);
    }
    bool ok = compare_dots(&s);
    tsr_cuda_free(a, NULL);
    tsr_cuda_free(b, NULL);
    tsr_cuda_free(q.x, NULL);
    tsr_cuda_free(present, NULL);
    tsr_cuda_free_stencil(&s.stencil, NULL);
    tsr_cuda_free_work(&s.work, NULL);
    free_csr(&t->mask);
    free(t->entries);
    free(t->a);
    free(t->b);
    free(s.host_mask);
    free(s.x_host);
    free(s.present_host);
    return ok;
}

/* ---- Rows of B' as FP16 ---- */

/* Magnitudes of a row differ little, by more than 11 bits can tell, or by more than FP16 can hold; a few elements are not finite. */
static void draw_row(double *x, int64_t k, rng *r, bool wild)
{
    static const int spreads[] = { 0, 20, 36, 45 };
    int middle = rng_chance(r, 70) ? 0 : (int)rng_below(r, 201) - 100, spread = spreads[rng_below(r, 4)];
    for (int64_t at = 0; at < k; at++)
        x[at] = (double)(float)ldexp(draw_element(r, wild), middle - (int)rng_below(r, spread + 1));
}

static void draw_narrow_case(sums_case *t, uint64_t seed, rng *r)
{
    static const int64_t lengths[] = { 8, 16, 24, 32, 40, 64, 96, 128, 136, 200, 256, 264, 520 };
    bool wild = rng_chance(r, 30);
    *t = (sums_case){ .seed = seed, .type = TSR_FP32, .m = 1 + rng_below(r, rng_chance(r, 15) ? 1000 : 60) };
    t->n = 1 + rng_below(r, t->m > 200 ? 8 : 200);
    t->k = lengths[rng_below(r, 13)];
    t->lda = t->k + 4 * rng_below(r, 3);
    t->ldb = t->k + 4 * rng_below(r, 3);
    draw_mask(t, r);
    t->a = checked(calloc((size_t)(t->m * t->lda), sizeof *t->a));
    t->b = checked(calloc((size_t)(t->n * t->ldb), sizeof *t->b));
    for (int64_t row = 0; row < t->m; row++)
        draw_row(t->a + row * t->lda, t->k, r, wild);
    for (int64_t row = 0; row < t->n; row++)
        draw_row(t->b + row * t->ldb, t->k, r, wild);
}

/* As TF32 would have it: elements of b to 11 bits, the least ones to 2^-39 of the greatest. */
static bool right_narrow(const sums_case *t, const entry *e, double out)
{
    const double *a = t->a + e->row * t->lda, *b = t->b + e->col * t->ldb;
    long double sum = 0, magnitude = 0, greatest = 0, rounding = 0;
    for (int64_t k = 0; k < t->k; k++)
        greatest = fmaxl(greatest, isinf(b[k]) ? 0 : fabsl((long double)b[k]));
    for (int64_t k = 0; k < t->k; k++) {
        long double term = (long double)a[k] * b[k];
        sum += term;
        magnitude += isinf(term) || isnan(term) ? 0 : fabsl(term);
        rounding += fabsl((long double)a[k]) * fmaxl(fabsl((long double)b[k]) * 0x1p-11L, greatest * 0x1p-39L);
    }
    if (magnitude > 1e37L) /* sums on the way may overflow */
        return true;
    if (isnan(sum) || isinf(sum))
        return isnan(sum) ? isnan(out) : (double)sum == out;
    return fabsl(out - sum) <= rounding + FLT_EPSILON * (magnitude * (1 + sqrtl((long double)t->k)) + fabsl(sum)) + t->k * 0x1p-149L;
}

static bool test_narrow(uint64_t seed)
{
    rng r = { seed };
    sums_case t;
    draw_narrow_case(&t, seed, &r);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    size_t count = (size_t)t.mask.nvals;
    void *a = upload_numbers(TSR_FP32, t.a, t.m * t.lda), *b = upload_numbers(TSR_FP32, t.b, t.n * t.ldb);
    void *narrow = device_new((size_t)(t.n * t.k) * 2);
    uint8_t *exponent = device_new((size_t)t.n);
    float *x = device_new(count * sizeof *x), *host = checked(malloc((count + 1) * sizeof *host));
    int8_t *present = device_new(count), *there = checked(malloc(count + 1));
    tsr_cuda_sddmm q = { .semiring = { TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES }, .mask = &t.mask, .k = t.k, .a = a, .lda = t.lda, .b = b,
        .ldb = t.ldb, .device = &device };
    must(tsr_cuda_narrow_rows(narrow, exponent, b, t.ldb, t.n, t.k, NULL), "rounding");
    for (int64_t middle = rng_below(&r, t.mask.nvals + 1); q.begin < t.mask.nvals; q.begin = q.end) {
        q.end = q.begin < middle ? middle : t.mask.nvals;
        q.x = x + q.begin;
        q.present = present + q.begin;
        must(tsr_cuda_sddmm_narrow(&q, narrow, exponent), "product of rounded rows");
    }
    download(host, x, count * sizeof *x);
    download(there, present, count);
    bool ok = true;
    for (size_t e = 0; e < count && ok; e++) {
        ok = there[e] == 1 && right_narrow(&t, &t.entries[e], (double)host[e]);
        if (!ok)
            printf("FAIL narrow %llu: %lld x %lld, k %lld, lda %lld ldb %lld: entry %zu (%lld, %lld) is %.9g\n", (unsigned long long)seed,
                (long long)t.m, (long long)t.n, (long long)t.k, (long long)t.lda, (long long)t.ldb, e, (long long)t.entries[e].row,
                (long long)t.entries[e].col, (double)host[e]);
    }
    for (void **p = (void *[]){ a, b, narrow, exponent, x, present, NULL }; *p != NULL; p++)
        tsr_cuda_free(*p, NULL);
    free_csr(&t.mask);
    free(t.entries);
    free(t.a);
    free(t.b);
    free(host);
    free(there);
    return ok;
}

/* ---- Softmax of rows ---- */

/* Rows of every kind: empty, in registers, in passes, by a whole block; y = x or another array. */
static int64_t draw_row_offsets(int64_t *p, int64_t nrows, rng *r)
{
    static const int64_t lengths[] = { 0, 1, 2, 8, 9, 31, 64, 65, 100, 256, 257, 700, 2048, 2049, 5000 };
    int kinds = rng_chance(r, 50) ? 5 : 15;
    p[0] = 0;
    for (int64_t row = 0; row < nrows; row++)
        p[row + 1] = p[row] + (rng_chance(r, 20) ? 0 : lengths[rng_below(r, rng_chance(r, 70) ? 5 : kinds)]);
    return p[nrows];
}

static double draw_exponent(rng *r)
{
    if (rng_chance(r, 2))
        return -INFINITY;
    return (double)(rng_below(r, 2000) - 1000) / (rng_chance(r, 5) ? 1 : 100);
}

static bool right_row(const void *y, const void *x, tsr_type type, int64_t first, int64_t last)
{
    long double most = -INFINITY, sum = 0, unit = type == TSR_FP64 ? DBL_EPSILON : FLT_EPSILON;
    bool nan = false;
    for (int64_t e = first; e < last; e++) {
        most = fmaxl(most, number_at(x, type, e));
        nan = nan || isnan(number_at(x, type, e));
    }
    for (int64_t e = first; e < last; e++)
        sum += expl(number_at(x, type, e) - most);
    for (int64_t e = first; e < last; e++) {
        long double out = number_at(y, type, e), exact = expl(number_at(x, type, e) - most) / sum;
        long double distance = fminl(most - number_at(x, type, e), 1e4L); /* is rounded, too */
        long double error = (16 + distance) * unit * exact + (type == TSR_FP64 ? DBL_MIN : FLT_MIN);
        if (nan || isinf(most) ? !isnan(out) : !(fabsl(out - exact) <= error))
            return false;
    }
    return true;
}

/* On the device twice, then on the host. */
static bool test_softmax(uint64_t seed)
{
    rng r = { seed };
    tsr_type type = rng_chance(&r, 50) ? TSR_FP32 : TSR_FP64;
    int64_t nrows = 1 + rng_below(&r, 300), p[302];
    tsr_cuda_csr pattern = { .nrows = nrows, .nvals = draw_row_offsets(p, nrows, &r) };
    size_t count = (size_t)pattern.nvals, bytes = count * type_size(type);
    double *drawn = checked(malloc((count + 1) * sizeof *drawn));
    char *x = checked(malloc(bytes + 1)), *y[3] = { NULL };
    for (size_t e = 0; e < count; e++) {
        drawn[e] = rng_chance(&r, 1) && rng_chance(&r, 10) ? NAN : draw_exponent(&r);
        if (type == TSR_FP32)
            ((float *)x)[e] = (float)drawn[e];
        else
            ((double *)x)[e] = drawn[e];
    }
    pattern.p = upload(p, (size_t)(nrows + 1) * sizeof *p);
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        y[k] = checked(malloc(bytes + 1));
        if (k == 2) {
            tsr_cpu_softmax_rows(y[k], x, p, nrows, type, 2);
        } else {
            void *from = upload(x, bytes), *to = k == 0 ? from : device_new(bytes);
            must(tsr_cuda_softmax_rows(to, from, &pattern, type, NULL), "softmax");
            download(y[k], to, bytes);
            tsr_cuda_free(from, NULL);
            if (to != from)
                tsr_cuda_free(to, NULL);
        }
        for (int64_t row = 0; row < nrows; row++)
            ok = ok && right_row(y[k], x, type, p[row], p[row + 1]);
    }
    ok = ok && memcmp(y[0], y[1], bytes) == 0;
    if (!ok)
        printf("FAIL softmax %llu: %s, %lld rows\n", (unsigned long long)seed, type_name(type), (long long)nrows);
    tsr_cuda_free(pattern.p, NULL);
    free(drawn);
    free(x);
    for (int k = 0; k < 3; k++)
        free(y[k]);
    return ok;
}

/* Small whole numbers, in place where nothing is added; what lies between products stays. */
static bool test_scale(uint64_t seed)
{
    enum { MOST = 1200, PRODUCTS = 3 };
    static float t[PRODUCTS * MOST], x[PRODUCTS * MOST], found[PRODUCTS * MOST];
    rng r = { seed };
    const float beta = rng_chance(&r, 50) ? -2 : 0, alpha = rng_chance(&r, 50) ? 0.5f : 3;
    tsr_cuda_scaling s = { .type = TSR_FP32, .count = rng_below(&r, MOST - 8), .products = 1 + rng_below(&r, PRODUCTS), .alpha = alpha, .beta = beta };
    s.x_stride = s.count + rng_below(&r, 8);
    s.t_stride = s.count + rng_below(&r, 8);
    for (int k = 0; k < PRODUCTS * MOST; k++) {
        t[k] = (float)rng_below(&r, 100);
        x[k] = beta != 0 ? (float)rng_below(&r, 100) : NAN;
    }
    const bool in_place = beta == 0 && rng_chance(&r, 50);
    s.t = upload(t, sizeof t);
    s.x = in_place ? (void *)(uintptr_t)s.t : upload(x, sizeof x);
    s.x_stride = in_place ? s.t_stride : s.x_stride;
    must(tsr_cuda_scale(&s, NULL), "scale");
    download(found, s.x, sizeof found);
    const float *old = in_place ? t : x;
    bool ok = true;
    for (int64_t at = 0; at < PRODUCTS * MOST; at++) {
        const int64_t q = s.x_stride > 0 ? at / s.x_stride : s.products, e = s.x_stride > 0 ? at % s.x_stride : 0;
        const bool written = q < s.products && e < s.count;
        const float expected = written ? alpha * t[q * s.t_stride + e] + (beta != 0 ? beta * x[at] : 0) : old[at];
        ok = ok && (written || !isnan(expected) ? found[at] == expected : isnan(found[at]));
    }
    if (!ok)
        printf("FAIL scale %llu: %lld values, %lld products\n", (unsigned long long)seed, (long long)s.count, (long long)s.products);
    if (!in_place)
        tsr_cuda_free(s.x, NULL);
    tsr_cuda_free((void *)(uintptr_t)s.t, NULL);
    return ok;
}

static bool test_one(uint64_t seed)
{
    bool ok = test_scale(seed) && test_sums(seed) && test_stencil(seed) && test_narrow(seed);
    return ok && (seed % 8 != 0 || test_softmax(seed));
}

int main(int argc, char **argv)
{
    const semiring_test test = { { TSR_OP_SDDMM, TSR_OP_SDDMM, TSR_OP_SDDMM, TSR_OP_SDDMM }, run_product, NULL, test_one, 200, "sums" };
    return semiring_main(argc, argv, &test);
}
