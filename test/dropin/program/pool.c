/* The objects of a program: how they are made, found again, and kept within what sums exactly.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

pool the_pool;

static const bound small_bound = {3, 1, false};

int pool_size(void)
{
    return the_pool.sizes[rng_below(POOL_SIZES)];
}

int random_type(void)
{
    static const int likely[] = {T_FP32, T_FP64, T_INT32, T_INT64, T_BOOL, T_UINT32, T_UINT64};
    return rng_chance(75) ? likely[rng_below(7)] : rng_below(NTYPES);
}

/* ---- bounds ---- */

bool bound_exact(bound b, int type)
{
    return b.mag + b.frac <= (type == T_FP32 ? 24 : 53);
}

static bound bound_limit(bound b)
{
    return b.mag > 100 || b.frac > 100 ? (bound){201, 201, true} : b;
}

bound bound_cast(bound b, int from, int to)
{
    int bits = 8 * (int)type_size(to);
    bool to_unsigned = to >= T_UINT8 && to <= T_UINT64;
    if (to == T_BOOL) return (bound){1, 0, false};
    if (to == T_USER) return small_bound;
    if (is_float(to)) return bound_limit(b);
    if (b.special || b.mag > bits - 1 || (to_unsigned && from != to && from != T_BOOL)) return (bound){bits, 0, false};
    return (bound){b.mag, 0, false};
}

static bound bound_either(bound x, bound y)
{
    return (bound){x.mag > y.mag ? x.mag : y.mag, x.frac > y.frac ? x.frac : y.frac, x.special || y.special};
}

void object_bound(object *o, bound t, int from, int accum)
{
    bound c = bound_cast(t, from, o->type);
    if (accum >= 0) c = bound_either(c, bound_cast(op_bound(accum, o->b, c), T_FP64, o->type));
    o->b = bound_either(o->b, c);
}

/* ---- making objects ---- */

static int random_value(int type)
{
    int v = rng_below(13) - 6;
    return type >= T_UINT8 && type <= T_UINT64 ? abs(v) : v;
}

/* One NaN or infinity; false: not in this type. */
static bool poison(int type, void *x, int64_t n)
{
    double special[] = {INFINITY, -INFINITY, NAN};
    double s = special[rng_below(3)];
    if (n == 0 || !is_float(type)) return false;
    int64_t p = rng_below((int)n);
    if (type == T_FP32) ((float *)x)[p] = (float)s;
    if (type == T_FP64) ((double *)x)[p] = s;
    return true;
}

static void *random_values(int type, int64_t n, bool iso, bound *b)
{
    void *x = calloc((size_t)n + 1, type_size(type));
    int one = random_value(type);
    for (int64_t p = 0; p < n; p++) value_put(type, x, p, iso ? one : random_value(type));
    *b = bound_cast(small_bound, type, type);
    if (!iso && rng_chance(4)) b->special = poison(type, x, n);
    return x;
}

static int more_iso;

void pool_make_iso(int percent)
{
    more_iso = percent;
}

static bool random_iso(int percent)
{
    return rng_chance(percent + more_iso);
}

static int64_t random_density(int64_t cells, int want)
{
    static const int percent[] = {0, 2, 5, 10, 20, 30, 50};
    int p = want == WANT_DENSE ? 100 : percent[rng_below(7)];
    if (want == WANT_ANY && rng_chance(10)) p = 100;
    if (want == WANT_DENSE && rng_chance(30)) p = 60 + rng_below(40);
    if (cells > 20000 && p < 100) p = p > 10 ? 10 : p;
    return cells * p / 100;
}

/* n distinct places of `cells`, ascending (selection sampling). */
static GrB_Index *random_places(int64_t cells, int64_t n)
{
    GrB_Index *place = malloc(((size_t)n + 1) * sizeof *place);
    for (int64_t c = 0, k = 0; c < cells && k < n; c++)
        if ((int64_t)(rng_next() % (uint64_t)(cells - c)) < n - k) place[k++] = (GrB_Index)c;
    return place;
}

static void set_format(GrB_Matrix A, int want, bool *hyper, int64_t n)
{
    *hyper = false;
    if (rng_chance(35)) GxB_Matrix_Option_set(A, GxB_FORMAT, rng_chance(70) ? GxB_BY_COL : GxB_BY_ROW);
    if (want == WANT_SPARSE && the_pool.allow_hyper && n > 0 && rng_chance(20)) {
        GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_HYPERSPARSE);
        *hyper = true;
    } else if (want == WANT_SPARSE && rng_chance(50)) {
        GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    } else if (want == WANT_DENSE) {
        GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, rng_chance(30) ? GxB_BITMAP : GxB_FULL | GxB_BITMAP);
    }
}

static void add_pending(GrB_Matrix A, int type, int nrows, int ncols)
{
    for (int k = 1 + rng_below(4); k > 0; k--) {
        any_value x = {.i = 0};
        value_put(type, &x, 0, random_value(type));
        mat_set(type, A, &x, (GrB_Index)rng_below(nrows), (GrB_Index)rng_below(ncols));
    }
}

GrB_Matrix make_matrix(int nrows, int ncols, int type, int want, bound *b, bool *hyper)
{
    GrB_Matrix A = NULL;
    int64_t cells = (int64_t)nrows * ncols, n = random_density(cells, want);
    GrB_Index *place = random_places(cells, n), *column = malloc(((size_t)n + 1) * sizeof *column);
    void *x = random_values(type, n, random_iso(25), b);
    for (int64_t k = 0; k < n; k++) {
        column[k] = place[k] % (GrB_Index)ncols;
        place[k] /= (GrB_Index)ncols;
    }
    GrB_Matrix_new(&A, type_handle(type), (GrB_Index)nrows, (GrB_Index)ncols);
    mat_build(type, A, place, column, x, (GrB_Index)n, binary_op(OP_PLUS, type));
    set_format(A, want, hyper, n);
    if (want != WANT_DENSE && !*hyper && rng_chance(15)) add_pending(A, type, nrows, ncols);
    free(place);
    free(column);
    free(x);
    return A;
}

GrB_Vector make_vector(int size, int type, int want, bound *b)
{
    GrB_Vector u = NULL;
    int64_t n = random_density(size, want);
    GrB_Index *place = random_places(size, n);
    void *x = random_values(type, n, random_iso(20), b);
    GrB_Vector_new(&u, type_handle(type), (GrB_Index)size);
    vec_build(type, u, place, x, (GrB_Index)n, binary_op(OP_PLUS, type));
    if (want == WANT_DENSE && rng_chance(40)) GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_FULL | GxB_BITMAP);
    if (want == WANT_SPARSE) GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    free(place);
    free(x);
    return u;
}

static void remake_matrix(object *o, int nrows, int ncols, int type, int want)
{
    object_free(o);
    *o = (object){.nrows = nrows, .ncols = ncols, .type = type, .dense = want == WANT_DENSE};
    o->m = make_matrix(nrows, ncols, type, want, &o->b, &o->hyper);
}

static void remake_vector(object *o, int size, int type, int want)
{
    object_free(o);
    *o = (object){.vector = true, .nrows = size, .ncols = 1, .type = type, .dense = want == WANT_DENSE};
    o->v = make_vector(size, type, want, &o->b);
}

/* ---- the pool ---- */

void pool_init(bool large, bool allow_hyper)
{
    static const int usual[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 60};
    static const int big[] = {64, 100, 128, 200, 257, 300};
    memset(&the_pool, 0, sizeof the_pool);
    the_pool.large = large;
    the_pool.allow_hyper = allow_hyper;
    the_pool.all = GrB_ALL;
    for (int i = 0; i < POOL_SIZES; i++)
        the_pool.sizes[i] = large && i < 2 ? big[rng_below(6)] : usual[rng_below(17)];
    for (int i = 0; i < POOL_MATRICES; i++) {
        int type = rng_chance(92) ? random_type() : T_USER;
        remake_matrix(&the_pool.matrices[i], pool_size(), pool_size(), type, rng_below(3));
    }
    for (int i = 0; i < POOL_VECTORS; i++)
        remake_vector(&the_pool.vectors[i], pool_size(), random_type(), rng_below(3));
}

void object_free(object *o)
{
    if (o->vector) GrB_Vector_free(&o->v);
    else GrB_Matrix_free(&o->m);
}

void pool_free(void)
{
    for (int i = 0; i < POOL_MATRICES; i++) object_free(&the_pool.matrices[i]);
    for (int i = 0; i < POOL_VECTORS; i++) object_free(&the_pool.vectors[i]);
}

void pool_release(void)
{
    for (int i = 0; i < POOL_MATRICES; i++) the_pool.matrices[i].busy = 0;
    for (int i = 0; i < POOL_VECTORS; i++) the_pool.vectors[i].busy = 0;
}

static bool fits(const object *o, int nrows, int ncols, int type, int want)
{
    if (o->nrows != nrows || o->ncols != ncols) return false;
    if (type >= 0 ? o->type != type : o->type == T_USER) return false;
    return want == WANT_ANY || o->dense == (want == WANT_DENSE);
}

/* One that fits, starting anywhere; else an idle slot (there are more slots than operands). */
static object *find(object *objects, int count, int nrows, int ncols, int type, int want, bool *fitting)
{
    int start = rng_below(count);
    for (int i = 0; i < count; i++) {
        object *o = &objects[(start + i) % count];
        *fitting = fits(o, nrows, ncols, type, want);
        if (*fitting) return o;
    }
    while (objects[start].busy) start = (start + 1) % count;
    return &objects[start];
}

object *pool_matrix(int nrows, int ncols, int type, int want)
{
    bool fitting = false;
    object *o = find(the_pool.matrices, POOL_MATRICES, nrows, ncols, type, want, &fitting);
    if (!fitting || (!o->busy && rng_chance(10)))
        remake_matrix(o, nrows, ncols, type >= 0 ? type : random_type(), want);
    o->busy++;
    return o;
}

object *pool_vector(int size, int type, int want)
{
    bool fitting = false;
    object *o = find(the_pool.vectors, POOL_VECTORS, size, 1, type, want, &fitting);
    if (!fitting || (!o->busy && rng_chance(10))) remake_vector(o, size, type >= 0 ? type : random_type(), want);
    o->busy++;
    return o;
}

object *pool_any_matrix(void)
{
    object *o = &the_pool.matrices[rng_below(POOL_MATRICES)];
    o->busy++;
    return o;
}

object *pool_any_vector(void)
{
    object *o = &the_pool.vectors[rng_below(POOL_VECTORS)];
    o->busy++;
    return o;
}

void object_replace(object *o, void *handle)
{
    object_free(o);
    o->handle = handle;
    o->failed = false;
}

/* ---- care before use: 7.4.0 has faults of its own ---- */

GrB_Info object_wait(object *o)
{
    return o->vector ? GrB_Vector_wait(o->v, GrB_MATERIALIZE) : GrB_Matrix_wait(o->m, GrB_MATERIALIZE);
}

void operand(object *o)
{
    if (o && o->failed) object_wait(o);
    if (o) o->failed = false;
}

/* 7.4.0 takes -0.0 in a mask for true in some methods and for false in others. */
void without_negative_zero(object *o)
{
    double zero = 0;
    if (!is_float(o->type)) return;
    if (o->vector) vec_bind2(T_FP64, o->v, NULL, NULL, binary_op(OP_PLUS, o->type), o->v, &zero, NULL);
    else mat_bind2(T_FP64, o->m, NULL, NULL, binary_op(OP_PLUS, o->type), o->m, &zero, NULL);
}

void operand_mask(object *o, bool with_accum)
{
    int control = rng_chance(70) ? GxB_SPARSE : GxB_SPARSE | GxB_BITMAP;
    operand(o);
    without_negative_zero(o);
    if (!with_accum && rng_chance(30)) return;
    if (o->vector) GxB_Vector_Option_set(o->v, GxB_SPARSITY_CONTROL, control);
    else GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, control);
    o->hyper = false;
}

void without_hyper(object *o, bool only_if_empty)
{
    GrB_Index n = 0;
    if (!o->hyper) return;
    GrB_Matrix_nvals(&n, o->m);
    if (only_if_empty && n > 0) return;
    GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, GxB_AUTO_SPARSITY);
    o->hyper = false;
}

int random_accum(const object *o, int *type)
{
    static const int ops[] = {OP_PLUS, OP_PLUS, OP_PLUS, OP_MIN, OP_MAX, OP_FIRST, OP_SECOND, OP_MINUS, OP_PAIR,
                              OP_ISEQ, OP_LOR};
    *type = o->type != T_USER && rng_chance(15) ? rng_below(NTYPES) : o->type;
    if (rng_chance(60)) return -1;
    return o->type == T_USER ? OP_PLUS : ops[rng_below(11)];
}

void tame(object *o)
{
    GrB_UnaryOp op = tame_op(o->type);
    operand(o);
    if (o->vector) GrB_Vector_apply(o->v, NULL, NULL, op, o->v, NULL);
    else GrB_Matrix_apply(o->m, NULL, NULL, op, o->m, NULL);
    o->b = bound_cast(small_bound, o->type, o->type);
}

void tame_for(object *o, int type, int log2_terms)
{
    bound b = bound_cast(o->b, o->type, type);
    b.mag += log2_terms;
    if (is_float(type) && !bound_exact(b, type)) tame(o);
}
