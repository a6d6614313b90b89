/* Connected components: every vertex gets the smallest number of a vertex that it is connected with, UINT64.  Forms: "label" (label
 * propagation: the smallest label among the neighbours, in every round), "fastsv" (Zhang, Azad, Hu 2020: trees that are hooked and
 * cut short).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static const char *const forms[] = {"label", "fastsv", NULL};

/* C = where a and b differ; does anything? */
static bool differ(GrB_Vector C, const GrB_Vector a, const GrB_Vector b)
{
    bool any = false;
    TRY(GrB_Vector_eWiseMult_BinaryOp(C, NULL, NULL, GrB_NE_UINT64, a, b, NULL));
    TRY(GrB_Vector_reduce_BOOL(&any, NULL, GrB_LOR_MONOID_BOOL, C, NULL));
    return any;
}

/* Returns the number of rounds: the last one changes nothing. */
static int spread_labels(GrB_Vector label, const graph *g)
{
    GrB_Vector before, changed;
    int rounds = 0;
    bool any = true;
    TRY(GrB_Vector_new(&changed, GrB_BOOL, g->n));
    for (; any; rounds++) {
        TRY(GrB_Vector_dup(&before, label));
        TRY(GrB_mxv(label, NULL, GrB_MIN_UINT64, GrB_MIN_SECOND_SEMIRING_UINT64, g->A, before, NULL));
        any = differ(changed, label, before);
        TRY(GrB_Vector_free(&before));
    }
    TRY(GrB_Vector_free(&changed));
    return rounds;
}

typedef struct forest {
    GrB_Index n, *parents;          /* parents: those of `parent` as an array */
    GrB_Vector parent, grandparent; /* full */
    GrB_Vector lowest;              /* smallest grandparent of a neighbour */
    GrB_Vector hooked;
} forest;

static void read_parents(forest *f)
{
    GrB_Index count = f->n;
    TRY(GrB_Vector_extractTuples_UINT64(NULL, f->parents, &count, f->parent));
}

/* parent [parent [v]] = min with lowest [v] */
static void hook_parents(forest *f)
{
    GrB_Index count = f->n;
    uint64_t *x = malloc((f->n + 1) * sizeof *x);
    if (!x) program_check(GrB_OUT_OF_MEMORY, "malloc", __FILE__, __LINE__);
    TRY(GrB_Vector_extractTuples_UINT64(NULL, x, &count, f->lowest));
    TRY(GrB_Vector_clear(f->hooked));
    TRY(GrB_Vector_build_UINT64(f->hooked, f->parents, x, count, GrB_MIN_UINT64));
    TRY(GrB_Vector_assign(f->parent, f->hooked, GrB_MIN_UINT64, f->hooked, GrB_ALL, f->n, GrB_DESC_S));
    free(x);
}

/* Returns the number of rounds. */
static int fastsv(GrB_Vector label, const graph *g)
{
    forest f = {.n = g->n, .parents = malloc((g->n + 1) * sizeof *f.parents), .parent = label};
    GrB_Vector before, changed;
    int rounds = 0;
    bool any = true;
    if (!f.parents) program_check(GrB_OUT_OF_MEMORY, "malloc", __FILE__, __LINE__);
    TRY(GrB_Vector_dup(&f.grandparent, label));
    TRY(GrB_Vector_dup(&f.lowest, label));
    TRY(GrB_Vector_dup(&before, label));
    TRY(GrB_Vector_new(&f.hooked, GrB_UINT64, g->n));
    TRY(GrB_Vector_new(&changed, GrB_BOOL, g->n));
    for (; any; rounds++) {
        TRY(GrB_mxv(f.lowest, NULL, GrB_MIN_UINT64, GrB_MIN_SECOND_SEMIRING_UINT64, g->A, f.grandparent, NULL));
        read_parents(&f);
        hook_parents(&f);
        TRY(GrB_Vector_eWiseAdd_BinaryOp(label, NULL, GrB_MIN_UINT64, GrB_MIN_UINT64, f.lowest, f.grandparent, NULL));
        read_parents(&f);
        TRY(GrB_Vector_extract(f.grandparent, NULL, NULL, label, f.parents, g->n, NULL));
        any = differ(changed, f.grandparent, before);
        TRY(GrB_Vector_assign(before, NULL, NULL, f.grandparent, GrB_ALL, g->n, NULL));
    }
    TRY(GrB_Vector_free(&f.grandparent));
    TRY(GrB_Vector_free(&f.lowest));
    TRY(GrB_Vector_free(&f.hooked));
    TRY(GrB_Vector_free(&before));
    TRY(GrB_Vector_free(&changed));
    free(f.parents);
    return rounds;
}

/* Vertices that have their own number. */
static int64_t count_components(const GrB_Vector label, const GrB_Vector start, GrB_Index n)
{
    GrB_Vector same;
    int64_t count = 0;
    TRY(GrB_Vector_new(&same, GrB_BOOL, n));
    TRY(GrB_Vector_eWiseMult_BinaryOp(same, NULL, NULL, GrB_EQ_UINT64, label, start, NULL));
    TRY(GrB_Vector_reduce_INT64(&count, NULL, GrB_PLUS_MONOID_INT64, same, NULL));
    TRY(GrB_Vector_free(&same));
    return count;
}

int main(int argc, char **argv)
{
    program p = {.doc = "Connected components: forms label (default), fastsv", .form = "label", .forms = forms};
    program_start(&p, argc, argv);
    GrB_Vector start, label;
    int rounds = 0;
    TRY(GrB_Vector_new(&start, GrB_UINT64, p.g.n));
    TRY(GrB_Vector_assign_UINT64(start, NULL, NULL, 0, GrB_ALL, p.g.n, NULL));
    TRY(GrB_Vector_apply_IndexOp_INT64(start, NULL, NULL, GrB_ROWINDEX_INT64, start, 0, NULL));
    TRY(GrB_Vector_new(&label, GrB_UINT64, p.g.n));
    while (program_turn(&p)) {
        program_step(&p);
        TRY(GrB_Vector_assign(label, NULL, NULL, start, GrB_ALL, p.g.n, NULL));
        rounds = strcmp(p.form, "label") == 0 ? spread_labels(label, &p.g) : fastsv(label, &p.g);
        program_step_vector(&p, "components", label);
    }
    printf("components %lld rounds %d\n", (long long)count_components(label, start, p.g.n), rounds);
    TRY(GrB_Vector_free(&start));
    TRY(GrB_Vector_free(&label));
    return program_end(&p);
}
