/* Sparse times sparse on the device against a plain loop over the products of each row: random operands that reach every kind of row, every
 * semiring, iso operands and patterns, short memory, and other values in the same pattern.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spgemm/spgemm.h"
#include "kernels/ref/value.h"
#include "test/cuda/seeds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct matrix {
    int64_t nrows, ncols, nvals;
    int64_t *p;
    uint32_t *i;
    void *x; /* NULL: iso */
    uint64_t iso[2]; /* the second: of complex FP64 numbers the imaginary part, 0 */
} matrix;

static void *checked(void *p)
{
    if (!p)
        abort();
    return p;
}

static int64_t below(uint64_t *r, int64_t bound) { return (int64_t)(seeds_next(r) % (uint64_t)bound); }

/* ---- random operands ---- */

/* How long rows are and where their columns lie. */
typedef struct shape {
    int64_t typical, longest; /* entries of most rows, of some */
    int64_t near;             /* columns lie within this distance of a place that moves with the row */
    int empty, full;          /* percent of rows */
    bool hub;                 /* column 0 is in every row */
} shape;

static int by_column(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* Ascending columns without duplicates; returns how many. */
static int64_t draw_row(uint64_t *r, const shape *s, int64_t row, const matrix *a, uint32_t *columns)
{
    int percent = (int)below(r, 100);
    if (percent < s->empty || a->ncols == 0)
        return 0;
    int64_t most = percent < s->empty + s->full ? s->longest : s->typical, count = 1 + below(r, most), kept = 0;
    int64_t width = 2 * s->near + 1 < a->ncols ? 2 * s->near + 1 : a->ncols, centre = row * a->ncols / a->nrows;
    int64_t low = centre - s->near > a->ncols - width ? a->ncols - width : centre - s->near < 0 ? 0 : centre - s->near;
    for (int64_t k = 0; k < count; k++)
        columns[k] = (uint32_t)(low + below(r, width));
    if (s->hub)
        columns[0] = 0;
    qsort(columns, (size_t)count, sizeof *columns, by_column);
    for (int64_t k = 0; k < count; k++)
        if (k == 0 || columns[k] != columns[kept - 1])
            columns[kept++] = columns[k];
    return kept;
}

static void draw_values(uint64_t *r, tsr_type type, void *x, int64_t n)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310};
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = seeds_next(r);
        double real = (double)(int64_t)bits * 0x1p-62;
        if (tsr_type_is_float(type) && bits % 50 == 0)
            real = odd[bits / 50 % 6];
        tsr_value_store(type, x, k, (tsr_value){.bits = bits >> bits % 60, .real = real, .imag = (double)(int64_t)(bits * 0x9e3779b97f4a7c15u) * 0x1p-62});
    }
}

enum { MOST_BYTES = 16 };

static size_t size_of_type(tsr_type type)
{
    static const size_t size[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    return type == TSR_FC32 ? 8 : type == TSR_FC64 ? MOST_BYTES : size[type];
}

static matrix draw_matrix(uint64_t *r, int64_t nrows, int64_t ncols, const shape *s, tsr_type type, bool iso)
{
    matrix a = {.nrows = nrows, .ncols = ncols};
    int64_t room = 0;
    a.p = checked(malloc((size_t)(nrows + 1) * sizeof *a.p));
    for (int64_t row = 0; row <= nrows; row++) {
        a.p[row] = a.nvals;
        if (row == nrows)
            break;
        if (room < a.nvals + s->longest + s->typical) {
            room = 2 * (a.nvals + s->longest + s->typical);
            a.i = checked(realloc(a.i, (size_t)room * sizeof *a.i));
        }
        a.nvals += draw_row(r, s, row, &a, a.i + a.nvals);
    }
    draw_values(r, type, a.iso, 1);
    a.iso[1] = 0;
    a.x = iso ? NULL : checked(malloc((size_t)(a.nvals + 1) * MOST_BYTES));
    if (a.x)
        draw_values(r, type, a.x, a.nvals);
    return a;
}

static void free_matrix(matrix *a)
{
    free(a->p);
    free(a->i);
    free(a->x);
}

/* ---- the plain loop ---- */

/* mask NULL: everything passes. */
typedef struct sieve {
    const matrix *mask; /* x: UINT32, or iso and structural */
    bool complement;
} sieve;

static bool passes(const sieve *s, int64_t row, uint32_t column)
{
    bool there = false;
    for (int64_t e = s->mask ? s->mask->p[row] : 0; s->mask && e < s->mask->p[row + 1]; e++)
        there |= s->mask->i[e] == column && (!s->mask->x || ((const uint32_t *)s->mask->x)[e] != 0);
    return !s->mask || there != s->complement;
}

/* C of one semiring; ANY takes the last product. */
static matrix multiply(const matrix *a, const matrix *b, tsr_semiring semiring, sieve mask)
{
    const bool any = semiring.add == TSR_ADD_ANY;
    matrix c = {.nrows = a->nrows, .ncols = b->ncols};
    uint32_t *columns = NULL;
    int64_t room = 0;
    c.p = checked(calloc((size_t)(c.nrows + 1), sizeof *c.p));
    tsr_value *sums = checked(malloc((size_t)(c.ncols + 1) * sizeof *sums));
    int8_t *seen = checked(calloc((size_t)(c.ncols + 1), 1));
    for (int64_t row = 0; row < c.nrows; row++) {
        int64_t count = 0, products = 0;
        for (int64_t e = a->p[row]; e < a->p[row + 1]; e++)
            products += b->p[a->i[e] + 1] - b->p[a->i[e]];
        columns = checked(realloc(columns, (size_t)(products + 1) * sizeof *columns));
        for (int64_t e = a->p[row]; e < a->p[row + 1]; e++) {
            tsr_value x = a->x ? tsr_value_load(semiring.type, a->x, e) : tsr_value_load(semiring.type, a->iso, 0);
            for (int64_t f = b->p[a->i[e]]; f < b->p[a->i[e] + 1]; f++) {
                tsr_value y = b->x ? tsr_value_load(semiring.type, b->x, f) : tsr_value_load(semiring.type, b->iso, 0);
                tsr_value z = tsr_value_multiply(&semiring, TSR_ROUND_TO_TYPE, x, y);
                uint32_t j = b->i[f];
                sums[j] = seen[j] && !any ? tsr_value_add(&semiring, TSR_ROUND_TO_TYPE, sums[j], z) : tsr_value_begin(&semiring, z);
                if (!seen[j])
                    columns[count++] = j;
                seen[j] = 1;
            }
        }
        qsort(columns, (size_t)count, sizeof *columns, by_column);
        if (room < c.nvals + count) {
            room = 2 * (c.nvals + count);
            c.i = checked(realloc(c.i, (size_t)room * sizeof *c.i));
            c.x = checked(realloc(c.x, (size_t)room * MOST_BYTES));
        }
        for (int64_t k = 0; k < count; k++) {
            seen[columns[k]] = 0;
            if (!passes(&mask, row, columns[k]))
                continue;
            tsr_value_store(semiring.type, c.x, c.nvals, sums[columns[k]]);
            c.i[c.nvals++] = columns[k];
        }
        c.p[row + 1] = c.nvals;
    }
    free(columns);
    free(sums);
    free(seen);
    return c;
}

/* ---- the device ---- */

static void must(tsr_status status)
{
    if (status != TSR_OK)
        printf("status %d\n", (int)status), exit(1);
}

enum { GUARD = 64 }; /* bytes behind an array that must stay */

static void *poisoned(size_t bytes)
{
    void *p;
    must(tsr_cuda_malloc(&p, bytes + GUARD, NULL));
    must(tsr_cuda_set(p, 0xA5, bytes + GUARD, NULL));
    return p;
}

static void *upload(const void *host, size_t bytes)
{
    void *p = poisoned(bytes);
    must(tsr_cuda_to_device(p, host, bytes, NULL));
    return p;
}

static tsr_cuda_csr upload_matrix(const matrix *a, size_t size)
{
    tsr_cuda_csr d = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals};
    d.p = upload(a->p, (size_t)(a->nrows + 1) * sizeof *a->p);
    d.i = upload(a->i, (size_t)a->nvals * sizeof *a->i);
    d.x = a->x ? upload(a->x, (size_t)a->nvals * size) : NULL;
    return d;
}

/* The same arrays as if more entries came before than 32 bits can number: only p is new. */
static tsr_cuda_csr far_offsets(const tsr_cuda_csr *d, const matrix *a, size_t size)
{
    const int64_t before = ((int64_t)1 << 32) + 12345;
    tsr_cuda_csr far = *d;
    int64_t *p = checked(malloc((size_t)(a->nrows + 1) * sizeof *p));
    for (int64_t row = 0; row <= a->nrows; row++)
        p[row] = a->p[row] + before;
    far.p = upload(p, (size_t)(a->nrows + 1) * sizeof *p);
    far.i = (uint32_t *)((uintptr_t)d->i - (size_t)before * sizeof *d->i);
    far.x = d->x ? (void *)((uintptr_t)d->x - (size_t)before * size) : NULL;
    free(p);
    return far;
}

static void free_device(tsr_cuda_csr *a)
{
    tsr_cuda_free(a->p, NULL);
    tsr_cuda_free(a->i, NULL);
    tsr_cuda_free(a->x, NULL);
}

static bool same_bytes(const void *device, const void *host, size_t bytes, const char *what)
{
    unsigned char *got = checked(malloc(bytes + GUARD));
    must(tsr_cuda_to_host(got, device, bytes + GUARD, NULL));
    must(tsr_cuda_wait(NULL));
    size_t wrong = 0;
    while (wrong < bytes && got[wrong] == ((const unsigned char *)host)[wrong])
        wrong++;
    size_t behind = bytes;
    while (wrong == bytes && behind < bytes + GUARD && got[behind] == 0xA5)
        behind++;
    bool same = wrong == bytes && behind == bytes + GUARD;
    if (!same)
        printf("%s differ at byte %zu of %zu\n", what, wrong < bytes ? wrong : behind, bytes);
    free(got);
    return same;
}

static bool same_values(const void *device, const matrix *c, tsr_type type)
{
    size_t size = size_of_type(type), bytes = (size_t)c->nvals * size;
    char *got = checked(malloc(bytes + GUARD));
    must(tsr_cuda_to_host(got, device, bytes + GUARD, NULL));
    must(tsr_cuda_wait(NULL));
    bool same = true;
    for (int64_t k = 0; k < c->nvals && same; k++) {
        same = tsr_value_same(tsr_value_load(type, got, k), tsr_value_load(type, c->x, k));
        if (!same)
            printf("value %lld differs\n", (long long)k);
    }
    for (size_t k = bytes; k < bytes + GUARD && same; k++) {
        same = (unsigned char)got[k] == 0xA5;
        if (!same)
            printf("written behind the values\n");
    }
    free(got);
    return same;
}

/* ---- a case ---- */

typedef struct spgemm_case {
    tsr_semiring semiring;
    bool pattern;
    size_t memory;
    matrix a, b, mask;
    bool masked, bits, complement, far; /* bits: for each place of the mask; far: offsets take more than 32 bits, also those of what is stored */
    bool many;                          /* bounds take more than 32 bits */
} spgemm_case;

static tsr_semiring draw_semiring(uint64_t *r)
{
    static const tsr_semiring common[] = {{TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES},
        {TSR_INT32, TSR_ADD_PLUS, TSR_MUL_PAIR}, {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_TIMES}, {TSR_UINT64, TSR_ADD_PLUS, TSR_MUL_PAIR},
        {TSR_INT32, TSR_ADD_PLUS, TSR_MUL_TIMES}, {TSR_FP64, TSR_ADD_MIN, TSR_MUL_PLUS}, {TSR_FC32, TSR_ADD_PLUS, TSR_MUL_TIMES},
        {TSR_FC64, TSR_ADD_PLUS, TSR_MUL_TIMES}};
    if (below(r, 2))
        return common[below(r, sizeof common / sizeof *common)];
    tsr_semiring s = {(tsr_type)below(r, TSR_TYPE_COUNT), (tsr_add)below(r, TSR_ADD_COUNT), (tsr_mul)below(r, TSR_MUL_COUNT)};
    if (s.type == TSR_BOOL && s.add != TSR_ADD_ANY)
        s.add = TSR_ADD_LOR;
    return s;
}

/* Few products a row; narrow rows with many; wide ones; dense ones; columns far apart; several windows; one heavy row; few
 * that are divided; a column where most products meet, few elsewhere; wide rows of pieces that are close together, as of a web graph. */
static void draw_operands(uint64_t *r, spgemm_case *c)
{
    const int64_t kind = below(r, 40) ? below(r, 10) : 10, many = 1 << 30; /* the last takes long */
    const int64_t widths[] = {40, 3000, 200000, 1500, 16000000, 1400000, 60000, 30000, 50000, 5000, 1000000};
    int64_t m = 1 + below(r, 60), k = 1 + below(r, 300), n = 1 + below(r, widths[kind]);
    shape a = {1 + below(r, 12), 1 + below(r, 40), many, (int)below(r, 30), (int)below(r, 20), false};
    shape b = {1 + below(r, 12), 1 + below(r, 40), many, (int)below(r, 30), (int)below(r, 20), false};
    if (kind >= 1 && kind != 4) {
        a.longest = 60, a.full = 30;
        b.typical = 60, b.longest = 300;
    }
    if (kind == 1)
        b.near = 1 + below(r, 2000);
    if (kind == 3 || kind == 6)
        a.typical = 1 + below(r, 200), a.longest = 400, b.longest = 900, m = 1 + below(r, 8);
    if (kind == 5)
        m = 1 + below(r, 4);
    if (kind == 7) /* many rows, a few at a time in a group of lanes */
        m = 500 + below(r, 1500), a.typical = 1 + below(r, 6), a.longest = 12, b.typical = 1 + below(r, 12), b.longest = 14;
    if (kind == 8)
        m = 1 + below(r, 6), k = 300, n += 9000, a.typical = 250, a.longest = 300, b.typical = 1500, b.longest = 4000;
    if (kind == 9) {
        k = 700, n += 500, a.typical = 1 + below(r, 600), a.longest = 700;
        b = (shape){.typical = 3, .longest = 6, .near = many, .full = 20, .hub = true};
    }
    if (kind == 10) {
        m = 1200 + below(r, 400), k = 300, n += 270000, a.typical = 8, a.longest = 60, a.full = 30;
        b = (shape){.typical = 500, .longest = 500, .near = 600, .empty = (int)below(r, 10)};
    }
    c->a = draw_matrix(r, m, k, &a, c->semiring.type, below(r, 6) == 0);
    c->b = draw_matrix(r, k, n, &b, c->semiring.type, below(r, 6) == 0);
    shape mask = {1 + below(r, 60), 1 + below(r, n), below(r, 2) ? many : b.near, (int)below(r, 30), (int)below(r, 40), false};
    mask.longest = mask.longest < 20000 ? mask.longest : 20000;
    c->far = below(r, 4) == 0;
    c->many = below(r, 4) == 0;
    c->masked = below(r, 2);
    c->bits = (double)m * (double)n < 0x1p24 && below(r, 3) == 0;
    c->complement = below(r, 2);
    c->mask = draw_matrix(r, m, n, &mask, TSR_UINT32, below(r, 2));
    for (int64_t e = 0; c->mask.x && e < c->mask.nvals; e += 1 + below(r, 3))
        ((uint32_t *)c->mask.x)[e] = 0;
}


/* Sometimes, or not at all where they take more than they may. */
static void keep_places(tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *q, const tsr_cuda_csr *c, uint64_t *r)
{
    size_t bytes = 0, most = below(r, 4) ? SIZE_MAX / 2 : (size_t)below(r, 100000);
    tsr_status status = below(r, 8) ? tsr_cuda_spgemm_keep(work, &bytes, q, c, most) : TSR_DECLINED;
    if (status != TSR_DECLINED)
        must(status);
    if ((status == TSR_OK) != (bytes > 0) || bytes > most)
        printf("%zu bytes kept of %zu\n", bytes, most), exit(1);
}

/* A bit for each place of the mask, as that of a bitmap matrix is sent: 1 where an entry counts. */
static uint32_t *upload_bits(const matrix *mask, int64_t words)
{
    const size_t bytes = (size_t)(mask->nrows * words) * sizeof(uint32_t);
    uint32_t *bits = checked(calloc(bytes + 1, 1));
    for (int64_t row = 0; row < mask->nrows; row++)
        for (int64_t e = mask->p[row]; e < mask->p[row + 1]; e++)
            if (!mask->x || ((const uint32_t *)mask->x)[e] != 0)
                bits[row * words + mask->i[e] / 32] |= 1u << mask->i[e] % 32;
    uint32_t *there = upload(bits, bytes);
    free(bits);
    return there;
}

static bool check(const spgemm_case *c, const tsr_cuda_device *device, uint64_t *r)
{
    size_t size = size_of_type(c->semiring.type);
    const sieve mask = {c->masked ? &c->mask : NULL, c->complement};
    matrix a = c->a, b = c->b, want = multiply(&a, &b, c->semiring, mask);
    tsr_cuda_csr da = upload_matrix(&a, size), db = upload_matrix(&b, size), dm = upload_matrix(&c->mask, 4);
    tsr_cuda_csr dc = {.nrows = a.nrows, .ncols = b.ncols, .nvals = want.nvals};
    const int64_t words = b.ncols / 32 + 1 + below(r, 2);
    uint32_t *bits = c->masked && c->bits ? upload_bits(&c->mask, words) : NULL;
    tsr_cuda_csr fa = far_offsets(&da, &a, size), fb = far_offsets(&db, &b, size), fm = far_offsets(&dm, &c->mask, 4);
    tsr_cuda_spgemm q = {.semiring = c->semiring, .pattern = c->pattern, .a = c->far ? &fa : &da, .b = c->far ? &fb : &db, .a_iso = a.iso[0], .b_iso = b.iso[0],
                         .mask_bits = bits, .mask_words = words,
                         .mask = c->masked && !bits ? (c->far ? &fm : &dm) : NULL, .mask_size = 4, .mask_complement = c->complement,
                         .memory = c->memory, .device = device};
    tsr_cuda_spgemm_work *work;
    tsr_cuda_spgemm_size found;
    tsr_cuda_spgemm_stored_before = c->far ? (uint64_t)UINT32_MAX - (uint64_t)below(r, want.nvals + 1) : 0;
    tsr_cuda_spgemm_bound_times = c->many ? (uint64_t)1 << 32 : 1;
    must(tsr_cuda_spgemm_count(&work, &found, &q));
    bool right = found.nvals == want.nvals;
    if (!right)
        printf("%lld entries, not %lld\n", (long long)found.nvals, (long long)want.nvals);
    if (right) {
        dc.p = poisoned((size_t)(dc.nrows + 1) * sizeof *dc.p);
        dc.i = poisoned((size_t)dc.nvals * sizeof *dc.i);
        dc.x = c->pattern ? NULL : poisoned((size_t)dc.nvals * size);
        must(tsr_cuda_spgemm_fill(work, &q, &dc, false));
        right = same_bytes(dc.p, want.p, (size_t)(dc.nrows + 1) * sizeof *dc.p, "offsets") &&
                same_bytes(dc.i, want.i, (size_t)dc.nvals * sizeof *dc.i, "columns") &&
                (c->pattern || same_values(dc.x, &want, c->semiring.type));
    }
    if (right && a.x && !c->pattern) { /* other values */
        if (!c->far)
            keep_places(work, &q, &dc, r);
        draw_values(r, c->semiring.type, a.x, a.nvals);
        must(tsr_cuda_to_device(da.x, a.x, (size_t)a.nvals * size, NULL));
        must(tsr_cuda_set(dc.x, 0xA5, (size_t)dc.nvals * size, NULL));
        matrix other = multiply(&a, &b, c->semiring, mask);
        tsr_cuda_csr fc = far_offsets(&dc, &want, size);
        must(tsr_cuda_spgemm_fill(work, &q, c->far ? &fc : &dc, true));
        tsr_cuda_free(fc.p, NULL);
        right = same_values(dc.x, &other, c->semiring.type) && same_bytes(dc.i, want.i, (size_t)dc.nvals * sizeof *dc.i, "columns again");
        free_matrix(&other);
    }
    tsr_cuda_spgemm_free(work, NULL);
    tsr_cuda_free(fa.p, NULL);
    tsr_cuda_free(fb.p, NULL);
    tsr_cuda_free(fm.p, NULL);
    tsr_cuda_free(bits, NULL);
    free_device(&da);
    free_device(&db);
    free_device(&dm);
    free_device(&dc);
    free_matrix(&want);
    return right;
}

static int run(uint64_t seed)
{
    tsr_cuda_device device;
    uint64_t r = seed;
    must(tsr_cuda_open(0, &device));
    spgemm_case c = {.semiring = draw_semiring(&r), .pattern = below(&r, 10) == 0};
    c.memory = below(&r, 3) ? 0 : (size_t)below(&r, 300000) + 1;
    draw_operands(&r, &c);
    bool right = check(&c, &device, &r);
    if (!right)
        printf("FAIL --seed=%llu: type %d add %d mul %d, %lld x %lld x %lld, %lld and %lld entries, memory %zu\n", (unsigned long long)seed,
               (int)c.semiring.type, (int)c.semiring.add, (int)c.semiring.mul, (long long)c.a.nrows, (long long)c.a.ncols,
               (long long)c.b.ncols, (long long)c.a.nvals, (long long)c.b.nvals, c.memory);
    free_matrix(&c.a);
    free_matrix(&c.b);
    free_matrix(&c.mask);
    return !right;
}

int main(int argc, char **argv)
{
    return run_seeds(argc, argv, "test_spgemm", 200, run);
}
