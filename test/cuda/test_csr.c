/* The CUDA-core kernels against the oracle.
 *
 * First every semiring of every type on the random products of test/kernels (operands in any format and orientation, turned into
 * CSR and row-major arrays here), judged as CPU kernels are.  Then what those do not have: alpha and beta, 16-bit operands,
 * shapes by variant, leading dimensions and alignment, against sums in double.  Products that join by a logical or, wide enough to be
 * computed as bits, against the definition.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/kernel_table.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/value.h"
#include "test/cuda/semirings.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By csr, and those that compute plus_times only. */
#define KERNEL(unused, id, format, name) tsr_cuda_spmm_##format,
static tsr_cuda_csr_kernel *const kernels[] = { tsr_cuda_spmm_csr, TSR_GPU_CSR_LIST(KERNEL, ) };
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* The product, with scratch. */
static tsr_status run_by(int kernel, const tsr_cuda_csr *a, tsr_cuda_csr_spmm *product)
{
    size_t bytes = tsr_cuda_csr_partial_bytes(a, product);
    product->partial = device_new(bytes);
    tsr_status status = kernels[kernel](a, product);
    must(tsr_cuda_wait(NULL), "wait");
    tsr_cuda_free(product->partial, NULL);
    return status;
}

static tsr_status run(const tsr_cuda_csr *a, tsr_cuda_csr_spmm *product)
{
    return run_by(0, a, product);
}

/* ---- Products of test/kernels ---- */

static tsr_cuda_csr upload_sparse(const tsr_view *v, size_t size)
{
    tsr_cuda_csr a = upload_view(v, false, size, !v->iso);
    must(tsr_cuda_csr_work(&a, &device, NULL), "work");
    return a;
}

/* Values of C, as a tsr_result has them; 0xA5 elsewhere must have stayed. */
static bool download_c(const tsr_product *p, const void *c, int64_t ldc, int64_t shift, size_t size, void *x)
{
    size_t bytes = (size_t)(p->m * ldc + shift) * size;
    unsigned char *host = checked(malloc(bytes + 1));
    download(host, c, bytes);
    bool clean = true;
    for (int64_t at = 0; at < p->m * ldc + shift; at++) {
        int64_t row = (at - shift) / ldc, col = (at - shift) % ldc;
        bool inside = at >= shift && col < p->n;
        for (size_t k = 0; k < size && !inside; k++)
            clean = clean && host[(size_t)at * size + k] == 0xA5;
        if (inside && x != NULL)
            memcpy(
                (char *)x + (size_t)(p->c_by_col ? col * p->m + row : row * p->n + col) * size, host + (size_t)at * size, size);
    }
    free(host);
    return clean;
}

static int64_t choose_pad(int64_t n)
{
    return n == 0 ? 1 : rng_chance(&layout, 50) ? 0 : rng_chance(&layout, 50) ? (16 - n % 16) % 16 : rng_below(&layout, 7);
}

static tsr_status run_product(const tsr_product *p, tsr_result *result)
{
    size_t size = type_size(p->semiring.type);
    int64_t ldb = p->n + choose_pad(p->n), ldc = p->n + choose_pad(p->n);
    int64_t b_shift = rng_chance(&layout, 70) ? 0 : rng_below(&layout, 5),
            c_shift = rng_chance(&layout, 70) ? 0 : rng_below(&layout, 5);
    size_t c_bytes = (size_t)(p->m * ldc + c_shift);
    tsr_cuda_csr a = upload_sparse(&p->a, size);
    char *b = p->b.x != NULL ? upload_dense(&p->b, p->b.x, p->b.iso, false, size, ldb, b_shift) : NULL;
    int8_t *b_present = p->b.format == TSR_BITMAP ? upload_dense(&p->b, p->b.b, false, false, 1, ldb, 0) : NULL;
    char *c = device_new(c_bytes * size);
    int8_t *c_present = result->b != NULL ? device_new(c_bytes) : NULL;
    tsr_cuda_csr_spmm product = { .semiring = p->semiring,
        .n = p->n,
        .b = b != NULL ? b + (size_t)b_shift * size : NULL,
        .b_present = b_present,
        .ldb = ldb,
        .c = c + (size_t)c_shift * size,
        .c_present = c_present != NULL ? c_present + c_shift : NULL,
        .ldc = ldc,
        .alpha = 1,
        .device = &device };
    product.iso = first_value(&p->a, size);
    tsr_status status = run(&a, &product);
    if (status == TSR_OK && !download_c(p, c, ldc, c_shift, size, result->x))
        status = TSR_INTERNAL_ERROR;
    if (status == TSR_OK && c_present != NULL && !download_c(p, c_present, ldc, c_shift, 1, result->b))
        status = TSR_INTERNAL_ERROR;
    result->nvals = 0;
    for (int64_t at = 0; at < p->m * p->n && c_present != NULL; at++)
        result->nvals += result->b[at];
    free_csr(&a);
    tsr_cuda_free(b, NULL);
    tsr_cuda_free(b_present, NULL);
    tsr_cuda_free(c, NULL);
    tsr_cuda_free(c_present, NULL);
    return status;
}

/* ---- plus_times with everything a caller can ask for ---- */

typedef enum kind { KIND_FP32, KIND_FP64, KIND_FP16, KIND_BF16, KIND_COUNT } kind;

typedef struct sums_case {
    uint64_t seed;
    kind kind;
    int variant;
    int64_t nrows, ncols, n, ldb, ldc, b_shift, c_shift;
    bool pattern;
    double alpha, beta, iso;
    int64_t *p;
    uint32_t *i;
    double *x, *b, *c; /* exactly what is stored; c: before */
} sums_case;

static size_t element_bytes(kind k)
{
    return k == KIND_FP32 ? 4 : k == KIND_FP64 ? 8 : 2;
}

static size_t sum_bytes(kind k)
{
    return k == KIND_FP64 ? 8 : 4;
}

/* Eight significant bits at most, so that every number type holds it: no rounding here. */
static double draw_exact(rng *r)
{
    return ldexp((double)(rng_below(r, 511) - 255), -(int)(6 + rng_below(r, 3)));
}

/* Of a number with few bits and a moderate exponent. */
static uint16_t fp16_bits(double value)
{
    int exponent;
    double mantissa = frexp(fabs(value), &exponent);
    if (value == 0)
        return 0;
    return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | ((int)ldexp(mantissa, 11) & 0x3ff));
}

static uint16_t bf16_bits(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void put(kind k, void *x, int64_t at, double value)
{
    switch (k) {
    case KIND_FP32: ((float *)x)[at] = (float)value; break;
    case KIND_FP64: ((double *)x)[at] = value; break;
    case KIND_FP16: ((uint16_t *)x)[at] = fp16_bits(value); break;
    default: ((uint16_t *)x)[at] = bf16_bits(value); break;
    }
}

static void *upload_numbers(kind k, const double *from, int64_t count)
{
    void *host = checked(malloc((size_t)(count + 1) * 8));
    for (int64_t at = 0; at < count; at++)
        put(k, host, at, from[at]);
    void *p = upload(host, (size_t)count * element_bytes(k));
    free(host);
    return p;
}

/* Entries of a row: mostly few, sometimes none for a stretch, sometimes very many. */
static int64_t draw_degree(rng *r, int64_t row, int64_t ncols, int style)
{
    int64_t most = style == 0 ? 3 : style == 1 ? 40 : style == 2 ? (row % 64 < 32 ? 0 : 200) : row % 700 == 5;
    if (rng_chance(r, 1))
        most = ncols;
    return rng_below(r, (most < ncols ? most : ncols) + 1);
}

static void draw_matrix(sums_case *t, rng *r)
{
    int style = (int)rng_below(r, 4);
    int64_t long_row = rng_chance(r, 40) ? rng_below(r, t->nrows) : -1, room = 0;
    t->p = checked(calloc((size_t)t->nrows + 1, sizeof *t->p));
    for (int64_t row = 0; row < t->nrows; row++)
        t->p[row + 1] = t->p[row] + (row == long_row ? t->ncols : draw_degree(r, row, t->ncols, style));
    room = t->p[t->nrows];
    t->i = checked(malloc((size_t)room * sizeof *t->i + 1));
    t->x = checked(malloc((size_t)room * sizeof *t->x + 1));
    for (int64_t row = 0; row < t->nrows; row++) {
        int64_t degree = t->p[row + 1] - t->p[row];
        for (int64_t k = 0; k < degree; k++) /* one in each of `degree` equal stretches: ascending */
            t->i[t->p[row] + k] =
                (uint32_t)(t->ncols * k / degree + rng_below(r, t->ncols * (k + 1) / degree - t->ncols * k / degree));
    }
    for (int64_t at = 0; at < room; at++)
        t->x[at] = t->pattern ? t->iso : draw_exact(r);
}

static int draw_variant(rng *r)
{
    static const int lanes[] = { 4, 8, 16, 32 };
    if (rng_chance(r, 30))
        return 0;
    return (int)(1 + rng_below(r, rng_chance(r, 20) ? 32 : 8)) * 100 + lanes[rng_below(r, 4)];
}

static void draw_case(sums_case *t, uint64_t seed)
{
    static const int64_t widths[] = { 1, 1, 2, 3, 4, 5, 8, 12, 16, 20, 31, 32, 33, 64, 64, 100, 128, 128, 130, 256, 300 };
    static const double factors[] = { 0, 1, 1, -1, 0.5, 3 };
    rng r = { seed };
    *t = (sums_case){ .seed = seed, .kind = (kind)rng_below(&r, KIND_COUNT) };
    t->nrows = 1 + rng_below(&r, rng_chance(&r, 10) ? 3000 : 150);
    t->ncols = 1 + rng_below(&r, rng_chance(&r, 15) ? 9000 : 300);
    t->n = widths[rng_below(&r, t->ncols > 1000 ? 9 : 21)];
    t->variant = draw_variant(&r);
    int64_t multiple = rng_chance(&r, 50) ? 8 : 1;
    t->ldb = (t->n + rng_below(&r, 5) + multiple - 1) / multiple * multiple;
    t->ldc = (t->n + rng_below(&r, 5) + multiple - 1) / multiple * multiple;
    t->b_shift = rng_chance(&r, 70) ? 0 : rng_below(&r, 9);
    t->c_shift = rng_chance(&r, 70) ? 0 : rng_below(&r, 9);
    t->pattern = rng_chance(&r, 25);
    bool plain = rng_chance(&r, 40);
    t->alpha = plain ? 1 : factors[rng_below(&r, 6)];
    t->beta = plain ? 0 : factors[rng_below(&r, 6)];
    t->iso = draw_exact(&r);
    draw_matrix(t, &r);
    t->b = checked(malloc((size_t)(t->ncols * t->ldb + t->b_shift) * sizeof *t->b));
    t->c = checked(malloc((size_t)(t->nrows * t->ldc + t->c_shift) * sizeof *t->c));
    for (int64_t at = 0; at < t->ncols * t->ldb + t->b_shift; at++)
        t->b[at] = draw_exact(&r);
    for (int64_t at = 0; at < t->nrows * t->ldc + t->c_shift; at++)
        t->c[at] = t->beta == 0 && rng_chance(&r, 50) ? NAN : draw_exact(&r);
}

static void free_case(sums_case *t)
{
    free(t->p);
    free(t->i);
    free(t->x);
    free(t->b);
    free(t->c);
}

static double read_sum(const sums_case *t, const void *c, int64_t at)
{
    return t->kind == KIND_FP64 ? ((const double *)c)[at] : (double)((const float *)c)[at];
}

/* Twice the error of adding one by one, at most. */
static bool right(const sums_case *t, int64_t row, int64_t col, double out)
{
    long double sum = 0, magnitude = 0;
    for (int64_t at = t->p[row]; at < t->p[row + 1]; at++) {
        long double term = (long double)t->x[at] * t->b[t->i[at] * t->ldb + col + t->b_shift];
        sum += term;
        magnitude += fabsl(term);
    }
    long double unit = t->kind == KIND_FP64 ? DBL_EPSILON : FLT_EPSILON, terms = (long double)(t->p[row + 1] - t->p[row]);
    long double before = t->beta != 0 ? t->beta * (long double)t->c[row * t->ldc + col + t->c_shift] : 0;
    long double exact = t->alpha * sum + before;
    long double allowed = unit * (fabsl(t->alpha) * magnitude * (1 + sqrtl(terms)) + fabsl(before) + fabsl(exact));
    return fabsl(out - exact) <= allowed;
}

static bool judge(const sums_case *t, const void *c)
{
    for (int64_t at = 0; at < t->nrows * t->ldc + t->c_shift; at++) {
        int64_t row = (at - t->c_shift) / t->ldc, col = (at - t->c_shift) % t->ldc;
        double out = read_sum(t, c, at), before = t->c[at];
        bool inside = at >= t->c_shift && col < t->n;
        if (inside ? right(t, row, col, out) : out == before || (isnan(out) && isnan(before)))
            continue;
        printf("FAIL case %llu: %s %lld, %lld is %.17g\n", (unsigned long long)t->seed,
            inside ? "element" : "outside of C:", (long long)row, (long long)col, out);
        return false;
    }
    return true;
}

static void *compute(int kernel, const sums_case *t, const tsr_cuda_csr *a, const void *b)
{
    int64_t places = t->nrows * t->ldc + t->c_shift;
    size_t sum = sum_bytes(t->kind), bytes = (size_t)places * sum;
    char *c = upload_numbers(t->kind == KIND_FP64 ? KIND_FP64 : KIND_FP32, t->c, places);
    bool half = t->kind == KIND_FP16 || t->kind == KIND_BF16;
    tsr_cuda_csr_spmm product = { .semiring = { t->kind == KIND_FP64 ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES },
        .half = half,
        .number = t->kind == KIND_FP16 ? TSR_NUMBER_FP16 : TSR_NUMBER_BF16,
        .n = t->n,
        .b = (const char *)b + (size_t)t->b_shift * element_bytes(t->kind),
        .ldb = t->ldb,
        .c = c + (size_t)t->c_shift * sum,
        .ldc = t->ldc,
        .alpha = t->alpha,
        .beta = t->beta,
        .device = &device,
        .variant = t->variant };
    float single = (float)t->iso;
    memcpy(&product.iso, t->kind == KIND_FP64 ? (const void *)&t->iso : &single, sum);
    must(run_by(kernel, a, &product), "product");
    void *host = checked(malloc(bytes));
    download(host, c, bytes);
    tsr_cuda_free(c, NULL);
    return host;
}

/* Right, and the same again. */
static bool check_sums(int kernel, const sums_case *t, const tsr_cuda_csr *a, const void *b)
{
    void *once = compute(kernel, t, a, b), *again = compute(kernel, t, a, b);
    bool ok = judge(t, once);
    if (memcmp(once, again, (size_t)(t->nrows * t->ldc + t->c_shift) * sum_bytes(t->kind)) != 0) {
        printf("FAIL case %llu: two runs differ\n", (unsigned long long)t->seed);
        ok = false;
    }
    if (!ok)
        printf("  kernel %d kind %d variant %d, %lld x %lld, %lld entries%s, n %lld ldb %lld+%lld ldc %lld+%lld alpha %g beta %g\n", kernel,
            (int)t->kind, t->variant, (long long)t->nrows, (long long)t->ncols, (long long)a->nvals, t->pattern ? " (pattern)" : "",
            (long long)t->n, (long long)t->ldb, (long long)t->b_shift, (long long)t->ldc, (long long)t->c_shift, t->alpha, t->beta);
    free(once);
    free(again);
    return ok;
}

static bool test_sums(uint64_t seed)
{
    sums_case t;
    draw_case(&t, seed);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    tsr_cuda_csr a = { .nrows = t.nrows, .ncols = t.ncols, .nvals = t.p[t.nrows] };
    a.p = upload(t.p, (size_t)(t.nrows + 1) * sizeof *t.p);
    a.i = upload(t.i, (size_t)a.nvals * sizeof *t.i);
    a.x = t.pattern ? NULL : upload_numbers(t.kind, t.x, a.nvals);
    must(tsr_cuda_csr_work(&a, &device, NULL), "work");
    void *b = upload_numbers(t.kind, t.b, t.ncols * t.ldb + t.b_shift);
    bool ok = true;
    for (int kernel = 0; kernel < KERNELS; kernel++)
        ok = check_sums(kernel, &t, &a, b) && ok;
    tsr_cuda_free(b, NULL);
    free_csr(&a);
    free_case(&t);
    return ok;
}

/* ---- A logical or over many columns ---- */

typedef struct or_case {
    sums_case t; /* the matrix; x: values of A, 0 or 1; b: of B */
    tsr_semiring semiring;
    int8_t *b_present, *c, *c_present; /* b_present: NULL: full */
} or_case;

static void draw_or_case(or_case *o, uint64_t seed, rng *r)
{
    static const int64_t widths[] = { 16, 31, 32, 33, 63, 64, 65, 100, 128, 130, 256, 300 };
    static const tsr_add adds[] = { TSR_ADD_LOR, TSR_ADD_MAX, TSR_ADD_PLUS, TSR_ADD_ANY, TSR_ADD_MIN };
    static const tsr_mul muls[] = { TSR_MUL_TIMES, TSR_MUL_AND, TSR_MUL_FIRST, TSR_MUL_SECOND };
    *o = (or_case){ .t = { .seed = seed, .pattern = rng_chance(r, 25), .iso = rng_chance(r, 80) } };
    sums_case *t = &o->t;
    bool pair = rng_chance(r, 30);
    o->semiring = (tsr_semiring){ TSR_BOOL, adds[rng_below(r, pair ? 5 : 3)], pair ? TSR_MUL_PAIR : muls[rng_below(r, 4)] };
    if (pair && o->semiring.add != TSR_ADD_LOR && o->semiring.add != TSR_ADD_PLUS)
        o->semiring.type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    t->nrows = 1 + rng_below(r, rng_chance(r, 10) ? 1000 : 100);
    t->ncols = 1 + rng_below(r, rng_chance(r, 10) ? 2000 : 100);
    t->n = widths[rng_below(r, 12)];
    int64_t multiple = rng_chance(r, 50) ? 16 : 1;
    t->ldb = (t->n + rng_below(r, 5) + multiple - 1) / multiple * multiple;
    t->ldc = (t->n + rng_below(r, 5) + multiple - 1) / multiple * multiple;
    t->b_shift = rng_chance(r, 70) ? 0 : rng_below(r, 9);
    t->c_shift = rng_chance(r, 70) ? 0 : rng_below(r, 9);
    draw_matrix(t, r);
    for (int64_t e = 0; e < t->p[t->nrows]; e++)
        t->x[e] = t->pattern ? t->iso : rng_chance(r, 70);
    const int64_t places = t->ncols * t->ldb + t->b_shift;
    const int share = (int)rng_below(r, 20);
    t->b = checked(malloc((size_t)places * sizeof *t->b));
    o->b_present = rng_chance(r, 50) ? checked(malloc((size_t)places)) : NULL;
    for (int64_t at = 0; at < places; at++) {
        t->b[at] = rng_chance(r, share);
        if (o->b_present)
            o->b_present[at] = rng_chance(r, 2 * share);
    }
}

static int8_t *upload_truths(const double *from, int64_t count, size_t size)
{
    int8_t *host = checked(calloc((size_t)count + 1, size));
    for (int64_t at = 0; at < count; at++)
        host[(size_t)at * size] = (int8_t)from[at];
    void *p = upload(host, (size_t)count * size);
    free(host);
    return p;
}

static bool is_one(const void *x, tsr_type type, bool wanted)
{
    unsigned char bytes[8] = { 0 };
    const float single = wanted;
    const double wide = wanted;
    bytes[0] = wanted;
    return memcmp(x, type == TSR_FP32 ? (const void *)&single : type == TSR_FP64 ? (const void *)&wide : bytes, type_size(type)) == 0;
}

static bool right_or(const or_case *o, int64_t row, int64_t col, const void *x, int8_t present)
{
    const sums_case *t = &o->t;
    bool any = false, truth = false;
    for (int64_t e = t->p[row]; e < t->p[row + 1]; e++) {
        const int64_t at = t->i[e] * t->ldb + col + t->b_shift;
        const bool there = !o->b_present || o->b_present[at], a = t->x[e] != 0, b = t->b[at] != 0;
        const tsr_mul mul = o->semiring.mul;
        any = any || there;
        truth = truth || (there && (mul == TSR_MUL_PAIR || (mul == TSR_MUL_FIRST ? a : mul == TSR_MUL_SECOND ? b : a && b)));
    }
    return present == any && is_one(x, o->semiring.type, truth);
}

static bool test_or(uint64_t seed)
{
    rng r = { seed };
    or_case o;
    draw_or_case(&o, seed, &r);
    sums_case *t = &o.t;
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    const size_t size = type_size(o.semiring.type), places = (size_t)(t->ncols * t->ldb + t->b_shift);
    const size_t results = (size_t)(t->nrows * t->ldc + t->c_shift);
    tsr_cuda_csr a = { .nrows = t->nrows, .ncols = t->ncols, .nvals = t->p[t->nrows] };
    a.p = upload(t->p, (size_t)(t->nrows + 1) * sizeof *t->p);
    a.i = upload(t->i, (size_t)a.nvals * sizeof *t->i);
    a.x = t->pattern || o.semiring.type != TSR_BOOL ? NULL : upload_truths(t->x, a.nvals, 1);
    must(tsr_cuda_csr_work(&a, &device, NULL), "work");
    int8_t *b = o.semiring.mul == TSR_MUL_PAIR ? NULL : upload_truths(t->b, (int64_t)places, 1);
    int8_t *b_present = o.b_present ? upload(o.b_present, places) : NULL, *c = device_new(results * size), *c_present = device_new(results);
    tsr_cuda_csr_spmm product = { .semiring = o.semiring, .n = t->n, .b = b ? b + t->b_shift : NULL, .ldb = t->ldb,
        .b_present = b_present ? b_present + t->b_shift : NULL, .c = c + (size_t)t->c_shift * size, .c_present = c_present + t->c_shift,
        .ldc = t->ldc, .alpha = 1, .iso = t->iso != 0, .device = &device };
    must(run(&a, &product), "product by bits");
    o.c = checked(malloc(results * size));
    o.c_present = checked(malloc(results));
    download(o.c, c, results * size);
    download(o.c_present, c_present, results);
    bool ok = true;
    for (int64_t at = 0; at < (int64_t)results && ok; at++) {
        const int64_t row = (at - t->c_shift) / t->ldc, col = (at - t->c_shift) % t->ldc;
        const bool inside = at >= t->c_shift && col < t->n;
        const unsigned char *x = (const unsigned char *)o.c + (size_t)at * size;
        ok = inside ? right_or(&o, row, col, x, o.c_present[at]) : x[0] == 0xA5 && x[size - 1] == 0xA5 && o.c_present[at] == (int8_t)0xA5;
        if (!ok)
            printf("FAIL or %llu: type %s add %d mul %d, %lld x %lld, %lld entries, n %lld: %s %lld, %lld\n",
                (unsigned long long)seed, type_name(o.semiring.type), (int)o.semiring.add, (int)o.semiring.mul, (long long)t->nrows, (long long)t->ncols,
                (long long)a.nvals, (long long)t->n, inside ? "element" : "outside of C:", (long long)row, (long long)col);
    }
    for (void **p = (void *[]){ b, b_present, c, c_present }, **end = p + 4; p < end; p++)
        tsr_cuda_free(*p, NULL);
    free_csr(&a);
    free_case(t);
    free(o.b_present);
    free(o.c_present);
    free(o.c);
    return ok;
}

/* ---- elements that look like the mark of what is not there (marks.cuh) ---- */

enum { MARKED_ROWS = 40, MARKED_COLUMNS = 30, MARKED_MOST = 4 };

static uint64_t draw_marked(rng *r, bool real)
{
    const double small = (double)rng_below(r, 9) - 4;
    uint64_t bits = real ? 0x7ff4a5c3d2e1f0b7u : 0xa5c3d2e1f0b79684u;
    if (rng_chance(r, 70)) {
        bits = (uint64_t)(int64_t)small;
        if (real)
            memcpy(&bits, &small, sizeof bits);
    }
    return bits;
}

static bool same_marked(uint64_t x, uint64_t y, bool real)
{
    double a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return x == y || (real && (a == b || (isnan(a) && isnan(b))));
}

static bool test_marks(uint64_t seed)
{
    rng r = { seed };
    const bool real = rng_chance(&r, 50), bitmap = rng_chance(&r, 70), least = rng_chance(&r, 50);
    const int64_t n = 1 + rng_below(&r, MARKED_MOST);
    int64_t p[MARKED_ROWS + 1] = { 0 }, i[MARKED_ROWS * MARKED_COLUMNS];
    uint64_t x[MARKED_COLUMNS * MARKED_MOST], got[MARKED_ROWS * MARKED_MOST], want[MARKED_ROWS * MARKED_MOST];
    int8_t b[MARKED_COLUMNS * MARKED_MOST], got_b[MARKED_ROWS * MARKED_MOST], want_b[MARKED_ROWS * MARKED_MOST];
    for (int64_t row = 0; row < MARKED_ROWS; row++) {
        p[row + 1] = p[row];
        for (int64_t col = 0; col < MARKED_COLUMNS; col++)
            if (rng_chance(&r, 10))
                i[p[row + 1]++] = col;
    }
    for (int64_t at = 0; at < MARKED_COLUMNS * n; at++) {
        x[at] = draw_marked(&r, real);
        b[at] = !bitmap || rng_chance(&r, 60);
    }
    const tsr_type type = real ? TSR_FP64 : TSR_INT64;
    const tsr_product product = { .op = TSR_OP_SPMM, .semiring = { type, least ? TSR_ADD_MIN : TSR_ADD_PLUS, TSR_MUL_SECOND },
        .m = MARKED_ROWS, .n = n, .k = MARKED_COLUMNS, .nthreads = 1,
        .a = { .format = TSR_SPARSE, .type = type, .iso = true, .index_size = 8, .nrows = MARKED_ROWS, .ncols = MARKED_COLUMNS,
            .nvec = MARKED_ROWS, .vlen = MARKED_COLUMNS, .nvals = p[MARKED_ROWS], .p = p, .i = i, .x = x },
        .b = { .format = bitmap ? TSR_BITMAP : TSR_FULL, .type = type, .nrows = MARKED_COLUMNS, .ncols = n, .nvec = MARKED_COLUMNS,
            .vlen = n, .ld = n, .nvals = MARKED_COLUMNS * n, .b = bitmap ? b : NULL, .x = x } };
    tsr_result expected = { .x = want, .b = want_b }, result = { .x = got, .b = got_b };
    must(tsr_ref_execute(&product, &expected), "reference");
    bool ok = run_product(&product, &result) == TSR_OK && memcmp(got_b, want_b, (size_t)(MARKED_ROWS * n)) == 0;
    for (int64_t at = 0; ok && at < MARKED_ROWS * n; at++)
        ok = same_marked(got[at], want_b[at] ? want[at] : 0, real);
    if (!ok)
        printf("FAIL marks %llu\n", (unsigned long long)seed);
    return ok;
}

static bool test_one(uint64_t seed)
{
    return test_sums(seed) && test_or(seed) && test_marks(seed);
}

/* Work lists when memory runs out or a launch fails: an error, and nothing is left behind. */
static int test_failures(void)
{
    int64_t p[] = { 0, 1, 3 };
    uint32_t i[] = { 0, 0, 1 };
    if (!tsr_emulate_fail_malloc)
        return 0;
    tsr_cuda_csr a = { .nrows = 2, .ncols = 2, .nvals = 3 };
    a.p = upload(p, sizeof p);
    a.i = upload(i, sizeof i);
    long live = tsr_emulate_live_blocks(), launches = tsr_emulate_launches();
    must(tsr_cuda_csr_work(&a, &device, NULL), "work");
    launches = tsr_emulate_launches() - launches;
    tsr_cuda_csr_work_free(&a, NULL);
    int failed = 0;
    for (long k = 1; k <= 2; k++) {
        tsr_emulate_fail_malloc(k);
        failed += tsr_cuda_csr_work(&a, &device, NULL) != TSR_OUT_OF_MEMORY || tsr_emulate_live_blocks() != live;
    }
    tsr_emulate_fail_malloc(0);
    for (long k = 1; k <= launches; k++) {
        tsr_emulate_fail_launch(k);
        failed += tsr_cuda_csr_work(&a, &device, NULL) != TSR_INTERNAL_ERROR || tsr_emulate_live_blocks() != live;
    }
    tsr_emulate_fail_launch(0);
    if (failed)
        printf("FAIL: work lists without memory or launches: %d\n", failed);
    free_csr(&a);
    return failed;
}

int main(int argc, char **argv)
{
    const semiring_test test = { { TSR_OP_SPMM, TSR_OP_SPMM, TSR_OP_SPMM, TSR_OP_SPMV }, run_product, test_failures, test_one, 150, "sums" };
    return semiring_main(argc, argv, &test);
}
