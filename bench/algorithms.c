/* Times algorithms of a built LAGraph beyond the GAP benchmark's, and small programs that people write themselves, on a graph.
 * Compiled by hand where there is a LAGraph 1.1 (its `include`, liblagraph, liblagraphx); bench/algorithms.py runs it plain and with Tessera.
 *
 * usage: algorithms GRAPH.grb NAME SECONDS      GRAPH.grb: of bench/gap_graphs.py; NAME: one of the table below, or list
 * Prints a line for each call, until they have taken so long or have been 20: seconds by the clock, CPU seconds of the process, an answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include <LAGraphX.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADER = 512, MOST_CALLS = 20, SOURCES = 32, ROUNDS = 10 };

static char msg[LAGRAPH_MSG_LEN];
static LAGraph_Graph graph;   /* of bools */
static GrB_Matrix weights;    /* FP64, without a diagonal */
static GrB_Index n;

static void must(int info)
{
    if (info < 0) {
        fprintf(stderr, "algorithms: %d %s\n", info, msg);
        exit(1);
    }
}

/* ---- the graph ---- */

static void *read_array(FILE *file, size_t size, GrB_Index count)
{
    void *out = malloc(size * count + 1);
    if (!out || fread(out, size, count, file) != count) {
        fprintf(stderr, "algorithms: cannot read the graph\n");
        exit(1);
    }
    return out;
}

/* Offsets, columns and 32-bit weights behind the header, as bench/gap_graphs.py writes them. */
static void load(const char *path)
{
    struct numbers { int64_t nrows, ncols, nonempty, nvec, nvals; } sizes;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, HEADER + 2 * (long)sizeof(int32_t) + (long)sizeof(double), SEEK_SET) != 0 || fread(&sizes, sizeof sizes, 1, file) != 1 ||
        fseek(file, sizeof(int32_t) + sizeof(int64_t), SEEK_CUR) != 0) {
        fprintf(stderr, "algorithms: cannot read %s\n", path);
        exit(1);
    }
    n = (GrB_Index)sizes.nrows;
    const GrB_Index count = (GrB_Index)sizes.nvals;
    GrB_Index *offsets = read_array(file, 8, n + 1), *columns = read_array(file, 8, count);
    int32_t *values = read_array(file, 4, count);
    fclose(file);
    bool *ones = malloc(count + 1);
    double *x = malloc((count + 1) * sizeof *x);
    for (GrB_Index e = 0; e < count; e++) {
        ones[e] = true;
        x[e] = values[e];
    }
    GrB_Matrix pattern;
    must(GrB_Matrix_import_BOOL(&pattern, GrB_BOOL, n, n, offsets, columns, ones, n + 1, count, count, GrB_CSR_FORMAT));
    must(GrB_Matrix_import_FP64(&weights, GrB_FP64, n, n, offsets, columns, x, n + 1, count, count, GrB_CSR_FORMAT));
    must(LAGraph_New(&graph, &pattern, LAGraph_ADJACENCY_UNDIRECTED, msg));
    must(LAGraph_Cached_OutDegree(graph, msg));
    must(LAGraph_Cached_NSelfEdges(graph, msg));
    must(LAGraph_Cached_IsSymmetricStructure(graph, msg));
    free(offsets);
    free(columns);
    free(values);
    free(ones);
    free(x);
}

/* ---- answers ---- */

/* Of what is finite, and how many entries there are. */
static double sum_of(GrB_Vector *v)
{
    GrB_Index entries;
    must(GrB_Vector_nvals(&entries, *v));
    double *x = malloc((entries + 1) * sizeof *x), sum = (double)entries;
    must(GrB_Vector_extractTuples_FP64(NULL, x, &entries, *v));
    for (GrB_Index k = 0; k < entries; k++)
        sum += isfinite(x[k]) ? x[k] : 0;
    free(x);
    GrB_free(v);
    return sum;
}

static double sum_of_matrix(GrB_Matrix *m)
{
    double sum = 0;
    GrB_Index entries;
    must(GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, *m, NULL));
    must(GrB_Matrix_nvals(&entries, *m));
    GrB_free(m);
    return sum + (double)entries;
}

/* ---- LAGraph's ---- */

static double truss(void)
{
    GrB_Matrix c = NULL;
    must(LAGraph_KTruss(&c, graph, 5, msg));
    return sum_of_matrix(&c);
}

static double all_trusses(void)
{
    int64_t kmax = 0, *counts[4];
    GrB_Matrix *set = calloc(n + 4, sizeof *set);
    for (int k = 0; k < 4; k++)
        counts[k] = calloc(n + 4, sizeof **counts);
    must(LAGraph_AllKTruss(set, &kmax, counts[0], counts[1], counts[2], graph, msg));
    double sum = (double)kmax;
    for (int64_t k = 0; k < kmax; k++)
        sum += (double)counts[0][k] + (double)counts[1][k];
    for (GrB_Index k = 0; k < n + 4; k++)
        GrB_free(&set[k]);
    for (int k = 0; k < 4; k++)
        free(counts[k]);
    free(set);
    return sum;
}

static double clustering(void)
{
    GrB_Vector v = NULL;
    double t[2];
    must(LAGraph_lcc(&v, graph->A, true, true, t, msg));
    return sum_of(&v);
}

static double label_propagation(void)
{
    GrB_Vector v = NULL;
    double t[2];
    must(LAGraph_cdlp(&v, graph->A, true, false, 3, t, msg));
    return sum_of(&v);
}

static double strong_components(void)
{
    GrB_Vector v = NULL;
    must(LAGraph_scc(&v, graph->A, msg));
    return sum_of(&v);
}

static double spanning_forest(void)
{
    GrB_Matrix m = NULL, a;
    must(GrB_Matrix_new(&a, GrB_UINT64, n, n));
    must(GrB_Matrix_apply(a, NULL, NULL, GrB_IDENTITY_UINT64, weights, NULL));
    must(LAGraph_msf(&m, a, false, msg));
    GrB_free(&a);
    return sum_of_matrix(&m);
}

static double independent_set(void)
{
    GrB_Vector v = NULL;
    must(LAGraph_MaximalIndependentSet(&v, graph, 1, NULL, msg));
    return sum_of(&v);
}

static double all_cores(void)
{
    GrB_Vector v = NULL;
    uint64_t kmax = 0;
    must(LAGraph_KCore_All(&v, &kmax, graph, msg));
    return sum_of(&v) + (double)kmax;
}

static double core(void)
{
    GrB_Vector v = NULL;
    must(LAGraph_KCore(&v, graph, 4, msg));
    return sum_of(&v);
}

static double lacc(void)
{
    GrB_Vector v = NULL;
    must(LAGraph_cc_lacc(&v, graph->A, false, msg));
    return sum_of(&v);
}

static double fast_sv5(void)
{
    GrB_Vector v = NULL;
    must(LG_CC_FastSV5(&v, graph, msg));
    return sum_of(&v);
}

static double count_triangles(LAGr_TriangleCount_Method method)
{
    LAGr_TriangleCount_Presort presort = LAGr_TriangleCount_NoSort;
    uint64_t count = 0;
    must(LAGr_TriangleCount(&count, graph, &method, &presort, msg));
    return (double)count;
}

static double burkhardt(void) { return count_triangles(LAGr_TriangleCount_Burkhardt); }
static double cohen(void) { return count_triangles(LAGr_TriangleCount_Cohen); }
static double sandia_ll(void) { return count_triangles(LAGr_TriangleCount_Sandia_LL); }
static double sandia_uu(void) { return count_triangles(LAGr_TriangleCount_Sandia_UU); }
static double sandia_ult(void) { return count_triangles(LAGr_TriangleCount_Sandia_ULT); }

static double triangle_centrality_by(int method)
{
    GrB_Vector v = NULL;
    uint64_t triangles = 0;
    must(LAGraph_VertexCentrality_Triangle(&v, &triangles, method, graph, msg));
    return sum_of(&v) + (double)triangles;
}

static double triangle_centrality_0(void) { return triangle_centrality_by(0); }
static double triangle_centrality_1(void) { return triangle_centrality_by(1); }
static double triangle_centrality_2(void) { return triangle_centrality_by(2); }
static double triangle_centrality(void) { return triangle_centrality_by(3); }

int LG_CC_Boruvka(GrB_Vector *component, LAGraph_Graph g, char *message);
int LG_BreadthFirstSearch_vanilla(GrB_Vector *level, GrB_Vector *parent, LAGraph_Graph g, GrB_Index source, char *message);

static double boruvka(void)
{
    GrB_Vector v = NULL;
    must(LG_CC_Boruvka(&v, graph, msg));
    return sum_of(&v);
}

static double plain_search(void)
{
    GrB_Vector level = NULL;
    must(LG_BreadthFirstSearch_vanilla(&level, NULL, graph, n / 2, msg));
    return sum_of(&level);
}

/* Which parents a search finds depends on the threads: how many. */
static double parents(void)
{
    GrB_Vector level = NULL, parent = NULL;
    GrB_Index reached;
    must(LAGr_BreadthFirstSearch(&level, &parent, graph, n / 2, msg));
    must(GrB_Vector_nvals(&reached, parent));
    GrB_free(&parent);
    return sum_of(&level) + (double)reached;
}

static double page_rank(void)
{
    GrB_Vector v = NULL;
    int rounds = 0;
    must(LAGraph_Cached_AT(graph, msg));
    must(LAGr_PageRank(&v, &rounds, graph, .85F, 1e-4F, 30, msg));
    return round(1e3 * sum_of(&v)) / 1e3 + rounds;
}

/* Of the weighted graph. */
static double delta_stepping(void)
{
    static LAGraph_Graph weighted;
    GrB_Vector v = NULL;
    GrB_Scalar delta;
    if (!weighted) {
        GrB_Matrix a;
        must(GrB_Matrix_dup(&a, weights));
        must(LAGraph_New(&weighted, &a, LAGraph_ADJACENCY_UNDIRECTED, msg));
        must(LAGraph_Cached_EMin(weighted, msg));
    }
    must(GrB_Scalar_new(&delta, GrB_FP64));
    must(GrB_Scalar_setElement_FP64(delta, 64));
    must(LAGr_SingleSourceShortestPath(&v, weighted, n / 2, delta, msg));
    GrB_free(&delta);
    return sum_of(&v);
}

static double core_graph(void)
{
    GrB_Vector v = NULL;
    GrB_Matrix m = NULL;
    must(LAGraph_KCore(&v, graph, 4, msg));
    must(LAGraph_KCore_Decompose(&m, graph, v, 4, msg));
    GrB_free(&v);
    return sum_of_matrix(&m);
}

static double bellman_ford_by(GrB_Info (*algorithm)(GrB_Vector *, GrB_Vector *, GrB_Vector *, GrB_Matrix, GrB_Index))
{
    GrB_Vector d = NULL, parent = NULL, hops = NULL;
    must(algorithm(&d, &parent, &hops, weights, n / 2));
    return sum_of(&d) + sum_of(&parent) + sum_of(&hops);
}

static double bellman_ford(void) { return bellman_ford_by(LAGraph_BF_full1); }
static double bellman_ford_1a(void) { return bellman_ford_by(LAGraph_BF_full1a); }
static double bellman_ford_2(void) { return bellman_ford_by(LAGraph_BF_full2); }

/* Four layers of the graph's pattern on 60 features, with a bias. */
static double network(void)
{
    enum { LAYERS = 4, FEATURES = 60 };
    GrB_Matrix w[LAYERS], bias[LAYERS], y, out = NULL;
    GrB_Vector d;
    must(GrB_Vector_new(&d, GrB_FP32, n));
    must(GrB_Vector_assign_FP32(d, NULL, NULL, -.3F, GrB_ALL, n, NULL));
    must(GrB_Matrix_new(&w[0], GrB_FP32, n, n));
    must(GrB_Matrix_apply_BinaryOp1st_FP32(w[0], NULL, NULL, GrB_TIMES_FP32, 1 / 256.F, weights, NULL));
    must(GrB_Matrix_diag(&bias[0], d, 0));
    for (int k = 1; k < LAYERS; k++) {
        w[k] = w[0];
        bias[k] = bias[0];
    }
    must(GrB_Matrix_new(&y, GrB_FP32, FEATURES, n));
    for (GrB_Index k = 0; k < 20 * FEATURES; k++)
        must(GrB_Matrix_setElement_FP32(y, 1, k % FEATURES, k * 7919 % n));
    must(LAGraph_dnn(&out, w, bias, LAYERS, y));
    GrB_free(&w[0]);
    GrB_free(&bias[0]);
    GrB_free(&y);
    GrB_free(&d);
    return floor(log2(1 + sum_of_matrix(&out)) * 1e3);
}

static double graphlets(void)
{
    GrB_Matrix m = NULL;
    must(LAGraph_FastGraphletTransform(&m, graph, true, msg));
    return sum_of_matrix(&m);
}

static double square_clustering(void)
{
    GrB_Vector v = NULL;
    must(LAGraph_SquareClustering(&v, graph, msg));
    return sum_of(&v);
}

/* ---- programs of a page ---- */

/* Levels of searches from SOURCES vertices, a row each. */
static double many_searches(void)
{
    GrB_Matrix frontier, levels;
    GrB_Index left = 1;
    must(GrB_Matrix_new(&frontier, GrB_BOOL, SOURCES, n));
    must(GrB_Matrix_new(&levels, GrB_INT32, SOURCES, n));
    for (GrB_Index k = 0; k < SOURCES; k++)
        must(GrB_Matrix_setElement_BOOL(frontier, true, k, k * 7919 % n));
    for (int level = 1; left > 0; level++) {
        must(GrB_Matrix_assign_INT32(levels, frontier, NULL, level, GrB_ALL, SOURCES, GrB_ALL, n, GrB_DESC_S));
        must(GrB_mxm(frontier, levels, NULL, LAGraph_any_one_bool, frontier, graph->A, GrB_DESC_RSC));
        must(GrB_Matrix_nvals(&left, frontier));
    }
    GrB_free(&frontier);
    return sum_of_matrix(&levels);
}

/* Hubs and authorities, ROUNDS rounds of both. */
static double hits(void)
{
    GrB_Vector hubs, authorities;
    must(GrB_Vector_new(&hubs, GrB_FP64, n));
    must(GrB_Vector_new(&authorities, GrB_FP64, n));
    must(GrB_Vector_assign_FP64(hubs, NULL, NULL, 1, GrB_ALL, n, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        double most = 0;
        must(GrB_mxv(authorities, NULL, NULL, LAGraph_plus_second_fp64, graph->A, hubs, GrB_DESC_T0));
        must(GrB_Vector_reduce_FP64(&most, NULL, GrB_MAX_MONOID_FP64, authorities, NULL));
        must(GrB_Vector_apply_BinaryOp2nd_FP64(authorities, NULL, NULL, GrB_DIV_FP64, authorities, most, NULL));
        must(GrB_mxv(hubs, NULL, NULL, LAGraph_plus_second_fp64, graph->A, authorities, NULL));
        must(GrB_Vector_reduce_FP64(&most, NULL, GrB_MAX_MONOID_FP64, hubs, NULL));
        must(GrB_Vector_apply_BinaryOp2nd_FP64(hubs, NULL, NULL, GrB_DIV_FP64, hubs, most, NULL));
    }
    GrB_free(&authorities);
    return round(1e6 * sum_of(&hubs)) / 1e6;
}

/* The graph of groups of eight neighbouring vertices: P' A P. */
static double coarsen(void)
{
    GrB_Matrix p, ap, c;
    const GrB_Index groups = (n + 7) / 8;
    must(GrB_Matrix_new(&p, GrB_FP64, n, groups));
    must(GrB_Matrix_new(&ap, GrB_FP64, n, groups));
    must(GrB_Matrix_new(&c, GrB_FP64, groups, groups));
    for (GrB_Index v = 0; v < n; v++)
        must(GrB_Matrix_setElement_FP64(p, 1, v, v / 8));
    must(GrB_mxm(ap, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, weights, p, NULL));
    must(GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, p, ap, GrB_DESC_T0));
    GrB_free(&p);
    GrB_free(&ap);
    return sum_of_matrix(&c);
}

/* Common neighbours of adjacent vertices over all of theirs. */
static double jaccard(void)
{
    GrB_Matrix common;
    must(GrB_Matrix_new(&common, GrB_FP64, n, n));
    must(GrB_mxm(common, graph->A, NULL, LAGraph_plus_one_fp64, graph->A, graph->A, GrB_DESC_RST1));
    return sum_of_matrix(&common);
}

/* Friends of friends that are none: A A under the complement of A. */
static double two_steps(void)
{
    GrB_Matrix reached;
    must(GrB_Matrix_new(&reached, GrB_INT64, n, n));
    must(GrB_mxm(reached, graph->A, NULL, LAGraph_plus_one_int64, graph->A, graph->A, GrB_DESC_RSC));
    return sum_of_matrix(&reached);
}

/* relu (A X W) of 32 features. */
static double layer(void)
{
    enum { WIDTH = 32 };
    GrB_Matrix x, w, ax, out;
    must(GrB_Matrix_new(&x, GrB_FP32, n, WIDTH));
    must(GrB_Matrix_new(&w, GrB_FP32, WIDTH, WIDTH));
    must(GrB_Matrix_new(&ax, GrB_FP32, n, WIDTH));
    must(GrB_Matrix_new(&out, GrB_FP32, n, WIDTH));
    must(GrB_Matrix_assign_FP32(x, NULL, NULL, .5F, GrB_ALL, n, GrB_ALL, WIDTH, NULL));
    must(GrB_Matrix_setElement_FP32(x, .25F, 1, 1));
    must(GrB_Matrix_assign_FP32(w, NULL, NULL, .125F, GrB_ALL, WIDTH, GrB_ALL, WIDTH, NULL));
    must(GrB_Matrix_setElement_FP32(w, -1, 1, 1));
    must(GrB_mxm(ax, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, weights, x, NULL));
    must(GrB_mxm(out, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, ax, w, NULL));
    must(GrB_Matrix_select_FP32(out, NULL, NULL, GrB_VALUEGT_FP32, out, 0, NULL));
    GrB_free(&x);
    GrB_free(&w);
    GrB_free(&ax);
    return floor(sum_of_matrix(&out) / 100);
}

/* ---- */

static const struct algorithm {
    const char *name;
    double (*call)(void);
} algorithms[] = {
    {"5-truss", truss}, {"all k-trusses", all_trusses}, {"clustering coefficients", clustering}, {"triangle centrality", triangle_centrality},
    {"label propagation", label_propagation}, {"strong components", strong_components}, {"spanning forest", spanning_forest},
    {"independent set", independent_set}, {"k-cores", all_cores}, {"4-core", core}, {"components LACC", lacc}, {"components FastSV5", fast_sv5},
    {"Bellman-Ford", bellman_ford}, {"graphlets", graphlets}, {"square clustering", square_clustering}, {"many searches", many_searches}, {"HITS", hits}, {"coarsening", coarsen}, {"common neighbours", jaccard}, {"two steps", two_steps},
    {"layer", layer}, {"triangles Burkhardt", burkhardt}, {"triangles Cohen", cohen}, {"triangles L L", sandia_ll}, {"triangles U U", sandia_uu},
    {"triangles U L'", sandia_ult}, {"triangle centrality 0", triangle_centrality_0}, {"triangle centrality 1", triangle_centrality_1},
    {"triangle centrality 2", triangle_centrality_2}, {"components Boruvka", boruvka}, {"plain search", plain_search}, {"parents", parents},
    {"PageRank", page_rank}, {"delta stepping", delta_stepping}, {"4-core graph", core_graph}, {"Bellman-Ford 1a", bellman_ford_1a},
    {"Bellman-Ford 2", bellman_ford_2}, {"network", network},
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static double now(clockid_t of)
{
    struct timespec t;
    clock_gettime(of, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void repeat(double (*call)(void), double seconds)
{
    double all = 0;
    for (int k = 0; k < MOST_CALLS && (k == 0 || all < seconds); k++) {
        const double cpu = now(CLOCK_PROCESS_CPUTIME_ID), start = now(CLOCK_MONOTONIC), answer = call(), took = now(CLOCK_MONOTONIC) - start;
        printf("%.6f %.6f %.9g\n", took, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, answer);
        fflush(stdout);
        all += took;
    }
}

int main(int argc, char **argv)
{
    int found = 0;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int k = 0; k < ALGORITHMS; k++)
            puts(algorithms[k].name);
        return 0;
    }
    while (argc == 4 && found < ALGORITHMS && strcmp(argv[2], algorithms[found].name) != 0)
        found++;
    if (argc != 4 || found == ALGORITHMS) {
        fprintf(stderr, "usage: algorithms GRAPH.grb NAME SECONDS, or: algorithms list\n");
        return 64;
    }
    must(LAGraph_Init(msg));
    must(LAGraph_Random_Init(msg));
    load(argv[1]);
    repeat(algorithms[found].call, atof(argv[3]));
    return 0;
}
