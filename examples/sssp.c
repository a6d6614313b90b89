/* Lengths of the shortest paths from the vertex of highest degree, edges of length 1 to 255, INT32.  Forms: "delta" (delta-stepping, Meyer
 * and Sanders 2003: buckets of paths, the edges in them light or heavy), "bellman" (Bellman-Ford: every edge in every round).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

static const char *const forms[] = {"delta", "bellman", NULL};
enum { UNREACHED = INT32_MAX / 2 }; /* plus a length still an INT32 */

typedef struct lengths {
    GrB_Index n;
    GrB_Matrix light, heavy; /* edges up to delta, and longer ones */
    GrB_Vector path;         /* full: what is known so far */
    GrB_Vector bucket;       /* paths of the running bucket that are new */
    GrB_Vector settled;      /* where the bucket has had paths */
    GrB_Vector reach;        /* where paths may still be in a bucket to come */
    GrB_Vector request, less;
} lengths;

static GrB_Index entries_of(const GrB_Vector v)
{
    GrB_Index entries;
    TRY(GrB_Vector_nvals(&entries, v));
    return entries;
}

static void vector_new(GrB_Vector *v, GrB_Type type, GrB_Index n, int sparsity)
{
    TRY(GrB_Vector_new(v, type, n));
    TRY(GxB_Vector_Option_set(*v, GxB_SPARSITY_CONTROL, sparsity));
}

static void lengths_new(lengths *l, const GrB_Matrix W, GrB_Index n, int delta, GrB_Index source)
{
    l->n = n;
    TRY(GrB_Matrix_new(&l->light, GrB_INT32, n, n));
    TRY(GrB_Matrix_new(&l->heavy, GrB_INT32, n, n));
    TRY(GrB_Matrix_select_INT32(l->light, NULL, NULL, GrB_VALUELE_INT32, W, delta, NULL));
    TRY(GrB_Matrix_select_INT32(l->heavy, NULL, NULL, GrB_VALUEGT_INT32, W, delta, NULL));
    TRY(GrB_Vector_new(&l->path, GrB_INT32, n));
    vector_new(&l->bucket, GrB_INT32, n, GxB_SPARSE);
    vector_new(&l->settled, GrB_BOOL, n, GxB_SPARSE);
    vector_new(&l->reach, GrB_BOOL, n, GxB_BITMAP);
    vector_new(&l->request, GrB_INT32, n, GxB_SPARSE);
    vector_new(&l->less, GrB_BOOL, n, GxB_SPARSE);
    TRY(GrB_Vector_assign_INT32(l->path, NULL, NULL, UNREACHED, GrB_ALL, n, NULL));
    TRY(GrB_Vector_setElement_INT32(l->path, 0, source));
    TRY(GrB_Vector_setElement_BOOL(l->reach, true, source));
}

static void lengths_free(lengths *l)
{
    TRY(GrB_Matrix_free(&l->light));
    TRY(GrB_Matrix_free(&l->heavy));
    TRY(GrB_Vector_free(&l->path));
    TRY(GrB_Vector_free(&l->bucket));
    TRY(GrB_Vector_free(&l->settled));
    TRY(GrB_Vector_free(&l->reach));
    TRY(GrB_Vector_free(&l->request));
    TRY(GrB_Vector_free(&l->less));
}

/* request = paths one edge longer than those of the bucket; less = where they are shorter than what is known. */
static void relax(lengths *l, const GrB_Matrix edges)
{
    TRY(GrB_vxm(l->request, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, l->bucket, edges, NULL));
    TRY(GrB_Vector_eWiseMult_BinaryOp(l->less, NULL, NULL, GrB_LT_INT32, l->request, l->path, NULL));
    TRY(GrB_Vector_select_BOOL(l->less, NULL, NULL, GrB_VALUEEQ_BOOL, l->less, true, NULL));
    TRY(GrB_Vector_assign_BOOL(l->reach, l->less, NULL, true, GrB_ALL, l->n, GrB_DESC_S));
}

/* Paths shorter than `limit`, over light edges until no new one comes into the bucket, then once over heavy ones. */
static void empty_bucket(lengths *l, int32_t limit)
{
    TRY(GrB_Vector_clear(l->settled));
    TRY(GrB_Vector_assign(l->bucket, l->reach, NULL, l->path, GrB_ALL, l->n, GrB_DESC_RS));
    TRY(GrB_Vector_select_INT32(l->bucket, NULL, NULL, GrB_VALUELT_INT32, l->bucket, limit, NULL));
    while (entries_of(l->bucket) > 0) {
        TRY(GrB_Vector_assign_BOOL(l->settled, l->bucket, NULL, true, GrB_ALL, l->n, GrB_DESC_S));
        relax(l, l->light);
        TRY(GrB_Vector_select_INT32(l->bucket, l->less, NULL, GrB_VALUELT_INT32, l->request, limit, GrB_DESC_RS));
        TRY(GrB_Vector_assign(l->path, l->less, NULL, l->request, GrB_ALL, l->n, GrB_DESC_S));
    }
    TRY(GrB_Vector_assign(l->bucket, l->settled, NULL, l->path, GrB_ALL, l->n, GrB_DESC_RS));
    relax(l, l->heavy);
    TRY(GrB_Vector_assign(l->path, l->less, NULL, l->request, GrB_ALL, l->n, GrB_DESC_S));
}

/* Returns the number of buckets. */
static int by_buckets(lengths *l, int delta)
{
    GrB_Vector nothing;
    int buckets = 0;
    TRY(GrB_Vector_new(&nothing, GrB_BOOL, l->n));
    for (; entries_of(l->reach) > 0; buckets++) {
        empty_bucket(l, (buckets + 1) * delta);
        TRY(GrB_Vector_assign(l->reach, l->settled, NULL, nothing, GrB_ALL, l->n, GrB_DESC_S));
    }
    TRY(GrB_Vector_free(&nothing));
    return buckets;
}

/* Returns the number of rounds: the last one finds nothing shorter. */
static int bellman(GrB_Vector path, const GrB_Matrix W, GrB_Index n, GrB_Index source)
{
    GrB_Vector before, changed;
    bool any = true;
    int rounds = 0;
    TRY(GrB_Vector_new(&changed, GrB_BOOL, n));
    TRY(GrB_Vector_assign_INT32(path, NULL, NULL, UNREACHED, GrB_ALL, n, NULL));
    TRY(GrB_Vector_setElement_INT32(path, 0, source));
    for (; any; rounds++) {
        TRY(GrB_Vector_dup(&before, path));
        TRY(GrB_mxv(path, NULL, GrB_MIN_INT32, GrB_MIN_PLUS_SEMIRING_INT32, W, before, NULL)); /* W' = W */
        TRY(GrB_Vector_eWiseMult_BinaryOp(changed, NULL, NULL, GrB_NE_INT32, path, before, NULL));
        TRY(GrB_Vector_reduce_BOOL(&any, NULL, GrB_LOR_MONOID_BOOL, changed, NULL));
        TRY(GrB_Vector_free(&before));
    }
    TRY(GrB_Vector_free(&changed));
    return rounds;
}

/* Where a path ends, its length. */
static void drop_unreached(GrB_Vector path)
{
    TRY(GrB_Vector_select_INT32(path, NULL, NULL, GrB_VALUELT_INT32, path, UNREACHED, NULL));
}

int main(int argc, char **argv)
{
    program p = {.doc = "Shortest paths: forms delta (default), bellman", .form = "delta", .forms = forms, .delta = 32};
    program_start(&p, argc, argv);
    lengths l;
    GrB_Matrix W;
    GrB_Index source, reached = 0;
    int rounds = 0;
    TRY(graph_weights(&W, &p.g));
    TRY(graph_hub(&source, &p.g));
    while (program_turn(&p)) {
        lengths_new(&l, W, p.g.n, p.delta, source);
        program_step(&p);
        rounds = strcmp(p.form, "delta") == 0 ? by_buckets(&l, p.delta) : bellman(l.path, W, p.g.n, source);
        drop_unreached(l.path);
        program_step_vector(&p, "sssp", l.path);
        reached = entries_of(l.path);
        lengths_free(&l);
    }
    printf("source %llu reached %llu rounds %d\n", (unsigned long long)source, (unsigned long long)reached, rounds);
    TRY(GrB_Matrix_free(&W));
    return program_end(&p);
}
