/* Small changes right after use: set, remove, clear, resize, dup, build, wait, swap, free and make again; options.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

static void set_elements(void)
{
    bool vector = rng_chance(35);
    object *o = vector ? pool_any_vector() : pool_any_matrix();
    GrB_Info info = GrB_SUCCESS;
    int type = o->type == T_USER ? T_USER : random_type();
    for (int k = 1 + rng_below(6); k > 0 && info == GrB_SUCCESS; k--) {
        any_value x = {.i = 0};
        GrB_Index i = (GrB_Index)rng_below(o->nrows), j = (GrB_Index)rng_below(o->ncols);
        value_put(type, &x, 0, rng_below(6));
        info = vector ? vec_set(type, o->v, &x, i) : mat_set(type, o->m, &x, i, j);
    }
    object_bound(o, (bound){3, 1, false}, type, -1);
    report(vector ? "vec_set" : "set", info, o);
}

static void remove_elements(void)
{
    bool vector = rng_chance(35);
    object *o = vector ? pool_any_vector() : pool_any_matrix();
    GrB_Info info = GrB_SUCCESS;
    object_wait(o);
    for (int k = 1 + rng_below(4); k > 0 && info == GrB_SUCCESS; k--) {
        GrB_Index i = (GrB_Index)rng_below(o->nrows), j = (GrB_Index)rng_below(o->ncols);
        info = vector ? GrB_Vector_removeElement(o->v, i) : GrB_Matrix_removeElement(o->m, i, j);
    }
    report(vector ? "vec_remove" : "remove", info, o);
}

static void get_element(void)
{
    bool vector = rng_chance(35);
    object *o = vector ? pool_any_vector() : pool_any_matrix();
    any_value x = {.i = 0};
    GrB_Index i = (GrB_Index)rng_below(o->nrows), j = (GrB_Index)rng_below(o->ncols);
    operand(o);
    GrB_Info info = vector ? vec_get(o->type, &x, o->v, i) : mat_get(o->type, &x, o->m, i, j);
    report_value("get", info, o->type, &x);
}

static void clear(void)
{
    bool vector = rng_chance(40);
    object *o = vector ? pool_any_vector() : pool_any_matrix();
    if (!vector) without_hyper(o, false);
    GrB_Info info = vector ? GrB_Vector_clear(o->v) : GrB_Matrix_clear(o->m);
    o->dense = false;
    o->b = bound_cast((bound){3, 1, false}, o->type, o->type);
    report("clear", info, o);
}

static void resize(void)
{
    bool vector = rng_chance(40);
    object *o = vector ? pool_any_vector() : pool_any_matrix();
    int nrows = pool_size(), ncols = pool_size();
    operand(o);
    if (!vector) without_hyper(o, false);
    GrB_Info info = vector ? GrB_Vector_resize(o->v, (GrB_Index)nrows)
                           : GrB_Matrix_resize(o->m, (GrB_Index)nrows, (GrB_Index)ncols);
    if (info == GrB_SUCCESS) {
        o->dense = o->dense && nrows <= o->nrows && (vector || ncols <= o->ncols);
        o->nrows = nrows;
        o->ncols = vector ? 1 : ncols;
    }
    report("resize", info, o);
}

static void duplicate(void)
{
    bool vector = rng_chance(40);
    object *A = vector ? pool_any_vector() : pool_any_matrix(), *C;
    void *copy = NULL;
    operand(A);
    C = vector ? pool_vector(A->nrows, A->type, WANT_ANY) : pool_matrix(A->nrows, A->ncols, A->type, WANT_ANY);
    GrB_Info info = vector ? GrB_Vector_dup((GrB_Vector *)&copy, A->v) : GrB_Matrix_dup((GrB_Matrix *)&copy, A->m);
    if (info == GrB_SUCCESS) {
        object_replace(C, copy);
        C->b = A->b;
        C->dense = A->dense;
        C->hyper = A->hyper;
    }
    report("dup", info, C);
}

static void build(void)
{
    object *o = pool_any_matrix();
    GrB_Index I[64], J[64];
    double storage[64];
    int n = rng_below(64), accum = o->type == T_BOOL ? OP_LOR : rng_chance(70) ? OP_PLUS : OP_MAX;
    void *x = storage;
    if (o->type == T_USER) return report_text("skip", GrB_SUCCESS);
    for (int k = 0; k < n; k++) {
        I[k] = (GrB_Index)rng_below(o->nrows);
        J[k] = (GrB_Index)rng_below(o->ncols);
        value_put(o->type, x, k, rng_below(7));
    }
    without_hyper(o, false);
    if (rng_chance(85)) GrB_Matrix_clear(o->m); /* otherwise: output not empty, unless it is */
    GrB_Info info = mat_build(o->type, o->m, I, J, x, (GrB_Index)n, binary_op(accum, o->type));
    o->dense = false;
    object_bound(o, (bound){10, 1, false}, T_FP64, -1);
    report("build", info, o);
}

static void wait_for(void)
{
    object *o = rng_chance(30) ? pool_any_vector() : pool_any_matrix();
    GrB_WaitMode mode = rng_chance(50) ? GrB_COMPLETE : GrB_MATERIALIZE;
    GrB_Info info = o->vector ? GrB_Vector_wait(o->v, mode) : GrB_Matrix_wait(o->m, mode);
    report("wait", info, o);
}

/* The pattern of iterative algorithms: the two take each other's place. */
static void swap(void)
{
    bool vector = rng_chance(50);
    object *A = vector ? pool_any_vector() : pool_any_matrix(), *B = vector ? pool_any_vector() : pool_any_matrix();
    object saved = *A;
    *A = *B;
    *B = saved;
    report("swap", GrB_SUCCESS, A);
}

/* The address of a freed handle is soon used again. */
static void free_and_make(void)
{
    object *o = pool_any_matrix();
    int nrows = o->nrows, ncols = o->ncols, type = o->type;
    object_free(o);
    *o = (object){.nrows = nrows, .ncols = ncols, .type = type};
    o->m = make_matrix(nrows, ncols, type, WANT_ANY, &o->b, &o->hyper);
    report("remake", GrB_SUCCESS, o);
}

static void sizes(void)
{
    object *o = pool_any_matrix();
    GrB_Index n = 0;
    bool iso;
    size_t bytes;
    GrB_Info info = GrB_Matrix_nvals(&n, o->m);
    report_text("iso", GxB_Matrix_iso(&iso, o->m));
    report_text("memory", GxB_Matrix_memoryUsage(&bytes, o->m));
    report_value("nvals", info, T_UINT64, &n);
}

void op_mutate(void)
{
    static void (*const ops[])(void) = {set_elements, set_elements, set_elements, remove_elements, get_element, clear,
                                        resize, duplicate, build, wait_for, swap, free_and_make, sizes};
    ops[rng_below(13)]();
}

/* ---- options ---- */

static void global_option(void)
{
    switch (rng_below(4)) {
        case 0: report_text("nthreads", GxB_Global_Option_set(GxB_NTHREADS, 1 + rng_below(3))); break;
        case 1: report_text("chunk", GxB_Global_Option_set(GxB_CHUNK, (double)(1 + 1000 * rng_below(60)))); break;
        case 2:
            report_text("format", GxB_Global_Option_set(GxB_FORMAT, rng_chance(50) ? GxB_BY_ROW : GxB_BY_COL));
            break;
        default: report_text("burble", GxB_Global_Option_set(GxB_BURBLE, false)); break;
    }
}

static void matrix_option(object *o)
{
    static const int controls[] = {GxB_SPARSE, GxB_BITMAP, GxB_FULL | GxB_BITMAP, GxB_SPARSE | GxB_BITMAP, GxB_FULL,
                                   GxB_SPARSE | GxB_FULL};
    GrB_Info info;
    int value = 0;
    without_hyper(o, false);
    if (rng_chance(40)) {
        info = GxB_Matrix_Option_set(o->m, GxB_FORMAT, rng_chance(50) ? GxB_BY_ROW : GxB_BY_COL);
        GxB_Matrix_Option_get(o->m, GxB_FORMAT, &value);
    } else {
        info = GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, controls[rng_below(6)]);
        GxB_Matrix_Option_get(o->m, GxB_SPARSITY_CONTROL, &value);
    }
    report_value("option", info, T_INT32, &value);
}

void op_options(void)
{
    static const int controls[] = {GxB_SPARSE, GxB_BITMAP, GxB_FULL | GxB_BITMAP, GxB_AUTO_SPARSITY};
    object *u = pool_any_vector();
    if (rng_chance(30)) global_option();
    else if (rng_chance(70)) matrix_option(pool_any_matrix());
    else report("vec_option", GxB_Vector_Option_set(u->v, GxB_SPARSITY_CONTROL, controls[rng_below(4)]), u);
}
