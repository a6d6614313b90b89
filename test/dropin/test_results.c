/* Results as SuiteSparse's own would be: their entries also after a transpose, the settings of C, the memory they ask for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <GraphBLAS.h>
#include <dlfcn.h>
#include <sys/resource.h>

#include "routed.h"

typedef GrB_Info mxm_function(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Matrix,
                              const GrB_Descriptor);

typedef GrB_Info add_function(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_BinaryOp, const GrB_Matrix, const GrB_Matrix,
                              const GrB_Descriptor);

static mxm_function *real_mxm;
static add_function *real_add, *real_mult;

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static int start(void **state)
{
    void *library = dlopen(REAL_GRAPHBLAS, RTLD_NOW | RTLD_NOLOAD);
    void *mxm = library ? dlsym(library, "GrB_mxm") : NULL, *add = library ? dlsym(library, "GrB_Matrix_eWiseAdd_BinaryOp") : NULL;
    memcpy(&real_mxm, &mxm, sizeof mxm);
    void *mult = library ? dlsym(library, "GrB_Matrix_eWiseMult_BinaryOp") : NULL;
    memcpy(&real_add, &add, sizeof add);
    memcpy(&real_mult, &mult, sizeof mult);
    return mxm && add && mult ? start_session(state) : 1;
}

static void set_option(GrB_Matrix A, GxB_Option_Field field, int value)
{
    ok(GxB_Matrix_Option_set(A, field, value));
}

static GrB_Matrix new_matrix(GrB_Index nrows, GrB_Index ncols, int format)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, nrows, ncols));
    set_option(A, GxB_FORMAT, format);
    return A;
}

/* Every place. */
static GrB_Matrix full(GrB_Index nrows, GrB_Index ncols, int format)
{
    GrB_Matrix A = new_matrix(nrows, ncols, format);
    ok(GrB_Matrix_assign_FP64(A, NULL, NULL, 1, GrB_ALL, nrows, GrB_ALL, ncols, NULL));
    ok(GrB_Matrix_setElement_FP64(A, 2, 0, 0)); /* not iso */
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* Every place (k step, 0), or (0, k step) of a matrix of one row. */
static GrB_Matrix line(GrB_Index nrows, GrB_Index ncols, int step, int format)
{
    GrB_Matrix A = new_matrix(nrows, ncols, format);
    const GrB_Index length = ncols == 1 ? nrows : ncols;
    for (GrB_Index k = 0; k < length; k += (GrB_Index)step)
        ok(GrB_Matrix_setElement_FP64(A, (double)(k % 7 + 1), ncols == 1 ? k : 0, ncols == 1 ? 0 : k));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* ---- comparing ---- */

static void assert_same_entries(GrB_Matrix A, GrB_Matrix B)
{
    GrB_Index n, m;
    ok(GrB_Matrix_nvals(&n, A));
    ok(GrB_Matrix_nvals(&m, B));
    assert_int_equal(n, m);
    GrB_Index *rows = malloc((4 * n + 1) * sizeof *rows), *columns = rows + n;
    double *x = malloc((2 * n + 1) * sizeof *x);
    ok(GrB_Matrix_extractTuples_FP64(rows, columns, x, &n, A));
    ok(GrB_Matrix_extractTuples_FP64(rows + 2 * n, columns + 2 * n, x + n, &m, B));
    assert_memory_equal(rows, rows + 2 * n, 2 * n * sizeof *rows);
    assert_memory_equal(x, x + n, n * sizeof *x);
    free(rows);
    free(x);
}

static GrB_Matrix transpose_of(GrB_Matrix A, GrB_Index nrows, GrB_Index ncols)
{
    GrB_Matrix T;
    ok(GrB_Matrix_new(&T, GrB_FP64, ncols, nrows));
    ok(GrB_transpose(T, NULL, NULL, A, NULL));
    return T;
}

static void assert_same_result(GrB_Matrix A, GrB_Matrix B, GrB_Index nrows, GrB_Index ncols)
{
    assert_same_entries(A, B);
    GrB_Matrix S = transpose_of(A, nrows, ncols), T = transpose_of(B, nrows, ncols);
    assert_same_entries(S, T);
    ok(GrB_Matrix_free(&S));
    ok(GrB_Matrix_free(&T));
}

/* C<M> = A B into a new C held so, ours and the library's own; frees the operands. */
static void check_product(GrB_Matrix M, GrB_Matrix A, GrB_Matrix B, int format, GrB_Descriptor desc)
{
    GrB_Index nrows, ncols;
    ok(GrB_Matrix_nrows(&nrows, M));
    ok(GrB_Matrix_ncols(&ncols, M));
    GrB_Matrix C = new_matrix(nrows, ncols, format), R = new_matrix(nrows, ncols, format);
    const int before = routed_products();
    ok(GrB_mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, desc));
    ok(real_mxm(R, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, desc));
    assert_same_result(C, R, nrows, ncols);
    assert_true(routed_products() > before);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&M));
    ok(GrB_Matrix_free(&R));
}

/* ---- masks with vectors of length 1 ---- */

enum { LENGTH = 20000, MASK_STEP = 100, HIT_STEP = 200 };

/* A B reaches every second place of the mask; inner: entries that meet in each. */
static void check_line(bool tall, int inner, GrB_Descriptor desc)
{
    const GrB_Index nrows = tall ? LENGTH : 1, ncols = tall ? 1 : LENGTH, k = (GrB_Index)inner;
    const int format = tall ? GxB_BY_ROW : GxB_BY_COL;
    GrB_Matrix M = line(nrows, ncols, MASK_STEP, format), A = new_matrix(nrows, k, GxB_BY_ROW), B = new_matrix(k, ncols, GxB_BY_COL);
    for (GrB_Index e = 0; e < LENGTH; e += HIT_STEP)
        ok(GrB_Matrix_setElement_FP64(tall ? A : B, (double)e, tall ? e : 0, tall ? 0 : e));
    for (GrB_Index e = 0; e < k; e++)
        ok(GrB_Matrix_setElement_FP64(tall ? B : A, 3, tall ? e : 0, tall ? 0 : e));
    check_product(M, A, B, format, desc);
}

static void test_no_empty_vectors_of_length_one(void **state)
{
    (void)state;
    for (int inner = 1; inner <= 3; inner += 2) {
        check_line(true, inner, GrB_DESC_S);
        check_line(false, inner, GrB_DESC_S);
        check_line(true, inner, NULL);
    }
}

/* Full operands; a valued mask lets every second of its places through. */
static void check_sampled_line(bool tall)
{
    const GrB_Index nrows = tall ? LENGTH : 1, ncols = tall ? 1 : LENGTH;
    const int format = tall ? GxB_BY_ROW : GxB_BY_COL;
    GrB_Matrix M = line(nrows, ncols, MASK_STEP, format), A = full(nrows, 4, GxB_BY_ROW), B = full(4, ncols, GxB_BY_COL);
    for (GrB_Index e = 0; e < LENGTH; e += HIT_STEP)
        ok(GrB_Matrix_setElement_FP64(M, 0, tall ? e : 0, tall ? 0 : e));
    check_product(M, A, B, format, NULL);
}

static void test_no_empty_vectors_when_sampled(void **state)
{
    (void)state;
    check_sampled_line(true);
    check_sampled_line(false);
}

/* ---- settings ---- */

enum { N = 40 };

/* Sparse times full under a mask, into an empty C with settings of its own. */
static GrB_Matrix masked_product(mxm_function *mxm, int control, GrB_Matrix M, GrB_Matrix A, GrB_Matrix B)
{
    GrB_Matrix C = new_matrix(N, N, GxB_BY_ROW);
    ok(GxB_Matrix_Option_set(C, GxB_HYPER_SWITCH, .125));
    ok(GxB_Matrix_Option_set(C, GxB_BITMAP_SWITCH, .375));
    set_option(C, GxB_SPARSITY_CONTROL, control);
    ok(mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, GrB_DESC_S));
    return C;
}

static void assert_same_settings(GrB_Matrix A, GrB_Matrix B)
{
    static const GxB_Option_Field whole[] = {GxB_SPARSITY_CONTROL, GxB_FORMAT, GxB_SPARSITY_STATUS};
    static const GxB_Option_Field switches[] = {GxB_HYPER_SWITCH, GxB_BITMAP_SWITCH};
    for (int k = 0; k < 3; k++) {
        int a = -1, b = -2;
        ok(GxB_Matrix_Option_get(A, whole[k], &a));
        ok(GxB_Matrix_Option_get(B, whole[k], &b));
        assert_int_equal(a, b);
    }
    for (int k = 0; k < 2; k++) {
        double a = -1, b = -2;
        ok(GxB_Matrix_Option_get(A, switches[k], &a));
        ok(GxB_Matrix_Option_get(B, switches[k], &b));
        assert_float_equal(a, b, 0);
    }
}

static void test_settings_of_c_stay(void **state)
{
    (void)state;
    static const int controls[] = {GxB_SPARSE, GxB_BITMAP, GxB_FULL, GxB_BITMAP | GxB_FULL, GxB_AUTO_SPARSITY};
    GrB_Matrix A = new_matrix(N, N, GxB_BY_ROW), M = new_matrix(N, N, GxB_BY_ROW), B = full(N, N, GxB_BY_ROW);
    for (GrB_Index e = 0; e < N; e++) {
        ok(GrB_Matrix_setElement_FP64(A, 1, e, (e * 7) % N));
        ok(GrB_Matrix_setElement_FP64(M, 1, (e * 3) % N, e));
    }
    set_option(M, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    for (int k = 0; k < 5; k++) {
        const int before = routed_products();
        GrB_Matrix C = masked_product(GrB_mxm, controls[k], M, A, B), R = masked_product(real_mxm, controls[k], M, A, B);
        assert_same_settings(C, R);
        assert_same_entries(C, R);
        assert_true(routed_products() > before);
        ok(GrB_Matrix_free(&C));
        ok(GrB_Matrix_free(&R));
    }
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&M));
}

/* ---- burble ---- */

typedef struct burbling { /* one product, one sum (NULL: none) */
    mxm_function *mxm;
    add_function *add;
    GrB_Semiring semiring;
    GrB_Matrix A, B;
} burbling;

static void burble(const burbling *b)
{
    GrB_Matrix C = new_matrix(N, N, GxB_BY_ROW);
    ok(GxB_Global_Option_set(GxB_BURBLE, true));
    ok(b->mxm(C, NULL, NULL, b->semiring, b->A, b->B, NULL));
    if (b->add) ok(b->add(C, NULL, GrB_PLUS_INT32, GrB_PLUS_FP64, b->B, b->B, NULL));
    ok(GxB_Global_Option_set(GxB_BURBLE, false));
    ok(GrB_Matrix_free(&C));
}

/* What is printed, without times. */
static size_t printed(char *text, size_t size, const burbling *b)
{
    FILE *file = tmpfile();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    burble(b);
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    rewind(file);
    size_t length = 0;
    for (int c; (c = fgetc(file)) != EOF && length + 1 < size;) {
        if (!strchr("0123456789.+-e", c)) text[length++] = (char)c;
    }
    text[length] = 0;
    fclose(file);
    return length;
}

/* Nobody but SuiteSparse takes this semiring for operands of another type, nor sums of two types. */
static void assert_same_burble(GrB_Matrix A, GrB_Matrix B)
{
    static char ours[4096], plain[4096];
    const burbling own = {GrB_mxm, GrB_Matrix_eWiseAdd_BinaryOp, GxB_TIMES_PLUS_FP32, A, B};
    const burbling real = {real_mxm, real_add, GxB_TIMES_PLUS_FP32, A, B};
    assert_true(printed(ours, sizeof ours, &own) > 0);
    printed(plain, sizeof plain, &real);
    assert_string_equal(ours, plain);
}

static void assert_no_burble(GrB_Matrix A, GrB_Matrix B)
{
    static char ours[4096];
    const burbling own = {GrB_mxm, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B};
    printed(ours, sizeof ours, &own);
    assert_string_equal(ours, "");
}

static void test_only_the_calls_of_the_program_burble(void **state)
{
    (void)state;
    GrB_Matrix A = new_matrix(N, N, GxB_BY_ROW), B = full(N, N, GxB_BY_ROW);
    for (GrB_Index e = 0; e < N; e++) ok(GrB_Matrix_setElement_FP64(A, 1, e, (e * 7) % N));
    ok(GrB_Matrix_removeElement(B, 1, 1));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    assert_same_burble(A, A);
    assert_same_burble(A, B);
    assert_same_burble(B, B);
    assert_no_burble(A, B);
    assert_no_burble(B, A);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
}

/* ---- memory ---- */

enum { ROWS = 2000000, INNER = 20000, WIDTH = 64, ROWS_USED = 10, MEGABYTES_ALLOWED = 200 };

static long peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static GrB_Matrix few_long_rows(int format)
{
    GrB_Matrix A = new_matrix(ROWS, INNER, GxB_BY_ROW);
    GrB_Index *rows = malloc(2 * (size_t)ROWS_USED * INNER * sizeof *rows), *columns = rows + (size_t)ROWS_USED * INNER;
    double *x = malloc((size_t)ROWS_USED * INNER * sizeof *x);
    for (size_t e = 0; e < (size_t)ROWS_USED * INNER; e++) {
        rows[e] = e / INNER * (ROWS / ROWS_USED);
        columns[e] = e % INNER;
        x[e] = 1 + (double)(e % 3);
    }
    ok(GrB_Matrix_build_FP64(A, rows, columns, x, (GrB_Index)ROWS_USED * INNER, NULL));
    set_option(A, GxB_FORMAT, format);
    free(rows);
    free(x);
    return A;
}

/* format, control: how A is held. */
static void check_memory(int format, int control, GrB_Matrix M)
{
    GrB_Matrix A = few_long_rows(format), B = full(INNER, WIDTH, GxB_BY_ROW), C = new_matrix(ROWS, WIDTH, GxB_BY_ROW);
    set_option(A, GxB_SPARSITY_CONTROL, control);
    const long before = peak_megabytes();
    ok(GrB_mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, M ? GrB_DESC_S : NULL));
    GrB_Index nvals;
    ok(GrB_Matrix_nvals(&nvals, C));
    assert_int_equal(nvals, M ? 1 : ROWS_USED * WIDTH);
    assert_true(peak_megabytes() - before < MEGABYTES_ALLOWED);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&C));
}

static void test_rows_without_entries_get_no_memory(void **state)
{
    (void)state;
    check_memory(GxB_BY_ROW, GxB_HYPERSPARSE, NULL);
    check_memory(GxB_BY_ROW, GxB_SPARSE, NULL);
    check_memory(GxB_BY_COL, GxB_SPARSE, NULL);
}

static void test_places_outside_of_the_mask_get_no_memory(void **state)
{
    (void)state;
    GrB_Matrix M = new_matrix(ROWS, WIDTH, GxB_BY_ROW);
    ok(GrB_Matrix_setElement_FP64(M, 1, 0, 3));
    ok(GrB_Matrix_setElement_FP64(M, 1, 7, 3));
    check_memory(GxB_BY_ROW, GxB_SPARSE, M);
    ok(GrB_Matrix_free(&M));
}

/* ---- one value ---- */

static bool is_iso(GrB_Matrix A)
{
    bool iso = false;
    ok(GxB_Matrix_iso(&iso, A));
    return iso;
}

enum { SIDE = 64 };

/* Every place but, with a step, some of the diagonal; one value, which no call of ours put there. */
static GrB_Matrix of_one_value(int step, int format)
{
    GrB_Index i[SIDE * SIDE], j[SIDE * SIDE], n = 0;
    GrB_Scalar five;
    ok(GrB_Scalar_new(&five, GrB_FP64));
    ok(GrB_Scalar_setElement_FP64(five, 5));
    for (GrB_Index k = 0; k < SIDE * SIDE; k++) {
        if (step > 0 && k / SIDE == k % SIDE && k % (GrB_Index)step == 0) continue;
        i[n] = k / SIDE;
        j[n++] = k % SIDE;
    }
    GrB_Matrix A = new_matrix(SIDE, SIDE, format);
    set_option(A, GxB_SPARSITY_CONTROL, GxB_BITMAP | GxB_FULL);
    ok(GxB_Matrix_build_Scalar(A, i, j, five, n));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    assert_true(is_iso(A));
    GrB_Scalar_free(&five);
    return A;
}

/* C<!M, replace> = T of one value, C full of another: SuiteSparse takes T for C if that lies as C does, and compares them if not.  Without a
 * device the call is forwarded. */
static void check_replaced(int a_format, int b_format, int c_format)
{
    GrB_Matrix A = new_matrix(SIDE, SIDE, a_format), B = of_one_value(5, b_format), C = full(SIDE, SIDE, c_format);
    GrB_Matrix M = new_matrix(SIDE, SIDE, c_format);
    GrB_Index nvals;
    for (GrB_Index k = 0; k < SIDE; k++) {
        ok(GrB_Matrix_setElement_FP64(A, (double)k, k, k * 7 % SIDE));
        ok(GrB_Matrix_setElement_FP64(A, 3, k, (k * 3 + 1) % SIDE));
        ok(GrB_Matrix_setElement_FP64(M, 3, k, (k * 5 + 1) % SIDE));
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    ok(GrB_Matrix_wait(M, GrB_MATERIALIZE));
    ok(GrB_Matrix_assign_FP64(C, NULL, NULL, 5, GrB_ALL, SIDE, GrB_ALL, SIDE, NULL));
    ok(GrB_mxm(C, M, NULL, GxB_ANY_PAIR_FP64, A, B, GrB_DESC_RSC));
    assert_int_equal(is_iso(C), a_format == c_format || b_format == c_format);
    ok(GrB_Matrix_nvals(&nvals, C));
    assert_int_equal(nvals, SIDE * SIDE - SIDE);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&M));
}

static void test_one_value_replaces_another(void **state)
{
    static const int formats[] = {GxB_BY_ROW, GxB_BY_COL};
    (void)state;
    for (int k = 0; k < 8; k++) check_replaced(formats[k & 1], formats[k >> 1 & 1], formats[k >> 2]);
}

/* All places, those that another shares a third with, or each step-th; held full, as a bitmap or sparse. */
static GrB_Matrix one_value_held(int form, GrB_Index step, bool iso)
{
    static const int controls[] = {GxB_BITMAP | GxB_FULL, GxB_BITMAP, GxB_SPARSE};
    GrB_Index i[SIDE * SIDE], j[SIDE * SIDE], n = 0;
    double x[SIDE * SIDE];
    for (GrB_Index k = 0; k < SIDE * SIDE; k++) {
        if (form > 0 && (step > 3 ? k % step != 0 : k % 3 == step)) continue;
        i[n] = k / SIDE;
        j[n] = k % SIDE;
        x[n++] = iso ? 2 : 1 + (double)(k % 5);
    }
    GrB_Matrix A = new_matrix(SIDE, SIDE, GxB_BY_ROW);
    set_option(A, GxB_SPARSITY_CONTROL, controls[form]);
    ok(GrB_Matrix_build_FP64(A, i, j, x, n, GrB_PLUS_FP64));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    assert_int_equal(is_iso(A), iso);
    return A;
}

/* C<M, replace> = A .* B where C has other values: iso where SuiteSparse masks the result as it computes that. */
static void check_masked_mult(const GrB_Matrix *A, const GrB_Matrix *B, int c_form, GrB_Matrix M, GrB_Descriptor desc)
{
    GrB_Index n = 0;
    GrB_Matrix C = one_value_held(c_form, 1, false), R = one_value_held(c_form, 1, false);
    ok(GrB_Matrix_eWiseMult_BinaryOp(C, M, NULL, GrB_TIMES_FP64, *A, *B, desc));
    ok(real_mult(R, M, NULL, GrB_TIMES_FP64, *A, *B, desc));
    assert_same_entries(C, R);
    ok(GrB_Matrix_nvals(&n, R));
    if (n > 0)
        assert_int_equal(is_iso(C), is_iso(R));
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&R));
}

static void test_masked_mult_is_iso(void **state)
{
    enum { FORMS = 3, FEW = 13 };
    const GrB_Descriptor descriptors[] = {GrB_DESC_RS, GrB_DESC_RST0, GrB_DESC_RST0T1, GrB_DESC_RSC, GrB_DESC_RSCT0T1};
    (void)state;
    if (GxB_IMPLEMENTATION_MAJOR > 7)
        skip(); /* the rules are those of 7.4.0 */
    for (int k = 0; k < FORMS * FORMS * FORMS * FORMS * 2; k++) {
        GrB_Matrix A = one_value_held(k % FORMS, 0, true), B = one_value_held(k / 3 % FORMS, 2, true);
        GrB_Matrix M = one_value_held(k / 9 % FORMS, k & 1 ? FEW : 1, false);
        for (int d = 0; d < 5; d++) check_masked_mult(&A, &B, k / 27 % FORMS, M, descriptors[d]);
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&B));
        ok(GrB_Matrix_free(&M));
    }
}

/* A list of the one place of a matrix is diagonal to SuiteSparse, which then scales: a sum of one is iso. */
static void test_one_place_is_diagonal(void **state)
{
    (void)state;
    GrB_Matrix A = new_matrix(1, 1, GxB_BY_COL), B = new_matrix(1, SIDE, GxB_BY_ROW), C = new_matrix(1, SIDE, GxB_BY_ROW);
    set_option(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    set_option(B, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    ok(GrB_Matrix_setElement_FP64(A, 2, 0, 0));
    for (GrB_Index k = 0; k < SIDE; k += 2) ok(GrB_Matrix_setElement_FP64(B, (double)k, 0, k));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    ok(GrB_Matrix_wait(B, GrB_MATERIALIZE));
    ok(GrB_mxm(C, NULL, NULL, GxB_PLUS_PAIR_FP64, A, B, GrB_DESC_T0));
    assert_true(is_iso(C));
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&C));
}

/* As many entries as rows are a diagonal only if they lie there: elsewhere two ones of a place are a sum.  Few vectors are pushed, many scaled. */
static void test_what_lies_on_the_diagonal(void **state)
{
    (void)state;
    enum { PLACES = 2048, VECTORS = 4 };
    for (int lies = 0; lies < 2; lies++)
        for (GrB_Index each = 20; each <= 200; each *= 10) {
            GrB_Matrix A = new_matrix(PLACES, PLACES, GxB_BY_ROW), U = new_matrix(VECTORS, PLACES, GxB_BY_ROW);
            GrB_Matrix C = new_matrix(VECTORS, PLACES, GxB_BY_ROW), R = new_matrix(VECTORS, PLACES, GxB_BY_ROW);
            set_option(U, GxB_SPARSITY_CONTROL, GxB_SPARSE);
            for (GrB_Index k = 0; k < PLACES; k++) ok(GrB_Matrix_setElement_FP64(A, 1, k, lies ? k : k / 2));
            for (GrB_Index k = 0; k < VECTORS * each; k++) ok(GrB_Matrix_setElement_FP64(U, 1, k % VECTORS, k / VECTORS));
            ok(GrB_Matrix_apply_BinaryOp2nd_FP64(A, NULL, NULL, GrB_SECOND_FP64, A, 1, NULL));
            ok(GrB_Matrix_apply_BinaryOp2nd_FP64(U, NULL, NULL, GrB_SECOND_FP64, U, 1, NULL));
            assert_true(is_iso(A) && is_iso(U));
            ok(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, U, A, NULL));
            ok(real_mxm(R, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, U, A, NULL));
            assert_same_entries(C, R);
            assert_int_equal(is_iso(C), is_iso(R));
            ok(GrB_Matrix_free(&A));
            ok(GrB_Matrix_free(&U));
            ok(GrB_Matrix_free(&C));
            ok(GrB_Matrix_free(&R));
        }
}

/* An empty T of ones is not iso where it is turned, which a later C += scalar shows: first and all the new ones are not iso then. */
static void test_no_ones_are_turned(void **state)
{
    (void)state;
    for (int format = 0; format < 4; format++) {
        const int of_a = format & 1 ? GxB_BY_COL : GxB_BY_ROW, of_c = format & 2 ? GxB_BY_COL : GxB_BY_ROW;
        GrB_Matrix A = new_matrix(SIDE, SIDE, of_a), B = full(SIDE, SIDE, of_a), C = full(SIDE, SIDE, of_c), R = full(SIDE, SIDE, of_c);
        ok(GrB_mxm(C, NULL, NULL, GxB_ANY_PAIR_FP64, A, B, NULL));
        ok(real_mxm(R, NULL, NULL, GxB_ANY_PAIR_FP64, A, B, NULL));
        ok(GrB_Matrix_assign_FP64(C, NULL, GrB_FIRST_FP64, 5, GrB_ALL, SIDE, GrB_ALL, SIDE, NULL));
        ok(GrB_Matrix_assign_FP64(R, NULL, GrB_FIRST_FP64, 5, GrB_ALL, SIDE, GrB_ALL, SIDE, NULL));
        assert_same_entries(C, R);
        assert_int_equal(is_iso(C), is_iso(R));
        assert_int_equal(is_iso(C), of_a == of_c);
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&B));
        ok(GrB_Matrix_free(&C));
        ok(GrB_Matrix_free(&R));
    }
}

enum { RING = 600 };

/* Entries (i, 7 i + 1 ... 3). */
static GrB_Matrix ring(void)
{
    GrB_Matrix A = new_matrix(RING, RING, GxB_BY_ROW);
    for (GrB_Index k = 0; k < 3 * RING; k++) ok(GrB_Matrix_setElement_FP64(A, 5, k / 3, (7 * (k / 3) + 1 + k % 3) % RING));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* Of one entry in three steps, in its own place. */
static void check_ones(GrB_Matrix A, GrB_Semiring semiring, GrB_Type type, bool routed)
{
    GrB_Vector u;
    GrB_Index nvals;
    const int before = routed_products();
    ok(GrB_Vector_new(&u, type, RING));
    ok(GrB_Vector_setElement_FP64(u, 5, 0));
    for (int k = 0; k < 3; k++) ok(GrB_vxm(u, NULL, NULL, semiring, u, A, NULL));
    const int count = routed_products() - before; /* a device, which takes the others as well, is asked to join them to u */
    assert_true(routed ? count >= 3 : count == 0 || getenv("TEST_MODE"));
    ok(GrB_Vector_nvals(&nvals, u));
    for (GrB_Index i = 0, found = 0; i < RING; i++) {
        double x;
        const GrB_Info info = GrB_Vector_extractElement_FP64(&x, u, i);
        found += info == GrB_SUCCESS;
        assert_true(info == GrB_NO_VALUE || (info == GrB_SUCCESS && x == 1));
        assert_true(i + 1 < RING || found == nvals);
    }
    assert_int_equal(nvals, 27);
    ok(GrB_Vector_free(&u));
}

/* A search's frontier of another type than its semiring: ones are cast. */
static void test_ones_of_another_type(void **state)
{
    (void)state;
    GrB_Matrix A = ring();
    check_ones(A, GxB_ANY_PAIR_INT64, GrB_BOOL, true);
    check_ones(A, GxB_ANY_PAIR_BOOL, GrB_FP64, true);
    check_ones(A, GxB_MIN_PAIR_FP32, GrB_INT8, true);
    check_ones(A, GxB_ANY_PAIR_INT64, GrB_INT64, true);
    check_ones(A, GxB_PLUS_PAIR_INT64, GrB_BOOL, false);
    ok(GrB_Matrix_free(&A));
}

/* ---- few rows of which some are deleted ---- */

/* Finished it is a list of one row of three. */
static void test_few_rows_become_hypersparse(void **state)
{
    (void)state;
    GrB_Index n;
    GrB_Matrix A = new_matrix(3, 3, GxB_BY_ROW), B = new_matrix(3, 2, GxB_BY_ROW), C = full(3, 2, GxB_BY_ROW);
    set_option(B, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    for (GrB_Index k = 0; k < 3; k++) ok(GrB_Matrix_setElement_FP64(B, (double)k, k, 0));
    ok(GrB_Matrix_wait(B, GrB_MATERIALIZE));
    ok(GxB_Matrix_Option_set(A, GxB_HYPER_SWITCH, .5));
    set_option(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    ok(GrB_Matrix_setElement_FP64(A, 1, 0, 0));
    ok(GrB_Matrix_setElement_FP64(A, 2, 2, 1));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    set_option(A, GxB_SPARSITY_CONTROL, GxB_HYPERSPARSE + GxB_SPARSE);
    ok(GrB_Matrix_removeElement(A, 0, 0));
    ok(GrB_mxm(C, NULL, NULL, GrB_MIN_FIRST_SEMIRING_FP64, A, B, NULL));
    ok(GrB_Matrix_nvals(&n, C));
    assert_int_equal(n, 1);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&B));
    ok(GrB_Matrix_free(&C));
}

/* ---- products of ones without entries ---- */

/* The even columns of A meet the odd rows of B. */
static GrB_Matrix every_second(bool rows, int format)
{
    GrB_Matrix A = new_matrix(12, 12, format);
    set_option(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    for (GrB_Index i = 0; i < 12; i++)
        for (GrB_Index j = 0; j < 12; j += 2) ok(GrB_Matrix_setElement_FP64(A, (double)(i + j), rows ? j + 1 : i, rows ? i : j));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* Iso where the library's own is: not where it turns what both operands lie otherwise for. */
static void test_empty_products_of_ones(void **state)
{
    (void)state;
    for (int forms = 0; forms < 8; forms++) {
        bool ours, plain;
        const int format[] = {forms & 1 ? GxB_BY_COL : GxB_BY_ROW, forms & 2 ? GxB_BY_COL : GxB_BY_ROW, forms & 4 ? GxB_BY_COL : GxB_BY_ROW};
        GrB_Matrix A = every_second(false, format[0]), B = every_second(true, format[1]);
        GrB_Matrix C = new_matrix(12, 12, format[2]), R = new_matrix(12, 12, format[2]);
        ok(GrB_mxm(C, NULL, NULL, GxB_ANY_PAIR_FP64, A, B, NULL));
        ok(real_mxm(R, NULL, NULL, GxB_ANY_PAIR_FP64, A, B, NULL));
        assert_same_entries(C, R);
        ok(GxB_Matrix_iso(&ours, C));
        ok(GxB_Matrix_iso(&plain, R));
        assert_true(ours == plain || getenv("TESSERA_DEFER") || getenv("TEST_MODE")); /* there one without entries may be either */
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&B));
        ok(GrB_Matrix_free(&C));
        ok(GrB_Matrix_free(&R));
    }
}

/* ---- errors ---- */

enum { SQUARE = 80, MXM, SELECT, EXTRACT, TRANSPOSE, APPLY, ADD, CALLS };

static GrB_Info call_with(int call, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_Matrix A)
{
    switch (call) {
    case MXM: return GrB_mxm(C, M, accum, GrB_PLUS_TIMES_SEMIRING_FP64, A, A, NULL);
    case SELECT: return GrB_Matrix_select_FP64(C, M, accum, GrB_VALUEGT_FP64, A, 2, NULL);
    case EXTRACT: return GrB_Matrix_extract(C, M, accum, A, GrB_ALL, SQUARE, GrB_ALL, SQUARE, NULL);
    case TRANSPOSE: return GrB_transpose(C, M, accum, A, NULL);
    case APPLY: return GrB_Matrix_apply(C, M, accum, GrB_AINV_FP64, A, NULL);
    default: return GrB_Matrix_eWiseAdd_BinaryOp(C, M, accum, GrB_PLUS_FP64, A, A, NULL);
    }
}

static void check_error(int call, GrB_Info expected, GrB_Matrix M, GrB_BinaryOp accum, GrB_Matrix A)
{
    static const char *const names[] = {[MXM] = "GrB_mxm", [SELECT] = "GrB_Matrix_select_FP64", [EXTRACT] = "GrB_Matrix_extract",
                                        [TRANSPOSE] = "GrB_transpose", [APPLY] = "GrB_Matrix_apply", [ADD] = "GrB_Matrix_eWiseAdd"}; /* of 10 with less */
    const char *text;
    GrB_Matrix C = new_matrix(SQUARE, SQUARE, GxB_BY_ROW);
    assert_int_equal(call_with(call, C, M, accum, A), expected);
    ok(GrB_Matrix_error(&text, C));
    assert_non_null(strstr(text, names[call]));
    ok(GrB_Matrix_free(&C));
}

static void add_pairs(void *z, const void *x, const void *y)
{
    (void)y;
    memcpy(z, x, 2 * sizeof(double));
}

/* Masks and accumulators that do not fit: the text names the program's call. */
static void test_errors_name_the_call(void **state)
{
    (void)state;
    GrB_Type pair;
    GrB_BinaryOp accum;
    ok(GrB_Type_new(&pair, 2 * sizeof(double)));
    ok(GrB_BinaryOp_new(&accum, add_pairs, pair, pair, pair));
    GrB_Matrix A = new_matrix(SQUARE, SQUARE, GxB_BY_ROW), small = line(SQUARE - 1, SQUARE, 1, GxB_BY_ROW), pairs;
    ok(GrB_Matrix_new(&pairs, pair, SQUARE, SQUARE));
    set_option(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    for (GrB_Index k = 0; k < SQUARE * SQUARE; k += 2) ok(GrB_Matrix_setElement_FP64(A, (double)(k % 7), k / SQUARE, k % SQUARE));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    for (int call = MXM; call < CALLS; call++) {
        check_error(call, GrB_DIMENSION_MISMATCH, small, NULL, A);
        check_error(call, GrB_DOMAIN_MISMATCH, pairs, NULL, A);
        check_error(call, GrB_DOMAIN_MISMATCH, NULL, accum, A);
    }
    ok(GrB_Matrix_free(&A));
    ok(GrB_Matrix_free(&small));
    ok(GrB_Matrix_free(&pairs));
    ok(GrB_BinaryOp_free(&accum));
    ok(GrB_Type_free(&pair));
}

/* ---- bitmaps ---- */

enum { BITMAP_SIDE = 40, NARROW_SIDE = 9 };

/* Row 1 and column 2 are empty; with step 1 everything else is present. */
static GrB_Matrix bitmap(GrB_Index nrows, GrB_Index ncols, int step, int format, bool iso)
{
    GrB_Matrix A = new_matrix(nrows, ncols, format);
    set_option(A, GxB_SPARSITY_CONTROL, GxB_BITMAP);
    for (GrB_Index k = 0; k < nrows * ncols; k += (GrB_Index)step)
        if (k / ncols != 1 && k % ncols != 2)
            ok(GrB_Matrix_setElement_FP64(A, iso ? 3 : (double)(k % 11) - 4, k / ncols, k % ncols));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* C<!M> = A B, or C = A B: M full, of zeros but for its second row. */
static void check_bitmaps(GrB_Matrix A, GrB_Matrix B, GrB_Index nrows, GrB_Index ncols, bool masked, GrB_Descriptor desc)
{
    GrB_Matrix M = NULL, C = new_matrix(nrows, ncols, GxB_BY_ROW), R = new_matrix(nrows, ncols, GxB_BY_ROW);
    if (masked) {
        M = full(nrows, ncols, GxB_BY_ROW);
        ok(GrB_Matrix_assign_FP64(M, NULL, NULL, 0, GrB_ALL, nrows, GrB_ALL, ncols, NULL));
        ok(GrB_Matrix_setElement_FP64(M, 1, 0, 3));
    }
    const int before = routed_products();
    ok(GrB_mxm(C, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, desc));
    assert_same_entries(A, A); /* the operands are as they were */
    ok(real_mxm(R, M, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, desc));
    assert_same_result(C, R, nrows, ncols);
    assert_true(routed_products() > before);
    ok(GrB_Matrix_free(&C));
    ok(GrB_Matrix_free(&R));
    if (masked)
        ok(GrB_Matrix_free(&M));
}

/* Computed from the entries of the bitmap, on either side. */
static void test_bitmaps_times_dense(void **state)
{
    (void)state;
    for (int k = 0; k < 32; k++) {
        const int format = k & 1 ? GxB_BY_COL : GxB_BY_ROW;
        GrB_Matrix A = bitmap(BITMAP_SIDE, BITMAP_SIDE, k & 2 ? 5 : 1, format, k & 4), X, Y;
        X = k & 8 ? bitmap(BITMAP_SIDE, NARROW_SIDE, 2, GxB_BY_ROW, false) : full(BITMAP_SIDE, NARROW_SIDE, GxB_BY_ROW);
        Y = k & 8 ? bitmap(NARROW_SIDE, BITMAP_SIDE, 2, GxB_BY_COL, false) : full(NARROW_SIDE, BITMAP_SIDE, GxB_BY_COL);
        check_bitmaps(A, X, BITMAP_SIDE, NARROW_SIDE, false, k & 16 ? GrB_DESC_T0 : NULL);
        check_bitmaps(Y, A, NARROW_SIDE, BITMAP_SIDE, false, k & 16 ? GrB_DESC_T1 : NULL);
        check_bitmaps(A, X, BITMAP_SIDE, NARROW_SIDE, true, GrB_DESC_C);
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&X));
        ok(GrB_Matrix_free(&Y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bitmaps_times_dense),
        cmocka_unit_test(test_ones_of_another_type),
        cmocka_unit_test(test_rows_without_entries_get_no_memory),
        cmocka_unit_test(test_places_outside_of_the_mask_get_no_memory),
        cmocka_unit_test(test_no_empty_vectors_of_length_one),
        cmocka_unit_test(test_no_empty_vectors_when_sampled),
        cmocka_unit_test(test_settings_of_c_stay),
        cmocka_unit_test(test_one_value_replaces_another),
        cmocka_unit_test(test_masked_mult_is_iso),
        cmocka_unit_test(test_one_place_is_diagonal),
        cmocka_unit_test(test_what_lies_on_the_diagonal),
        cmocka_unit_test(test_no_ones_are_turned),
        cmocka_unit_test(test_only_the_calls_of_the_program_burble),
        cmocka_unit_test(test_few_rows_become_hypersparse),
        cmocka_unit_test(test_empty_products_of_ones),
        cmocka_unit_test(test_errors_name_the_call),
    };
    return cmocka_run_group_tests(tests, start, stop_session);
}
