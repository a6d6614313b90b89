/* Several products of one pattern in one launch have the bits that they have alone: SpMM and SpMV of real and complex numbers, SDDMM with
 * softmax.  Complex products alone, against the oracle.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/complex.h"
#include "src/base/types.h"
#include "test/cuda/emulator.h"
#include "test/cuda/seeds.h"

static tsr_cuda_device device;

/* ---- memory; whatever fails ends the test ---- */

static void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        fprintf(stderr, "%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void *host_new(size_t bytes)
{
    void *p = calloc(1, bytes + 1);
    if (!p)
        exit(1);
    return p;
}

static char *upload(const void *host, size_t bytes)
{
    void *p = NULL;
    must(tsr_cuda_malloc(&p, bytes ? bytes : 1, NULL), "malloc");
    if (bytes)
        must(tsr_cuda_to_device(p, host, bytes, NULL), "to device");
    return p;
}

static char *download(const void *from, size_t bytes)
{
    char *host = host_new(bytes);
    must(tsr_cuda_to_host(host, from, bytes, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    return host;
}

/* ---- random operands ---- */

static int64_t below(uint64_t *state, int64_t n)
{
    return (int64_t)(seeds_next(state) % (uint64_t)n);
}

static double draw(uint64_t *state, bool whole)
{
    return whole ? (double)(below(state, 9) - 4) : (double)(int64_t)seeds_next(state) * 0x1p-63;
}

/* `count` elements of a type; complex ones are two numbers. */
static void *draw_elements(uint64_t *state, tsr_type type, int64_t count, bool whole)
{
    const bool wide = type == TSR_FP64 || type == TSR_FC64;
    const int64_t numbers = count * (tsr_is_complex(type) ? 2 : 1);
    void *x = host_new((size_t)numbers * 8);
    for (int64_t k = 0; k < numbers; k++) {
        const double value = draw(state, whole);
        if (wide)
            ((double *)x)[k] = value;
        else
            ((float *)x)[k] = (float)value;
    }
    return x;
}

/* Few entries a row, some without, one of very many now and then. */
static int64_t draw_pattern(uint64_t *state, int64_t nrows, int64_t ncols, int64_t *p, uint32_t **i)
{
    const int64_t long_row = below(state, 3) == 0 ? below(state, nrows) : -1;
    *i = host_new((size_t)(nrows * ncols) * sizeof **i);
    p[0] = 0;
    for (int64_t row = 0; row < nrows; row++) {
        p[row + 1] = p[row];
        const int64_t one_in = row == long_row ? 1 : row % 5 == 4 ? ncols + 1 : 1 + ncols / (1 + below(state, 12));
        for (int64_t col = 0; col < ncols; col++)
            if (one_in <= ncols && below(state, one_in) == 0)
                (*i)[p[row + 1]++] = (uint32_t)col;
    }
    return p[nrows];
}

/* ---- SpMM and SpMV ---- */

enum { MOST_ROWS = 150, MOST_PRODUCTS = 6 };

typedef struct spmm_case {
    uint64_t state;
    tsr_type type;
    size_t size;
    int64_t nrows, ncols, nvals, n, ldb, ldc, shift, products;
    tsr_cuda_batch batch;
    bool pattern, conjugate, whole;
    tsr_complex alpha, beta;
    int64_t p[MOST_ROWS + 1];
    uint32_t *i;
    void *x, *b, *c;
} spmm_case;

static int64_t b_count(const spmm_case *t) { return t->shift + t->ncols * t->ldb + (t->products - 1) * t->batch.b; }
static int64_t c_count(const spmm_case *t) { return t->nrows * t->ldc + (t->products - 1) * t->batch.c; }

static void draw_case(spmm_case *t, uint64_t seed)
{
    static const tsr_type types[] = {TSR_FP32, TSR_FP64, TSR_FC32, TSR_FC64};
    static const int64_t widths[] = {1, 1, 2, 3, 4, 7, 8, 16, 20, 32, 33, 64, 130};
    static const tsr_complex factors[] = {{1, 0}, {0, 0}, {-2, 0}, {0, 1}, {.5, -1}};
    *t = (spmm_case){.state = seed};
    t->type = types[below(&t->state, 4)];
    t->size = tsr_type_size(t->type);
    t->nrows = 1 + below(&t->state, MOST_ROWS);
    t->ncols = 1 + below(&t->state, below(&t->state, 6) ? 60 : 3000);
    t->n = widths[below(&t->state, t->ncols > 100 ? 9 : 13)];
    t->whole = below(&t->state, 2);
    t->pattern = below(&t->state, 5) == 0;
    const bool complex = tsr_is_complex(t->type);
    t->conjugate = complex && below(&t->state, 2);
    t->alpha = factors[below(&t->state, complex ? 5 : 3)];
    t->beta = factors[below(&t->state, complex ? 5 : 3)];
    t->alpha = t->alpha.re == 0 && t->alpha.im == 0 ? factors[0] : t->alpha;
    if (below(&t->state, 3) == 0)
        t->alpha = factors[0], t->beta = factors[1];
    const int64_t unit = below(&t->state, 4) ? 4 : 1;
    t->ldb = (t->n + below(&t->state, 4) + unit - 1) / unit * unit;
    t->ldc = t->n + below(&t->state, 4);
    t->ldb = t->n == 1 ? 1 : t->ldb;
    t->ldc = t->n == 1 ? 1 : t->ldc;
    t->shift = unit == 4 ? 0 : below(&t->state, 3);
    t->products = 2 + below(&t->state, MOST_PRODUCTS - 1);
    t->nvals = draw_pattern(&t->state, t->nrows, t->ncols, t->p, &t->i);
    t->batch = (tsr_cuda_batch){t->products, t->pattern || below(&t->state, 2) ? 0 : t->nvals + below(&t->state, 3),
                                below(&t->state, 5) ? t->ncols * t->ldb + below(&t->state, 2) * unit : 0, t->nrows * t->ldc + below(&t->state, 3)};
    if (unit == 4)
        t->batch.b = (t->batch.b + 3) / 4 * 4;
    t->x = draw_elements(&t->state, t->type, t->nvals + (t->products - 1) * t->batch.values, t->whole);
    t->b = draw_elements(&t->state, t->type, b_count(t), t->whole);
    t->c = draw_elements(&t->state, t->type, c_count(t), t->whole);
}

static void free_case(spmm_case *t)
{
    free(t->i);
    free(t->x);
    free(t->b);
    free(t->c);
}

typedef struct spmm_arrays {
    tsr_cuda_csr a;
    char *x, *b;
} spmm_arrays;

static spmm_arrays upload_case(const spmm_case *t)
{
    spmm_arrays on = {.a = {.nrows = t->nrows, .ncols = t->ncols, .nvals = t->nvals}};
    on.a.p = (void *)upload(t->p, (size_t)(t->nrows + 1) * sizeof *t->p);
    on.a.i = (void *)upload(t->i, (size_t)t->nvals * sizeof *t->i);
    on.x = upload(t->x, (size_t)(t->nvals + (t->products - 1) * t->batch.values) * t->size);
    on.b = upload(t->b, (size_t)b_count(t) * t->size);
    must(tsr_cuda_csr_work(&on.a, &device, NULL), "work");
    return on;
}

static void free_arrays(spmm_arrays *on)
{
    tsr_cuda_csr_work_free(&on->a, NULL);
    tsr_cuda_free(on->a.p, NULL);
    tsr_cuda_free(on->a.i, NULL);
    tsr_cuda_free(on->x, NULL);
    tsr_cuda_free(on->b, NULL);
}

static tsr_cuda_csr_spmm product_of(const spmm_case *t, const spmm_arrays *on, char *c)
{
    tsr_cuda_csr_spmm q = {.semiring = {t->type, TSR_ADD_PLUS, TSR_MUL_TIMES}, .n = t->n, .b = on->b + (size_t)t->shift * t->size, .ldb = t->ldb,
                           .c = c, .ldc = t->ldc, .alpha = t->alpha.re, .alpha_im = t->alpha.im, .beta = t->beta.re, .beta_im = t->beta.im,
                           .conjugate = t->conjugate, .device = &device};
    const double one[2] = {1, 0};
    const float single[2] = {1, 0};
    const void *bits = t->type == TSR_FP64 || t->type == TSR_FC64 ? (const void *)one : single;
    memcpy(&q.iso, bits, t->size < 8 ? t->size : 8);
    if (t->size == 16)
        memcpy(&q.iso_rest, one + 1, 8);
    return q;
}

static tsr_status run(const spmm_case *t, const spmm_arrays *on, tsr_cuda_csr_spmm *q, int64_t values)
{
    tsr_cuda_csr a = on->a;
    const size_t bytes = tsr_cuda_csr_partial_bytes(&a, q);
    a.x = t->pattern ? NULL : on->x + (size_t)values * t->size;
    must(tsr_cuda_malloc(&q->partial, bytes + 1, NULL), "malloc");
    must(tsr_cuda_set(q->partial, 0xff, bytes + 1, NULL), "set");
    const tsr_status status = tsr_cuda_spmm_csr(&a, q);
    must(tsr_cuda_wait(NULL), "wait");
    tsr_cuda_free(q->partial, NULL);
    return status;
}

/* The products one by one. */
static char *run_alone(const spmm_case *t, const spmm_arrays *on)
{
    const size_t bytes = (size_t)c_count(t) * t->size;
    char *c = upload(t->c, bytes);
    for (int64_t k = 0; k < t->products; k++) {
        tsr_cuda_csr_spmm q = product_of(t, on, c + (size_t)(k * t->batch.c) * t->size);
        q.b = (const char *)q.b + (size_t)(k * t->batch.b) * t->size;
        must(run(t, on, &q, k * t->batch.values), "a product alone");
    }
    char *host = download(c, bytes);
    tsr_cuda_free(c, NULL);
    return host;
}

/* So far; 0 on a GPU. */
static long launches(void)
{
    return tsr_emulate_launches ? tsr_emulate_launches() : 0;
}

/* NULL: declined.  One launch, and one for the rows that are cut. */
static char *run_together(const spmm_case *t, const spmm_arrays *on)
{
    const size_t bytes = (size_t)c_count(t) * t->size;
    char *c = upload(t->c, bytes), *host = NULL;
    tsr_cuda_csr_spmm q = product_of(t, on, c);
    q.batch = t->batch;
    const long before = launches();
    const tsr_status status = run(t, on, &q, 0);
    if (launches() - before > 2) {
        printf("%ld launches\n", launches() - before);
        exit(1);
    }
    if (status == TSR_OK)
        host = download(c, bytes);
    else if (status != TSR_DECLINED)
        must(status, "products together");
    tsr_cuda_free(c, NULL);
    return host;
}

static bool close_to(double got, double wanted, double magnitude, bool whole, bool wide)
{
    return whole ? got == wanted : fabs(got - wanted) <= (wide ? 1e-14 : 2e-6) * (1 + magnitude);
}

/* Complex products, by the oracle. */
static bool right(const spmm_case *t, const char *found)
{
    const size_t bytes = (size_t)c_count(t) * t->size;
    char *wanted = host_new(bytes);
    static const double ones[2] = {1, 0};
    static const float single_ones[2] = {1, 0};
    memcpy(wanted, t->c, bytes);
    for (int64_t k = 0; k < t->products; k++) {
        tsr_view a = {.format = TSR_SPARSE, .type = t->type, .iso = t->pattern, .index_size = 4, .nrows = t->nrows, .ncols = t->ncols, .nvec = t->nrows,
                      .vlen = t->ncols, .nvals = t->nvals, .p = t->p, .i = t->i, .x = (const char *)t->x + (size_t)(k * t->batch.values) * t->size};
        a.x = t->pattern ? (t->size == 16 ? (const void *)ones : single_ones) : a.x;
        const tsr_complex_spmm q = {.type = t->type, .a = &a, .conjugate = t->conjugate, .n = t->n,
                                    .b = (const char *)t->b + (size_t)(t->shift + k * t->batch.b) * t->size, .b_row = t->ldb, .b_column = 1,
                                    .c = wanted + (size_t)(k * t->batch.c) * t->size, .c_row = t->ldc, .c_column = 1, .alpha = t->alpha, .beta = t->beta,
                                    .nthreads = 1};
        must(tsr_ref_spmm_complex(&q), "oracle");
    }
    bool good = true;
    for (int64_t k = 0; k < 2 * c_count(t); k++) {
        const bool wide = t->type == TSR_FC64;
        const double got = wide ? ((const double *)found)[k] : (double)((const float *)found)[k];
        const double want = wide ? ((const double *)wanted)[k] : (double)((const float *)wanted)[k];
        good = good && close_to(got, want, 8 * sqrt((double)t->ncols), t->whole, wide);
    }
    free(wanted);
    return good;
}

static int cut; /* cases with rows that are cut */

static int test_spmm(uint64_t seed)
{
    spmm_case t;
    draw_case(&t, seed);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    spmm_arrays on = upload_case(&t);
    cut += (t.n == 1 ? on.a.spmv : on.a.spmm).nsplit > 0;
    char *alone = run_alone(&t, &on), *together = run_together(&t, &on);
    const bool regular = t.shift == 0 && (size_t)t.batch.b * t.size % 16 == 0, same = !together || memcmp(alone, together, (size_t)c_count(&t) * t.size) == 0;
    const bool good = same && (together || !regular) && (!tsr_is_complex(t.type) || right(&t, alone));
    if (!good)
        printf("FAIL %llu: type %d, %lld x %lld, %lld entries, n %lld ldb %lld+%lld ldc %lld, strides %lld %lld %lld, alpha %g+%gi beta %g+%gi%s%s%s%s\n",
               (unsigned long long)seed, (int)t.type, (long long)t.nrows, (long long)t.ncols, (long long)t.nvals, (long long)t.n, (long long)t.ldb,
               (long long)t.shift, (long long)t.ldc, (long long)t.batch.values, (long long)t.batch.b, (long long)t.batch.c, t.alpha.re, t.alpha.im,
               t.beta.re, t.beta.im, t.pattern ? ", pattern" : "", t.conjugate ? ", conjugate" : "", together ? "" : ", declined",
               same ? "" : ", other bits");
    free(alone);
    free(together);
    free_arrays(&on);
    free_case(&t);
    return !good;
}

/* ---- SDDMM ---- */

typedef struct sampled_case {
    tsr_type type;
    size_t size;
    int64_t nrows, ncols, nvals, k, products;
    tsr_cuda_batch batch;
    tsr_cuda_csr mask;
    char *a, *b;
} sampled_case;

static char *sample(const sampled_case *t, bool together)
{
    const size_t bytes = (size_t)(t->nvals + (t->products - 1) * t->batch.values) * t->size;
    char *host = host_new(bytes), *x = upload(host, bytes);
    for (int64_t q = 0; q < (together ? 1 : t->products); q++) {
        const tsr_cuda_sddmm product = {.semiring = {t->type, TSR_ADD_PLUS, TSR_MUL_TIMES}, .mask = &t->mask, .end = t->nvals, .k = t->k,
                                        .a = t->a + (size_t)(q * t->batch.b) * t->size, .lda = t->k, .b = t->b + (size_t)(q * t->batch.c) * t->size,
                                        .ldb = t->k, .x = x + (size_t)(q * t->batch.values) * t->size,
                                        .batch = together ? t->batch : (tsr_cuda_batch){0}, .device = &device};
        must(tsr_cuda_sddmm_csr(&product), "sddmm");
        if (together)
            must(tsr_cuda_softmax_batch(x, x, t->products, t->batch.values, 1, &t->mask, t->type, NULL), "softmax");
        else
            must(tsr_cuda_softmax_rows(product.x, product.x, &t->mask, t->type, NULL), "softmax");
    }
    free(host);
    host = download(x, bytes);
    tsr_cuda_free(x, NULL);
    return host;
}

static int test_sddmm(uint64_t seed)
{
    static const tsr_type types[] = {TSR_FP32, TSR_FP64};
    static const int64_t widths[] = {0, 1, 3, 8, 16, 32, 64, 128, 100};
    uint64_t state = seed;
    int64_t p[MOST_ROWS + 1];
    uint32_t *i;
    sampled_case t = {.type = types[below(&state, 2)], .nrows = 1 + below(&state, MOST_ROWS), .ncols = 1 + below(&state, 200), .k = widths[below(&state, 9)],
                      .products = 2 + below(&state, 4)};
    t.size = tsr_type_size(t.type);
    t.nvals = draw_pattern(&state, t.nrows, t.ncols, p, &i);
    t.batch = (tsr_cuda_batch){t.products, t.nvals + below(&state, 3), t.nrows * t.k + 4 * below(&state, 2), below(&state, 4) ? t.ncols * t.k : 0};
    const int64_t na = t.nrows * t.k + (t.products - 1) * t.batch.b, nb = t.ncols * t.k + (t.products - 1) * t.batch.c;
    void *a = draw_elements(&state, t.type, na, false), *b = draw_elements(&state, t.type, nb, false);
    t.a = upload(a, (size_t)na * t.size);
    t.b = upload(b, (size_t)nb * t.size);
    t.mask = (tsr_cuda_csr){.nrows = t.nrows, .ncols = t.ncols, .nvals = t.nvals};
    t.mask.p = (void *)upload(p, (size_t)(t.nrows + 1) * sizeof *p);
    t.mask.i = (void *)upload(i, (size_t)t.nvals * sizeof *i);
    char *alone = sample(&t, false), *together = sample(&t, true);
    const bool same = memcmp(alone, together, (size_t)(t.nvals + (t.products - 1) * t.batch.values) * t.size) == 0;
    if (!same)
        printf("FAIL %llu: sampled, type %d, %lld x %lld, %lld entries, k %lld\n", (unsigned long long)seed, (int)t.type, (long long)t.nrows,
               (long long)t.ncols, (long long)t.nvals, (long long)t.k);
    void *const there[] = {t.a, t.b, t.mask.p, t.mask.i}, *const here[] = {i, a, b, alone, together};
    for (int k = 0; k < 4; k++)
        tsr_cuda_free(there[k], NULL);
    for (int k = 0; k < 5; k++)
        free(here[k]);
    return !same;
}

static int test(uint64_t seed)
{
    if (!device.sms)
        must(tsr_cuda_open(0, &device), "open");
    return test_spmm(seed) + test_sddmm(seed);
}

int main(int argc, char **argv)
{
    const int failed = run_seeds(argc, argv, "batch", 150, test);
    printf("%d of them cut rows\n", cut);
    return failed;
}
