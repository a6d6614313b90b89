/* The block formats on random edge-biased matrices and real ones: invariants, round trips, numbers, reference executors.
 * TESSERA_TEST_SEED repeats a run; TESSERA_TEST_DATA is a folder of Matrix Market files to try.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/block_formats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/unit/equal.h"
#include "src/mtx/mm.h"

/* ---- random matrices ---- */

static double draw_value(void)
{
    double v = (double)draw(2001) / 1000 - 1;
    return draw(40) ? v : 0; /* explicit zeros */
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
/* ---- properties ---- */

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

/* A sample of a third or so: one entry of each step, and one column after the other. */
static void assert_degrees(const tsr_source *in, int nthreads)
{
    tsr_degrees got, want = {0};
    int64_t most = in->nvals / 3 + 2, step = tsr_degree_step(in->nvals, most), sampled = (in->nvals + step - 1) / step;
    int64_t *count = calloc((size_t)in->ncols + 1, sizeof *count), *other = calloc((size_t)in->ncols + 1, sizeof *other);
    assert_true(count && other && step >= 1 && sampled <= most);
    for (int64_t k = 0; k < sampled; k++) {
        int64_t at = tsr_degree_entry(k, step);
        assert_true(at >= k * step && at < (k + 1) * step);
        if (at < in->nvals)
            (k % 2 ? other : count)[in->i[at]]++;
    }
    for (int64_t c = 0; c < in->ncols; c++)
        for (int class = 0; class < TSR_COLUMN_CLASSES; class++)
            if (count[c] >= (int64_t)1 << class >> 1 && count[c] < (int64_t)1 << class) {
                want.columns[class]++;
                want.entries[class] += other[c];
            }
    for (int64_t r = 0; r < in->nrows; r++)
        want.longest_row = in->p[r + 1] - in->p[r] > want.longest_row ? in->p[r + 1] - in->p[r] : want.longest_row;
    assert_int_equal(tsr_count_degrees(&got, in, most, nthreads), TSR_OK);
    assert_memory_equal(&got, &want, sizeof got);
    free(count);
    free(other);
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
        assert_degrees(&m.s, 1);
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
    assert_degrees(&m.s, 4);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_properties, set_seed),
        cmocka_unit_test_setup(test_wide, set_seed),
        cmocka_unit_test_setup(test_threads, set_seed),
        cmocka_unit_test_setup(test_dense_windows, set_seed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test_setup(test_products, set_seed),
        cmocka_unit_test_setup(test_files, set_seed),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
