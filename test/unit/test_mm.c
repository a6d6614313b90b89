/* The Matrix Market reader and what `tessera inspect` counts: good files, wrong files, hostile files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "test/unit/child.h"
#include "tools/tessera/matrix/inspect.h"
#include "src/mtx/mm.h"

#define BANNER "%%MatrixMarket matrix "
#define PATTERN BANNER "coordinate pattern general\n"
#define REAL BANNER "coordinate real general\n"

static char error[512];

static tsr_mm parsed(const char *text)
{
    tsr_mm m;
    if (!tsr_mm_parse(&m, text, strlen(text), "t", error, sizeof error)) {
        fail_msg("%s", error);
    }
    return m;
}

/* Rows, columns, values (NULL: pattern) as listed. */
static void expect_entries(const char *text, int64_t n, const int64_t *rows, const int64_t *cols, const double *values)
{
    tsr_mm m = parsed(text);
    assert_true(m.nvals == n);
    assert_true((m.value != NULL) == (values != NULL) || n == 0);
    for (int64_t k = 0; k < n; k++) {
        assert_true(m.row[k] == rows[k] && m.col[k] == cols[k]);
        assert_true(!values || m.value[k] == values[k]);
    }
    tsr_mm_free(&m);
}

/* ---- good files ---- */

static void test_coordinates(void **state)
{
    (void)state;
    const int64_t rows[] = {0, 2, 1}, cols[] = {0, 3, 1};
    const double values[] = {1.5, -2e-3, 1e300};
    expect_entries(REAL "% comment\n\n 3 4 3\n1 1 1.5\n3\t4  -2e-3\r\n% another\n\n2 2 +1e300", 3, rows, cols, values);
    expect_entries("%%matrixmarket MATRIX Coordinate DOUBLE General\n3 4 3\n1 1 1.5\n3 4 -.002\n2 2 1E+300\n", 3, rows,
                   cols, values);
    expect_entries(PATTERN "3 4 3\n1 1\n3 4\n2 2\n\n% end\n", 3, rows, cols, NULL);
    expect_entries(BANNER "coordinate integer general\n3 4 3\n1 1 7\n3 4 -922337203685477579\n2 2 +0\n", 3, rows, cols,
                   (const double[]){7, -922337203685477579.0, 0});
}

static void test_numbers_are_those_of_strtod(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "0", "-0", "1", "0.1", "123456789.123456789", "9007199254740993", "0.3333333333333333", "1e-320",
            "2.2250738585072014e-308",
        "1.7976931348623157e308", "1e400", "inf", "-Infinity", "0x1.8p3", "12345678901234567890123", ".5", "5.",
            "00000.00001",
        "0.0000000000000000000000000001", "4.35", "0.000001", "179769313486231570000000000000000000000", "1e22", "1E-5",
    };
    char text[256];
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        snprintf(text, sizeof text, "%s1 1 1\n1 1 %s\n", REAL, numbers[k]);
        tsr_mm m = parsed(text);
        double expected = strtod(numbers[k], NULL);
        if (memcmp(&expected, m.value, sizeof expected) != 0) {
            fail_msg("%s: %.17g", numbers[k], m.value[0]);
        }
        tsr_mm_free(&m);
    }
    tsr_mm m = parsed(REAL "1 1 1\n1 1 nan\n");
    assert_true(isnan(m.value[0]));
    tsr_mm_free(&m);
}

static void test_symmetry_is_spelled_out(void **state)
{
    (void)state;
    const int64_t rows[] = {0, 1, 0, 2}, cols[] = {0, 0, 1, 2};
    expect_entries(BANNER "coordinate real symmetric\n3 3 3\n1 1 5\n2 1 6\n3 3 7\n", 4, rows, cols,
                   (const double[]){5, 6, 6, 7});
    const int64_t rows2[] = {1, 0}, cols2[] = {0, 1};
    expect_entries(BANNER "coordinate integer skew-symmetric\n3 3 1\n2 1 6\n", 2, rows2, cols2,
                   (const double[]){6, -6});
    expect_entries(BANNER "coordinate pattern symmetric\n3 3 1\n2 1\n", 2, rows2, cols2, NULL);
}

static void test_arrays(void **state)
{
    (void)state;
    const int64_t rows[] = {0, 1, 0, 1, 0, 1}, cols[] = {0, 0, 1, 1, 2, 2};
    expect_entries(BANNER "array real general\n2 3\n1\n0\n3\n4\n5\n6\n", 6, rows, cols,
                   (const double[]){1, 0, 3, 4, 5, 6});
    const int64_t rows2[] = {0, 1, 0, 1}, cols2[] = {0, 0, 1, 1};
    expect_entries(BANNER "array integer symmetric\n2 2\n1\n2\n3\n", 4, rows2, cols2,
                   (const double[]){1, 2, 2, 3});
    const int64_t rows3[] = {1, 0, 2, 0, 2, 1}, cols3[] = {0, 1, 0, 2, 1, 2};
    expect_entries(BANNER "array real skew-symmetric\n3 3\n1\n2\n3\n", 6, rows3, cols3,
                   (const double[]){1, -1, 2, -2, 3, -3});
}

static void test_nothing_inside(void **state)
{
    (void)state;
    expect_entries(REAL "0 0 0\n", 0, NULL, NULL, NULL);
    expect_entries(PATTERN "5 0 0", 0, NULL, NULL, NULL);
    expect_entries(BANNER "array real general\n0 3\n", 0, NULL, NULL, NULL);
    expect_entries(BANNER "array real skew-symmetric\n1 1\n", 0, NULL, NULL, NULL);
    tsr_mm m = parsed(PATTERN "1000000000000 1000000000000 0\n");
    assert_true(m.nrows == 1000000000000);
    tsr_mm_free(&m);
}

/* ---- wrong files ---- */

typedef struct wrong {
    const char *text, *message;
} wrong;

static void expect_message(const char *text, size_t length, const char *message)
{
    tsr_mm m;
    memset(error, 0, sizeof error);
    bool good = tsr_mm_parse(&m, text, length, "t", error, sizeof error);
    if (good || !strstr(error, message) || strchr(error, '\n') || strncmp(error, "t:", 2) != 0) {
        fail_msg("expected \"%s\", got \"%s\"", message, good ? "success" : error);
    }
    assert_true(!m.row && !m.col && !m.value && m.nvals == 0);
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const wrong files[] = {
        {"", "not a Matrix Market file"},
        {"\n", "not a Matrix Market file"},
        {"hello\n", "not a Matrix Market file"},
        {"%%MatrixMarket matrix coordinate\n", "not a Matrix Market file"},
        {"%%MatrixMarket matrix coordinate aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa general\n",
         "not a Matrix Market"},
        {BANNER "coordinate complex general\n1 1 1\n1 1 1 1\n",
         "t:1: not supported: matrix coordinate complex general"},
        {BANNER "coordinate real hermitian\n1 1 1\n", "not supported"},
        {BANNER "array pattern general\n1 1\n", "not supported"},
        {"%%MatrixMarket vector coordinate real general\n1 1\n", "not supported"},
        {REAL, "ends before the line of sizes"},
        {REAL "% only\n% comments\n", "ends before the line of sizes"},
        {REAL "3 3\n", "t:2: not a line of sizes"},
        {REAL "3 3 1 1\n", "not a line of sizes"},
        {REAL "-3 3 1\n", "not a line of sizes"},
        {REAL "3.5 3 1\n", "not a line of sizes"},
        {REAL "99999999999999999999 3 1\n", "not a line of sizes"},
        {REAL "9223372036854775807 9223372036854775807 9223372036854775807\n", "not a line of sizes"},
        {REAL "2000000000000000000 3 1\n", "more than 2^60"},
        {REAL "1000000000000000000 1000000000000000000 900000000000000000\n", "more than the file can hold"},
        {REAL "1000000 1000000 1000000000\n1 1 1\n", "more than the file can hold"},
        {REAL "2 2 5\n1 1 1\n", "more entries than a 2 x 2 matrix has"},
        {BANNER "array real general\n4000000000 4000000000\n1\n", "more entries than"},
        {BANNER "array real general\n1000000 1000000\n1\n", "more than the file can hold"},
        {BANNER "coordinate real symmetric\n2 3 1\n1 1 1\n", "must be square, this one is 2 x 3"},
        {REAL "3 3 2\n1 1 1\n", "t:3: the file ends after 1 of 2 entries"},
        {REAL "3 3 1\n1 1 1\n2 2 2\n", "t:4: text after the last of 1 entries"},
        {REAL "3 3 1\n0 1 1\n", "t:3: row 0 is not in 1..3"},
        {REAL "3 3 1\n4 1 1\n", "row 4 is not in 1..3"},
        {REAL "3 3 1\n1 4 1\n", "column 4 is not in 1..3"},
        {REAL "3 3 1\n-1 1 1\n", "not a row and a column index"},
        {REAL "3 3 1\n99999999999999999999 1 1\n", "not a row and a column index"},
        {REAL "3 3 1\n1\n", "not a row and a column index"},
        {REAL "3 3 1\n1 1\n", "not a real value"},
        {REAL "3 3 1\n1 1\n1\n", "not a real value"},
        {REAL "3 3 1\n1 1 \v\n7\n", "not a real value"},
        {REAL "3 3 1\n1 1 one\n", "not a real value"},
        {REAL "3 3 1\n1 1 1e\n", "not a real value"},
        {REAL "3 3 1\n1 1 .\n", "not a real value"},
        {REAL "3 3 1\n1 1 --1\n", "not a real value"},
        {REAL "3 3 1\n1 1 1,5\n", "not a real value"},
        {REAL "3 3 1\n1 1 1 2\n", "unexpected text after the entry"},
        {PATTERN "3 3 1\n1 1 1\n", "unexpected text after the entry"},
        {BANNER "coordinate integer general\n3 3 1\n1 1 1.5\n", "not an integer value"},
        {BANNER "coordinate integer general\n3 3 1\n1 1 99999999999999999999\n", "not an integer value"},
        {BANNER "coordinate integer general\n3 3 1\n1 1 -\n", "not an integer value"},
        {BANNER "coordinate integer general\n3 3 1\n1 1 - 1\n", "not an integer value"},
        {BANNER "coordinate real skew-symmetric\n3 3 1\n2 2 1\n", "no diagonal entries"},
        {"%%MatrixMarket matrix \x1b[31m real general\n", "not supported: matrix ?[31m real general"},
    };
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        expect_message(files[k].text, strlen(files[k].text), files[k].message);
    }
}

static void test_nul_bytes_and_long_lines(void **state)
{
    (void)state;
    static const char nul[] = REAL "3 3 1\n1 1\0 1\n", nul_end[] = REAL "3 3 1\n1 1 1\0";
    expect_message(nul, sizeof nul - 1, "not a row and a column index");
    expect_message(nul_end, sizeof nul_end - 1, "not a real value");
    size_t length = 3 << 20;
    char *text = malloc(length);
    memset(text, '1', length);
    expect_message(text, length, "longer than 1 MiB");
    memcpy(text, REAL "3 3 1\n1 1 ", strlen(REAL "3 3 1\n1 1 "));
    expect_message(text, length, "t:3: the line is longer than 1 MiB");
    free(text);
}

/* ---- files ---- */

static void write_gzip(const char *path, const char *text, size_t blank)
{
    static char lines[1 << 16];
    gzFile file = gzopen(path, "wb1");
    assert_non_null(file);
    assert_true(gzwrite(file, text, (unsigned)strlen(text)) > 0);
    memset(lines, '\n', sizeof lines);
    for (; blank > 0; blank -= blank < sizeof lines ? blank : sizeof lines) {
        assert_true(gzwrite(file, lines, (unsigned)(blank < sizeof lines ? blank : sizeof lines)) > 0);
    }
    assert_int_equal(gzclose(file), Z_OK);
}

static bool reads(const char *path)
{
    tsr_mm m;
    memset(error, 0, sizeof error);
    bool good = tsr_mm_read(&m, path, error, sizeof error);
    tsr_mm_free(&m);
    return good;
}

static void cut_file(const char *path, long bytes)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(ftruncate(fileno(file), ftell(file) - bytes), 0);
    fclose(file);
}

static void test_files_plain_and_compressed(void **state)
{
    (void)state;
    make_folder();
    write_text(in_folder("a.mtx"), PATTERN "2 2 1\n1 2\n");
    assert_true(reads(in_folder("a.mtx")));
    write_gzip(in_folder("b.mtx.gz"), PATTERN "2 2 1\n1 2\n", 0);
    assert_true(reads(in_folder("b.mtx.gz")));
    cut_file(in_folder("b.mtx.gz"), 4);
    assert_false(reads(in_folder("b.mtx.gz")));
    assert_non_null(strstr(error, "ends too early"));
    write_gzip(in_folder("b.mtx.gz"), PATTERN "2 2 1\n1 2\n", 0);
    FILE *file = fopen(in_folder("b.mtx.gz"), "r+");
    assert_int_equal(fseek(file, 14, SEEK_SET), 0);
    assert_true(fputs("damage", file) >= 0);
    fclose(file);
    assert_false(reads(in_folder("b.mtx.gz")));
    assert_false(reads(in_folder("missing.mtx")));
    assert_non_null(strstr(error, "No such file"));
    assert_false(reads(in_folder("")));
    assert_non_null(strstr(error, "directory"));
    remove_folder();
}

static long peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* 100 MB of blank lines in 0.1 MB, behind one declared entry; and 10^9 declared entries that are not there. */
static void test_gzip_bombs_take_no_memory(void **state)
{
    (void)state;
    make_folder();
    long before = peak_memory();
    write_gzip(in_folder("bomb.gz"), PATTERN "2 2 1\n", (size_t)100 << 20);
    assert_false(reads(in_folder("bomb.gz")));
    assert_non_null(strstr(error, "more than 64 MiB of comments and blank lines"));
    write_gzip(in_folder("claims.gz"), PATTERN "1000000 1000000 1000000000\n1 1\n", 0);
    assert_false(reads(in_folder("claims.gz")));
    assert_non_null(strstr(error, "more than the file can hold"));
    assert_true(peak_memory() - before < 32 * 1024);
    remove_folder();
}

/* ---- compressed rows ---- */

static tsr_mm_csr compressed(const char *text)
{
    tsr_mm m = parsed(text);
    tsr_mm_csr a;
    assert_true(tsr_mm_to_csr(&a, &m, error, sizeof error));
    tsr_mm_free(&m);
    return a;
}

static void test_compressed_rows(void **state)
{
    (void)state;
    tsr_mm_csr a = compressed(REAL "3 4 6\n3 4 1\n1 3 2\n3 1 3\n1 1 4\n3 4 10\n1 3 20\n");
    const int64_t p[] = {0, 2, 2, 4}, i[] = {0, 2, 0, 3};
    const double x[] = {4, 22, 3, 11};
    assert_true(a.nvals == 4 && a.nrows == 3 && a.ncols == 4);
    assert_memory_equal(a.p, p, sizeof p);
    assert_memory_equal(a.i, i, sizeof i);
    assert_memory_equal(a.value, x, sizeof x);
    tsr_mm_csr_free(&a);
    a = compressed(PATTERN "0 0 0\n");
    assert_true(a.nvals == 0 && a.p[0] == 0 && !a.value);
    tsr_mm_csr_free(&a);
    tsr_mm m = parsed(PATTERN "1000000000000 2 1\n1000000000000 1\n");
    assert_false(tsr_mm_to_csr(&a, &m, error, sizeof error));
    assert_non_null(strstr(error, "too large"));
    tsr_mm_free(&m);
}

/* ---- inspection ---- */

static void test_inspection_by_hand(void **state)
{
    (void)state;
    tsr_inspection in;
    /* 17 rows: rows 1, 2 share column 1; row 9 has columns 1 and 3; row 17 column 17 */
    tsr_mm_csr a = compressed(PATTERN "17 17 5\n1 1\n2 1\n9 1\n9 3\n17 17\n");
    assert_int_equal(tsr_inspect(&in, &a, 1), TSR_OK);
    assert_true(in.nrows == 17 && in.ncols == 17 && in.nvals == 5 && in.empty_rows == 13 && in.longest_row == 2);
    const tsr_statistics *s = &in.statistics;
    assert_true(s->vectors[0] == 4 && s->vectors[1] == 3 && s->vectors[2] == 3 && s->vectors[3] == 3);
    assert_true(s->blocks_16x8 == 2 && s->mean_nnz_tc == 2.5 && !in.symmetric);
    assert_true(in.degrees[0] == 13 && in.degrees[1] == 3 && in.degrees[2] == 1);
    assert_true(in.nwindows == 3 && in.windows[0].nvals == 2 && in.windows[0].vectors == 1 && in.windows[1].vectors == 2);
    assert_true(in.routes[TSR_WINDOW_CUDA_CORES] == 3);
    assert_true(in.nsampled[0] == 3 && in.sampled[0][0].nvals == 2 && in.sampled[0][0].vectors == 1 && in.sampled[0][1].vectors == 2);
    assert_true(in.nsampled[1] == 2 && in.sampled[1][0].nvals == 4 && in.sampled[1][0].vectors == 2 && in.sampled[1][1].nvals == 1);
    assert_true(in.spread.longest_row == 2);
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
    a = compressed(BANNER "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n");
    assert_int_equal(tsr_inspect(&in, &a, 1), TSR_OK);
    assert_true(in.symmetric);
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
    a = compressed(PATTERN "0 5 0\n");
    assert_int_equal(tsr_inspect(&in, &a, 1), TSR_OK);
    assert_true(in.statistics.blocks_16x8 == 0 && in.statistics.mean_nnz_tc == 0 && in.mean_row == 0 && in.nwindows == 0);
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
}

typedef struct seen {
    double last;
    int count;
} seen;

static void report(void *watcher, double share)
{
    seen *s = watcher;
    assert_true(share > s->last && share <= 1);
    s->last = share;
    s->count++;
}

static void test_inspection_is_reported(void **state)
{
    (void)state;
    tsr_inspection in;
    seen s = {0};
    tsr_mm_csr a = compressed(PATTERN "17 17 5\n1 1\n2 1\n9 1\n9 3\n17 17\n");
    assert_int_equal(tsr_inspect_reporting(&in, &a, 1, report, &s), TSR_OK);
    assert_true(s.last == 1 && s.count > TSR_INSPECT_ORDERS);
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
}

static int64_t naive_vectors(const char *cell, int n, int height)
{
    int64_t count = 0;
    for (int first = 0; first < n; first += height) {
        for (int c = 0; c < n; c++) {
            int any = 0;
            for (int r = first; r < first + height && r < n; r++) {
                any |= cell[r * n + c];
            }
            count += any;
        }
    }
    return count;
}

static bool naive_symmetric(const char *cell, int n)
{
    for (int k = 0; k < n * n; k++) {
        if (cell[k] != cell[k % n * n + k / n]) {
            return false;
        }
    }
    return true;
}

static void inspect_random(unsigned seed)
{
    enum { N = 70 };
    static char cell[N * N];
    tsr_mm m = {.nrows = N, .ncols = N};
    int64_t row[2 * N * N], col[2 * N * N];
    unsigned s = seed;
    memset(cell, 0, sizeof cell);
    for (int k = 0; k < 300; k++) {
        s = s * 1664525u + 1013904223u;
        unsigned r = s >> 8 & 0xffff, c = s >> 20;
        int at = (int)(r % N) * N + (int)(c % N);
        cell[at] = 1;
        cell[seed % 2 ? at % N * N + at / N : at] = 1;
    }
    for (int k = 0; k < N * N; k++) {
        row[m.nvals] = k / N;
        col[m.nvals] = k % N;
        m.nvals += cell[k];
    }
    m.row = row;
    m.col = col;
    tsr_mm_csr a;
    tsr_inspection in;
    assert_true(tsr_mm_to_csr(&a, &m, error, sizeof error) && tsr_inspect(&in, &a, 2) == TSR_OK);
    for (int h = 0; h < 5; h++) {
        assert_true(in.statistics.vectors[h] == naive_vectors(cell, N, 8 << h));
    }
    int64_t vectors = 0, windows = 0;
    for (int64_t v = 0; v < in.nwindows; v++) {
        vectors += in.windows[v].vectors;
    }
    for (int r = 0; r < TSR_WINDOW_ROUTES; r++) {
        windows += in.routes[r];
    }
    assert_true(vectors == in.statistics.vectors[0] && windows == in.nwindows);
    assert_int_equal(in.symmetric, naive_symmetric(cell, N));
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
}

static void test_inspection_of_random_matrices(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 50; seed++) {
        inspect_random(seed);
    }
}

/* ---- far more rows or columns than entries ---- */

/* Some rows that share columns, some that stand alone, some entries twice. */
static tsr_mm sparse_matrix(int64_t nrows, int64_t ncols, int n, bool mirrored)
{
    tsr_mm m = {.nrows = nrows, .ncols = ncols, .row = calloc((size_t)n, 16), .col = calloc((size_t)n, 16), .value = calloc((size_t)n, 16)};
    uint64_t s = (uint64_t)nrows;
    assert_true(m.row && m.col && m.value);
    for (int k = 0; k < n; k++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        const int64_t row = (int64_t)(s >> 20) % (k % 3 ? nrows : 300), col = (int64_t)(s >> 33) % (k % 3 == 2 ? ncols : 40);
        m.row[m.nvals] = k % 100 == 1 ? nrows - 1 : row;
        m.col[m.nvals] = col;
        m.value[m.nvals++] = k + 0.1;
        if (mirrored) {
            m.row[m.nvals] = m.col[m.nvals - 1];
            m.col[m.nvals] = m.row[m.nvals - 1];
            m.value[m.nvals++] = 1;
        }
    }
    return m;
}

static void expect_same_entries(const tsr_mm_csr *all, const tsr_mm_csr *rows)
{
    int64_t r = 0;
    assert_true(rows->row && all->nvals == rows->nvals && all->nrows == rows->nrows && all->ncols == rows->ncols);
    for (int64_t row = 0; row < all->nrows; row++) {
        if (all->p[row + 1] > all->p[row]) {
            assert_true(r < rows->nstored && rows->row[r] == row && rows->p[r] == all->p[row] && rows->p[r + 1] == all->p[row + 1]);
            r++;
        }
    }
    assert_true(r == rows->nstored);
    assert_memory_equal(all->i, rows->i, (size_t)all->nvals * sizeof *all->i);
    assert_memory_equal(all->value, rows->value, (size_t)all->nvals * sizeof *all->value);
}

/* Windows without entries are left out of one list. */
static void expect_same_windows(const tsr_inspection *all, const tsr_inspection *rows)
{
    int64_t at = 0;
    for (int64_t v = 0; v < all->nlisted; v++) {
        if (all->windows[v].nvals) {
            assert_true(at < rows->nlisted);
            assert_memory_equal(&all->windows[v], &rows->windows[at++], sizeof(tsr_window));
        }
    }
    assert_true(at == rows->nlisted && all->nwindows == rows->nwindows && all->nlisted == all->nwindows);
    assert_memory_equal(all->routes, rows->routes, sizeof all->routes);
    for (int k = 0; k < 2; k++) {
        assert_true(all->nsampled[k] == rows->nsampled[k]);
        assert_memory_equal(all->sampled[k], rows->sampled[k], (size_t)all->nsampled[k] * sizeof *all->sampled[k]);
    }
}

static void expect_same_inspection(int64_t nrows, int64_t ncols, bool mirrored)
{
    tsr_mm m = sparse_matrix(nrows, ncols, 2000, mirrored);
    tsr_mm_csr a, b;
    tsr_inspection all, rows;
    assert_true(tsr_mm_to_csr(&a, &m, error, sizeof error) && tsr_mm_to_stored_rows(&b, &m, error, sizeof error));
    expect_same_entries(&a, &b);
    assert_true(tsr_inspect(&all, &a, 2) == TSR_OK && tsr_inspect(&rows, &b, 2) == TSR_OK);
    assert_true(all.nvals == rows.nvals && all.symmetric == rows.symmetric && all.symmetric == mirrored);
    assert_true(all.empty_rows == rows.empty_rows && all.longest_row == rows.longest_row && all.mean_row == rows.mean_row);
    assert_memory_equal(all.degrees, rows.degrees, sizeof all.degrees);
    assert_memory_equal(&all.statistics, &rows.statistics, sizeof all.statistics);
    assert_memory_equal(&all.spread, &rows.spread, sizeof all.spread);
    expect_same_windows(&all, &rows);
    tsr_inspection_free(&all);
    tsr_inspection_free(&rows);
    tsr_mm_csr_free(&a);
    tsr_mm_csr_free(&b);
    tsr_mm_free(&m);
}

static void test_stored_rows_are_inspected_alike(void **state)
{
    (void)state;
    enum { LARGE = (1 << 17) + 77 }; /* many times the rows of a sample */
    expect_same_inspection(LARGE, LARGE, false);
    expect_same_inspection(LARGE, LARGE, true);
    expect_same_inspection(1000, LARGE, false);
}

/* Empty rows are left out from a size on, and only where there are many. */
static void test_rows_are_stored_where_most_are_empty(void **state)
{
    (void)state;
    enum { MANY = (1 << 20) + 1 };
    const struct { int64_t nrows, ncols; bool stored; } cases[] = {{MANY - 1, 300, false}, {MANY, 300, true}, {300, MANY - 1, false}, {300, MANY, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tsr_mm_csr rows;
        tsr_mm m = sparse_matrix(cases[k].nrows, cases[k].ncols, 10, false);
        assert_true(tsr_mm_to_rows(&rows, &m, error, sizeof error));
        assert_true((rows.row != NULL) == cases[k].stored);
        tsr_mm_csr_free(&rows);
        tsr_mm_free(&m);
    }
}

static void test_only_entries_are_stored(void **state)
{
    (void)state;
    tsr_mm_csr a;
    tsr_inspection in;
    tsr_mm m = parsed(PATTERN "4000000000 67000000 3\n4000000000 67000000\n1 5\n4000000000 5\n");
    assert_true(tsr_mm_to_rows(&a, &m, error, sizeof error) && a.nstored == 2 && tsr_inspect(&in, &a, 1) == TSR_OK);
    assert_true(in.nlisted == 2 && in.nwindows == 500000000 && in.empty_rows == 3999999998 && in.longest_row == 2);
    assert_true(in.statistics.vectors[0] == 3 && in.statistics.bytes_csr == 8 * (INT64_C(4000000001) + 3) && !in.symmetric);
    for (int order = 0; order < TSR_INSPECT_ORDERS; order++) {
        assert_true(in.ordered_vectors[order][0] == 2);
    }
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
    tsr_mm_free(&m);
    m = parsed(PATTERN "67000000 67000000 0\n");
    assert_true(tsr_mm_to_rows(&a, &m, error, sizeof error) && a.nstored == 0 && tsr_inspect(&in, &a, 1) == TSR_OK);
    assert_true(in.nlisted == 0 && in.empty_rows == 67000000 && in.symmetric);
    tsr_inspection_free(&in);
    tsr_mm_csr_free(&a);
    tsr_mm_free(&m);
    m = parsed(PATTERN "4294967296 2 1\n1 1\n");
    assert_false(tsr_mm_to_rows(&a, &m, error, sizeof error));
    assert_non_null(strstr(error, "too large"));
    tsr_mm_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_stored_rows_are_inspected_alike),
        cmocka_unit_test(test_rows_are_stored_where_most_are_empty),
        cmocka_unit_test(test_only_entries_are_stored),
        cmocka_unit_test(test_numbers_are_those_of_strtod),
        cmocka_unit_test(test_symmetry_is_spelled_out),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_nothing_inside),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_nul_bytes_and_long_lines),
        cmocka_unit_test(test_files_plain_and_compressed),
        cmocka_unit_test(test_gzip_bombs_take_no_memory),
        cmocka_unit_test(test_compressed_rows),
        cmocka_unit_test(test_inspection_by_hand),
        cmocka_unit_test(test_inspection_is_reported),
        cmocka_unit_test(test_inspection_of_random_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
