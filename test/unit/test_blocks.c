/* The block formats: a worked example by hand, properties on random edge-biased matrices, reference executors, failing
 * allocations.
 * TESSERA_TEST_SEED repeats a run; TESSERA_TEST_DATA is a folder of Matrix Market files to try.
 * Linked with --wrap for the allocation functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"
#include "src/format/blocks.h"
#include "src/format/format.h"
#include "tools/mm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- failing allocations ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);

static bool counting;  /* only while the code under test runs on one thread */
static int until_fail; /* allocations that still succeed; negative: all */
static int64_t live;

static bool granted(void)
{
    return !counting || until_fail < 0 || until_fail-- > 0;
}

static void *note(void *block)
{
    live += counting && block;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return granted() ? note(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return granted() ? note(__real_calloc(count, size)) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return granted() ? note(__real_aligned_alloc(alignment, size)) : NULL;
}

void __wrap_free(void *block)
{
    live -= counting && block;
    __real_free(block);
}

/* ---- random matrices ---- */

static uint64_t first_seed = 20261121, seed;

static int64_t draw(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed >> 11) % n;
}

static double draw_value(void)
{
    double v = (double)draw(2001) / 1000 - 1;
    return draw(40) ? v : 0; /* explicit zeros */
}

static int set_seed(void **state)
{
    (void)state;
    seed = first_seed;
    return 0;
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)first_seed);
    return 0;
}

/* A source that owns its arrays, FP64. */
typedef struct matrix {
    tsr_source s;
    int64_t *p;
    uint32_t *i;
    double *x;
    int64_t room;
} matrix;

static matrix new_matrix(int64_t nrows, int64_t ncols)
{
    matrix m = {.s = {.nrows = nrows, .ncols = ncols, .number = TSR_NUMBER_FP64}, .room = 16};
    m.p = calloc((size_t)nrows + 1, sizeof *m.p);
    m.i = malloc((size_t)m.room * sizeof *m.i);
    m.x = malloc((size_t)m.room * sizeof *m.x);
    return m;
}

/* Rows ascend, columns ascend in a row. */
static void push(matrix *m, int64_t row, uint32_t column, double value)
{
    if (m->s.nvals == m->room) {
        m->room *= 2;
        m->i = realloc(m->i, (size_t)m->room * sizeof *m->i);
        m->x = realloc(m->x, (size_t)m->room * sizeof *m->x);
    }
    m->i[m->s.nvals] = column;
    m->x[m->s.nvals++] = value;
    m->p[row + 1]++;
}

static void close_matrix(matrix *m)
{
    for (int64_t row = 0; row < m->s.nrows; row++)
        m->p[row + 1] += m->p[row];
    m->s.p = m->p;
    m->s.i = m->i;
    m->s.x = m->x;
}

static void free_matrix(matrix *m)
{
    free(m->p);
    free(m->i);
    free(m->x);
}

/* Edges: empty rows and windows, one full row, one full column, dense aligned 8 x 8 blocks. */
static matrix random_matrix(int64_t nrows, int64_t ncols)
{
    matrix m = new_matrix(nrows, ncols);
    int64_t rarity = 1 + draw(draw(2) ? 8 : 100), empty_rows = draw(4), empty_windows = draw(3);
    int64_t dense = draw(3) ? 0 : 1 + draw(20), full_row = draw(3) ? -1 : draw(nrows + 1);
    int64_t full_column = draw(3) ? -1 : draw(ncols + 1), salt = draw(1000);
    for (int64_t row = 0; row < nrows; row++) {
        bool empty = (empty_rows && draw(4) < empty_rows) || (empty_windows && (row / 16 + salt) % 3 < empty_windows - 1);
        for (int64_t column = 0; column < ncols; column++) {
            bool in_dense = dense && (row / 8 * 31 + column / 8 * 17 + salt) % 23 < dense;
            bool here = row == full_row || (!empty && (column == full_column || in_dense || !draw(rarity)));
            if (here)
                push(&m, row, (uint32_t)column, draw_value());
        }
    }
    close_matrix(&m);
    return m;
}

/* Few entries in a row, columns anywhere below 2^32. */
static matrix wide_matrix(int64_t nrows, int64_t ncols, int64_t most)
{
    matrix m = new_matrix(nrows, ncols);
    for (int64_t row = 0; row < nrows; row++) {
        int64_t n = draw(most + 1), step = ncols / (n + 1) > 0 ? ncols / (n + 1) : 1, column = draw(step);
        for (; column < ncols; column += 1 + draw(step))
            push(&m, row, (uint32_t)column, draw_value());
        if (row % 5 == 0 && m.p[row + 1] && m.i[m.s.nvals - 1] != (uint32_t)(ncols - 1))
            push(&m, row, (uint32_t)(ncols - 1), 0.5);
    }
    close_matrix(&m);
    return m;
}

static void random_sizes(int64_t *nrows, int64_t *ncols)
{
    static const int64_t edges[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 200, 257};
    *nrows = edges[draw(20)];
    *ncols = edges[draw(20)];
}

/* ---- all formats of one matrix ---- */

enum { KINDS = 8 };

typedef struct format {
    tsr_me_tcf me_tcf;
    tsr_me_bcrs me_bcrs;
    tsr_bmat bmat;
    tsr_hrpb hrpb;
} format;

static const int kind_size[KINDS] = {0, 8, 16, 8, 16, 16, 32, 64}; /* width of ME-BCRS, else height */

static bool is_bcrs(int kind)
{
    return kind == 1 || kind == 2;
}

static tsr_status make(format *f, int kind, const tsr_source *in, double iso, int nthreads)
{
    memset(f, 0, sizeof *f);
    switch (kind) {
    case 0: return tsr_make_me_tcf(&f->me_tcf, in, nthreads);
    case 1:
    case 2: return tsr_make_me_bcrs(&f->me_bcrs, in, kind_size[kind], iso, nthreads);
    case 3:
    case 4: return tsr_make_bmat(&f->bmat, in, kind_size[kind], nthreads);
    default: return tsr_make_hrpb(&f->hrpb, in, kind_size[kind], nthreads);
    }
}

static void release(format *f)
{
    tsr_free_me_tcf(&f->me_tcf);
    tsr_free_me_bcrs(&f->me_bcrs);
    tsr_free_bmat(&f->bmat);
    tsr_free_hrpb(&f->hrpb);
}

static const tsr_windows *windows_of(const format *f, int kind)
{
    return kind == 0 ? &f->me_tcf.w : is_bcrs(kind) ? &f->me_bcrs.w : kind < 5 ? &f->bmat.w : &f->hrpb.w;
}

static const char *check(const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_check_me_tcf(&f->me_tcf)
           : is_bcrs(kind) ? tsr_check_me_bcrs(&f->me_bcrs, number)
           : kind < 5      ? tsr_check_bmat(&f->bmat)
                           : tsr_check_hrpb(&f->hrpb);
}

static tsr_status expand(tsr_source *out, const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_expand_me_tcf(out, &f->me_tcf, number)
           : is_bcrs(kind) ? tsr_expand_me_bcrs(out, &f->me_bcrs, number)
           : kind < 5      ? tsr_expand_bmat(out, &f->bmat, number)
                           : tsr_expand_hrpb(out, &f->hrpb, number);
}

static size_t bytes(const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_bytes_me_tcf(&f->me_tcf, number)
           : is_bcrs(kind) ? tsr_bytes_me_bcrs(&f->me_bcrs, number)
           : kind < 5      ? tsr_bytes_bmat(&f->bmat, number)
                           : tsr_bytes_hrpb(&f->hrpb, number);
}

static tsr_status multiply(const format *f, int kind, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                           double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    if (kind == 0)
        return tsr_ref_spmm_me_tcf(&f->me_tcf, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
    if (is_bcrs(kind))
        return tsr_ref_spmm_me_bcrs(&f->me_bcrs, number, n, b, ldb, c, ldc, alpha, beta, magnitude);
    if (kind < 5)
        return tsr_ref_spmm_bmat(&f->bmat, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
    return tsr_ref_spmm_hrpb(&f->hrpb, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

/* ---- 20 x 11 by hand ---- */

/* Row: columns (values number the entries).  0: 1 4 | 1: 0 4 9 | 3: 10 | 5: 1 2 3 5 6 7 | 9: 4 | 15: 0 10 | 17: 2 8 | 19: 2 */
static const int64_t hand_p[21] = {0, 2, 5, 5, 6, 6, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 15, 15, 17, 17, 18};
static const uint32_t hand_i[18] = {1, 4, 0, 4, 9, 10, 1, 2, 3, 5, 6, 7, 4, 0, 10, 2, 8, 2};
static const float hand_x[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
static const tsr_source hand = {20, 11, 18, hand_p, hand_i, hand_x, TSR_NUMBER_FP32};

#define EQUAL(array, ...)                                                   \
    do {                                                                    \
        const __typeof__(*(array)) want_[] = {__VA_ARGS__};                 \
        assert_memory_equal(array, want_, sizeof want_);                    \
    } while (0)

static void test_hand_me_tcf(void **state)
{
    (void)state;
    tsr_me_tcf a;
    assert_int_equal(tsr_make_me_tcf(&a, &hand, 1), TSR_OK);
    assert_true(a.w.nwindows == 2 && a.w.nvectors == 12 && a.w.nblocks == 3 && a.w.height == 16 && a.w.width == 8);
    EQUAL(a.w.entry, 0, 15, 18);
    EQUAL(a.w.vector, 0, 10, 12);
    EQUAL(a.w.block, 0, 2, 3);
    EQUAL(a.w.column, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 2, 8);
    EQUAL(a.block_entry, 0, 12, 0);
    EQUAL(a.local, 1, 4, 8, 12, 41, 42, 43, 45, 46, 47, 76, 120, 8, 25, 121, 8, 9, 24);
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 5, 6, 15, 16, 17, 18);
    tsr_free_me_tcf(&a);
}

static void test_hand_me_bcrs(void **state)
{
    (void)state;
    tsr_me_bcrs a;
    float want[120] = {0};
    static const struct {
        int at_8, at_16;
        float value;
    } places[18] = {{1, 1, 1},     {4, 4, 2},     {8, 10, 3},    {12, 14, 4},   {66, 18, 5},   {71, 39, 6},
                    {41, 51, 7},   {42, 52, 8},   {43, 53, 9},   {45, 55, 10},  {46, 56, 11},  {47, 57, 12},
                    {84, 84, 13},  {101, 101, 14}, {103, 103, 15}, {106, 106, 16}, {107, 107, 17}, {110, 110, 18}};
    for (int k = 0; k < 18; k++)
        want[places[k].at_8] = places[k].value;
    assert_int_equal(tsr_make_me_bcrs(&a, &hand, 8, 1, 1), TSR_OK);
    EQUAL(a.w.entry, 0, 12, 15, 18);
    EQUAL(a.w.vector, 0, 10, 13, 15);
    EQUAL(a.w.block, 0, 2, 3, 4);
    EQUAL(a.w.column, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 0, 4, 10, 2, 8);
    assert_memory_equal(a.value, want, sizeof want);
    tsr_free_me_bcrs(&a);
    memset(want, 0, sizeof want);
    for (int k = 0; k < 18; k++)
        want[places[k].at_16] = places[k].value;
    assert_int_equal(tsr_make_me_bcrs(&a, &hand, 16, 1, 1), TSR_OK);
    EQUAL(a.w.block, 0, 1, 2, 3);
    assert_memory_equal(a.value, want, sizeof want);
    tsr_free_me_bcrs(&a);
}

#define BIT(k) (1ull << (k))

static void test_hand_bmat(void **state)
{
    (void)state;
    tsr_bmat a;
    const uint64_t head = BIT(1) | BIT(4) | BIT(8) | BIT(12) | BIT(41) | BIT(42) | BIT(43) | BIT(45) | BIT(46) | BIT(47);
    assert_int_equal(tsr_make_bmat(&a, &hand, 16, 1), TSR_OK);
    EQUAL(a.mask, head, BIT(12) | BIT(56), BIT(8) | BIT(25), BIT(57), BIT(8) | BIT(9) | BIT(24), 0);
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 5, 6, 15, 16, 17, 18);
    tsr_free_bmat(&a);
    assert_int_equal(tsr_make_bmat(&a, &hand, 8, 1), TSR_OK);
    EQUAL(a.w.block, 0, 2, 3, 4);
    EQUAL(a.mask, head, BIT(8) | BIT(25), BIT(9) | BIT(56) | BIT(58), BIT(8) | BIT(9) | BIT(24));
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 5, 6, 13, 14, 15, 16, 17, 18);
    tsr_free_bmat(&a);
}

static void test_hand_stencil(void **state)
{
    (void)state;
    tsr_stencil a;
    uint32_t slots[32] = { [0] = 0x12, [1] = 0x211, [3] = 0x400, [5] = 0xee, [9] = 0x10, [15] = 0x401, [17] = 0x104, [19] = 0x4 };
    assert_int_equal(tsr_make_stencil(&a, &hand, 1), TSR_OK);
    assert_true(a.w.height == 32 && a.w.width == 32 && a.w.nblocks == 1 && a.w.nvectors == 11);
    assert_memory_equal(a.slots, slots, sizeof slots);
    assert_int_equal(tsr_bytes_stencil(&a), 2 * 3 * 8 + 11 * 4 + 128);
    tsr_free_stencil(&a);
}

static void test_hand_hrpb(void **state)
{
    (void)state;
    tsr_hrpb a;
    assert_int_equal(tsr_make_hrpb(&a, &hand, 16, 1), TSR_OK);
    assert_true(a.nbricks == 4 && a.w.nblocks == 2);
    EQUAL(a.brick, 0, 3, 4);
    EQUAL(a.block_brick, 0, 0);
    EQUAL(a.position, 0, 1, 2, 0);
    EQUAL(a.brick_entry, 0, 6, 12, 0);
    EQUAL(a.pattern, BIT(1) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(60),
          BIT(0) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(36), BIT(4) | BIT(13) | BIT(61), BIT(4) | BIT(5) | BIT(12));
    EQUAL((float *)a.value, 1, 3, 7, 8, 9, 14, 2, 4, 10, 11, 12, 13, 5, 6, 15, 16, 17, 18);
    tsr_free_hrpb(&a);
    assert_int_equal(tsr_make_hrpb(&a, &hand, 32, 1), TSR_OK);
    assert_true(a.nbricks == 5 && a.w.nblocks == 1 && a.w.nvectors == 11);
    EQUAL(a.position, 0, 1, 2, 4, 5);
    EQUAL(a.brick_entry, 0, 6, 8, 14, 17);
    EQUAL(a.pattern, BIT(1) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(60), BIT(6) | BIT(14),
          BIT(0) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(36), BIT(5) | BIT(14) | BIT(62), BIT(4));
    EQUAL((float *)a.value, 1, 3, 7, 8, 9, 14, 16, 18, 2, 4, 10, 11, 12, 13, 5, 6, 15, 17);
    tsr_free_hrpb(&a);
}

static void test_hand_work(void **state)
{
    (void)state;
    tsr_bmat a;
    tsr_work work;
    assert_int_equal(tsr_make_bmat(&a, &hand, 16, 1), TSR_OK);
    assert_int_equal(tsr_make_work(&work, &a.w, a.mask, 1), TSR_OK);
    assert_true(work.nitems == 3 && work.nsplit == 1 && work.npartials == 2);
    EQUAL(work.window, 0, 0, 1);
    EQUAL(work.block, 0, 1, 2, 3);
    EQUAL(work.entry, 0, 12, 15);
    EQUAL(work.partial, 0, 1, -1);
    EQUAL(work.split_window, 0);
    EQUAL(work.split_partial, 0, 2);
    tsr_free_work(&work);
    assert_int_equal(tsr_make_work(&work, &a.w, NULL, 2), TSR_OK);
    assert_true(work.nitems == 2 && work.nsplit == 0 && work.npartials == 0 && !work.entry);
    EQUAL(work.block, 0, 2, 3);
    EQUAL(work.partial, -1, -1);
    tsr_free_work(&work);
    assert_int_equal(tsr_make_work(&work, &a.w, NULL, 0), TSR_INVALID_VALUE);
    tsr_free_bmat(&a);
}

static void test_hand_statistics(void **state)
{
    (void)state;
    tsr_statistics s;
    assert_int_equal(tsr_make_statistics(&s, &hand, 1), TSR_OK);
    EQUAL(s.vectors, 15, 12, 11, 11, 11);
    assert_true(s.blocks_16x8 == 3 && s.blocks_8x8 == 4 && s.bricks_16x4 == 4);
    assert_true(s.mean_nnz_tc == 6 && s.alpha == 18.0 / 256 && s.intensity == 1.5);
    assert_true(s.bytes_csr == 312 && s.bytes_me_tcf == 72 + 48 + 12 + 18 + 72);
    assert_true(s.bytes_me_bcrs == 96 + 60 + 480 && s.bytes_bmat_8 == 96 + 60 + 32 + 72 && s.bytes_bmat_16 == 72 + 48 + 48 + 72);
    assert_true(s.bytes_hrpb == 72 + 48 + 24 + 8 + 52 + 72);
}

/* ---- properties ---- */

/* Is the expansion the source?  zeros: it may lack entries of value zero. */
static void assert_expands(const tsr_source *in, const format *f, int kind, bool zeros)
{
    tsr_source back;
    size_t size = tsr_number_size(in->number);
    assert_int_equal(expand(&back, f, kind, in->number), TSR_OK);
    for (int64_t row = 0; row < in->nrows; row++) {
        int64_t k = back.p[row];
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++) {
            if (zeros && in->x && tsr_ref_number(in->x, in->number, e) == 0)
                continue;
            assert_true(k < back.p[row + 1]);
            assert_int_equal(back.i[k], in->i[e]);
            if (in->x)
                assert_memory_equal((const char *)back.x + (size_t)k * size, (const char *)in->x + (size_t)e * size, size);
            k++;
        }
        assert_int_equal(k, back.p[row + 1]);
    }
    assert_true(back.nrows == in->nrows && back.ncols == in->ncols && back.p[in->nrows] == back.nvals);
    tsr_free_source(&back);
}

static void assert_work(const tsr_windows *w, const uint64_t *mask)
{
    const int64_t limits[] = {1, 2, 3, 7, 64, 1 + draw(20)};
    for (int k = 0; k < 6; k++) {
        tsr_work work;
        assert_int_equal(tsr_make_work(&work, w, mask, limits[k]), TSR_OK);
        const char *broken = tsr_check_work(&work, w, mask, limits[k]);
        if (broken)
            fail_msg("work: %s", broken);
        for (int64_t t = 0; t < work.nitems; t++) {
            int64_t v = work.window[t], size = work.block[t + 1] - work.block[t];
            assert_true(size >= 0 && size <= limits[k] && (size || w->block[v] == w->block[v + 1]));
            assert_true(work.block[t] >= w->block[v] && work.block[t + 1] <= w->block[v + 1]);
        }
        tsr_free_work(&work);
    }
}

/* Every format: invariants, round trip, work, sizes. */
static void assert_formats(const tsr_source *in, int nthreads)
{
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, in, 1, nthreads), TSR_OK);
        const char *broken = check(&f, kind, in->number);
        if (broken)
            fail_msg("kind %d: %s", kind, broken);
        assert_expands(in, &f, kind, is_bcrs(kind));
        assert_work(windows_of(&f, kind), NULL);
        if (kind == 3 || kind == 4)
            assert_work(windows_of(&f, kind), f.bmat.mask);
        release(&f);
    }
}

static int ascend(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Distinct columns of rows [first, last), by sorting. */
static int64_t distinct(const tsr_source *in, int64_t first, int64_t last)
{
    int64_t n = in->p[last] - in->p[first], count = 0;
    uint32_t *columns = malloc((size_t)(n ? n : 1) * sizeof *columns);
    memcpy(columns, in->i + in->p[first], (size_t)n * sizeof *columns);
    qsort(columns, (size_t)n, sizeof *columns, ascend);
    for (int64_t k = 0; k < n; k++)
        count += k == 0 || columns[k] != columns[k - 1];
    free(columns);
    return count;
}

static void assert_statistics(const tsr_source *in, int nthreads)
{
    tsr_statistics s;
    int64_t blocks_8 = 0, blocks_16 = 0, bricks = 0;
    assert_int_equal(tsr_make_statistics(&s, in, nthreads), TSR_OK);
    for (int h = 0; h < 5; h++) {
        int64_t height = 8 << h, sum = 0;
        for (int64_t row = 0; row < in->nrows; row += height) {
            int64_t here = distinct(in, row, row + height < in->nrows ? row + height : in->nrows);
            sum += here;
            blocks_8 += h == 0 ? (here + 7) / 8 : 0;
            blocks_16 += h == 1 ? (here + 7) / 8 : 0;
            bricks += h == 1 ? (here + 3) / 4 : 0;
        }
        assert_int_equal(s.vectors[h], sum);
    }
    assert_true(s.blocks_8x8 == blocks_8 && s.blocks_16x8 == blocks_16 && s.bricks_16x4 == bricks);
    assert_true(isfinite(s.mean_nnz_tc) && isfinite(s.alpha) && isfinite(s.intensity));
    const int64_t want[KINDS] = {s.bytes_me_tcf, s.bytes_me_bcrs, -1, s.bytes_bmat_8, s.bytes_bmat_16, s.bytes_hrpb, -1, -1};
    for (int kind = 0; kind < KINDS && in->x; kind++) {
        format f;
        assert_int_equal(make(&f, kind, in, 1, nthreads), TSR_OK);
        if (want[kind] >= 0)
            assert_int_equal(bytes(&f, kind, TSR_NUMBER_FP32), want[kind]);
        if (kind >= 5 && f.hrpb.w.height == 16)
            assert_int_equal(f.hrpb.nbricks, s.bricks_16x4);
        release(&f);
    }
}

static void test_properties(void **state)
{
    (void)state;
    for (int round = 0; round < 150; round++) {
        int64_t nrows, ncols;
        random_sizes(&nrows, &ncols);
        matrix m = random_matrix(nrows, ncols);
        if (round % 5 == 0)
            m.s.x = NULL;
        assert_formats(&m.s, 1);
        assert_statistics(&m.s, 1);
        free_matrix(&m);
    }
}

static void test_wide(void **state)
{
    (void)state;
    static const int64_t widths[] = {(int64_t)1 << 32, ((int64_t)1 << 31) + 5, 100000};
    for (int k = 0; k < 3; k++) {
        matrix m = wide_matrix(150, widths[k], 40);
        assert_formats(&m.s, 2);
        assert_statistics(&m.s, 2);
        free_matrix(&m);
    }
}

/* Enough entries for several threads: the same arrays. */
static void test_threads(void **state)
{
    (void)state;
    matrix m = wide_matrix(4000, 3000, 60);
    assert_true(m.s.nvals > 100000);
    assert_formats(&m.s, 4);
    assert_statistics(&m.s, 4);
    tsr_hrpb one, four;
    assert_int_equal(tsr_make_hrpb(&one, &m.s, 32, 1), TSR_OK);
    assert_int_equal(tsr_make_hrpb(&four, &m.s, 32, 4), TSR_OK);
    assert_int_equal(one.nbricks, four.nbricks);
    assert_memory_equal(one.pattern, four.pattern, (size_t)one.nbricks * sizeof *one.pattern);
    assert_memory_equal(one.value, four.value, (size_t)m.s.nvals * 8);
    assert_memory_equal(one.w.column, four.w.column, (size_t)one.w.nvectors * sizeof *one.w.column);
    tsr_free_hrpb(&one);
    tsr_free_hrpb(&four);
    free_matrix(&m);
}

/* All rows of one window full, and windows that are longer than one block by one. */
static void test_dense_windows(void **state)
{
    (void)state;
    for (int64_t ncols = 1; ncols <= 65; ncols += ncols < 34 ? 1 : 15) {
        matrix m = new_matrix(70, ncols);
        for (int64_t row = 0; row < 70; row++)
            for (int64_t column = 0; column < ncols; column++)
                push(&m, row, (uint32_t)column, 1 + (double)column);
        close_matrix(&m);
        assert_formats(&m.s, 1);
        assert_statistics(&m.s, 1);
        free_matrix(&m);
    }
}

/* ---- numbers ---- */

/* Every 16-bit number survives; halfway between neighbours goes to the even one, a hair beside it to the nearer. */
static void test_numbers(void **state)
{
    (void)state;
    for (int number = TSR_NUMBER_FP16; number <= TSR_NUMBER_BF16; number++) {
        uint16_t infinity = number == TSR_NUMBER_FP16 ? 0x7c00 : 0x7f80;
        for (unsigned k = 0; k < infinity; k++) {
            uint16_t two[2] = {(uint16_t)k, (uint16_t)(k + 1)}, out[6];
            double low = tsr_ref_number(two, (tsr_number)number, 0), high = tsr_ref_number(two, (tsr_number)number, 1);
            if (isinf(high))
                high = number == TSR_NUMBER_FP16 ? 0x1p16 : 0x1p128;
            double half = low + (high - low) / 2;
            const double in[6] = {low, half, nextafter(half, 0), nextafter(half, 1e300), -low, -half};
            uint16_t even = k & 1 ? two[1] : two[0];
            tsr_round_values(out, (tsr_number)number, in, TSR_FP64, 6, 1);
            EQUAL(out, two[0], even, two[0], two[1], (uint16_t)(two[0] | 0x8000), (uint16_t)(even | 0x8000));
            const float narrow[4] = {(float)low, (float)half, nextafterf((float)half, 0), nextafterf((float)half, INFINITY)};
            if ((double)narrow[1] != half)
                continue;
            tsr_round_values(out, (tsr_number)number, narrow, TSR_FP32, 4, 1);
            EQUAL(out, two[0], even, two[0], two[1]);
        }
        const double special[5] = {INFINITY, -INFINITY, NAN, -1e300, 1e-300};
        uint16_t out[5];
        tsr_round_values(out, (tsr_number)number, special, TSR_FP64, 5, 1);
        EQUAL(out, infinity, (uint16_t)(infinity | 0x8000), 0x7fff, (uint16_t)(infinity | 0x8000), 0);
    }
    const float f[2] = {0.1f, -2};
    double d[2];
    float back[2];
    tsr_round_values(d, TSR_NUMBER_FP64, f, TSR_FP32, 2, 1);
    tsr_round_values(back, TSR_NUMBER_FP32, d, TSR_FP64, 2, 1);
    assert_memory_equal(back, f, sizeof f);
}

/* ---- reference executors ---- */

/* C = alpha A B + beta C by three loops over CSR, and the sum of magnitudes. */
static void triple_loop(const tsr_source *in, double iso, int64_t n, const double *b, int64_t ldb, double *c, int64_t ldc,
                        double alpha, double beta, double *magnitude)
{
    for (int64_t row = 0; row < in->nrows; row++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, size = 0, old = beta != 0 ? beta * c[row * ldc + j] : 0;
            for (int64_t e = in->p[row]; e < in->p[row + 1]; e++) {
                double a = in->x ? tsr_ref_number(in->x, in->number, e) : iso;
                sum += a * b[in->i[e] * ldb + j];
                size += fabs(a * b[in->i[e] * ldb + j]);
            }
            c[row * ldc + j] = alpha * sum + old;
            magnitude[row * ldc + j] = fabs(alpha) * size + fabs(old);
        }
    }
}

static double *random_dense(int64_t count)
{
    double *x = malloc((size_t)(count ? count : 1) * sizeof *x);
    for (int64_t k = 0; k < count; k++)
        x[k] = (double)draw(2001) / 1000 - 1;
    return x;
}

static void assert_products(const tsr_source *in, double iso, int64_t n)
{
    int64_t ldb = n + draw(4), ldc = n + draw(4);
    const double alphas[] = {1, 0, -0.5}, betas[] = {0, 1, 2};
    double alpha = alphas[draw(3)], beta = betas[draw(3)];
    int64_t count = in->nrows * ldc;
    double *b = random_dense(in->ncols * ldb), *c = random_dense(count), *want = malloc((size_t)(count + 1) * 8);
    double *got = malloc((size_t)(count + 1) * 8);
    double *size = calloc((size_t)(count + 1), 8), *sizes = calloc((size_t)(count + 1), 8);
    for (int64_t k = 0; beta == 0 && k < count; k++)
        c[k] = NAN;
    memcpy(want, c, (size_t)count * 8);
    triple_loop(in, iso, n, b, ldb, want, ldc, alpha, beta, size);
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, in, iso, 1), TSR_OK);
        memcpy(got, c, (size_t)count * 8);
        bool sized = draw(4);
        assert_int_equal(multiply(&f, kind, in->number, iso, n, b, ldb, got, ldc, alpha, beta, sized ? sizes : NULL), TSR_OK);
        for (int64_t row = 0; row < in->nrows; row++) {
            for (int64_t j = 0; j < ldc; j++) {
                int64_t k = row * ldc + j;
                if (j >= n)
                    assert_memory_equal(&got[k], &c[k], 8);
                else if (!(fabs(got[k] - want[k]) <= 1e-13 * size[k]))
                    fail_msg("kind %d, n %lld, row %lld, column %lld: %g, not %g", kind, (long long)n, (long long)row,
                             (long long)j, got[k], want[k]);
                else if (sized)
                    assert_true(fabs(sizes[k] - size[k]) <= 1e-13 * size[k]);
            }
        }
        release(&f);
    }
    free(b);
    free(c);
    free(want);
    free(got);
    free(size);
    free(sizes);
}

/* The same matrix with values rounded to another number. */
static void *rounded(const matrix *m, tsr_number number)
{
    void *x = malloc((size_t)(m->s.nvals + 1) * tsr_number_size(number));
    tsr_round_values(x, number, m->x, TSR_FP64, m->s.nvals, 2);
    return x;
}

static void test_products(void **state)
{
    (void)state;
    static const int64_t widths[] = {0, 1, 2, 3, 8, 33};
    for (int round = 0; round < 60; round++) {
        int64_t nrows, ncols;
        random_sizes(&nrows, &ncols);
        matrix m = random_matrix(nrows, ncols);
        tsr_source in = m.s;
        in.number = (tsr_number)(round % TSR_NUMBER_COUNT);
        void *x = rounded(&m, in.number);
        in.x = round % 7 == 6 ? NULL : x;
        assert_products(&in, 0.75, widths[draw(6)]);
        free(x);
        free_matrix(&m);
    }
}

/* B is Inf and NaN wherever no entry of a row needs it. */
static void test_missing_entries_contribute_nothing(void **state)
{
    (void)state;
    double b[11], c[20], size[20];
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, &hand, 1, 1), TSR_OK);
        for (int k = 0; k < 11; k++)
            b[k] = k % 2 ? INFINITY : NAN;
        b[4] = 2;
        assert_int_equal(multiply(&f, kind, TSR_NUMBER_FP32, 1, 1, b, 1, c, 1, 1, 0, size), TSR_OK);
        assert_true(c[9] == 26 && size[9] == 26 && c[2] == 0 && c[18] == 0 && size[18] == 0);
        assert_true(isnan(c[19]) && isnan(c[1]));
        release(&f);
    }
}

/* magnitude includes beta C and has |alpha|. */
static void test_magnitude(void **state)
{
    (void)state;
    double b[11], c[20], size[20];
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, &hand, 1, 1), TSR_OK);
        for (int k = 0; k < 11; k++)
            b[k] = k % 2 ? -1 : 1;
        for (int k = 0; k < 20; k++)
            c[k] = -1;
        assert_int_equal(multiply(&f, kind, TSR_NUMBER_FP32, 1, 1, b, 1, c, 1, -2, 3, size), TSR_OK);
        assert_true(c[0] == -2 * (-1 + 2) - 3 && size[0] == 2 * 3 + 3); /* row 0: 1 at column 1, 2 at column 4 */
        assert_true(c[2] == -3 && size[2] == 3);
        release(&f);
    }
}

/* ---- views ---- */

static void test_views(void **state)
{
    (void)state;
    const int64_t p[] = {0, 2, 3}, wide[] = {0, 4294967295, 7};
    const uint32_t narrow[] = {0, 4294967295u, 7};
    const float x[] = {1, 0.3f, -2};
    const double one = 2.5;
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 2, .ncols = (int64_t)1 << 32, .nvec = 2,
                  .vlen = (int64_t)1 << 32, .nvals = 3, .p = p, .i = wide, .x = x};
    tsr_viewed out;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 2), TSR_OK);
    assert_memory_equal(out.source.i, narrow, sizeof narrow);
    assert_true(out.source.x == x && out.source.p == p);
    assert_formats(&out.source, 1);
    tsr_free_viewed(&out);
    v.i = narrow;
    v.index_size = 4;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_BF16, 2), TSR_OK);
    assert_true(out.source.i == narrow);
    EQUAL((const uint16_t *)out.source.x, 0x3f80, 0x3e9a, 0xc000);
    tsr_free_viewed(&out);
    v.iso = true;
    v.x = &one;
    v.type = TSR_FP64;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP16, 1), TSR_OK);
    assert_true(!out.source.x && out.iso == 2.5);
    tsr_me_bcrs dense;
    assert_int_equal(tsr_make_me_bcrs(&dense, &out.source, 8, out.iso, 1), TSR_OK);
    EQUAL((uint16_t *)dense.value, 0x4100, 0, 0x4100, 0, 0x4100);
    tsr_free_me_bcrs(&dense);
    tsr_free_viewed(&out);
    v.x = NULL;
    v.type = TSR_BOOL;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_OK);
    assert_true(!out.source.x && out.iso == 1);
    tsr_free_viewed(&out);
    v.x = narrow;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_NOT_SUPPORTED);
    v.x = NULL;
    v.ncols++;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_NOT_SUPPORTED);
    v.jumbled = true;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_INVALID_VALUE);
}

/* ---- refusals ---- */

static void assert_all(const tsr_source *in, tsr_status want)
{
    for (int kind = 0; kind < KINDS; kind++) {
        format f, empty;
        memset(&empty, 0, sizeof empty);
        assert_int_equal(make(&f, kind, in, 1, 1), want);
        assert_memory_equal(&f, &empty, sizeof f);
    }
}

static void test_limits(void **state)
{
    (void)state;
    const int64_t nothing[2] = {0, 0}, huge[2] = {0, (int64_t)1 << 31};
    const uint32_t column = 0;
    tsr_source in = {.nrows = 1, .ncols = ((int64_t)1 << 32) + 1, .p = nothing, .i = &column};
    tsr_statistics s;
    assert_all(&in, TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_make_statistics(&s, &in, 1), TSR_NOT_SUPPORTED);
    in = (tsr_source){.nrows = 1, .ncols = (int64_t)1 << 32, .nvals = huge[1], .p = huge, .i = &column};
    assert_all(&in, TSR_NOT_SUPPORTED);
    in = (tsr_source){.nrows = 1, .ncols = 5, .p = nothing, .i = &column};
    format f;
    assert_int_equal(tsr_make_me_bcrs(&f.me_bcrs, &in, 4, 1, 1), TSR_INVALID_VALUE);
    assert_int_equal(tsr_make_bmat(&f.bmat, &in, 32, 1), TSR_INVALID_VALUE);
    assert_int_equal(tsr_make_hrpb(&f.hrpb, &in, 8, 1), TSR_INVALID_VALUE);
}

/* Something that allocates; returns its status with everything freed again. */
typedef tsr_status attempt(const tsr_source *in, int kind);

static tsr_status attempt_make(const tsr_source *in, int kind)
{
    format f;
    tsr_status status = make(&f, kind, in, 1, 1);
    release(&f);
    return status;
}

static tsr_status attempt_statistics(const tsr_source *in, int kind)
{
    tsr_statistics s;
    (void)kind;
    return tsr_make_statistics(&s, in, 1);
}

static tsr_status attempt_view(const tsr_source *in, int kind)
{
    tsr_viewed out;
    const int64_t wide[18] = {1, 4, 0, 4, 9, 10, 1, 2, 3, 5, 6, 7, 4, 0, 10, 2, 8, 2};
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = in->nrows, .ncols = in->ncols,
                  .nvec = in->nrows, .vlen = in->ncols, .nvals = in->nvals, .p = in->p, .i = wide, .x = in->x};
    (void)kind;
    tsr_status status = tsr_view_source(&out, &v, TSR_NUMBER_FP16, 1);
    tsr_free_viewed(&out);
    return status;
}

/* The rest needs a format, which is made without being counted. */
static tsr_status attempt_use(const tsr_source *in, int kind)
{
    format f;
    tsr_source back;
    tsr_work work;
    double b[11] = {0}, c[20];
    counting = false;
    make(&f, kind, in, 1, 1);
    counting = true;
    tsr_status status = expand(&back, &f, kind, in->number);
    tsr_free_source(&back);
    if (status == TSR_OK)
        status = tsr_make_work(&work, windows_of(&f, kind), kind == 3 || kind == 4 ? f.bmat.mask : NULL, 1);
    if (status == TSR_OK)
        tsr_free_work(&work);
    if (status == TSR_OK)
        status = multiply(&f, kind, in->number, 1, 1, b, 1, c, 1, 1, 0, NULL);
    counting = false;
    release(&f);
    counting = true;
    return status;
}

static void assert_survives(attempt *try, int kind)
{
    int failures = 0;
    for (int k = 0;; k++) {
        live = 0;
        until_fail = k;
        counting = true;
        tsr_status status = try(&hand, kind);
        counting = false;
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
        assert_int_equal(live, 0);
        if (status == TSR_OK)
            break;
        failures++;
    }
    assert_true(failures >= 2);
}

static void test_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        assert_survives(attempt_make, kind);
        assert_survives(attempt_use, kind);
    }
    assert_survives(attempt_statistics, 0);
    assert_survives(attempt_view, 0);
}

/* ---- checkers see damage ---- */

static void test_checkers(void **state)
{
    (void)state;
    tsr_me_tcf t;
    assert_int_equal(tsr_make_me_tcf(&t, &hand, 1), TSR_OK);
    t.local[3]++;
    assert_null(tsr_check_me_tcf(&t)); /* another matrix, but a good one */
    t.local[3] = t.local[2];
    assert_string_equal(tsr_check_me_tcf(&t), "positions ascend inside a block");
    t.local[3] = 12;
    t.block_entry[1] = 13;
    assert_non_null(tsr_check_me_tcf(&t));
    t.block_entry[1] = 12;
    t.w.column[3] = 2;
    assert_string_equal(tsr_check_me_tcf(&t), "columns of a window ascend");
    t.w.column[3] = 3;
    t.local[17] = 32; /* row 20 of 20 */
    assert_string_equal(tsr_check_me_tcf(&t), "positions lie inside the block");
    tsr_free_me_tcf(&t);

    tsr_bmat b;
    assert_int_equal(tsr_make_bmat(&b, &hand, 8, 1), TSR_OK);
    b.mask[0] |= BIT(0);
    assert_string_equal(tsr_check_bmat(&b), "bits of a window = its entries");
    b.mask[0] ^= BIT(0) | BIT(8);
    assert_non_null(tsr_check_bmat(&b));
    tsr_free_bmat(&b);

    tsr_hrpb h;
    assert_int_equal(tsr_make_hrpb(&h, &hand, 32, 1), TSR_OK);
    h.position[3] = 3;
    assert_non_null(tsr_check_hrpb(&h));
    h.position[3] = 4;
    h.brick_entry[2]++;
    assert_string_equal(tsr_check_hrpb(&h), "brick_entry counts the bits before");
    tsr_free_hrpb(&h);

    tsr_me_bcrs d;
    assert_int_equal(tsr_make_me_bcrs(&d, &hand, 8, 1, 1), TSR_OK);
    ((float *)d.value)[119] = 1; /* row 23 */
    assert_string_equal(tsr_check_me_bcrs(&d, TSR_NUMBER_FP32), "rows past the end are zero");
    tsr_free_me_bcrs(&d);
}

/* ---- real matrices ---- */

static void try_file(const char *path)
{
    tsr_mm m;
    tsr_mm_csr csr;
    char error[256];
    if (!tsr_mm_read(&m, path, error, sizeof error))
        fail_msg("%s", error);
    bool good = tsr_mm_to_csr(&csr, &m, error, sizeof error);
    tsr_mm_free(&m);
    if (!good)
        fail_msg("%s", error);
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP64, .index_size = 8, .nrows = csr.nrows, .ncols = csr.ncols,
                  .nvec = csr.nrows, .vlen = csr.ncols, .nvals = csr.nvals, .p = csr.p, .i = csr.i, .x = csr.value};
    tsr_viewed viewed;
    assert_int_equal(tsr_view_source(&viewed, &v, TSR_NUMBER_FP32, 2), TSR_OK);
    assert_formats(&viewed.source, 2);
    assert_statistics(&viewed.source, 2);
    if (csr.nrows < 5000)
        assert_products(&viewed.source, viewed.iso, 3);
    tsr_free_viewed(&viewed);
    tsr_mm_csr_free(&csr);
}

static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"ash219",   "west0067",      "cora",     "mbeacxc",
                                        "dwt_2680", "email-Eu-core", "bcsstk13", "memplus"};
    const char *folder = getenv("TESSERA_TEST_DATA");
    int tried = 0;
    for (int k = 0; k < 8; k++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.mtx.gz", folder ? folder : TSR_TEST_DATA, names[k]);
        FILE *file = fopen(path, "rb");
        if (!file)
            continue;
        fclose(file);
        try_file(path);
        tried++;
    }
    if (!tried)
        skip();
}

int main(void)
{
    const char *text = getenv("TESSERA_TEST_SEED");
    if (text)
        first_seed = strtoull(text, NULL, 10) | 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_me_tcf),
        cmocka_unit_test(test_hand_me_bcrs),
        cmocka_unit_test(test_hand_bmat),
        cmocka_unit_test(test_hand_stencil),
        cmocka_unit_test(test_hand_hrpb),
        cmocka_unit_test(test_hand_work),
        cmocka_unit_test(test_hand_statistics),
        cmocka_unit_test_setup(test_properties, set_seed),
        cmocka_unit_test_setup(test_wide, set_seed),
        cmocka_unit_test_setup(test_threads, set_seed),
        cmocka_unit_test_setup(test_dense_windows, set_seed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test_setup(test_products, set_seed),
        cmocka_unit_test(test_missing_entries_contribute_nothing),
        cmocka_unit_test(test_magnitude),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_checkers),
        cmocka_unit_test_setup(test_files, set_seed),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
