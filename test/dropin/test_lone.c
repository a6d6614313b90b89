/* Calls too small for a second thread start none: on a busy machine the waiting is longer than the work.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>

#include "routed.h"

enum { N = 1 << 16 };

static int threads_now(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count;
}

static GrB_Vector make(int8_t sparsity)
{
    GrB_Vector v;
    REQUIRE(GrB_Vector_new(&v, GrB_INT32, N) == GrB_SUCCESS);
    REQUIRE(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, (int)sparsity) == GrB_SUCCESS);
    for (GrB_Index k = 0; k < N; k += 2)
        REQUIRE(GrB_Vector_setElement_INT32(v, (int32_t)k % 7, k) == GrB_SUCCESS);
    REQUIRE(GrB_Vector_wait(v, GrB_MATERIALIZE) == GrB_SUCCESS);
    return v;
}

/* W<M> = W A with few rows. */
static void multiply(void)
{
    enum { ROWS = 4, DEGREE = 2, VERTICES = N / 8 };
    GrB_Matrix W, A, C;
    REQUIRE(GrB_Matrix_new(&W, GrB_INT32, ROWS, VERTICES) == GrB_SUCCESS && GrB_Matrix_new(&A, GrB_INT32, VERTICES, VERTICES) == GrB_SUCCESS);
    REQUIRE(GrB_Matrix_new(&C, GrB_INT32, ROWS, VERTICES) == GrB_SUCCESS);
    for (GrB_Index k = 0; k < VERTICES; k++) {
        REQUIRE(GrB_Matrix_setElement_INT32(W, 1, k % ROWS, k) == GrB_SUCCESS);
        for (GrB_Index e = 1; e <= DEGREE; e++)
            REQUIRE(GrB_Matrix_setElement_INT32(A, 2, k, (k + e * ROWS) % VERTICES) == GrB_SUCCESS);
    }
    REQUIRE(GrB_Matrix_wait(W, GrB_MATERIALIZE) == GrB_SUCCESS && GrB_Matrix_wait(A, GrB_MATERIALIZE) == GrB_SUCCESS);
    REQUIRE(GrB_mxm(C, W, NULL, GrB_PLUS_TIMES_SEMIRING_INT32, W, A, GrB_DESC_S) == GrB_SUCCESS);
    GrB_Matrix_free(&W);
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&C);
}

int main(void)
{
    force_tessera();
    REQUIRE(GrB_init(GrB_NONBLOCKING) == GrB_SUCCESS && GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 4) == GrB_SUCCESS);
    GrB_Vector bitmap = make(GxB_BITMAP), free_form = make(GxB_BITMAP | GxB_SPARSE), mask = make(GxB_BITMAP);
    const int before = threads_now(), routed = routed_products();
    for (int k = 0; k < 4; k++) {
        REQUIRE(GrB_Vector_assign(free_form, mask, NULL, bitmap, GrB_ALL, N, GrB_DESC_R) == GrB_SUCCESS);
        REQUIRE(GrB_Vector_assign_INT32(bitmap, mask, NULL, k, GrB_ALL, N, NULL) == GrB_SUCCESS);
    }
    multiply();
    REQUIRE(routed_products() > routed + 4);
    REQUIRE(threads_now() == before);
    remove_trace();
    return 0;
}
