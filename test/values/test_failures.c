/* A backend that fails at its nth call, for every n, once or for good: every number that a program sees is right, or the call says
 * GrB_PANIC since contents went with the device; nothing stays behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <dlfcn.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "../dropin/routed.h"
#include "tessera/backend.h"

enum { N = 40, WIDE = 70, WIDTH = 3, WRONG = 1, NOT_REACHED = 2, LEAK = 3 };

static void (*fake_fail)(long at, int status);
static long (*fake_calls)(void), (*fake_alive)(void);
static bool may_panic;

static void require(bool condition, int line)
{
    if (condition) return;
    fprintf(stderr, "%s:%d\n", __FILE__, line);
    _exit(WRONG);
}
#define EXPECT(condition) require(condition, __LINE__)

/* True: done.  False: what the call needs is lost. */
static bool done(GrB_Info info, int line)
{
    require(info == GrB_SUCCESS || (may_panic && info == GrB_PANIC), line);
    return info == GrB_SUCCESS;
}
#define DONE(call) done(call, __LINE__)

/* ---- a program and its numbers ---- */

static double first(int i) { return i % 5 - 1; }
static double second(int i) { return 1 + i % 3; }
static double product_of(int i) { return first(i) * second(i) + first(i); }
static double gathered(int i) { return 10 + product_of(i) + product_of((i + 1) % N); }

static GrB_Vector new_vector(void)
{
    GrB_Vector v;
    EXPECT(GrB_Vector_new(&v, GrB_FP64, N) == GrB_SUCCESS);
    return v;
}

static GrB_Vector vector_of(double (*value)(int))
{
    GrB_Vector v = new_vector();
    for (int i = 0; i < N; i++) EXPECT(GrB_Vector_setElement_FP64(v, value(i), (GrB_Index)i) == GrB_SUCCESS);
    EXPECT(GrB_Vector_wait(v, GrB_MATERIALIZE) == GrB_SUCCESS);
    return v;
}

static GrB_Matrix ring(GrB_Index n)
{
    GrB_Matrix A;
    EXPECT(GrB_Matrix_new(&A, GrB_FP64, n, n) == GrB_SUCCESS);
    for (GrB_Index i = 0; i < n; i++) {
        EXPECT(GrB_Matrix_setElement_FP64(A, 1, i, i) == GrB_SUCCESS);
        EXPECT(GrB_Matrix_setElement_FP64(A, 1, i, (i + 1) % n) == GrB_SUCCESS);
    }
    EXPECT(GrB_Matrix_wait(A, GrB_MATERIALIZE) == GrB_SUCCESS);
    return A;
}

static void check_vector(GrB_Vector v, double (*value)(int), bool (*kept)(int))
{
    for (int i = 0; i < N; i++) {
        double x = -99;
        const GrB_Info info = GrB_Vector_extractElement_FP64(&x, v, (GrB_Index)i);
        if (info == GrB_PANIC && may_panic) return;
        EXPECT(info == (kept(i) ? GrB_SUCCESS : GrB_NO_VALUE));
        EXPECT(!kept(i) || x == value(i));
    }
}

static double from_behind(int i) { return gathered(N - 1 - i); }
static double put_behind(int i) { return from_behind(i) + product_of(N - 1 - i); }

static bool always(int i) { return i >= 0; }
static bool is_large(int i) { return gathered(i) > 12; }

static void vectors(void)
{
    GrB_Vector u = vector_of(first), v = vector_of(second), w = new_vector(), r = new_vector(), s = new_vector(), copy = NULL;
    GrB_Vector t = new_vector();
    GrB_Matrix A = ring(N);
    GrB_Index behind[N];
    double sum = 0, expected = 0;
    GrB_Index nvals = 0;
    int kept = 0;
    for (int i = 0; i < N; i++) {
        behind[i] = (GrB_Index)(N - 1 - i);
        expected += gathered(i);
        kept += is_large(i);
    }
    bool well = DONE(GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_TIMES_FP64, u, v, NULL));
    well = well && DONE(GrB_Vector_assign(w, NULL, GrB_PLUS_FP64, u, GrB_ALL, N, NULL));
    well = well && DONE(GrB_Vector_assign_FP64(r, NULL, NULL, 10, GrB_ALL, N, NULL));
    well = well && DONE(GrB_mxv(r, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, A, w, NULL));
    well = well && DONE(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, r, NULL));
    if (well) EXPECT(sum == expected);
    well = well && DONE(GrB_Vector_select_FP64(s, NULL, NULL, GrB_VALUEGT_FP64, r, 12, NULL));
    well = well && DONE(GrB_Vector_dup(&copy, s));
    if (well && DONE(GrB_Vector_nvals(&nvals, copy))) EXPECT(nvals == (GrB_Index)kept);
    well = well && DONE(GrB_Vector_extract(t, NULL, NULL, r, behind, N, NULL));
    well = well && DONE(GrB_Vector_assign(t, NULL, GrB_PLUS_FP64, w, behind, N, NULL));
    if (well) {
        check_vector(t, put_behind, always);
        check_vector(w, product_of, always);
        check_vector(r, gathered, always);
        check_vector(copy, gathered, is_large);
    }
    GrB_Vector *const all[] = {&u, &v, &w, &r, &s, &t, &copy};
    for (int k = 0; k < 7; k++) EXPECT(GrB_Vector_free(all[k]) == GrB_SUCCESS);
    EXPECT(GrB_Matrix_free(&A) == GrB_SUCCESS);
}

static bool is_few(int i) { return i % 8 == 3; }
static double raised(int i) { return first(i) * second(i) + (is_few(i) ? 100 : 0); }
static double few_raised(int i) { return -5 * raised(i); }

/* A sparse operand and mask, sparsity controls that change while contents are on the device. */
static void forms(void)
{
    GrB_Vector u = vector_of(first), v = vector_of(second), w = new_vector(), few = new_vector(), s = new_vector(), copy = NULL;
    for (int i = 0; i < N; i++)
        if (is_few(i)) EXPECT(GrB_Vector_setElement_FP64(few, -5, (GrB_Index)i) == GrB_SUCCESS);
    EXPECT(GrB_Vector_wait(few, GrB_MATERIALIZE) == GrB_SUCCESS);
    bool well = DONE(GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_TIMES_FP64, u, v, NULL));
    well = well && DONE(GrB_Vector_assign_FP64(w, few, GrB_PLUS_FP64, 100, GrB_ALL, N, GrB_DESC_S));
    well = well && DONE(GrB_Vector_eWiseMult_BinaryOp(s, NULL, NULL, GrB_TIMES_FP64, w, few, NULL));
    well = well && DONE(GxB_Vector_Option_set(s, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    well = well && DONE(GrB_Vector_apply(s, NULL, NULL, GrB_AINV_FP64, s, NULL));
    well = well && DONE(GrB_Vector_dup(&copy, s));
    well = well && DONE(GxB_Vector_Option_set(copy, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    well = well && DONE(GrB_Vector_apply(copy, NULL, NULL, GrB_AINV_FP64, copy, NULL));
    if (well) {
        check_vector(w, raised, always);
        check_vector(copy, few_raised, is_few);
        well = DONE(GrB_Vector_apply(s, NULL, NULL, GrB_AINV_FP64, s, NULL));
    }
    if (well) check_vector(s, few_raised, is_few);
    GrB_Vector *const all[] = {&u, &v, &w, &few, &s, &copy};
    for (int k = 0; k < 6; k++) EXPECT(GrB_Vector_free(all[k]) == GrB_SUCCESS);
}

static GrB_Matrix full(int rows, int columns)
{
    GrB_Matrix A;
    EXPECT(GrB_Matrix_new(&A, GrB_FP32, (GrB_Index)rows, (GrB_Index)columns) == GrB_SUCCESS);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) EXPECT(GrB_Matrix_setElement_FP32(A, (float)(i + j), (GrB_Index)i, (GrB_Index)j) == GrB_SUCCESS);
    EXPECT(GrB_Matrix_wait(A, GrB_MATERIALIZE) == GrB_SUCCESS);
    return A;
}

static void matrices(void)
{
    GrB_Matrix X = full(N, WIDTH), Y = full(WIDTH, WIDTH), Z = full(N, WIDTH);
    bool well = DONE(GrB_mxm(Z, NULL, GrB_PLUS_FP32, GrB_PLUS_TIMES_SEMIRING_FP32, X, Y, NULL));
    well = well && DONE(GrB_Matrix_apply_BinaryOp2nd_FP32(Z, NULL, NULL, GrB_TIMES_FP32, Z, 2, NULL));
    for (int i = 0; well && i < N; i++)
        for (int j = 0; j < WIDTH && well; j++) {
            float x = -1, expected = (float)(i + j);
            for (int k = 0; k < WIDTH; k++) expected += (float)((i + k) * (k + j));
            well = DONE(GrB_Matrix_extractElement_FP32(&x, Z, (GrB_Index)i, (GrB_Index)j));
            EXPECT(!well || x == 2 * expected);
        }
    GrB_Matrix *const all[] = {&X, &Y, &Z};
    for (int k = 0; k < 3; k++) EXPECT(GrB_Matrix_free(all[k]) == GrB_SUCCESS);
}

/* A count that stays (narrow ones, of 64, do not), whose operands are freed: the host has them, should it not come back. */
static void counts(void)
{
    GrB_Matrix A = ring(WIDE), C;
    int64_t sum = 0, x = 0;
    EXPECT(GrB_Matrix_new(&C, GrB_INT64, WIDE, WIDE) == GrB_SUCCESS);
    EXPECT(GrB_mxm(C, A, NULL, GxB_PLUS_PAIR_INT64, A, A, GrB_DESC_ST1) == GrB_SUCCESS);
    EXPECT(GrB_Matrix_free(&A) == GrB_SUCCESS);
    EXPECT(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, C, NULL) == GrB_SUCCESS && sum == 3 * WIDE);
    EXPECT(GrB_Matrix_extractElement_INT64(&x, C, 3, 3) == GrB_SUCCESS && x == 2);
    EXPECT(GrB_Matrix_extractElement_INT64(&x, C, 3, 4) == GrB_SUCCESS && x == 1);
    EXPECT(GrB_Matrix_free(&C) == GrB_SUCCESS);
}

/* ---- every failure ---- */

static void run(long at, int status)
{
    force_tessera();
    EXPECT(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS);
    fake_fail(at, status);
    vectors();
    forms();
    matrices();
    counts();
    may_panic = false; /* a failure was in what has been freed */
    const long calls = fake_calls();
    fake_fail(0, TSR_OK);
    vectors();
    EXPECT(GrB_finalize() == GrB_SUCCESS);
    remove_trace();
    _exit(fake_alive() ? LEAK : calls < labs(at) ? NOT_REACHED : 0);
}

static int in_child(long at, int status)
{
    int code = 0;
    const pid_t child = fork();
    if (child == 0) run(at, status);
    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128;
}

static void fail_everywhere(int status, bool for_good)
{
    long at = 1;
    int code = 0;
    while ((code = in_child(for_good ? -at : at, status)) == 0) at++;
    assert_int_equal(code, NOT_REACHED);
    assert_true(at > 15);
}

static void test_declined(void **state)
{
    (void)state;
    fail_everywhere(TSR_DECLINED, false);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    fail_everywhere(TSR_OUT_OF_MEMORY, false);
}

static void test_device_lost(void **state)
{
    (void)state;
    may_panic = true;
    fail_everywhere(TSR_INTERNAL_ERROR, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declined),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_device_lost),
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/libtessera_cuda.so", getenv("TESSERA_PLUGIN_DIR"));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!plugin) return 1;
    *(void **)&fake_fail = dlsym(plugin, "fake_fail");
    *(void **)&fake_calls = dlsym(plugin, "fake_calls");
    *(void **)&fake_alive = dlsym(plugin, "fake_alive");
    setenv("TEST_MODE", "gpu", 1);
    return fake_fail && fake_calls && fake_alive ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
