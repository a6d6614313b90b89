/* Tessera in a process: fork, blocking mode, initialisation codes, error texts, versions.  Each test is a child of its
 * own that has not yet called GraphBLAS.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "routed.h"

enum { M_ROWS = 50, K_INNER = 40, N_COLUMNS = 30 };


static int wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void in_child(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        force_tessera();
        body();
        remove_trace();
        _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
}

/* ---- a product whose result is known: A(i,j) = 1 on a band, B(i,j) = i + j ---- */

static GrB_Matrix band(void)
{
    GrB_Matrix A = NULL;
    GrB_Matrix_new(&A, GrB_FP64, M_ROWS, K_INNER);
    for (GrB_Index i = 0; i < M_ROWS; i++)
        for (GrB_Index j = i; j < i + 3 && j < K_INNER; j++) GrB_Matrix_setElement_FP64(A, 1, i, j);
    GrB_Matrix_wait(A, GrB_MATERIALIZE);
    return A;
}

static GrB_Matrix sums(void)
{
    GrB_Matrix B = NULL;
    GrB_Matrix_new(&B, GrB_FP64, K_INNER, N_COLUMNS);
    for (GrB_Index i = 0; i < K_INNER; i++)
        for (GrB_Index j = 0; j < N_COLUMNS; j++) GrB_Matrix_setElement_FP64(B, (double)(i + j), i, j);
    GrB_Matrix_wait(B, GrB_MATERIALIZE);
    return B;
}

static double expected(GrB_Index i, GrB_Index j)
{
    double sum = 0;
    for (GrB_Index k = i; k < i + 3 && k < K_INNER; k++) sum += (double)(k + j);
    return sum;
}

static bool right(GrB_Matrix C)
{
    for (GrB_Index i = 0; i < M_ROWS; i++)
        for (GrB_Index j = 0; j < N_COLUMNS; j++) {
            double x = 0;
            GrB_Info info = GrB_Matrix_extractElement_FP64(&x, C, i, j);
            if (info != (i < K_INNER ? GrB_SUCCESS : GrB_NO_VALUE) || x != expected(i, j)) return false;
        }
    return true;
}

static GrB_Info product(GrB_Matrix *C, GrB_Matrix A, GrB_Matrix B)
{
    GrB_Matrix_new(C, GrB_FP64, M_ROWS, N_COLUMNS);
    return GrB_mxm(*C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL);
}

static void product_is_right(GrB_Matrix A, GrB_Matrix B)
{
    GrB_Matrix C = NULL;
    REQUIRE(product(&C, A, B) == GrB_SUCCESS);
    REQUIRE(right(C));
    GrB_Matrix_free(&C);
}

/* ---- fork ---- */

/* The child of a process that has computed: results right, nothing routed, no wait for threads that do not exist. */
static void fork_after_product(void)
{
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    GxB_Global_Option_set(GxB_NTHREADS, 1); /* libgomp's team does not survive a fork */
    GrB_Matrix A = band(), B = sums(), C = NULL;
    product_is_right(A, B);
    REQUIRE(product(&C, A, B) == GrB_SUCCESS);
    int routed = routed_products();
    REQUIRE(routed > 0);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(right(C)); /* made, perhaps put off, before the fork */
        for (int k = 0; k < 3; k++) product_is_right(A, B);
        _exit(0);
    }
    REQUIRE(wait_for(child) == 0);
    REQUIRE(routed_products() <= routed + 1); /* one that was put off */
    REQUIRE(right(C));
    routed = routed_products();
    product_is_right(A, B);
    REQUIRE(routed_products() > routed);
    REQUIRE(GrB_finalize() == GrB_SUCCESS);
}

/* A child forked before GraphBLAS was used starts afresh, and is routed. */
static void fork_before_init(void)
{
    pid_t child = fork();
    if (child == 0) {
        force_tessera();
        REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
        product_is_right(band(), sums());
        REQUIRE(routed_products() > 0);
        remove_trace();
        _exit(0);
    }
    REQUIRE(wait_for(child) == 0);
}

/* ---- modes and initialisation ---- */

static void blocking_mode(void)
{
    int mode = 0;
    REQUIRE(GrB_init(GrB_BLOCKING) == GrB_SUCCESS);
    REQUIRE(GxB_Global_Option_get(GxB_MODE, &mode) == GrB_SUCCESS && mode == GrB_BLOCKING);
    GrB_Matrix A = band(), B = sums(), C = NULL;
    REQUIRE(product(&C, A, B) == GrB_SUCCESS);
    GrB_Matrix_setElement_FP64(A, 77, 0, 0); /* must not reach C any more */
    GrB_Matrix_clear(B);
    REQUIRE(right(C));
    REQUIRE(routed_products() > 0);
}

/* n x n, two entries a row, far from each other. */
static GrB_Matrix scattered(GrB_Index n)
{
    GrB_Matrix A = NULL;
    GrB_Matrix_new(&A, GrB_FP64, n, n);
    for (GrB_Index i = 0; i < n; i++)
        for (GrB_Index k = 0; k < 2; k++) GrB_Matrix_setElement_FP64(A, 1, i, (i * 7919 + k * 4211) % n);
    GrB_Matrix_wait(A, GrB_MATERIALIZE);
    return A;
}

/* Threads may share what a call left, so it must not have to be sorted when they read it. */
static void blocking_mode_sorts(void)
{
    enum { LONG = 4000 };
    REQUIRE(GrB_init(GrB_BLOCKING) == GrB_SUCCESS);
    GrB_Matrix A = scattered(LONG);
    GrB_Vector u = NULL, w = NULL;
    GrB_Vector_new(&u, GrB_FP64, LONG);
    GrB_Vector_new(&w, GrB_FP64, LONG);
    for (GrB_Index k = 0; k < 20; k++) GrB_Vector_setElement_FP64(u, 1, k * 199);
    REQUIRE(GrB_vxm(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, u, A, NULL) == GrB_SUCCESS);
    REQUIRE(routed_products() > 0 || getenv("TEST_MODE")); /* a push, of the host's */

    GrB_Index *i = NULL, i_bytes = 0, x_bytes = 0, entries = 0;
    void *x = NULL;
    bool iso = false, jumbled = true;
    REQUIRE(GxB_Vector_unpack_CSC(w, &i, &x, &i_bytes, &x_bytes, &iso, &entries, &jumbled, NULL) == GrB_SUCCESS);
    REQUIRE(entries > 20 && !jumbled);
    for (GrB_Index k = 1; k < entries; k++) REQUIRE(i[k - 1] < i[k]);
}

static void initialisation_codes(void)
{
    GrB_Matrix A = NULL;
    REQUIRE(GrB_Matrix_new(&A, GrB_FP64, 3, 3) == GrB_PANIC);
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_INVALID_VALUE);
    product_is_right(band(), sums());
    REQUIRE(GrB_finalize() == GrB_SUCCESS);
}

/* Everything is left in place at finalize, as careless programs do. */
static void finalize_with_live_objects(void)
{
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    GrB_Matrix A = band(), B = sums(), C = NULL;
    REQUIRE(product(&C, A, B) == GrB_SUCCESS);
    REQUIRE(GrB_finalize() == GrB_SUCCESS);
}

/* ---- the real library beside the wrappers ---- */

typedef GrB_Info (*mxm_function)(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix,
                                 const GrB_Matrix, const GrB_Descriptor);

static void *real_symbol(const char *name)
{
    void *library = dlopen(REAL_GRAPHBLAS, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static void same_outcome(GrB_Matrix A, GrB_Matrix B, GrB_Semiring semiring, GrB_Descriptor desc)
{
    GrB_Matrix C = NULL, D = NULL;
    const char *ours = NULL, *theirs = NULL;
    mxm_function real = (mxm_function)real_symbol("GrB_mxm");
    REQUIRE(real && real != GrB_mxm);
    GrB_Matrix_new(&C, GrB_FP64, M_ROWS, N_COLUMNS);
    GrB_Matrix_new(&D, GrB_FP64, M_ROWS, N_COLUMNS);
    GrB_Info info = GrB_mxm(C, NULL, NULL, semiring, A, B, desc);
    REQUIRE(real(D, NULL, NULL, semiring, A, B, desc) == info);
    GrB_Matrix_error(&ours, C);
    GrB_Matrix_error(&theirs, D);
    REQUIRE(!strcmp(ours, theirs));
    REQUIRE(info != GrB_SUCCESS || *ours == '\0');
    GrB_Matrix_free(&C);
    GrB_Matrix_free(&D);
}

static void error_texts(void)
{
    static double uninitialised[512];
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    GrB_Matrix A = band(), B = sums();
    GrB_Semiring s = GrB_PLUS_TIMES_SEMIRING_FP64;
    same_outcome(A, B, s, NULL);
    same_outcome(B, A, s, NULL);
    same_outcome(A, B, s, GrB_DESC_T0);
    same_outcome(NULL, B, s, NULL);
    same_outcome(A, NULL, s, NULL);
    same_outcome(A, B, NULL, NULL);
    same_outcome((GrB_Matrix)uninitialised, B, s, NULL);
    same_outcome(A, (GrB_Matrix)uninitialised, s, NULL);
}

/* A routed success after a failure: the text of the failure is gone. */
static void error_text_is_dropped(void)
{
    const char *text = NULL;
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    GrB_Matrix A = band(), B = sums(), C = NULL;
    GrB_Matrix_new(&C, GrB_FP64, M_ROWS, N_COLUMNS);
    REQUIRE(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, B, A, NULL) == GrB_DIMENSION_MISMATCH);
    GrB_Matrix_error(&text, C);
    REQUIRE(text && *text);
    REQUIRE(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL) == GrB_SUCCESS);
    GrB_Matrix_error(&text, C);
    REQUIRE(!text || !*text);
    REQUIRE(right(C) && routed_products() > 0);
}

static void versions_and_data(void)
{
    unsigned version = 0, subversion = 0;
    int numbers[3] = {0};
    char *name = NULL;
    REQUIRE(GrB_getVersion(&version, &subversion) == GrB_SUCCESS);
    REQUIRE(version == GRB_VERSION && subversion == GRB_SUBVERSION);
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    REQUIRE(GxB_Global_Option_get(GxB_LIBRARY_VERSION, numbers) == GrB_SUCCESS);
    REQUIRE(numbers[0] == GxB_IMPLEMENTATION_MAJOR);
    REQUIRE(GxB_Global_Option_get(GxB_LIBRARY_NAME, &name) == GrB_SUCCESS && strstr(name, "GraphBLAS"));
    GrB_Semiring *theirs = real_symbol("GrB_PLUS_TIMES_SEMIRING_FP32");
    REQUIRE(theirs && *theirs == GrB_PLUS_TIMES_SEMIRING_FP32);
}

/* ---- cmocka ---- */

#define TEST(name)                                                                                                     \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        in_child(name);                                                                                                \
    }
TEST(fork_after_product)
TEST(fork_before_init)
TEST(blocking_mode)
TEST(blocking_mode_sorts)
TEST(initialisation_codes)
TEST(finalize_with_live_objects)
TEST(error_texts)
TEST(error_text_is_dropped)
TEST(versions_and_data)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_after_product), cmocka_unit_test(test_fork_before_init),
        cmocka_unit_test(test_blocking_mode),      cmocka_unit_test(test_blocking_mode_sorts),
        cmocka_unit_test(test_initialisation_codes),
        cmocka_unit_test(test_finalize_with_live_objects),
        cmocka_unit_test(test_error_texts),        cmocka_unit_test(test_error_text_is_dropped),
        cmocka_unit_test(test_versions_and_data),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
