/* What every call of a random case has: output, mask, accumulator, descriptor.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "case.h"

GrB_Descriptor case_descriptor(const case_output *o)
{
    return descriptor(o->replace, o->comp, o->structural, o->t0, o->t1);
}

GrB_Matrix case_matrix_of(const case_object *o)
{
    return o ? o->m : NULL;
}

GrB_Vector case_vector_of(const case_object *o)
{
    return o ? o->v : NULL;
}

int case_highest(int a, int b)
{
    return a > b ? a : b;
}

int case_level_of(int op, int a, int b)
{
    enum { LEVEL_OF_QUOTIENTS = 9 };
    if (op == OP_DIV || op == OP_RDIV) return LEVEL_OF_QUOTIENTS;
    return op == OP_TIMES ? a + b + 1 : case_highest(a, b);
}

void case_draw_flags(case_output *o)
{
    o->t0 = rng_chance(25);
    o->t1 = rng_chance(25);
    o->structural = rng_chance(55);
    o->replace = rng_chance(25);
    o->comp = rng_chance(25);
}

case_object *case_shaped(one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level)
{
    return vector ? case_vector(c, nrows, most_level) : case_matrix(c, nrows, ncols, most_level);
}

/* Whether -0 lets an entry through depends on which kernel of 7.4.0 reads the mask: it becomes 0. */
static void make_zero_positive(const case_object *M)
{
    any_value zero = {.i = 0};
    if (!is_float(M->type) || !M->written) return;
    if (M->vector) vec_bind2(M->type, M->v, NULL, NULL, binary_op(OP_PLUS, M->type), M->v, &zero, NULL);
    else mat_bind2(M->type, M->m, NULL, NULL, binary_op(OP_PLUS, M->type), M->m, &zero, NULL);
}

/* 7.4.0 puts a false mask of one value aside before it looks at its size; without entries it may be one by what it had before. */
static bool is_put_aside(const case_output *o)
{
    GrB_Index n = 1;
    if (o->M && !o->structural && o->M->nrows != o->C->nrows) GrB_Matrix_nvals(&n, o->M->m);
    return n == 0;
}

void case_care_for_mask(case_output *o)
{
    if (o->M && !o->structural) make_zero_positive(o->M);
    if (o->M && o->accum && !o->M->sparse && !o->comp) o->replace = true; /* 7.4.0 may crash in C<M> += T with a full mask */
}

int case_operator(void)
{
    return case_is_odd() && rng_chance(40) ? OP_ANY + 1 + rng_below(OP_COUNT - OP_ANY - 1) : rng_below(OP_ANY);
}

bool case_draw_output(case_output *o, one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level)
{
    static const int accums[] = {OP_PLUS, OP_PLUS, OP_PLUS, OP_MIN, OP_MAX, OP_SECOND, OP_FIRST, OP_TIMES, OP_MINUS, OP_PAIR};
    o->accum_op = rng_chance(30) ? accums[rng_below(10)] : -1;
    printf(" C=");
    o->C = case_shaped(c, vector, nrows + rng_chance(2), ncols, o->accum_op < 0 ? ANY_LEVEL : most_level);
    if (!o->C) return false;
    const int type = rng_chance(75) ? o->C->type : case_type(c);
    if (o->accum_op >= 0 && case_is_odd() && rng_chance(20)) o->accum_op = case_operator();
    if (o->accum_op >= 0) o->accum = binary_op(o->accum_op, type);
    if (o->accum_op >= 0) printf(" accum %d.t%d", o->accum_op, type);
    if (rng_chance(55)) {
        printf(" M=");
        o->M = case_shaped(c, vector, nrows, ncols, ANY_LEVEL);
    }
    case_care_for_mask(o);
    if (is_put_aside(o)) o->M = NULL;
    printf(" %s%s%s%s%s", o->replace ? "R" : "", o->comp ? "C" : "", o->structural ? "S" : "", o->t0 ? "T0" : "", o->t1 ? "T1" : "");
    return true;
}

/* Of one entry or none it may be iso or not. */
static bool has_one_value(const case_object *o)
{
    bool iso = false;
    GrB_Index n = 0;
    GxB_Matrix_iso(&iso, o->m);
    if (!iso) GrB_Matrix_nvals(&n, o->m);
    return iso || n <= 1;
}

void case_keep_settings(const case_output *o)
{
    if (!o->M || o->M == o->C || o->comp || o->accum) return;
    if (o->structural || has_one_value(o->M)) case_share_settings(o->C, o->M);
}

void case_written(const case_output *o, int level)
{
    o->C->sparse = o->C->iso = false;
    o->C->empties &= o->accum || o->M; /* C may be as it was */
    o->C->written = true;
    o->C->level = case_highest(case_level_of(o->accum_op, o->C->level, 0), level);
}

case_object *case_turned(one_case *c, bool vector, bool transposed, int64_t m, int64_t n)
{
    return vector ? case_vector(c, m, ANY_LEVEL) : case_matrix(c, transposed ? n : m, transposed ? m : n, ANY_LEVEL);
}

void case_sort(const case_object *A)
{
    if (A->vector) GrB_Vector_wait(A->v, GrB_MATERIALIZE);
    else GrB_Matrix_wait(A->m, GrB_MATERIALIZE);
}

void case_usual_output(const case_output *o)
{
    bool iso = false;
    if (o->accum) return;
    case_usual_settings(o->C);
    GxB_Matrix_iso(&iso, o->C->m);
    if (iso && o->C->vector) GrB_Vector_clear(o->C->v);
    else if (iso) GrB_Matrix_clear(o->C->m);
}

bool case_assigns_too_much(const case_output *o, int64_t places)
{
    enum { MOST_PLACES = 1 << 20 };
    return places > MOST_PLACES && (!o->M || o->comp);
}

int case_draw_monoid(const one_case *c, int type, int *mon)
{
    static const int logical[] = {MON_LOR, MON_LAND, MON_LXOR};
    *mon = type == T_BOOL ? logical[rng_below(3)] : c->special ? MON_PLUS : rng_below(3);
    if (c->special && *mon != MON_PLUS) return -1;
    return *mon == MON_PLUS && is_float(type) ? (type == T_FP64 ? 1 : 0) : ANY_LEVEL;
}

int case_type_to_select(const case_object *A, int type)
{
    return GxB_IMPLEMENTATION_MAJOR == 9 ? A->type : type;
}
