/* Input graphs: Zachary's karate club, R-MAT, communities, Matrix Market files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/mtx/mm.h"

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

static double uniform(uint64_t sample, uint64_t slot)
{
    return (double)(graph_random(12345, sample * 64 + slot) >> 11) * 0x1p-53;
}

/* Ids of a group of `size`, spread so that its hubs are not the first. */
typedef struct spread {
    GrB_Index size, factor; /* without a common divisor */
} spread;

static spread spread_over(GrB_Index size)
{
    for (GrB_Index factor = (GrB_Index)(0.618 * (double)size) | 1;; factor++) {
        GrB_Index a = size, b = factor;
        while (b) {
            const GrB_Index rest = a % b;
            a = b, b = rest;
        }
        if (a == 1) return (spread){size, factor};
    }
}

static GrB_Index spread_id(spread s, GrB_Index id)
{
    return (id * s.factor + 12345) % s.size;
}

/* What random graphs are drawn from. */
typedef struct model {
    int scale;              /* R-MAT */
    GrB_Index n;
    spread all, group;      /* communities: groups of consecutive ids */
} model;

/* `scale` times a quadrant with probabilities .57 .19 .19 .05. */
static void rmat_sample(GrB_Index *i, GrB_Index *j, const model *m, uint64_t sample)
{
    GrB_Index row = 0, column = 0;
    for (int level = 0; level < m->scale; level++) {
        const double u = uniform(sample, (uint64_t)level);
        row = 2 * row + (u >= 0.76);
        column = 2 * column + ((u >= 0.57 && u < 0.76) || u >= 0.95);
    }
    *i = spread_id(m->all, row), *j = spread_id(m->all, column);
}

/* Power law: the first ids come most often. */
static GrB_Index skewed(double u, spread s)
{
    return spread_id(s, (GrB_Index)((double)s.size * u * sqrt(u)));
}

/* Four edges of five have both ends in one group; the others go anywhere. */
static void community_sample(GrB_Index *i, GrB_Index *j, const model *m, uint64_t sample)
{
    const bool inside = uniform(sample, 0) < 0.8;
    const spread s = inside ? m->group : m->all;
    const GrB_Index groups = m->n / s.size, first = (GrB_Index)(uniform(sample, 1) * (double)groups) * s.size;
    *i = first + skewed(uniform(sample, 2), s), *j = first + skewed(uniform(sample, 3), s);
}

static bool make_random(edge_list *e, const model *m, GrB_Index samples)
{
    if (!edges_reserve(e, m->n, 2 * samples)) return false;
#pragma omp parallel for
    for (GrB_Index s = 0; s < samples; s++) {
        if (m->scale)
            rmat_sample(&e->i[s], &e->j[s], m, s);
        else
            community_sample(&e->i[s], &e->j[s], m, s);
    }
    for (GrB_Index s = 0; s < samples; s++) {
        if (e->i[s] != e->j[s]) e->i[e->count] = e->i[s], e->j[e->count++] = e->j[s];
    }
    memcpy(e->i + e->count, e->j, e->count * sizeof *e->i);
    memcpy(e->j + e->count, e->i, e->count * sizeof *e->j);
    e->count *= 2;
    return true;
}

static bool make_rmat(edge_list *e, const char *input)
{
    int scale = 0, edge_factor = 16, used = 0;
    const int fields = sscanf(input, "rmat:%d%n:%d%n", &scale, &used, &edge_factor, &used);
    if (fields < 1 || input[used] != '\0' || scale < 1 || scale > 28 || edge_factor < 1 || edge_factor > 1024) {
        fprintf(stderr, "graph: '%s' is not rmat:<scale 1-28>[:<edge factor 1-1024>]\n", input);
        return false;
    }
    const GrB_Index n = (GrB_Index)1 << scale;
    return make_random(e, &(model){.scale = scale, .n = n, .all = spread_over(n)}, n * (GrB_Index)edge_factor);
}

static bool make_communities(edge_list *e, const char *input)
{
    int vertices = 0, edge_factor = 16, used = 0;
    const int fields = sscanf(input, "communities:%d%n:%d%n", &vertices, &used, &edge_factor, &used);
    if (fields < 1 || input[used] != '\0' || vertices < 100 || edge_factor < 1 || edge_factor > 1024) {
        fprintf(stderr, "graph: '%s' is not communities:<vertices from 100>[:<edge factor 1-1024>]\n", input);
        return false;
    }
    const GrB_Index n = (GrB_Index)vertices;
    const model m = {.n = n, .all = spread_over(n), .group = spread_over(n / 50)};
    return make_random(e, &m, n * (GrB_Index)edge_factor);
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

static bool make_or_read(edge_list *e, const char *input)
{
    if (strcmp(input, "karate") == 0) return make_karate(e);
    if (strncmp(input, "rmat:", 5) == 0) return make_rmat(e, input);
    if (strncmp(input, "communities:", 12) == 0) return make_communities(e, input);
    return read_file(e, input);
}

/* What graph_write wrote. */
static GrB_Info read_written(graph *g, FILE *file)
{
    uint64_t size = 0;
    void *blob = NULL;
    GrB_Info info = fread(&size, sizeof size, 1, file) == 1 && (blob = malloc(size)) ? GrB_SUCCESS : GrB_OUT_OF_MEMORY;
    if (info == GrB_SUCCESS && fread(blob, 1, size, file) != size) info = GrB_INVALID_OBJECT;
    if (info == GrB_SUCCESS) info = GrB_Matrix_deserialize(&g->A, GrB_BOOL, blob, size);
    free(blob);
    return info;
}

bool graph_write(const graph *g, const char *path)
{
    FILE *file = fopen(path, "wb");
    void *blob = NULL;
    GrB_Index size = 0;
    GrB_Descriptor plainly = NULL;
    GrB_Info info = GrB_Descriptor_new(&plainly);
    if (info == GrB_SUCCESS) info = GxB_Desc_set(plainly, GxB_COMPRESSION, GxB_COMPRESSION_NONE);
    if (info == GrB_SUCCESS) info = GxB_Matrix_serialize(&blob, &size, g->A, plainly);
    const uint64_t header = size;
    bool ok = info == GrB_SUCCESS && file && fwrite(&header, sizeof header, 1, file) == 1;
    ok = ok && fwrite(blob, 1, size, file) == size;
    if (file) ok = fclose(file) == 0 && ok;
    GrB_Descriptor_free(&plainly);
    free(blob);
    return ok;
}

/* g->A of `input`. */
static bool open_matrix(graph *g, const char *input)
{
    const size_t length = strlen(input);
    const bool written = length > 4 && strcmp(input + length - 4, ".grb") == 0;
    FILE *file = written ? fopen(input, "rb") : NULL;
    edge_list e = {0};
    GrB_Info info = GrB_INVALID_OBJECT;
    if (file) {
        info = read_written(g, file);
        fclose(file);
    } else if (written) {
        perror(input);
        return false;
    } else if (make_or_read(&e, input)) {
        info = build(g, &e);
    } else {
        edges_free(&e);
        return false;
    }
    edges_free(&e);
    if (info != GrB_SUCCESS) fprintf(stderr, "graph: GraphBLAS error %d while building '%s'\n", (int)info, input);
    return info == GrB_SUCCESS;
}

bool graph_open(graph *g, const char *input)
{
    GrB_Index entries = 0;
    *g = (graph){0};
    const bool ok = open_matrix(g, input) && GrB_Matrix_nrows(&g->n, g->A) == GrB_SUCCESS &&
                    GrB_Matrix_nvals(&entries, g->A) == GrB_SUCCESS;
    g->edges = entries / 2;
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

/* Uniform in 1..255, the same for an edge and the one back. */
static int32_t weight(GrB_Index i, GrB_Index j)
{
    return 1 + (int32_t)(graph_random(i < j ? i : j, i < j ? j : i) % 255);
}

GrB_Info graph_weights(GrB_Matrix *W, const graph *g)
{
    GrB_Index count = 2 * g->edges;
    GrB_Index *i = malloc((count + 1) * sizeof *i), *j = malloc((count + 1) * sizeof *j);
    int32_t *w = malloc((count + 1) * sizeof *w);
    GrB_Info info = i && j && w ? GrB_Matrix_extractTuples_BOOL(i, j, NULL, &count, g->A) : GrB_OUT_OF_MEMORY;
    for (GrB_Index k = 0; info == GrB_SUCCESS && k < count; k++) w[k] = weight(i[k], j[k]);
    if (info == GrB_SUCCESS) info = GrB_Matrix_new(W, GrB_INT32, g->n, g->n);
    if (info == GrB_SUCCESS) info = GxB_Matrix_Option_set(*W, GxB_FORMAT, GxB_BY_ROW);
    if (info == GrB_SUCCESS) info = GrB_Matrix_build_INT32(*W, i, j, w, count, GrB_PLUS_INT32);
    free(i);
    free(j);
    free(w);
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

/* New array of n. */
static GrB_Info degree_array(int64_t **degree, const graph *g)
{
    GrB_Vector degrees = NULL;
    GrB_Index count = g->n;
    *degree = malloc((g->n + 1) * sizeof **degree);
    GrB_Info info = *degree ? graph_degrees(&degrees, g->A) : GrB_OUT_OF_MEMORY;
    if (info == GrB_SUCCESS) info = GrB_Vector_extractTuples_INT64(NULL, *degree, &count, degrees);
    GrB_Vector_free(&degrees);
    return info;
}

GrB_Info graph_sources(GrB_Index **sources, const graph *g, GrB_Index count)
{
    int64_t *degree = NULL;
    *sources = malloc((count + 1) * sizeof **sources);
    GrB_Info info = *sources ? degree_array(&degree, g) : GrB_OUT_OF_MEMORY;
    for (GrB_Index s = 0; info == GrB_SUCCESS && s < count; s++) {
        GrB_Index v = s * g->n / count, tried = 0;
        for (; degree[v] == 0 && tried < g->n; tried++) v = (v + 1) % g->n;
        (*sources)[s] = v;
    }
    free(degree);
    return info;
}

GrB_Info graph_hub(GrB_Index *hub, const graph *g)
{
    int64_t *degree = NULL;
    GrB_Info info = degree_array(&degree, g);
    *hub = 0;
    for (GrB_Index v = 1; info == GrB_SUCCESS && v < g->n; v++)
        if (degree[v] > degree[*hub]) *hub = v;
    free(degree);
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
    int64_t *degree = NULL;
    ordered *order = malloc((g->n + 1) * sizeof *order);
    GrB_Info info = order ? degree_array(&degree, g) : GrB_OUT_OF_MEMORY;
    if (info == GrB_SUCCESS) {
        for (GrB_Index v = 0; v < g->n; v++) order[v] = (ordered){degree[v], v};
        qsort(order, g->n, sizeof *order, by_degree);
        for (GrB_Index v = 0; v < g->n; v++) permutation[v] = order[v].vertex;
    }
    free(degree);
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
