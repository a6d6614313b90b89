/* Contents that are only on a device: when they are downloaded, when they go unread, with operands freed, threads, fork, blocking mode, DISABLE.
 * SPDX-License-Identifier: Apache-2.0 */
#include "residency.h"

enum { THREADS = 6 };

/* Replaced or freed unread: nothing is downloaded, not for answers either. */
static void stays_until_read(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1), copy;
    GrB_Index n = 0;
    GrB_Type type;
    for (int k = 0; k < 5; k++) twice(v, u);
    OK(GrB_Vector_nvals(&n, v));
    REQUIRE(n == N);
    OK(GrB_Vector_size(&n, v));
    OK(GxB_Vector_type(&type, v));
    REQUIRE(n == N && type == GrB_FP64);
    OK(GrB_Vector_wait(v, GrB_MATERIALIZE));
    OK(GrB_Vector_dup(&copy, v));
    twice(copy, copy);
    REQUIRE(steps() == 6 && downloads() == 0);
    REQUIRE(at(copy, 7) == 28 && at(copy, 8) == 32 && downloads() == 1);
    REQUIRE(at(v, 7) == 14 && downloads() == 2);
    twice(copy, v);
    OK(GrB_Vector_free(&copy));
    twice(v, v);
    OK(GrB_Vector_setElement_FP64(v, -3, 0));
    REQUIRE(downloads() == 3 && at(v, 0) == -3 && at(v, 1) == 4);
    twice(v, v); /* what was downloaded was written to since */
    REQUIRE(at(v, 0) == -6 && at(v, 1) == 8 && downloads() == 4);
    twice(v, v);
    OK(GrB_Vector_clear(v));
    OK(GrB_Vector_nvals(&n, v));
    REQUIRE(n == 0 && GrB_Vector_extractElement_FP64(&(double){0}, v, 1) == GrB_NO_VALUE);
    OK(GrB_Vector_free(&u));
    OK(GrB_Vector_free(&v));
    OK(GrB_finalize());
    REQUIRE(downloads() == 4);
}

/* Held as bitmap whatever it has: every entry, some of them.  The same setting again changes nothing, another one does. */
static void stays_as_bitmap(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1);
    int status = 0;
    OK(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    for (int k = 0; k < 3; k++) {
        OK(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_BITMAP));
        twice(v, u);
    }
    REQUIRE(steps() == 3 && downloads() == 0);
    OK(GxB_Vector_Option_get(v, GxB_SPARSITY_STATUS, &status));
    REQUIRE(status == GxB_BITMAP && at(v, 7) == 14 && at(v, N - 1) == 2 * (N - 1) && downloads() == 1);
    OK(GrB_Vector_select_FP64(v, NULL, NULL, GrB_VALUEGE_FP64, u, 100, NULL));
    OK(GrB_Vector_apply_BinaryOp2nd_FP64(v, NULL, NULL, GrB_TIMES_FP64, v, 2, NULL));
    REQUIRE(steps() == 5 && downloads() == 1);
    OK(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_HYPERSPARSE + GxB_BITMAP));
    REQUIRE(downloads() == 2);
    OK(GrB_finalize());
}

/* The sparsity control of what is device-only: it stays so, and is downloaded in that form, also by way of a copy. */
static void is_downloaded_in_form(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A, B, C;
    GrB_Vector v = filled(0), w;
    GrB_Index n = 0;
    double x = 0;
    int status = 0;
    for (int by_col = 0; by_col < 2; by_col++) {
        OK(GrB_Matrix_new(&A, GrB_FP64, N, 4));
        OK(GxB_Matrix_Option_set(A, GxB_FORMAT, by_col ? GxB_BY_COL : GxB_BY_ROW));
        OK(GrB_Matrix_assign_FP64(A, NULL, NULL, 3, GrB_ALL, N, GrB_ALL, 4, NULL));
        OK(GrB_Matrix_dup(&C, A));
        OK(GrB_Matrix_setElement_FP64(C, -1, 7, 2));
        OK(GrB_Matrix_setElement_FP64(C, -2, 7, 3));
        OK(GrB_Matrix_eWiseMult_BinaryOp(A, NULL, NULL, GrB_MIN_FP64, A, C, NULL));
        OK(GrB_Matrix_select_FP64(A, NULL, NULL, GrB_VALUELT_FP64, A, 0, NULL));
        const int before = downloads();
        OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        OK(GrB_Matrix_apply(A, NULL, NULL, GrB_AINV_FP64, A, NULL));
        OK(GrB_Matrix_dup(&B, A));
        OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_BITMAP));
        OK(GrB_Matrix_nvals(&n, B));
        REQUIRE(n == 2 && downloads() == before);
        REQUIRE(form_of(A, GxB_SPARSITY_CONTROL) == GxB_BITMAP && form_of(A, GxB_SPARSITY_STATUS) == GxB_BITMAP);
        REQUIRE(form_of(B, GxB_SPARSITY_STATUS) == GxB_SPARSE && form_of(B, GxB_SPARSITY_CONTROL) == GxB_SPARSE);
        REQUIRE(downloads() == before + 2 && form_of(B, GxB_FORMAT) == (by_col ? GxB_BY_COL : GxB_BY_ROW));
        OK(GrB_Matrix_extractElement_FP64(&x, B, 7, 2));
        REQUIRE(x == 1);
        OK(GrB_Matrix_extractElement_FP64(&x, B, 7, 3));
        REQUIRE(x == 2);
        OK(GrB_Matrix_apply_BinaryOp2nd_FP64(A, NULL, NULL, GrB_PLUS_FP64, C, 1, NULL));
        OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        OK(GrB_Matrix_clear(A)); /* never downloaded, but is sparse from now on */
        REQUIRE(downloads() == before + 2 && form_of(A, GxB_SPARSITY_CONTROL) == GxB_SPARSE);
        OK(GrB_Matrix_free(&A));
        OK(GrB_Matrix_free(&B));
        OK(GrB_Matrix_free(&C));
    }
    OK(GrB_Vector_dup(&w, v));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GrB_Vector_select_FP64(w, NULL, NULL, GrB_VALUELT_FP64, v, 10, NULL));
    const int before = downloads();
    OK(GxB_Vector_Option_get(w, GxB_SPARSITY_STATUS, &status));
    REQUIRE(downloads() == before + 1 && status == GxB_SPARSE && at(w, 9) == 9);
    OK(GrB_Vector_nvals(&n, w));
    REQUIRE(n == 10);
    OK(GrB_finalize());
}

static GrB_Matrix tall_bitmap(void)
{
    GrB_Matrix A;
    OK(GrB_Matrix_new(&A, GrB_FP64, N, 40));
    OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    return A;
}

/* An empty matrix becomes a bitmap when the host looks at it, which no call can tell. */
static void form_waits(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = tall_bitmap(), B = tall_bitmap(), C, D;
    double x = 0;
    REQUIRE(form_of(A, GxB_SPARSITY_CONTROL) == GxB_BITMAP + GxB_FULL && form_of(A, GxB_SPARSITY_STATUS) == GxB_BITMAP);
    for (GrB_Index i = 0; i < 3; i++) OK(GrB_Matrix_setElement_FP64(B, (double)i, i, i));
    OK(GrB_Matrix_dup(&C, B));
    REQUIRE(form_of(C, GxB_SPARSITY_STATUS) == GxB_BITMAP && form_of(C, GxB_SPARSITY_CONTROL) == GxB_BITMAP + GxB_FULL);
    OK(GrB_Matrix_removeElement(B, 1, 1));
    REQUIRE(entries_of(B) == 2 && form_of(B, GxB_SPARSITY_STATUS) == GxB_BITMAP);
    OK(GrB_Matrix_free(&B));
    B = tall_bitmap(); /* its place may be the same */
    for (GrB_Index i = 0; i < 3; i++) OK(GrB_Matrix_setElement_FP64(B, (double)i, i, i));
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(C, B, NULL, GrB_PLUS_FP64, B, 1, GrB_DESC_RS));
    OK(GrB_Matrix_assign_FP64(B, C, NULL, 7, GrB_ALL, N, GrB_ALL, 40, GrB_DESC_SC));
    REQUIRE(downloads() == 0 && steps() == 2);
    REQUIRE(form_of(B, GxB_SPARSITY_STATUS) == GxB_FULL && form_of(B, GxB_SPARSITY_CONTROL) == GxB_BITMAP + GxB_FULL);
    OK(GrB_Matrix_extractElement_FP64(&x, C, 2, 2));
    REQUIRE(x == 3 && entries_of(B) == 40 * N && downloads() == 2);
    D = tall_bitmap();
    OK(GrB_Matrix_setElement_FP64(D, 4, 3, 3));
    OK(GxB_Matrix_Option_set(D, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    REQUIRE(form_of(D, GxB_SPARSITY_STATUS) == GxB_SPARSE && entries_of(D) == 1);
    A = tall_bitmap();
    const pid_t child = fork();
    if (child == 0) _exit(form_of(A, GxB_SPARSITY_STATUS) != GxB_BITMAP);
    int status = -1;
    waitpid(child, &status, 0);
    REQUIRE(status == 0);
    OK(GrB_finalize());
}

/* The mask goes there; the product does not come here to meet it. */
static void masked_product_stays(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A;
    GrB_Vector u = filled(1), m, w = filled(5);
    GrB_Index n = 0;
    OK(GrB_Matrix_new(&A, GrB_FP64, N, N));
    OK(GrB_Vector_new(&m, GrB_BOOL, N));
    for (GrB_Index i = 0; i < N; i++) {
        OK(GrB_Matrix_setElement_FP64(A, 2, i, (i + 1) % N));
        if (i % 2) OK(GrB_Vector_setElement_BOOL(m, true, i));
    }
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    OK(GrB_Vector_wait(m, GrB_MATERIALIZE));
    OK(GrB_mxv(w, m, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, u, GrB_DESC_RSC));
    OK(GrB_Vector_nvals(&n, w));
    REQUIRE(n == N / 2 && steps() == 1 && downloads() == 0);
    REQUIRE(at(w, 4) == 12 && at(w, N - 2) == 2 * N && downloads() == 1);
    OK(GrB_finalize());
}

/* Row i has entries in the `width` columns from i + 1 on. */
static GrB_Matrix band(GrB_Index width)
{
    GrB_Matrix A;
    OK(GrB_Matrix_new(&A, GrB_BOOL, N, N));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index j = i + 1; j <= i + width && j < N; j++) OK(GrB_Matrix_setElement_BOOL(A, true, i, j));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* C<M> = A A of a band 2 wide: one path from i to i + 2, two to i + 3, no entry at i + 1, where M has one. */
static GrB_Matrix paths_of_two(GrB_Matrix A, GrB_Matrix M)
{
    GrB_Matrix C;
    OK(GrB_Matrix_new(&C, GrB_INT64, N, N));
    OK(GrB_mxm(C, M, NULL, GxB_PLUS_PAIR_INT64, A, A, GrB_DESC_S));
    return C;
}

static void check_paths(GrB_Matrix C, GrB_Index entries)
{
    int64_t x = 0;
    REQUIRE(entries_of(C) == entries);
    OK(GrB_Matrix_extractElement_INT64(&x, C, 5, 7));
    REQUIRE(x == 1 && GrB_Matrix_extractElement_INT64(&x, C, 5, 6) == GrB_NO_VALUE);
}

/* Results of masked products outlive their operands: nothing is downloaded but what is read, however the operands went. */
static void freed_operands_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = band(2), M = band(3), read, unread, summed, written, nothing = NULL;
    int64_t sum = 0;
    read = paths_of_two(A, M);
    unread = paths_of_two(A, M);
    summed = paths_of_two(A, A);
    OK(GrB_Matrix_free(&A));
    OK(GrB_Matrix_free(&nothing));
    REQUIRE(!A && downloads() == 0);
    GrB_Matrix others[20]; /* their places may be those of what was freed */
    for (int k = 0; k < 20; k++) others[k] = band(1);
    OK(GrB_Matrix_free(&unread));
    OK(GrB_Matrix_free(&M));
    OK(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, summed, NULL));
    REQUIRE(sum == N - 2 && downloads() == 0);
    check_paths(read, 2 * N - 5);
    REQUIRE(downloads() == 1);
    for (int k = 0; k < 20; k++) OK(GrB_Matrix_free(&others[k]));
    A = band(2);
    written = paths_of_two(A, A);
    OK(GrB_Matrix_setElement_BOOL(A, true, 9, 1)); /* before that it has to come, unless it is compressed */
    REQUIRE(downloads() <= 2);
    OK(GrB_Matrix_free(&A));
    check_paths(written, N - 2);
    OK(GrB_Matrix_free(&read));
    OK(GrB_Matrix_free(&written));
    REQUIRE(downloads() == 2);
    OK(GrB_finalize()); /* `summed` is not read any more */
    REQUIRE(downloads() == 2);
}

/* The hooks' filter (src/graphblas/intercept/hooks.h) takes NULL for this handle. */
static bool looks_like_null(const void *handle)
{
    const uintptr_t address = (uintptr_t)handle;
    return (address >> 5 ^ address >> 17) % 4096 == 0;
}

/* Programs free what they have freed, or never made: that has nothing to do with what waits. */
static void freeing_null_fetches_nothing(void)
{
    enum { MOST = 200000 };
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(1), v = filled(2), *made = calloc(MOST, sizeof *made), no_vector = NULL;
    GrB_Matrix A = band(2), C = paths_of_two(A, A), no_matrix = NULL;
    int last = -1;
    REQUIRE(made);
    do {
        OK(GrB_Vector_new(&made[++last], GrB_FP64, N));
    } while (!looks_like_null(made[last]) && last < MOST - 1);
    twice(v, u);
    twice(made[last], v);
    OK(GrB_Vector_free(&no_vector));
    OK(GrB_Matrix_free(&no_matrix));
    REQUIRE(downloads() == 0 && at(v, 4) == 10 && downloads() == 1);
    for (int k = 0; k <= last; k++) OK(GrB_Vector_free(&made[k]));
    OK(GrB_Matrix_free(&A));
    OK(GrB_Matrix_free(&C));
    free(made);
    OK(GrB_finalize());
    REQUIRE(downloads() == 1);
}

/* The child of a fork finds results whose operands are gone; another waits with them in a process that ends without GrB_finalize. */
static void freed_operands_before_a_fork(void)
{
    int status = 0;
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1));
    GrB_Matrix A = band(2), C = paths_of_two(A, A), D;
    OK(GrB_Matrix_free(&A));
    const pid_t child = fork();
    if (child == 0) {
        check_paths(C, N - 2);
        _exit(0);
    }
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0 && downloads() == 1);
    check_paths(C, N - 2);
    OK(GrB_Matrix_free(&C));
    A = band(2);
    D = paths_of_two(A, A);
    OK(GrB_Matrix_free(&A));
    REQUIRE(D && downloads() == 1);
}

static void *read_paths(void *argument)
{
    GrB_Matrix C = *(GrB_Matrix *)argument;
    int64_t x = 0;
    GrB_Index n = 0;
    bool well = GrB_Matrix_extractElement_INT64(&x, C, 5, 7) == GrB_SUCCESS && x == 1;
    well = well && GrB_Matrix_nvals(&n, C) == GrB_SUCCESS && n == N - 2;
    return well && GrB_Matrix_free(&C) == GrB_SUCCESS ? NULL : argument;
}

/* One frees the operands while others read the results. */
static void *free_operand(void *argument)
{
    return GrB_Matrix_free(argument) == GrB_SUCCESS ? NULL : argument;
}

static void *read_or_free(void *argument)
{
    GrB_Matrix *const *const both = argument;
    return both[0] ? read_paths(both[0]) : free_operand(both[1]);
}

static void operands_freed_while_read(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1));
    for (int round = 0; round < 10; round++) {
        GrB_Matrix A = band(2), C[THREADS - 1], *work[THREADS][2] = {{NULL, &A}};
        for (int k = 1; k < THREADS; k++) {
            C[k - 1] = paths_of_two(A, A);
            work[k][0] = &C[k - 1];
        }
        REQUIRE(run_threads(THREADS, read_or_free, work, sizeof *work) == 0);
        REQUIRE(downloads() == (round + 1) * (THREADS - 1));
    }
    OK(GrB_finalize());
}

/* GrB_finalize with results that nobody looked at. */
static void forgotten_at_the_end(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1);
    twice(v, u);
    OK(GrB_finalize());
    REQUIRE(downloads() == 0);
}

static void nothing_stays_in_blocking_mode(void)
{
    OK(GrB_init(GrB_BLOCKING));
    GrB_Vector u = filled(0), v = filled(1);
    twice(v, u);
    REQUIRE(steps() == 0 && at(v, 3) == 6);
    OK(GrB_finalize());
}

static void without(const char *word)
{
    setenv("TESSERA_DISABLE", word, 1);
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1);
    twice(v, u);
    REQUIRE(steps() == 0 && at(v, 3) == 6);
    OK(GrB_finalize());
}

static void without_elementwise(void) { without("elementwise"); }
static void without_residency(void) { without("residency"); }

/* The child of a fork finds everything on the host. */
static void fork_downloads(void)
{
    int status = 0;
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1)); /* libgomp's team does not survive a fork */
    GrB_Vector u = filled(0), v = filled(1);
    twice(v, u);
    const pid_t child = fork();
    if (child == 0) {
        REQUIRE(at(v, 5) == 10);
        twice(v, v);
        REQUIRE(at(v, 5) == 20);
        _exit(0);
    }
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    REQUIRE(downloads() == 1 && at(v, 5) == 10);
    twice(v, v);
    REQUIRE(at(v, 5) == 20);
    OK(GrB_finalize());
}

/* An iterator points into the arrays of v until v is written to. */
static void iterators_see_the_host(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1), w = filled(2);
    GxB_Iterator it;
    OK(GxB_Iterator_new(&it));
    twice(v, u);
    OK(GxB_Vector_Iterator_attach(it, v, NULL));
    REQUIRE(downloads() == 1);
    twice(w, v); /* reads v where it still is as well */
    REQUIRE(GxB_Vector_Iterator_seek(it, 9) == GrB_SUCCESS && GxB_Iterator_get_FP64(it) == 18);
    REQUIRE(downloads() == 1 && at(w, 9) == 36);
    OK(GxB_Iterator_free(&it));
    OK(GrB_finalize());
}

/* ---- threads ---- */

typedef struct worker {
    GrB_Vector shared;
    int number;
} worker;

static void *read_and_compute(void *argument)
{
    const worker *w = argument;
    int wrong = 0;
    GrB_Vector mine;
    GrB_Index n = 0;
    double sum = 0, x = 0;
    wrong += GrB_Vector_new(&mine, GrB_FP64, N) != GrB_SUCCESS;
    for (int round = 0; round < 30; round++) {
        wrong += GrB_Vector_apply_BinaryOp2nd_FP64(mine, NULL, NULL, GrB_PLUS_FP64, w->shared, w->number, NULL) != GrB_SUCCESS;
        if ((round + w->number) % 3 == 0)
            wrong += GrB_Vector_extractElement_FP64(&x, w->shared, 4) != GrB_SUCCESS || x != 8;
        wrong += GrB_Vector_nvals(&n, w->shared) != GrB_SUCCESS || n != N;
        wrong += GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, mine, NULL) != GrB_SUCCESS;
        wrong += sum != N * (N - 1.0) + N * (double)w->number;
    }
    wrong += GrB_Vector_free(&mine) != GrB_SUCCESS;
    return wrong ? argument : NULL;
}

static void threads_share_what_stays(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1));
    for (int round = 0; round < 10; round++) {
        GrB_Vector u = filled(0), v = filled(1);
        worker workers[THREADS];
        twice(v, u);
        OK(GrB_Vector_wait(v, GrB_MATERIALIZE));
        for (int k = 0; k < THREADS; k++)
            workers[k] = (worker){.shared = v, .number = k};
        REQUIRE(run_threads(THREADS, read_and_compute, workers, sizeof *workers) == 0);
        OK(GrB_Vector_free(&u));
        OK(GrB_Vector_free(&v));
    }
    OK(GrB_finalize());
}

TEST(stays_until_read)
TEST(stays_as_bitmap)
TEST(is_downloaded_in_form)
TEST(form_waits)
TEST(masked_product_stays)
TEST(freed_operands_stay)
TEST(freeing_null_fetches_nothing)
TEST(freed_operands_before_a_fork)
TEST(operands_freed_while_read)
TEST(forgotten_at_the_end)
TEST(nothing_stays_in_blocking_mode)
TEST(without_elementwise)
TEST(without_residency)
TEST(fork_downloads)
TEST(iterators_see_the_host)
TEST(threads_share_what_stays)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_until_read),
        cmocka_unit_test(test_stays_as_bitmap),
        cmocka_unit_test(test_is_downloaded_in_form),
        cmocka_unit_test(test_form_waits),
        cmocka_unit_test(test_masked_product_stays),
        cmocka_unit_test(test_freed_operands_stay),
        cmocka_unit_test(test_freeing_null_fetches_nothing),
        cmocka_unit_test(test_freed_operands_before_a_fork),
        cmocka_unit_test(test_operands_freed_while_read),
        cmocka_unit_test(test_forgotten_at_the_end),
        cmocka_unit_test(test_nothing_stays_in_blocking_mode),
        cmocka_unit_test(test_without_elementwise),
        cmocka_unit_test(test_without_residency),
        cmocka_unit_test(test_fork_downloads),
        cmocka_unit_test(test_iterators_see_the_host),
        cmocka_unit_test(test_threads_share_what_stays),
    };
    if (!use_backend()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
