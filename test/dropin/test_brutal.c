/* Brutal allocation failures: the k-th allocation of every call fails, for every k.  A product or elementwise call then either reports
 * GrB_OUT_OF_MEMORY and leaves its operands alone, or succeeds with the right result; nothing leaks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "routed.h"

enum { M_ROWS = 37, K_INNER = 29, N_COLUMNS = 23, HEADER = 64 };

/* ---- the allocator ---- */

static long blocks;       /* in use */
static long countdown;    /* allocations until one fails; negative: never */
static bool fail_forever; /* once it has failed, all others fail as well */
static bool has_failed;

static bool refuse(void)
{
    if (__atomic_load_n(&countdown, __ATOMIC_RELAXED) < 0) return false;
    bool now = __atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED) == 0;
    if (now) has_failed = true;
    if (now && fail_forever) __atomic_store_n(&countdown, 0, __ATOMIC_RELAXED);
    return now;
}

static void *test_malloc_block(size_t size)
{
    if (refuse()) return NULL;
    size_t *whole = malloc(size + HEADER);
    if (!whole) return NULL;
    whole[0] = size;
    __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
    return (char *)whole + HEADER;
}

static void *test_calloc_block(size_t n, size_t size)
{
    void *block = test_malloc_block(n * size);
    return block ? memset(block, 0, n * size) : NULL;
}

static void test_free_block(void *block)
{
    if (!block) return;
    __atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
    free((char *)block - HEADER);
}

static void *test_realloc_block(void *block, size_t size)
{
    void *copy = test_malloc_block(size);
    if (!copy || !block) return copy;
    size_t old = *(size_t *)((char *)block - HEADER);
    memcpy(copy, block, old < size ? old : size);
    test_free_block(block);
    return copy;
}

/* ---- matrices ---- */

static uint64_t random_state = 99;

static uint32_t random_bits(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

static GrB_Matrix random_matrix(GrB_Type type, GrB_Index nrows, GrB_Index ncols, unsigned percent)
{
    GrB_Matrix A = NULL;
    GrB_Matrix_new(&A, type, nrows, ncols);
    for (GrB_Index i = 0; i < nrows; i++)
        for (GrB_Index j = 0; j < ncols; j++)
            if (random_bits() % 100 < percent) GrB_Matrix_setElement_INT32(A, (int)(random_bits() % 7) - 3, i, j);
    GrB_Matrix_wait(A, GrB_MATERIALIZE);
    return A;
}

static bool same(GrB_Matrix A, GrB_Matrix B)
{
    GrB_Index nrows, ncols, na = 0, nb = 0;
    GrB_Matrix_nrows(&nrows, A);
    GrB_Matrix_ncols(&ncols, A);
    GrB_Matrix_nvals(&na, A);
    GrB_Matrix_nvals(&nb, B);
    if (na != nb) return false;
    for (GrB_Index i = 0; i < nrows; i++)
        for (GrB_Index j = 0; j < ncols; j++) {
            double a = 0, b = 0;
            GrB_Info info = GrB_Matrix_extractElement_FP64(&a, A, i, j);
            if (GrB_Matrix_extractElement_FP64(&b, B, i, j) != info || a != b) return false;
        }
    return true;
}

/* ---- calls ---- */

typedef struct scene {
    GrB_Info (*run)(GrB_Matrix C, const struct scene *scene); /* NULL: GrB_mxm */
    GrB_Matrix A, B, M, C; /* C: its contents before the product */
    GrB_BinaryOp accum;
    GrB_Semiring semiring;
    GrB_Descriptor desc;
    bool frees; /* its operands, before anybody reads C */
} scene;

static void scene_free(scene *s)
{
    GrB_Matrix_free(&s->A);
    GrB_Matrix_free(&s->B);
    GrB_Matrix_free(&s->M);
    GrB_Matrix_free(&s->C);
}

static GrB_Info run(GrB_Matrix C, const scene *s)
{
    return s->run ? s->run(C, s) : GrB_mxm(C, s->M, s->accum, s->semiring, s->A, s->B, s->desc);
}

/* With operands of its own. */
static scene twin_of(const scene *s)
{
    scene twin = *s;
    GrB_Matrix_dup(&twin.A, s->A);
    GrB_Matrix_dup(&twin.B, s->B);
    GrB_Matrix_dup(&twin.M, s->M);
    twin.C = NULL;
    return twin;
}

static void check_operands(const scene *s, const scene *copy)
{
    assert_true(same(s->A, copy->A));
    assert_true(same(s->B, copy->B));
    if (s->M) assert_true(same(s->M, copy->M));
}

/* One call whose k-th allocation fails; true while there is a k-th. */
static bool attempt(const scene *s, const scene *copy, GrB_Matrix expected, long k, bool forever)
{
    GrB_Matrix C = NULL;
    GrB_Index n = 0;
    long before = blocks;
    scene own = s->frees ? twin_of(s) : *s;
    assert_int_equal(GrB_Matrix_dup(&C, s->C), GrB_SUCCESS);
    has_failed = false;
    fail_forever = forever;
    countdown = k;
    GrB_Info info = run(C, &own);
    bool failed = has_failed;
    countdown = 0; /* whatever was put off must not need memory */
    fail_forever = true;
    if (s->frees) scene_free(&own);
    if (info == GrB_SUCCESS) assert_int_equal(GrB_Matrix_nvals(&n, C), GrB_SUCCESS);
    countdown = -1;
    assert_true(info == GrB_SUCCESS || (info == GrB_OUT_OF_MEMORY && failed));
    if (info == GrB_SUCCESS) assert_true(same(C, expected));
    check_operands(s, copy);
    GrB_Matrix_free(&C);
    assert_int_equal(blocks, before);
    return failed;
}

static void brutal(scene *s)
{
    scene copy = {0};
    GrB_Matrix expected = NULL;
    countdown = -1;
    GrB_Matrix_dup(&copy.A, s->A);
    GrB_Matrix_dup(&copy.B, s->B);
    if (s->M) GrB_Matrix_dup(&copy.M, s->M);
    GrB_Matrix_dup(&expected, s->C);
    assert_int_equal(run(expected, s), GrB_SUCCESS);
    assert_true(same(expected, expected)); /* it is here before blocks are counted */
    for (int forever = 0; forever < 2; forever++) {
        long k = 0;
        while (attempt(s, &copy, expected, k, forever)) k++;
        assert_true(k > 0);
    }
    GrB_Matrix_free(&expected);
    scene_free(&copy);
    scene_free(s);
}

static scene spmm_scene(GrB_Type type, GrB_Semiring semiring)
{
    scene s = {.semiring = semiring};
    s.A = random_matrix(type, M_ROWS, K_INNER, 20);
    s.B = random_matrix(type, K_INNER, N_COLUMNS, 100);
    s.C = random_matrix(type, M_ROWS, N_COLUMNS, 30);
    return s;
}

static void test_plain(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_FP32, GrB_PLUS_TIMES_SEMIRING_FP32);
    brutal(&s);
}

static void test_casts_and_transpose(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_INT32, GrB_MIN_PLUS_SEMIRING_FP64);
    GrB_Matrix T = random_matrix(GrB_INT8, K_INNER, M_ROWS, 20);
    GrB_Matrix_free(&s.A);
    s.A = T;
    s.desc = GrB_DESC_T0;
    brutal(&s);
}

static void test_accumulated(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_FP64, GrB_PLUS_TIMES_SEMIRING_FP64);
    s.accum = GrB_PLUS_FP64;
    brutal(&s);
}

static void test_masked(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_INT64, GrB_PLUS_TIMES_SEMIRING_INT64);
    s.M = random_matrix(GrB_BOOL, M_ROWS, N_COLUMNS, 40);
    s.desc = GrB_DESC_RC;
    brutal(&s);
}

static void test_masked_and_accumulated(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_FP32, GxB_PLUS_SECOND_FP32);
    s.M = random_matrix(GrB_INT16, M_ROWS, N_COLUMNS, 40);
    s.accum = GrB_MAX_FP32;
    s.desc = GrB_DESC_S;
    brutal(&s);
}

/* Contents that wait on a GPU are downloaded sparse. */
static void test_sparse_result(void **state)
{
    (void)state;
    scene s = spmm_scene(GrB_FP64, GrB_MIN_PLUS_SEMIRING_FP64);
    s.M = random_matrix(GrB_BOOL, M_ROWS, N_COLUMNS, 15);
    s.desc = GrB_DESC_RS;
    GxB_Matrix_Option_set(s.C, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    brutal(&s);
}

static void test_sddmm(void **state)
{
    (void)state;
    scene s = {.semiring = GrB_PLUS_TIMES_SEMIRING_FP32, .desc = GrB_DESC_RST1};
    s.A = random_matrix(GrB_FP32, M_ROWS, K_INNER, 100);
    s.B = random_matrix(GrB_FP32, N_COLUMNS, K_INNER, 100);
    s.M = random_matrix(GrB_BOOL, M_ROWS, N_COLUMNS, 15);
    s.C = random_matrix(GrB_FP32, M_ROWS, N_COLUMNS, 10);
    brutal(&s);
}

static void count_pairs(bool frees)
{
    enum { WIDE = 70 }; /* narrow ones (64) do not stay on a GPU */
    scene s = {.semiring = GxB_PLUS_PAIR_UINT32, .desc = GrB_DESC_RST1, .frees = frees};
    s.A = random_matrix(GrB_BOOL, WIDE, WIDE, 10);
    s.B = random_matrix(GrB_BOOL, WIDE, WIDE, 10);
    s.M = random_matrix(GrB_BOOL, WIDE, WIDE, 15);
    GrB_Matrix_new(&s.C, GrB_UINT32, WIDE, WIDE);
    brutal(&s);
}

static void test_masked_dot(void **state)
{
    (void)state;
    count_pairs(false);
}

static void test_freed_operands(void **state)
{
    (void)state;
    count_pairs(true);
}

static void test_dense_first(void **state)
{
    (void)state;
    scene s = {.semiring = GrB_PLUS_TIMES_SEMIRING_FP64};
    s.A = random_matrix(GrB_FP64, M_ROWS, K_INNER, 100);
    s.B = random_matrix(GrB_FP64, K_INNER, N_COLUMNS, 20);
    GrB_Matrix_new(&s.C, GrB_FP64, M_ROWS, N_COLUMNS);
    brutal(&s);
}

static GrB_Matrix bitmap(GrB_Type type, unsigned percent)
{
    GrB_Matrix A = random_matrix(type, M_ROWS, N_COLUMNS, percent);
    GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_BITMAP);
    return A;
}

static GrB_Info multiply_elements(GrB_Matrix C, const scene *s)
{
    return GrB_Matrix_eWiseMult_BinaryOp(C, s->M, s->accum, GrB_MINUS_FP32, s->A, s->B, s->desc);
}

static void test_elementwise(void **state)
{
    (void)state;
    scene s = {.run = multiply_elements, .desc = GrB_DESC_RS};
    s.A = bitmap(GrB_FP32, 60);
    s.B = bitmap(GrB_INT16, 60);
    s.M = bitmap(GrB_BOOL, 60);
    s.C = random_matrix(GrB_FP32, M_ROWS, N_COLUMNS, 10);
    brutal(&s);
}

static GrB_Info select_few(GrB_Matrix C, const scene *s)
{
    return GrB_Matrix_select_FP32(C, s->M, s->accum, GrB_VALUEEQ_FP32, s->A, 2, s->desc);
}

/* Few entries are handed over sparse, or as a bitmap. */
static void test_selected(void **state)
{
    (void)state;
    scene s = {.run = select_few};
    s.A = random_matrix(GrB_FP32, M_ROWS, N_COLUMNS, 100);
    s.B = bitmap(GrB_FP32, 1);
    s.C = random_matrix(GrB_FP32, M_ROWS, N_COLUMNS, 10);
    GxB_Matrix_Option_set(s.C, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    brutal(&s);
}

/* ---- lists of entries ---- */

static GrB_Matrix sparse(GrB_Type type, GrB_Index nrows, GrB_Index ncols, unsigned percent)
{
    GrB_Matrix A = random_matrix(type, nrows, ncols, percent);
    GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    return A;
}

static scene sparse_scene(GrB_Type type, GrB_Index nrows, GrB_Index ncols)
{
    scene s = {.A = sparse(type, M_ROWS, K_INNER, 20), .B = sparse(type, K_INNER, N_COLUMNS, 20)};
    GrB_Matrix_new(&s.C, type, nrows, ncols);
    GxB_Matrix_Option_set(s.C, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    return s;
}

static void test_sparse_times_sparse(void **state)
{
    (void)state;
    scene s = sparse_scene(GrB_FP64, M_ROWS, N_COLUMNS);
    s.semiring = GrB_PLUS_TIMES_SEMIRING_FP64;
    brutal(&s);
    s = sparse_scene(GrB_INT32, M_ROWS, N_COLUMNS);
    s.semiring = GrB_MIN_PLUS_SEMIRING_INT32;
    s.M = sparse(GrB_BOOL, M_ROWS, N_COLUMNS, 10);
    s.desc = GrB_DESC_RSC;
    brutal(&s);
    s = sparse_scene(GrB_BOOL, M_ROWS, N_COLUMNS);
    s.semiring = GxB_ANY_PAIR_BOOL; /* one value */
    brutal(&s);
}

static void test_full_times_full(void **state)
{
    (void)state;
    scene s = {.semiring = GrB_PLUS_TIMES_SEMIRING_FP32};
    s.A = random_matrix(GrB_FP32, M_ROWS, K_INNER, 100);
    s.B = random_matrix(GrB_FP32, K_INNER, N_COLUMNS, 100);
    s.C = random_matrix(GrB_FP32, M_ROWS, N_COLUMNS, 30);
    brutal(&s);
}

static GrB_Info select_positive(GrB_Matrix C, const scene *s)
{
    return GrB_Matrix_select_FP64(C, s->M, s->accum, GrB_VALUEGT_FP64, s->A, 0, s->desc);
}

static GrB_Info select_upper(GrB_Matrix C, const scene *s)
{
    return GrB_Matrix_select_INT64(C, s->M, s->accum, GrB_TRIU, s->A, 1, s->desc);
}

static void test_selected_from_lists(void **state)
{
    (void)state;
    scene s = sparse_scene(GrB_FP64, M_ROWS, K_INNER);
    s.run = select_positive;
    brutal(&s);
    s = sparse_scene(GrB_FP64, M_ROWS, K_INNER);
    s.run = select_upper;
    brutal(&s);
    s = sparse_scene(GrB_FP64, M_ROWS, K_INNER);
    s.run = select_positive;
    s.accum = GrB_PLUS_FP64;
    brutal(&s);
}

/* Rows and columns backwards. */
static GrB_Info extract_turned(GrB_Matrix C, const scene *s)
{
    GrB_Index rows[M_ROWS], columns[K_INNER];
    for (GrB_Index k = 0; k < M_ROWS; k++) rows[k] = M_ROWS - 1 - k;
    for (GrB_Index k = 0; k < K_INNER; k++) columns[k] = K_INNER - 1 - k;
    return GrB_Matrix_extract(C, s->M, s->accum, s->A, rows, M_ROWS, columns, K_INNER, s->desc);
}

static void test_extracted(void **state)
{
    (void)state;
    scene s = sparse_scene(GrB_FP32, M_ROWS, K_INNER);
    s.run = extract_turned;
    brutal(&s);
    s = sparse_scene(GrB_FP32, M_ROWS, K_INNER);
    s.run = extract_turned;
    s.M = sparse(GrB_BOOL, M_ROWS, K_INNER, 40);
    s.desc = GrB_DESC_S;
    brutal(&s);
}

/* ---- vectors: made of the scene's matrices, and put into the first column of C ---- */

typedef GrB_Info vector_call(GrB_Vector w, GrB_Vector u, const scene *s);

static GrB_Info run_vectors(GrB_Matrix C, const scene *s, vector_call *call)
{
    GrB_Vector u = NULL, w = NULL;
    GrB_Info info = GrB_Vector_new(&u, GrB_FP64, K_INNER);
    if (info == GrB_SUCCESS) info = GrB_Vector_new(&w, GrB_FP64, N_COLUMNS);
    if (info == GrB_SUCCESS) info = GrB_Col_extract(u, NULL, NULL, s->B, GrB_ALL, K_INNER, 0, NULL);
    if (info == GrB_SUCCESS) info = call(w, u, s);
    if (info == GrB_SUCCESS) info = GrB_Col_assign(C, NULL, NULL, w, GrB_ALL, N_COLUMNS, 0, NULL);
    if (info == GrB_SUCCESS) info = GrB_Matrix_wait(C, GrB_MATERIALIZE);
    GrB_Vector_free(&u);
    GrB_Vector_free(&w);
    return info;
}

static GrB_Info gather_vector(GrB_Vector w, GrB_Vector u, const scene *s)
{
    GrB_Index places[N_COLUMNS];
    (void)s;
    for (GrB_Index k = 0; k < N_COLUMNS; k++) places[k] = k * 7 % K_INNER;
    return GrB_Vector_extract(w, NULL, NULL, u, places, N_COLUMNS, NULL);
}

static GrB_Info push_vector(GrB_Vector w, GrB_Vector u, const scene *s)
{
    return GrB_vxm(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, u, s->A, NULL);
}

/* From the end on, what is there as well. */
static GrB_Info scatter_vector(GrB_Vector w, GrB_Vector u, const scene *s)
{
    GrB_Index places[K_INNER], n;
    GrB_Info info = GrB_Vector_size(&n, w);
    (void)s;
    for (GrB_Index k = 0; k < K_INNER; k++) places[k] = K_INNER - 1 - k;
    if (info == GrB_SUCCESS) info = GrB_Vector_resize(w, K_INNER);
    if (info == GrB_SUCCESS) info = GrB_Vector_assign_FP64(w, NULL, NULL, 2, GrB_ALL, K_INNER, NULL);
    if (info == GrB_SUCCESS) info = GrB_Vector_assign(w, NULL, GrB_PLUS_FP64, u, places, K_INNER, NULL);
    return info == GrB_SUCCESS ? GrB_Vector_resize(w, n) : info;
}

static GrB_Info add_few(GrB_Vector w, GrB_Vector u, const scene *s)
{
    GrB_Info info = GrB_vxm(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, u, s->A, NULL);
    if (info == GrB_SUCCESS) info = GrB_Vector_apply_BinaryOp2nd_FP64(w, NULL, NULL, GrB_PLUS_FP64, w, 1, NULL);
    return info == GrB_SUCCESS ? GrB_Vector_eWiseAdd_BinaryOp(w, w, GrB_MIN_FP64, GrB_PLUS_FP64, w, w, GrB_DESC_S) : info;
}

static GrB_Info scatter(GrB_Matrix C, const scene *s)
{
    return run_vectors(C, s, scatter_vector);
}

static GrB_Info add(GrB_Matrix C, const scene *s)
{
    return run_vectors(C, s, add_few);
}

static GrB_Info gather(GrB_Matrix C, const scene *s)
{
    return run_vectors(C, s, gather_vector);
}

static GrB_Info push(GrB_Matrix C, const scene *s)
{
    return run_vectors(C, s, push_vector);
}

static void with_vectors(GrB_Info (*calls)(GrB_Matrix C, const scene *s), unsigned percent)
{
    scene s = {.run = calls, .A = sparse(GrB_FP64, K_INNER, N_COLUMNS, 20)};
    s.B = random_matrix(GrB_FP64, K_INNER, 1, percent);
    s.C = sparse(GrB_FP64, N_COLUMNS, 2, 50);
    if (percent < 100) GxB_Matrix_Option_set(s.B, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    brutal(&s);
}

static void test_gathered(void **state)
{
    (void)state;
    with_vectors(gather, 100);
}

static void test_few_entries(void **state)
{
    (void)state;
    with_vectors(push, 20);
}

static void test_scattered(void **state)
{
    (void)state;
    with_vectors(scatter, 100);
}

static void test_few_steps(void **state)
{
    (void)state;
    with_vectors(add, 20);
}

/* Each tuple often, so that there are enough for our kernel; they are not in order. */
static GrB_Info build(GrB_Matrix C, const scene *s)
{
    enum { MOST = M_ROWS * K_INNER, TIMES = 8 };
    static GrB_Index i[MOST * TIMES], j[MOST * TIMES];
    static double x[MOST * TIMES];
    GrB_Index n = MOST;
    GrB_Info info = GrB_Matrix_extractTuples_FP64(i, j, x, &n, s->A);
    for (GrB_Index k = 0; k < n; k++) i[k] = M_ROWS - 1 - i[k];
    for (GrB_Index k = n; k < n * TIMES; k++) {
        i[k] = i[k - n];
        j[k] = j[k - n];
        x[k] = x[k - n];
    }
    GrB_Matrix fresh = NULL;
    if (info == GrB_SUCCESS) info = GrB_Matrix_new(&fresh, GrB_FP64, M_ROWS, K_INNER);
    if (info == GrB_SUCCESS) info = GrB_Matrix_build_FP64(fresh, i, j, x, n * TIMES, GrB_PLUS_FP64);
    if (info == GrB_SUCCESS) info = GrB_Matrix_assign(C, NULL, NULL, fresh, GrB_ALL, M_ROWS, GrB_ALL, K_INNER, NULL);
    GrB_Matrix_free(&fresh);
    return info;
}

static void test_built(void **state)
{
    (void)state;
    scene s = sparse_scene(GrB_FP64, M_ROWS, K_INNER);
    s.run = build;
    brutal(&s);
}

static GrB_Info kronecker(GrB_Matrix C, const scene *s)
{
    return GrB_Matrix_kronecker_BinaryOp(C, s->M, s->accum, GrB_MINUS_FP32, s->A, s->B, s->desc);
}

/* Of lists and a bitmap, as they lie, the bitmap cast; of lists of the operator's type; of one in hypersparse form and a transpose that SuiteSparse makes, under a mask. */
static void test_kronecker(void **state)
{
    (void)state;
    scene s = {.run = kronecker};
    s.A = random_matrix(GrB_FP64, 7, 5, 40);
    s.B = random_matrix(GrB_FP32, 4, 9, 40);
    GxB_Matrix_Option_set(s.B, GxB_SPARSITY_CONTROL, GxB_BITMAP);
    GrB_Matrix_new(&s.C, GrB_FP32, 28, 45);
    brutal(&s);
    scene lists = {.run = kronecker};
    lists.A = random_matrix(GrB_FP32, 7, 5, 40);
    lists.B = random_matrix(GrB_FP32, 4, 9, 20);
    GxB_Matrix_Option_set(lists.A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    GxB_Matrix_Option_set(lists.B, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    GrB_Matrix_new(&lists.C, GrB_FP32, 28, 45);
    brutal(&lists);
    scene masked = {.run = kronecker, .desc = GrB_DESC_T1, .accum = GrB_PLUS_FP32};
    masked.A = random_matrix(GrB_FP32, 7, 5, 10);
    GxB_Matrix_Option_set(masked.A, GxB_SPARSITY_CONTROL, GxB_HYPERSPARSE);
    masked.B = random_matrix(GrB_FP32, 9, 4, 40);
    masked.M = random_matrix(GrB_BOOL, 28, 45, 50);
    masked.C = random_matrix(GrB_FP32, 28, 45, 20);
    brutal(&masked);
}

static int start(void **state)
{
    (void)state;
    int64_t no_pool[64] = {0};
    countdown = -1;
    GrB_Info info =
        GxB_init(GrB_NONBLOCKING, test_malloc_block, test_calloc_block, test_realloc_block, test_free_block);
    return info != GrB_SUCCESS || GxB_Global_Option_set(GxB_MEMORY_POOL, no_pool) != GrB_SUCCESS;
}

static int stop(void **state)
{
    (void)state;
    GrB_Info info = GrB_finalize();
    int routed = routed_products();
    remove_trace();
    if (blocks) print_error("%ld blocks leaked\n", blocks);
    if (routed < 24) print_error("only %d products were routed\n", routed);
    return info != GrB_SUCCESS || blocks != 0 || routed < 24;
}

int main(void)
{
    force_tessera();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),        cmocka_unit_test(test_casts_and_transpose),
        cmocka_unit_test(test_accumulated),  cmocka_unit_test(test_masked),
        cmocka_unit_test(test_masked_and_accumulated), cmocka_unit_test(test_sparse_result),
        cmocka_unit_test(test_sddmm),
        cmocka_unit_test(test_masked_dot),   cmocka_unit_test(test_freed_operands),
        cmocka_unit_test(test_dense_first),
        cmocka_unit_test(test_elementwise),  cmocka_unit_test(test_selected),
        cmocka_unit_test(test_sparse_times_sparse), cmocka_unit_test(test_full_times_full),
        cmocka_unit_test(test_selected_from_lists), cmocka_unit_test(test_extracted),
        cmocka_unit_test(test_gathered),     cmocka_unit_test(test_few_entries),
        cmocka_unit_test(test_scattered),    cmocka_unit_test(test_few_steps),
        cmocka_unit_test(test_built),        cmocka_unit_test(test_kronecker),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
