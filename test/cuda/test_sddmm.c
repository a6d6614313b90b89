/* SDDMM against the oracle: every semiring of every type on the random products of test/kernels (dense operands in any
 * orientation, masks of any format, turned into row-major arrays and CSR here), then plus_times of FP32 and FP64 for every length
 * of rows, leading dimension and alignment against sums in long double, two runs of the same bits.  Softmax of rows likewise.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
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
    q->variant = (int)rng_below(r, 4);
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
        double out = t->type == TSR_FP32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
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

static double number_at(const void *x, tsr_type type, int64_t at)
{
    return type == TSR_FP32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
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

static int test_softmaxes(void)
{
    int failed = 0;
    for (uint64_t seed = 1; seed <= 12; seed++)
        failed += !test_softmax(seed);
    return failed;
}

static tsr_op choose_op(rng *r)
{
    (void)r;
    return TSR_OP_SDDMM;
}

int main(int argc, char **argv)
{
    const semiring_test test = { choose_op, run_product, test_softmaxes, test_sums, 200, "sums" };
    return semiring_main(argc, argv, &test);
}
