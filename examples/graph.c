/* Input graphs: Zachary's karate club, R-MAT, Matrix Market files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mm.h"

/* W. W. Zachary, An Information Flow Model for Conflict and Fission in Small Groups, 1977: 34 members,
 * 78 friendships. */
static const uint8_t karate[][2] = {
    {0, 1},   {0, 2},   {0, 3},   {0, 4},   {0, 5},   {0, 6},   {0, 7},   {0, 8},   {0, 10},  {0, 11},
    {0, 12},  {0, 13},  {0, 17},  {0, 19},  {0, 21},  {0, 31},  {1, 2},   {1, 3},   {1, 7},   {1, 13},
    {1, 17},  {1, 19},  {1, 21},  {1, 30},  {2, 3},   {2, 7},   {2, 8},   {2, 9},   {2, 13},  {2, 27},
    {2, 28},  {2, 32},  {3, 7},   {3, 12},  {3, 13},  {4, 6},   {4, 10},  {5, 6},   {5, 10},  {5, 16},
    {6, 16},  {8, 30},  {8, 32},  {8, 33},  {9, 33},  {13, 33}, {14, 32}, {14, 33}, {15, 32}, {15, 33},
    {18, 32}, {18, 33}, {19, 33}, {20, 32}, {20, 33}, {22, 32}, {22, 33}, {23, 25}, {23, 27}, {23, 29},
    {23, 32}, {23, 33}, {24, 25}, {24, 27}, {24, 31}, {25, 31}, {26, 29}, {26, 33}, {27, 33}, {28, 31},
    {28, 33}, {29, 32}, {29, 33}, {30, 32}, {30, 33}, {31, 32}, {31, 33}, {32, 33}};

typedef struct edge_list {
    GrB_Index n, count; /* count: directed entries held */
    GrB_Index *i, *j;
} edge_list;

static bool edges_reserve(edge_list *e, GrB_Index n, GrB_Index count)
{
    *e = (edge_list){.n = n};
    e->i = malloc((count + 1) * sizeof *e->i);
    e->j = malloc((count + 1) * sizeof *e->j);
    if (e->i && e->j) return true;
    fprintf(stderr, "graph: not enough memory for %llu entries\n", (unsigned long long)count);
    return false;
}

static void edges_free(edge_list *e)
{
    free(e->i);
    free(e->j);
}

/* Both directions; self loops are dropped. */
static void edges_add(edge_list *e, GrB_Index i, GrB_Index j)
{
    if (i == j) return;
    e->i[e->count] = i, e->j[e->count++] = j;
    e->i[e->count] = j, e->j[e->count++] = i;
}

uint64_t graph_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool make_karate(edge_list *e)
{
    const size_t count = sizeof karate / sizeof karate[0];
    if (!edges_reserve(e, 34, 2 * count)) return false;
    for (size_t k = 0; k < count; k++) edges_add(e, karate[k][0], karate[k][1]);
    return true;
}

/* One sample: `scale` times a quadrant with probabilities .57 .19 .19 .05. */
static void rmat_sample(GrB_Index *i, GrB_Index *j, int scale, uint64_t sample)
{
    GrB_Index row = 0, column = 0;
    for (int level = 0; level < scale; level++) {
        const double u = (double)(graph_random(12345, sample * 64 + (uint64_t)level) >> 11) * 0x1p-53;
        row = 2 * row + (u >= 0.76);
        column = 2 * column + ((u >= 0.57 && u < 0.76) || u >= 0.95);
    }
    *i = row, *j = column;
}

static bool make_rmat(edge_list *e, int scale, int edge_factor)
{
    const GrB_Index n = (GrB_Index)1 << scale, samples = n * (GrB_Index)edge_factor;
    const GrB_Index spread =
        (GrB_Index)(0.618 * (double)n) | 1; /* odd: a permutation of the ids, so hubs are not the first */
    if (!edges_reserve(e, n, 2 * samples)) return false;
    for (GrB_Index s = 0; s < samples; s++) {
        GrB_Index i, j;
        rmat_sample(&i, &j, scale, s);
        edges_add(e, (i * spread + 12345) % n, (j * spread + 12345) % n);
    }
    return true;
}

static bool make_named_rmat(edge_list *e, const char *input)
{
    int scale = 0, edge_factor = 16, used = 0;
    const int fields = sscanf(input, "rmat:%d%n:%d%n", &scale, &used, &edge_factor, &used);
    if (fields < 1 || input[used] != '\0' || scale < 1 || scale > 28 || edge_factor < 1 || edge_factor > 1024) {
        fprintf(stderr, "graph: '%s' is not rmat:<scale 1-28>[:<edge factor 1-1024>]\n", input);
        return false;
    }
    return make_rmat(e, scale, edge_factor);
}

static bool read_file(edge_list *e, const char *path)
{
    tsr_mm file;
    char message[256];
    if (!tsr_mm_read(&file, path, message, sizeof message)) {
        fprintf(stderr, "%s\n", message);
        return false;
    }
    bool ok = file.nrows == file.ncols;
    if (!ok)
        fprintf(stderr, "graph: %s is %lld x %lld; a graph needs a square matrix\n", path, (long long)file.nrows,
                (long long)file.ncols);
    ok = ok && edges_reserve(e, (GrB_Index)file.nrows, 2 * (GrB_Index)file.nvals);
    for (int64_t k = 0; ok && k < file.nvals; k++) edges_add(e, (GrB_Index)file.row[k], (GrB_Index)file.col[k]);
    tsr_mm_free(&file);
    return ok;
}

static GrB_Info build(graph *g, const edge_list *e)
{
    GrB_Scalar yes = NULL;
    GrB_Info info = GrB_Matrix_new(&g->A, GrB_BOOL, e->n, e->n);
    if (info == GrB_SUCCESS) info = GxB_Matrix_Option_set(g->A, GxB_FORMAT, GxB_BY_ROW);
    if (info == GrB_SUCCESS) info = GrB_Scalar_new(&yes, GrB_BOOL);
    if (info == GrB_SUCCESS) info = GrB_Scalar_setElement_BOOL(yes, true);
    if (info == GrB_SUCCESS) info = GxB_Matrix_build_Scalar(g->A, e->i, e->j, yes, e->count);
    GrB_Scalar_free(&yes);
    return info;
}

bool graph_open(graph *g, const char *input)
{
    edge_list e = {0};
    *g = (graph){0};
    bool ok;
    if (strcmp(input, "karate") == 0)
        ok = make_karate(&e);
    else if (strncmp(input, "rmat:", 5) == 0)
        ok = make_named_rmat(&e, input);
    else
        ok = read_file(&e, input);
    if (ok) {
        GrB_Index entries = 0;
        GrB_Info info = build(g, &e);
        if (info == GrB_SUCCESS) info = GrB_Matrix_nvals(&entries, g->A);
        ok = info == GrB_SUCCESS;
        if (!ok) fprintf(stderr, "graph: GraphBLAS error %d while building '%s'\n", (int)info, input);
        g->n = e.n;
        g->edges = entries / 2;
    }
    edges_free(&e);
    if (!ok) graph_close(g);
    return ok;
}

void graph_close(graph *g)
{
    GrB_Matrix_free(&g->A);
}

GrB_Info graph_dense(GrB_Matrix *X, GrB_Index rows, GrB_Index columns, uint64_t seed)
{
    const GrB_Index count = rows * columns;
    float *x = malloc((count + 1) * sizeof(float));
    if (!x) return GrB_OUT_OF_MEMORY;
    for (GrB_Index k = 0; k < count; k++) x[k] = (float)((int)(graph_random(seed, k) % 17) - 8) / 8;
    GrB_Info info =
        GxB_Matrix_import_FullR(X, GrB_FP32, rows, columns, (void **)&x, count * sizeof(float), false, NULL);
    free(x); /* NULL after a successful import */
    return info;
}

GrB_Info graph_degrees(GrB_Vector *degrees, const GrB_Matrix A)
{
    GrB_Index n;
    GrB_Vector ones = NULL;
    GrB_Info info = GrB_Matrix_nrows(&n, A);
    if (info == GrB_SUCCESS) info = GrB_Vector_new(degrees, GrB_INT64, n);
    if (info == GrB_SUCCESS) info = GrB_Vector_assign_INT64(*degrees, NULL, NULL, 0, GrB_ALL, n, NULL);
    if (info == GrB_SUCCESS) info = GrB_Vector_dup(&ones, *degrees);
    if (info == GrB_SUCCESS) info = GrB_mxv(*degrees, NULL, GrB_PLUS_INT64, GxB_PLUS_PAIR_INT64, A, ones, NULL);
    GrB_Vector_free(&ones);
    return info;
}

typedef struct ordered {
    int64_t degree;
    GrB_Index vertex;
} ordered;

static int by_degree(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

/* permutation[0] = the vertex of lowest degree, … */
static GrB_Info degree_order(GrB_Index *permutation, const graph *g)
{
    GrB_Vector degrees = NULL;
    ordered *order = malloc((g->n + 1) * sizeof *order);
    GrB_Info info = order ? graph_degrees(&degrees, g->A) : GrB_OUT_OF_MEMORY;
    for (GrB_Index v = 0; info == GrB_SUCCESS && v < g->n; v++) {
        order[v].vertex = v;
        info = GrB_Vector_extractElement_INT64(&order[v].degree, degrees, v);
    }
    if (info == GrB_SUCCESS) {
        qsort(order, g->n, sizeof *order, by_degree);
        for (GrB_Index v = 0; v < g->n; v++) permutation[v] = order[v].vertex;
    }
    GrB_Vector_free(&degrees);
    free(order);
    return info;
}

GrB_Info graph_sort_by_degree(GrB_Matrix *S, const graph *g)
{
    GrB_Index *permutation = malloc((g->n + 1) * sizeof *permutation);
    GrB_Info info = permutation ? degree_order(permutation, g) : GrB_OUT_OF_MEMORY;
    if (info == GrB_SUCCESS) info = GrB_Matrix_new(S, GrB_BOOL, g->n, g->n);
    if (info == GrB_SUCCESS)
        info = GrB_Matrix_extract(*S, NULL, NULL, g->A, permutation, g->n, permutation, g->n, NULL);
    if (info == GrB_SUCCESS) info = GrB_Matrix_wait(*S, GrB_MATERIALIZE);
    free(permutation);
    return info;
}
