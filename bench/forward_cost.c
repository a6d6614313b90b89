/* Time of cheap GraphBLAS calls that Tessera only forwards: the version, then one line per function, "name nanoseconds".
 * With an argument: after one product, so that the side table is not empty.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 200000
#define REPEATS 25
#define N 64

static GrB_Matrix matrix;
static GrB_Vector vector;
static double sum;

static void call_nvals(void)
{
    GrB_Index n = 0;
    GrB_Matrix_nvals(&n, matrix);
    sum += (double) n;
}

static void call_set_element(void)
{
    GrB_Matrix_setElement_FP64(matrix, 2.5, 3, 4);
}

static void call_extract_element(void)
{
    double x = 0;
    GrB_Vector_extractElement_FP64(&x, vector, 5);
    sum += x;
}

static void call_get_version(void)
{
    unsigned version = 0, subversion = 0;
    GrB_getVersion(&version, &subversion);
    sum += version;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static double best_time(void (*call)(void))
{
    double best = 1e30;
    for (int r = 0; r < REPEATS; r++) {
        const double start = now();
        for (int n = 0; n < CALLS; n++)
            call();
        const double time = (now() - start) / CALLS;
        best = time < best ? time : best;
    }
    return best;
}

/* sparse x full, the product most worth routing */
static void one_product(void)
{
    GrB_Matrix A, B, C;
    GrB_Matrix_new(&A, GrB_FP32, 4096, 4096);
    GrB_Matrix_new(&B, GrB_FP32, 4096, 64);
    GrB_Matrix_new(&C, GrB_FP32, 4096, 64);
    for (GrB_Index i = 0; i < 40960; i++)
        GrB_Matrix_setElement_FP32(A, 1.0F, i % 4096, i * 2654435761U % 4096);
    GrB_Matrix_assign_FP32(B, NULL, NULL, 1.0F, GrB_ALL, 4096, GrB_ALL, 64, NULL);
    GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, A, B, NULL);
}

int main(int argc, char **argv)
{
    (void) argv;
    if (GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return EXIT_FAILURE;
    GrB_Matrix_new(&matrix, GrB_FP64, N, N);
    GrB_Vector_new(&vector, GrB_FP64, N);
    GrB_Vector_assign_FP64(vector, NULL, NULL, 1.0, GrB_ALL, N, NULL);
    GrB_Matrix_setElement_FP64(matrix, 2.5, 3, 4);
    GrB_Matrix_wait(matrix, GrB_MATERIALIZE);
    if (argc > 1)
        one_product();
    int version[3] = {0};
    GxB_Global_Option_get(GxB_LIBRARY_VERSION, version);
    printf("%d.%d.%d\n", version[0], version[1], version[2]);
    printf("GrB_getVersion %.2f\n", best_time(call_get_version));
    printf("GrB_Matrix_nvals %.2f\n", best_time(call_nvals));
    printf("GrB_Matrix_setElement_FP64 %.2f\n", best_time(call_set_element));
    printf("GrB_Vector_extractElement_FP64 %.2f\n", best_time(call_extract_element));
    fprintf(stderr, "%s", sum < 0 ? "impossible\n" : "");
    GrB_finalize();
    return EXIT_SUCCESS;
}
