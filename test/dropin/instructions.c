/* GraphBLAS calls to count the instructions of: `instructions CASE COUNT` makes so many of a kind and prints a digest of their results.
 * A third argument: after a product that is not forwarded, so that handles are looked up.  test_instructions.py compares them plain and with
 * the library preloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 8, LENGTH = 1 << 20 };

#define OK(call)                                                                         \
    do {                                                                                 \
        const GrB_Info returned = (call);                                                \
        if (returned != GrB_SUCCESS && returned != GrB_NO_VALUE) {                       \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, returned); \
            exit(EXIT_FAILURE);                                                          \
        }                                                                                \
    } while (0)

static GrB_Matrix A, B, C;
static GrB_Vector u, v, w;
static double total;

static void make_objects(GrB_Index n)
{
    OK(GrB_Matrix_new(&A, GrB_FP64, n, n));
    OK(GrB_Matrix_new(&B, GrB_FP64, n, n));
    OK(GrB_Matrix_new(&C, GrB_FP64, n, n));
    OK(GrB_Vector_new(&u, GrB_FP64, n));
    OK(GrB_Vector_new(&v, GrB_FP64, n));
    OK(GrB_Vector_new(&w, GrB_FP64, n));
}

/* Some entries of each, the same in every run; v is full. */
static void fill_objects(GrB_Index n)
{
    for (GrB_Index i = 0; i < n; i++) {
        OK(GrB_Matrix_setElement_FP64(A, 1.0 + (double)i, i, (i * 5 + 1) % n));
        OK(GrB_Matrix_setElement_FP64(A, 2.0 + (double)i, i, (i * 3 + 2) % n));
        OK(GrB_Matrix_setElement_FP64(B, 3.0 + (double)i, i, (i + 3) % n));
        OK(GrB_Matrix_setElement_FP64(B, 4.0 + (double)i, i, i));
        if (i % 2)
            OK(GrB_Vector_setElement_FP64(u, (double)i, i));
    }
    OK(GrB_Vector_assign_FP64(v, NULL, NULL, 2.0, GrB_ALL, n, NULL));
    OK(GrB_Vector_setElement_FP64(v, 3.0, 0));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    OK(GrB_Matrix_wait(B, GrB_MATERIALIZE));
    OK(GrB_Vector_wait(u, GrB_MATERIALIZE));
    OK(GrB_Vector_wait(v, GrB_MATERIALIZE));
}

static void digest(void)
{
    double sum = 0;
    OK(GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, C, NULL));
    total += sum;
    OK(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, w, NULL));
    total += sum;
}

/* ---- one call each ---- */

static void call_mxm(GrB_Index i)
{
    (void)i;
    OK(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, NULL));
}

static void call_masked_mxm(GrB_Index i)
{
    (void)i;
    OK(GrB_mxm(C, A, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, GrB_DESC_RT1));
}

static void call_mxv(GrB_Index i)
{
    OK(GrB_mxv(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, A, i % 2 ? u : v, NULL));
}

static void call_vxm(GrB_Index i)
{
    (void)i;
    OK(GrB_vxm(w, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, u, A, NULL));
}

static void call_vector_set(GrB_Index i)
{
    OK(GrB_Vector_setElement_FP64(w, (double)i, i * 7919 % LENGTH));
}

static void call_matrix_set(GrB_Index i)
{
    OK(GrB_Matrix_setElement_FP64(C, (double)i, i * 7919 % LENGTH, i));
}

static void call_extract(GrB_Index i)
{
    double x = 0;
    OK(GrB_Vector_extractElement_FP64(&x, v, i % SMALL));
    total += x;
}

static void call_matrix_extract(GrB_Index i)
{
    double x = 0;
    OK(GrB_Matrix_extractElement_FP64(&x, B, i % SMALL, i % SMALL));
    total += x;
}

static void call_ewise(GrB_Index i)
{
    (void)i;
    OK(GrB_Matrix_eWiseAdd_BinaryOp(C, NULL, NULL, GrB_PLUS_FP64, A, B, NULL));
}

static void call_apply(GrB_Index i)
{
    (void)i;
    OK(GrB_Vector_apply_BinaryOp1st_FP64(w, NULL, NULL, GrB_TIMES_FP64, 3.0, v, NULL));
}

static void call_assign(GrB_Index i)
{
    OK(GrB_Vector_assign_FP64(w, u, NULL, (double)i, GrB_ALL, SMALL, GrB_DESC_S));
}

static void call_select(GrB_Index i)
{
    (void)i;
    OK(GrB_Matrix_select_FP64(C, NULL, NULL, GrB_VALUEGT_FP64, A, 3.0, NULL));
}

static void call_reduce(GrB_Index i)
{
    double x = 0;
    (void)i;
    OK(GrB_Vector_reduce_FP64(&x, NULL, GrB_PLUS_MONOID_FP64, v, NULL));
    total += x;
}

/* ---- breadth-first search ---- */

/* A grid of side x side vertices, edges both ways. */
static GrB_Matrix grid(GrB_Index side)
{
    const GrB_Index n = side * side;
    GrB_Index *rows = malloc(4 * n * sizeof *rows), *columns = malloc(4 * n * sizeof *columns), count = 0;
    bool *ones = malloc(4 * n * sizeof *ones);
    GrB_Matrix G;
    if (!rows || !columns || !ones)
        exit(EXIT_FAILURE);
    memset(ones, 1, 4 * n * sizeof *ones);
    for (GrB_Index i = 0; i < n; i++) {
        const GrB_Index around[4] = {i - side, i - 1, i + 1, i + side};
        const bool there[4] = {i >= side, i % side > 0, (i + 1) % side > 0, i + side < n};
        for (int k = 0; k < 4; k++) {
            rows[count] = i;
            columns[count] = around[k];
            count += there[k];
        }
    }
    OK(GrB_Matrix_new(&G, GrB_BOOL, n, n));
    OK(GrB_Matrix_build_BOOL(G, rows, columns, ones, count, GrB_LOR));
    OK(GrB_Matrix_wait(G, GrB_MATERIALIZE));
    free(rows);
    free(columns);
    free(ones);
    return G;
}

/* Parents (semiring any_secondi) or only levels (any_pair): q<!p> = q G, p<q> = q. */
static void search(GrB_Index side, GrB_Semiring semiring, GrB_Type type)
{
    GrB_Matrix G = grid(side);
    GrB_Vector parents, frontier;
    GrB_Index n = side * side, reached = 1;
    int64_t sum = 0;
    OK(GrB_Vector_new(&parents, type, n));
    OK(GrB_Vector_new(&frontier, type, n));
    OK(GrB_Vector_setElement_INT64(parents, 1, side / 2));
    OK(GrB_Vector_setElement_INT64(frontier, 1, side / 2));
    while (reached > 0) {
        OK(GrB_vxm(frontier, parents, NULL, semiring, frontier, G, GrB_DESC_RSC));
        OK(GrB_Vector_nvals(&reached, frontier));
        OK(GrB_Vector_assign(parents, frontier, NULL, frontier, GrB_ALL, n, GrB_DESC_S));
    }
    OK(GrB_Vector_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, parents, NULL));
    OK(GrB_Vector_nvals(&reached, parents));
    total += (double)reached + (double)(semiring == GxB_ANY_PAIR_BOOL ? sum : 0);
    GrB_Matrix_free(&G);
    GrB_Vector_free(&parents);
    GrB_Vector_free(&frontier);
}

/* ---- */

/* Sparse times full, the one most worth computing here. */
static void one_product(void)
{
    enum { ROWS = 4096, COLUMNS = 64 };
    GrB_Matrix S, F, P;
    OK(GrB_Matrix_new(&S, GrB_FP32, ROWS, ROWS));
    OK(GrB_Matrix_new(&F, GrB_FP32, ROWS, COLUMNS));
    OK(GrB_Matrix_new(&P, GrB_FP32, ROWS, COLUMNS));
    for (GrB_Index i = 0; i < 10 * ROWS; i++) OK(GrB_Matrix_setElement_FP32(S, 1, i % ROWS, i * 2654435761U % ROWS));
    OK(GrB_Matrix_assign_FP32(F, NULL, NULL, 1, GrB_ALL, ROWS, GrB_ALL, COLUMNS, NULL));
    OK(GrB_mxm(P, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, S, F, NULL));
    OK(GrB_Matrix_free(&S)); /* the address of one that lives may have the hash of another, and calls with that take longer */
    OK(GrB_Matrix_free(&F));
    OK(GrB_Matrix_free(&P));
}

static const struct {
    const char *name;
    void (*call)(GrB_Index i);
    GrB_Index n; /* rows and columns */
} cases[] = {{"mxm", call_mxm, SMALL},
             {"masked_mxm", call_masked_mxm, SMALL},
             {"mxv", call_mxv, SMALL},
             {"vxm", call_vxm, SMALL},
             {"Vector_setElement", call_vector_set, LENGTH},
             {"Matrix_setElement", call_matrix_set, LENGTH},
             {"Vector_extractElement", call_extract, SMALL},
             {"Matrix_extractElement", call_matrix_extract, SMALL},
             {"eWiseAdd", call_ewise, SMALL},
             {"apply", call_apply, SMALL},
             {"assign", call_assign, SMALL},
             {"select", call_select, SMALL},
             {"reduce", call_reduce, SMALL}};

static bool run(const char *name, GrB_Index count)
{
    if (strcmp(name, "bfs") == 0 || strcmp(name, "levels") == 0) {
        if (count > 0)
            search(count, *name == 'b' ? GxB_ANY_SECONDI_INT64 : GxB_ANY_PAIR_BOOL, *name == 'b' ? GrB_INT64 : GrB_BOOL);
        return true;
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(name, cases[k].name) != 0)
            continue;
        make_objects(cases[k].n);
        if (cases[k].n == SMALL)
            fill_objects(SMALL);
        for (GrB_Index i = 0; i < count; i++)
            cases[k].call(i);
        digest();
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 3 || GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return EXIT_FAILURE;
    GxB_Global_Option_set_INT32(GxB_NTHREADS, 1);
    if (argc > 3)
        one_product();
    if (!run(argv[1], strtoull(argv[2], NULL, 10)))
        return EXIT_FAILURE;
    printf("%.17g\n", total);
    GrB_finalize();
    return EXIT_SUCCESS;
}
