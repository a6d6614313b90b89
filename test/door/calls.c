/* A GraphBLAS program that touches every kind of wrapper: errors before and after init, varargs, iterators, tiles,
 * packs, exports, user operators that call GraphBLAS, two threads, fork.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../threads.h"

enum { N = 40 };
static GrB_Matrix A, B, C;

static void print(const char *name, GrB_Matrix X)
{
    GrB_Index rows, columns, count;
    double sum = 0;
    GrB_Matrix_nrows(&rows, X);
    GrB_Matrix_ncols(&columns, X);
    GrB_Matrix_nvals(&count, X);
    GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, X, NULL);
    /* Not all 17 digits: the last may differ where terms are added in another order. */
    printf("%s %d x %d, %d entries, sum %.15g\n", name, (int) rows, (int) columns, (int) count, sum);
}

static void fill(GrB_Matrix X, unsigned seed)
{
    for (GrB_Index i = 0; i < 5 * N; i++) {
        seed = seed * 1664525U + 1013904223U;
        GrB_Matrix_setElement_FP64(X, (double) (seed >> 20) / 8, i % N, seed / 7 % N);
    }
}

static void errors(void)
{
    GrB_Matrix bad = NULL;
    GrB_Index n;
    const char *text = NULL;
    printf("again %d\n", GrB_init(GrB_NONBLOCKING));
    printf("null %d %d\n", GrB_Matrix_nvals(NULL, A), GrB_Matrix_nvals(&n, NULL));
    printf("null product %d\n", GrB_mxm(C, NULL, NULL, NULL, A, B, NULL));
    printf("index %d\n", GrB_Matrix_setElement_FP64(A, 1.0, 4000, 0));
    GrB_Matrix_error(&text, A);
    printf("text %s\n", text);
    printf("zero %d free %d %d\n", GrB_Matrix_new(&bad, GrB_FP64, 0, 3), GrB_Matrix_free(&bad), GrB_Matrix_free(NULL));
}

static void options(void)
{
    double chunk = 0, hyper = 0;
    int threads = 0, format = 0;
    printf("set %d %d %d\n", GxB_Global_Option_set(GxB_CHUNK, 4096.5), GxB_Global_Option_set(GxB_NTHREADS, 2),
           GxB_Matrix_Option_set(A, GxB_HYPER_SWITCH, 0.125));
    GxB_Global_Option_get(GxB_CHUNK, &chunk);
    GxB_Global_Option_get(GxB_NTHREADS, &threads);
    GxB_Matrix_Option_get(A, GxB_HYPER_SWITCH, &hyper);
    GxB_Matrix_Option_set(B, GxB_FORMAT, GxB_BY_COL);
    GxB_Matrix_Option_get(B, GxB_FORMAT, &format);
    printf("get %g %d %g %d\n", chunk, threads, hyper, format);
}

static void products(void)
{
    GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL);
    print("C=AB", C);
    GrB_Matrix_setElement_FP64(A, 1000.0, 1, 1);
    GrB_mxm(C, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, GrB_DESC_T0);
    print("C+=A'B", C);
    GrB_mxm(A, A, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, A, GrB_DESC_S);
    print("A<A>=AA", A);
}

static void iterate(void)
{
    double sum = 0;
    GxB_Iterator it = NULL;
    GxB_Iterator_new(&it);
    GxB_Matrix_Iterator_attach(it, C, NULL);
    for (GrB_Info info = GxB_Matrix_Iterator_seek(it, 0); info == GrB_SUCCESS; info = GxB_Matrix_Iterator_next(it))
        sum += GxB_Iterator_get_FP64(it);
    printf("iterated %.17g\n", sum);
    GxB_Iterator_free(&it);
}

static void tiles(void)
{
    GrB_Matrix tile[4];
    const GrB_Index half[2] = {N / 2, N / 2};
    GxB_Matrix_split(tile, 2, 2, half, half, C, NULL);
    GrB_Matrix_setElement_FP64(tile[2], 5.0, 0, 0);
    GxB_Matrix_concat(B, tile, 2, 2, NULL);
    print("tiles", B);
    for (int n = 0; n < 4; n++)
        GrB_Matrix_free(&tile[n]);
}

static void packs(void)
{
    void *values = NULL;
    GrB_Index size = 0, rows, columns;
    GrB_Type type;
    bool iso = false;
    GrB_Matrix F;
    GrB_Matrix_dup(&F, C);
    GrB_Matrix_assign_FP64(F, NULL, NULL, 0.5, GrB_ALL, N, GrB_ALL, N, NULL);
    GrB_Matrix_setElement_FP64(F, 2.0, 0, 0);
    GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, F, NULL);
    GxB_Matrix_unpack_FullR(F, &values, &size, &iso, NULL);
    ((double *) values)[1] = 3.0;
    GxB_Matrix_pack_FullR(F, &values, size, iso, NULL);
    print("F", F);
    print("AF", C);
    GxB_Matrix_export_FullR(&F, &type, &rows, &columns, &values, &size, &iso, NULL);
    printf("exported %d %g\n", F == NULL, ((double *) values)[1]);
    free(values);
}

/* The operands of a product are converted, replaced and freed before its result is looked at. */
static void operands_change(void)
{
    GrB_Matrix D, F, T;
    GrB_Matrix_dup(&D, A);
    GrB_Matrix_new(&F, GrB_FP64, N, 8);
    GrB_Matrix_new(&T, GrB_FP64, N, 8);
    GrB_Matrix_assign_FP64(F, NULL, NULL, 0.25, GrB_ALL, N, GrB_ALL, 8, NULL);
    GrB_Matrix_setElement_FP64(F, 2.0, 3, 3);
    GrB_mxm(T, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, F, NULL);
    GxB_Matrix_Option_set(D, GxB_FORMAT, GxB_BY_COL);
    print("converted", T);
    GrB_mxm(T, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, F, NULL);
    GrB_Matrix_clear(F);
    GrB_Matrix_free(&D);
    print("freed", T);
    GrB_Matrix_dup(&D, A);
    GrB_Matrix_assign_FP64(F, NULL, NULL, 0.5, GrB_ALL, N, GrB_ALL, 8, NULL);
    GrB_mxm(T, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, F, NULL);
    GrB_Matrix_free(&T);
    GrB_Matrix_free(&D);
    GrB_Matrix_free(&F);
}

static GrB_Matrix inner_a, inner_c;

static void calls_graphblas(void *z, const void *x)
{
    double sum = 0;
    GrB_mxm(inner_c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, inner_a, inner_a, NULL);
    GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, inner_c, NULL);
    *(double *) z = *(const double *) x + sum;
}

static void nested(void)
{
    GrB_UnaryOp op;
    GrB_Vector v;
    double sum = 0;
    GrB_Matrix_new(&inner_a, GrB_FP64, 3, 3);
    GrB_Matrix_new(&inner_c, GrB_FP64, 3, 3);
    GrB_Matrix_setElement_FP64(inner_a, 2.0, 1, 1);
    GrB_Vector_new(&v, GrB_FP64, 4);
    GrB_Vector_assign_FP64(v, NULL, NULL, 1.0, GrB_ALL, 4, NULL);
    GrB_Vector_setElement_FP64(v, 7.0, 2);
    GrB_UnaryOp_new(&op, calls_graphblas, GrB_FP64, GrB_FP64);
    GrB_Vector_apply(v, NULL, NULL, op, v, NULL);
    GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, v, NULL);
    printf("nested %g\n", sum);
    GrB_UnaryOp_free(&op);
    GrB_Vector_free(&v);
    GrB_Matrix_free(&inner_a);
    GrB_Matrix_free(&inner_c);
}

static void *own_matrices(void *argument)
{
    GrB_Matrix X, Y;
    double sum = 0, *result = argument;
    GrB_Matrix_new(&X, GrB_FP64, N, N);
    fill(X, (unsigned) *result);
    for (int round = 0; round < 20; round++) {
        GrB_Matrix_new(&Y, GrB_FP64, N, N);
        GrB_mxm(Y, NULL, NULL, GrB_MAX_PLUS_SEMIRING_FP64, X, X, NULL);
        GrB_Matrix_setElement_FP64(X, round, 1, (GrB_Index) round);
        GrB_Matrix_reduce_FP64(&sum, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, Y, NULL);
        GrB_Matrix_free(&Y);
    }
    GrB_Matrix_free(&X);
    *result = sum;
    return NULL;
}

static void threads(void)
{
    double result[2] = {11, 12};
    run_threads(2, own_matrices, result, sizeof *result);
    printf("threads %.17g %.17g\n", result[0], result[1]);
}

static void forked(void)
{
    GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, A, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        print("child C", C);
        GrB_Matrix_setElement_FP64(A, -3.0, 1, 2);
        GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, A, NULL);
        print("child AA", C);
        GrB_Matrix_free(&C);
        printf("child finalize %d\n", GrB_finalize());
        exit(EXIT_SUCCESS);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child status %d\n", status);
    print("parent C", C);
}

int main(void)
{
    printf("before %d\n", GrB_Matrix_new(&A, GrB_FP64, N, N));
    printf("init %d\n", GrB_init(GrB_NONBLOCKING));
    GrB_Matrix_new(&A, GrB_FP64, N, N);
    GrB_Matrix_new(&B, GrB_FP64, N, N);
    GrB_Matrix_new(&C, GrB_FP64, N, N);
    fill(A, 1);
    fill(B, 2);
    errors();
    options();
    products();
    iterate();
    tiles();
    packs();
    operands_change();
    nested();
    threads();
    forked();
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&B);
    GrB_Matrix_free(&C);
    printf("finalize %d\n", GrB_finalize());
    return EXIT_SUCCESS;
}
