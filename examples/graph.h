/* Input graphs of the example programs and benchmarks: embedded, generated or read from a file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLES_GRAPH_H
#define EXAMPLES_GRAPH_H

#include <GraphBLAS.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct graph {
    GrB_Index n;     /* vertices */
    GrB_Index edges; /* undirected; A has twice as many entries */
    GrB_Matrix A;    /* n x n, GrB_BOOL, all true, symmetric, empty diagonal, held by row */
} graph;

/* input: "karate", "rmat:<scale>[:<edge factor>]" (default factor 16), "communities:<vertices>[:<edge factor>]" (fifty, with hubs), the
 * path of a Matrix Market file (.mtx, .mtx.gz), whose values and direction are dropped, or of a file of graph_write (.grb).  Call after
 * GrB_init.  False: said why on stderr. */
bool graph_open(graph *g, const char *input);
/* For graph_open by the same version of GraphBLAS: opens at once.  False: errno may say why. */
bool graph_write(const graph *g, const char *path);
void graph_close(graph *g);

/* Uniform 64-bit number of (seed, index); the same everywhere. */
uint64_t graph_random(uint64_t seed, uint64_t index);

/* rows x columns, type GrB_FP32, every entry present, multiples of 1/8 in [-1, 1]: sums stay exact in any order. */
GrB_Info graph_dense(GrB_Matrix *X, GrB_Index rows, GrB_Index columns, uint64_t seed);

/* New n x n matrix of lengths 1 to 255 (INT32) at the places of A, symmetric, held by row. */
GrB_Info graph_weights(GrB_Matrix *W, const graph *g);

/* New vector of n counts (INT64, full): entries in each row of A. */
GrB_Info graph_degrees(GrB_Vector *degrees, const GrB_Matrix A);

/* New array (malloc) of `count` vertices that have an edge, spread over the graph. */
GrB_Info graph_sources(GrB_Index **sources, const graph *g, GrB_Index count);

/* The vertex of highest degree, the first among equals. */
GrB_Info graph_hub(GrB_Index *hub, const graph *g);

/* New S = A with its vertices renumbered by ascending degree: short rows in the lower triangle. */
GrB_Info graph_sort_by_degree(GrB_Matrix *S, const graph *g);

#endif
