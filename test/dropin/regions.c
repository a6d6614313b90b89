/* How many parallel regions of several threads a program opens: `regions CASE` runs a small program on two threads and prints a digest of its
 * results and that number.  test_regions.py compares them plain and with the library preloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <GraphBLAS.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 1 << 16, EDGES = 16 * VERTICES, SOURCES = 4, ROUNDS = 8 };
enum { FEW = 1024, FEW_EDGES = 20, FEATURES = 16, LAYERS = 3 };

#define OK(call)                                                                          \
    do {                                                                                  \
        const GrB_Info returned = (call);                                                 \
        if (returned != GrB_SUCCESS) {                                                    \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, returned); \
            exit(EXIT_FAILURE);                                                           \
        }                                                                                 \
    } while (0)

static unsigned long regions;
static double digest;

/* Instead of libgomp's: what gcc calls for each region, with one thread where its `if` says so. */
__attribute__((visibility("default"))) void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    static void (*real)(void (*)(void *), void *, unsigned, unsigned);
    void *found = real ? NULL : dlsym(RTLD_NEXT, "GOMP_parallel");
    if (!real)
        memcpy(&real, &found, sizeof real);
    regions += threads != 1;
    real(body, data, threads, flags);
}

/* Hubs among the first vertices; weights of 1 to 255. */
static GrB_Matrix random_graph(void)
{
    GrB_Index *rows = malloc(EDGES * sizeof *rows), *columns = malloc(EDGES * sizeof *columns);
    double *weights = malloc(EDGES * sizeof *weights);
    uint64_t state = 88172645463325252u;
    GrB_Matrix G;
    if (!rows || !columns || !weights)
        exit(EXIT_FAILURE);
    for (int e = 0; e < EDGES; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t a = state >> 48, b = state >> 33 & (VERTICES - 1), c = state >> 20 & (VERTICES - 1);
        rows[e] = a * b / VERTICES;
        columns[e] = c;
        weights[e] = (double)(1 + (a ^ c) % 255);
    }
    OK(GrB_Matrix_new(&G, GrB_FP64, VERTICES, VERTICES));
    OK(GrB_Matrix_build_FP64(G, rows, columns, weights, EDGES, GrB_MIN_FP64));
    OK(GrB_Matrix_wait(G, GrB_MATERIALIZE));
    free(rows);
    free(columns);
    free(weights);
    return G;
}

static void add_digest(GrB_Vector v)
{
    double sum = 0;
    OK(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, v, NULL));
    digest += sum;
}

/* q<!levels> = q G */
static void search(GrB_Matrix G, GrB_Index source)
{
    GrB_Vector levels, frontier;
    GrB_Index reached = 1;
    OK(GrB_Vector_new(&levels, GrB_INT32, VERTICES));
    OK(GrB_Vector_new(&frontier, GrB_BOOL, VERTICES));
    OK(GrB_Vector_setElement_BOOL(frontier, true, source));
    for (int level = 1; reached > 0; level++) {
        OK(GrB_Vector_assign_INT32(levels, frontier, NULL, level, GrB_ALL, VERTICES, GrB_DESC_S));
        OK(GrB_vxm(frontier, levels, NULL, GxB_ANY_PAIR_BOOL, frontier, G, GrB_DESC_RSC));
        OK(GrB_Vector_nvals(&reached, frontier));
    }
    add_digest(levels);
    OK(GrB_Vector_free(&levels));
    OK(GrB_Vector_free(&frontier));
}

/* Shortest paths by edges of at most so much, then a little more: what is selected is new in each round. */
static void paths(GrB_Matrix G, GrB_Index source)
{
    GrB_Matrix light;
    GrB_Vector distance, next;
    OK(GrB_Matrix_new(&light, GrB_FP64, VERTICES, VERTICES));
    OK(GrB_Vector_new(&distance, GrB_FP64, VERTICES));
    OK(GrB_Vector_new(&next, GrB_FP64, VERTICES));
    OK(GrB_Vector_setElement_FP64(distance, 0, source));
    for (int round = 1; round <= ROUNDS; round++) {
        OK(GrB_Matrix_select_FP64(light, NULL, NULL, GrB_VALUELE_FP64, G, 16.0 * round, NULL));
        OK(GrB_vxm(next, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, distance, light, NULL));
        OK(GrB_Vector_eWiseAdd_BinaryOp(distance, NULL, NULL, GrB_MIN_FP64, distance, next, NULL));
    }
    add_digest(distance);
    OK(GrB_Matrix_free(&light));
    OK(GrB_Vector_free(&distance));
    OK(GrB_Vector_free(&next));
}

/* A graph of so few edges that SuiteSparse has one thread for it, however many columns they meet. */
static GrB_Matrix small_graph(void)
{
    GrB_Matrix A;
    OK(GrB_Matrix_new(&A, GrB_FP32, FEW, FEW));
    for (GrB_Index i = 0; i < FEW; i++)
        for (GrB_Index k = 0; k < FEW_EDGES; k++)
            OK(GrB_Matrix_setElement_FP32(A, (float)(1 + (i ^ k) % 7), i, (i * k + k * k + 1) % FEW));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* X = A X, layer by layer. */
static void layers(GrB_Matrix G, GrB_Index source)
{
    (void)G;
    GrB_Matrix A = small_graph(), X;
    float sum;
    OK(GrB_Matrix_new(&X, GrB_FP32, FEW, FEATURES));
    OK(GrB_Matrix_assign_FP32(X, NULL, NULL, .5F, GrB_ALL, FEW, GrB_ALL, FEATURES, NULL));
    OK(GrB_Matrix_setElement_FP32(X, 1, source, source));
    for (int layer = 0; layer < LAYERS; layer++)
        OK(GrB_mxm(X, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, A, X, NULL));
    OK(GrB_Matrix_reduce_FP32(&sum, NULL, GrB_PLUS_MONOID_FP32, X, NULL));
    digest += (double)sum;
    OK(GrB_Matrix_free(&A));
    OK(GrB_Matrix_free(&X));
}

/* W<!seen> = W A', a pull of a few vectors that are bitmaps. */
static void pulls(GrB_Matrix G, GrB_Index source)
{
    (void)G;
    GrB_Matrix A = small_graph(), W, seen;
    float sum;
    OK(GrB_Matrix_new(&W, GrB_FP32, SOURCES, FEW));
    OK(GrB_Matrix_new(&seen, GrB_FP32, SOURCES, FEW));
    for (GrB_Index k = 0; k < SOURCES * FEW; k++)
        OK(GrB_Matrix_setElement_FP32(k % 3 ? W : seen, (float)(k % 5), k % SOURCES, k / SOURCES));
    OK(GxB_Matrix_Option_set(W, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    OK(GxB_Matrix_Option_set(seen, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    OK(GrB_Matrix_setElement_FP32(W, 2, source, source));
    OK(GrB_mxm(W, seen, NULL, GxB_PLUS_FIRST_FP32, W, A, GrB_DESC_RSCT1));
    OK(GrB_Matrix_reduce_FP32(&sum, NULL, GrB_PLUS_MONOID_FP32, W, NULL));
    digest += (double)sum;
    OK(GrB_Matrix_free(&A));
    OK(GrB_Matrix_free(&W));
    OK(GrB_Matrix_free(&seen));
}

static const struct {
    const char *name;
    void (*run)(GrB_Matrix G, GrB_Index source);
} cases[] = {{"search", search}, {"paths", paths}, {"layers", layers}, {"pulls", pulls}};

int main(int argc, char **argv)
{
    if (argc != 2 || GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS)
        return EXIT_FAILURE;
    GxB_Global_Option_set_INT32(GxB_NTHREADS, 2);
    GrB_Matrix G = random_graph();
    regions = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (GrB_Index source = 0; strcmp(argv[1], cases[k].name) == 0 && source < SOURCES; source++)
            cases[k].run(G, source);
    printf("%.17g\n%lu\n", digest, regions);
    OK(GrB_Matrix_free(&G));
    GrB_finalize();
    return EXIT_SUCCESS;
}
