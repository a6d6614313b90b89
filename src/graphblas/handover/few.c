/* Sparse vectors, and matrices of few rows: inspected, taken out, put back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/few.h"

#include <string.h>

#include "src/graphblas/intercept/held_arrays.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/match.h"

/* ---- operands ---- */

static bool inspect_shape(tsr_few_operand *o, bool vector)
{
    GrB_Index nrows, ncols = 1;
    int32_t format = GxB_BY_COL;
    if (tsr_real.GrB_Matrix_nrows(&nrows, o->handle) != GrB_SUCCESS ||
        (!vector && (nrows > TSR_FEW || tsr_real.GrB_Matrix_ncols(&ncols, o->handle) != GrB_SUCCESS ||
                     tsr_option_get_int32(o->handle, GxB_FORMAT, &format) != GrB_SUCCESS || format != GxB_BY_ROW)))
        return false;
    o->view = (tsr_view){.format = TSR_SPARSE, .by_col = vector, .index_size = 8, .nrows = (int64_t)nrows, .ncols = (int64_t)ncols,
                         .nvec = vector ? 1 : (int64_t)nrows, .vlen = vector ? (int64_t)nrows : (int64_t)ncols};
    return tsr_match_object_type(&o->view.type, o->handle);
}

bool tsr_few_inspect_emptied(tsr_few_operand *o, GrB_Matrix handle, bool vector)
{
    *o = (tsr_few_operand){.handle = handle, .sparsity = tsr_match_sparsity(handle)};
    return o->sparsity != 0 && inspect_shape(o, vector);
}

bool tsr_few_inspect(tsr_few_operand *o, GrB_Matrix handle, bool vector)
{
    if (!tsr_few_inspect_emptied(o, handle, vector) || o->sparsity == GxB_HYPERSPARSE)
        return false;
    const tsr_type type = o->view.type;
    GrB_Index nvals;
    if (o->sparsity == GxB_SPARSE) {
        o->sorts = !tsr_held_find(&o->view, o->ends, handle);
        o->view.type = type;
        if (o->sorts && tsr_real.GrB_Matrix_nvals(&nvals, handle) == GrB_SUCCESS)
            o->view.nvals = (int64_t)nvals;
        return tsr_match_sparsity(handle) == GxB_SPARSE; /* to count entries finishes pending work */
    }
    const bool known = tsr_match_view(&o->view, handle);
    o->view.type = type;
    return known && !tsr_is_compressed(&o->view);
}

static bool widen_indices(tsr_few_operand *o)
{
    const int64_t *wide;
    const tsr_integers list = {o->view.i, o->view.index_size};
    const bool done = tsr_integers_wide(&wide, list, o->view.nvals, &o->copies);
    o->view.i = wide;
    o->view.index_size = 8;
    return done;
}

bool tsr_few_inspect_sorted(tsr_few_operand *o)
{
    const tsr_type type = o->view.type;
    const bool known = tsr_match_contents(&o->view, o->handle, &o->copies) && widen_indices(o);
    const bool lists_all = known && o->view.p && o->view.format != TSR_HYPERSPARSE; /* what ends pending work may make something else of it */
    o->view.type = type;
    o->view.format = TSR_SPARSE; /* also where every entry is present */
    o->sorts = false;
    return lists_all;
}

void tsr_few_drop_copies(tsr_few_operand *o)
{
    tsr_copies_free(&o->copies);
}

bool tsr_few_inspect_matrix(tsr_push *push, GrB_Matrix A)
{
    tsr_held_arrays held;
    tsr_view *a = &push->a;
    if (!tsr_match_arrays(a, &held, A) || !tsr_match_object_type(&a->type, A))
        return false;
    push->starts = held.p.at;
    a->index_size = held.p.size;
    return a->format == TSR_SPARSE && a->nvec == (a->by_col ? a->ncols : a->nrows) && (!held.i.at || held.i.size == held.p.size);
}

/* ---- C ---- */

static GrB_Info unpack(tsr_few_target *t, bool *jumbled)
{
    tsr_handover *a = &t->arrays;
    GrB_Index p = 0, i = 0, x = 0;
    const GrB_Info info =
        t->vector ? tsr_real.GxB_Matrix_unpack_CSC(t->handle, &a->p, &a->i, &a->x, &p, &i, &x, &a->iso, jumbled, NULL)
                  : tsr_real.GxB_Matrix_unpack_CSR(t->handle, &a->p, &a->i, &a->x, &p, &i, &x, &a->iso, jumbled, NULL);
    a->p_bytes = p;
    a->i_bytes = i;
    a->x_bytes = x;
    return info;
}

tsr_few_target tsr_few_target_of(const tsr_few_operand *C)
{
    return (tsr_few_target){.handle = C->handle, .vector = C->view.by_col, .from = GxB_SPARSE,
                            .vlen = C->view.vlen, .arrays = {.memory = &tsr_door_memory}, .settings = tsr_settings_read(C->handle)};
}

bool tsr_few_take(tsr_few_target *t, tsr_few_operand *operand)
{
    const size_t nrows = (size_t)operand->view.nvec;
    *t = tsr_few_target_of(operand);
    bool jumbled = false;
    if (unpack(t, &jumbled) != GrB_SUCCESS)
        return false;
    t->taken = true;
    t->arrays.jumbled = jumbled;
    t->arrays.nvec = operand->view.nvec;
    t->arrays.nvals = (int64_t)t->arrays.p[nrows];
    operand->sorts = false;
    operand->view.p = (const int64_t *)t->arrays.p;
    operand->view.i = t->arrays.i;
    operand->view.x = t->arrays.x;
    operand->view.iso = t->arrays.iso;
    operand->view.jumbled = jumbled;
    operand->view.nvals = t->arrays.nvals;
    return true;
}

/* As it is: what conforms already need not be asked for its shape, which takes longer than the hand-over. */
static GrB_Info pack_in_place(const tsr_few_target *t, tsr_handover *a)
{
    GrB_Info info = tsr_pack(t->handle, t->vector, t->vector, a);
    if (info == GrB_SUCCESS)
        info = tsr_settings_restore(t->handle, t->vector, &t->settings);
    return info == GrB_SUCCESS ? tsr_block(t->handle) : info;
}

static void drop_room(tsr_few_target *t)
{
    if (t->dense.x)
        tsr_arrays_free(&t->dense);
    t->dense.x = NULL;
}

/* In the form that it had, whatever SuiteSparse would make of it. */
bool tsr_few_put_back(tsr_few_target *t)
{
    drop_room(t);
    if (!t->taken)
        return true;
    t->taken = false;
    return pack_in_place(t, &t->arrays) == GrB_SUCCESS;
}

static void *room(void *old, size_t *bytes, size_t needed)
{
    if (old && *bytes >= needed)
        return old;
    void *block = tsr_user_malloc(needed);
    if (block)
        *bytes = needed;
    return block;
}

/* Vectors of A with entries; no more than `most` are counted. */
static int64_t nonempty_vectors(const tsr_push *p, int64_t most)
{
    int64_t count = 0;
    for (int64_t v = 0; v < p->a.nvec && count < most; v++)
        count += tsr_push_start(p, v + 1) > tsr_push_start(p, v);
    return count;
}

/* Few results of much work, or vectors of many entries whose places are mostly empty. */
static bool favours_dots(double vectors, double entries, double length, double of_both)
{
    return vectors <= 100 || of_both > 10000 * vectors || (entries / length < 0.125 && entries / vectors > 1200);
}

/* The operands change places before lists are made of them, unless A is the smaller one. */
tsr_dots tsr_dots_of(const tsr_push *p)
{
    const double entries = (double)p->a.nvals, of_u = (double)p->u.nvals, length = (double)p->a.vlen, rows = (double)p->a.nvec;
    if (p->mask && tsr_is_compressed(p->mask) && !p->mask_complement)
        return TSR_DOTS_LISTED;
    const double most = fmax(100, fmax((entries + of_u) / 10000, entries / 1200)) + 1; /* so many are not few for any of the rules */
    const double vectors = (double)nonempty_vectors(p, (int64_t)most);
    if (favours_dots(vectors, entries, length, entries + of_u))
        return TSR_DOTS_BITMAP;
    if (entries <= of_u + rows)
        return TSR_DOTS_LISTS;
    return of_u / length < 0.125 && of_u > 1200 ? TSR_DOTS_BITMAP : TSR_DOTS_TRANSPOSED;
}

/* That of new vectors; false: unknown. */
static bool bitmap_switch(double *of_vectors)
{
    double switches[16] = {0}; /* of 8 shapes; the first one is that of vectors */
    const bool known = tsr_real.GxB_Global_Option_get(GxB_BITMAP_SWITCH, switches) == GrB_SUCCESS;
    *of_vectors = switches[0];
    return known;
}

/* What is transposed conforms to the switch of new vectors first. */
int32_t tsr_dots_form(tsr_dots dots, int64_t entries, int64_t length)
{
    double share;
    if (dots == TSR_DOTS_BITMAP)
        return GxB_BITMAP;
    if (dots != TSR_DOTS_TRANSPOSED || !bitmap_switch(&share))
        return GxB_SPARSE;
    return (float)entries > (float)share * (float)length ? GxB_BITMAP : GxB_SPARSE;
}

/* Blocks that are large enough stay. */
static bool reserve(tsr_handover *to, const tsr_handover *from, const tsr_few *few, size_t size, bool iso)
{
    const size_t n = (size_t)(few->nvals > 0 ? few->nvals : 1), vectors = (size_t)few->nvec + 1;
    *to = *from;
    to->p = room(from->p, &to->p_bytes, vectors * sizeof *to->p);
    to->i = room(from->i, &to->i_bytes, n * sizeof *to->i);
    to->x = room(from->x, &to->x_bytes, (iso ? 1 : n) * size);
    if (to->p && to->i && to->x)
        return true;
    if (to->p != from->p)
        tsr_user_free(to->p);
    if (to->i != from->i)
        tsr_user_free(to->i);
    if (to->x != from->x)
        tsr_user_free(to->x);
    return false;
}

static void free_replaced(const tsr_handover *from, const tsr_handover *to)
{
    if (from->p != to->p)
        tsr_user_free(from->p);
    if (from->i != to->i)
        tsr_user_free(from->i);
    if (from->x != to->x)
        tsr_user_free(from->x);
}

static inline __attribute__((always_inline)) void take_sized(char *restrict to, const tsr_few_vector *v, size_t size, bool by_place)
{
    const int64_t *restrict i = v->i, count = v->count;
    const char *restrict x = v->x;
    for (int64_t t = 0; t < count; t++)
        memcpy(to + (size_t)(by_place ? i[t] : t) * size, x + (size_t)i[t] * size, size);
}

/* Values that lie by place, to the same places or to a list. */
static void take(char *to, const tsr_few_vector *v, size_t size, bool by_place)
{
    switch (size) {
    case 1: take_sized(to, v, 1, by_place); break;
    case 2: take_sized(to, v, 2, by_place); break;
    case 4: take_sized(to, v, 4, by_place); break;
    default: take_sized(to, v, 8, by_place);
    }
}

static void fill(tsr_handover *a, const tsr_few *few, size_t size, const void *one)
{
    size_t first = 0;
    for (int64_t r = 0; r < few->nvec; r++) {
        const tsr_few_vector *v = &few->vectors[r];
        const size_t count = (size_t)v->count;
        a->p[r] = first;
        if (count > 0)
            memcpy(a->i + first, v->i, count * sizeof *a->i);
        if (count > 0 && !one && v->by_place)
            take((char *)a->x + first * size, v, size, false);
        else if (count > 0 && !one)
            memcpy((char *)a->x + first * size, v->x, count * size);
        first += count;
    }
    a->p[few->nvec] = first;
    if (one)
        memcpy(a->x, one, size);
    a->nvec = few->nvec;
    a->nvals = (int64_t)first;
    a->iso = one;
    a->jumbled = !few->sorted;
}

static void keep(const tsr_few_target *t, const tsr_handover *a, tsr_type type)
{
    if (tsr_match_sparsity(t->handle) != GxB_SPARSE || (a->jumbled && tsr_door_blocking())) /* sorted by now */
        return;
    tsr_held_keep(t->handle, &(tsr_view){.format = TSR_SPARSE, .type = type, .by_col = t->vector, .iso = a->iso, .jumbled = a->jumbled,
                                         .index_size = 8, .nrows = t->vector ? t->vlen : a->nvec, .ncols = t->vector ? 1 : t->vlen,
                                         .nvec = a->nvec, .vlen = t->vlen, .nvals = a->nvals, .p = (const int64_t *)a->p, .i = a->i, .x = a->x});
}

/* SuiteSparse has whole vectors in order. */
static tsr_contents_size size_of(const tsr_few_target *t, const tsr_few *few)
{
    return (tsr_contents_size){.nvec = few->nvec, .vlen = t->vlen, .entries = few->nvals + t->dead};
}

/* Does SuiteSparse leave such lists as they are? */
static bool stays_sparse(const tsr_few_target *t, const tsr_few *few)
{
    const tsr_contents_size size = size_of(t, few);
    const int32_t form = tsr_result_form(&t->settings, &size, t->from);
    int64_t nonempty = 0;
    if (form == GxB_SPARSE || !(form & GxB_SPARSE))
        return form == GxB_SPARSE;
    for (int64_t r = 0; r < few->nvec; r++)
        nonempty += few->vectors[r].count > 0;
    return tsr_list_form(&t->settings, few->nvec, nonempty, GxB_SPARSE) == GxB_SPARSE;
}

/* A bitmap only because of entries that are deleted then. */
static bool is_thin(const tsr_few_target *t, const tsr_few *few)
{
    const tsr_contents_size size = size_of(t, few);
    return t->dead > 0 && tsr_result_form(&t->settings, &size, t->from) == GxB_BITMAP;
}

/* One with a switch of its own would not stay that when it is told the switch. */
static bool stays_thin(const tsr_few_target *t)
{
    double share;
    return bitmap_switch(&share) && (float)share == (float)t->settings.bitmap_switch;
}

/* Will SuiteSparse hold a single vector place by place, also once it has put it in order?  Of all places that are in order values are enough. */
static int32_t dense_form(const tsr_few_target *t, const tsr_few *few)
{
    const tsr_contents_size size = size_of(t, few);
    const int32_t form = few->nvec == 1 && t->dead == 0 ? tsr_result_form(&t->settings, &size, t->from) : 0;
    const bool whole = form == GxB_FULL && few->sorted && few->nvals == t->vlen;
    return form == GxB_BITMAP || whole ? form : 0;
}

bool tsr_few_many_by_place(const tsr_few_target *t)
{
    const tsr_contents_size size = {.nvec = 1, .vlen = t->vlen, .entries = t->vlen / TSR_PUSH_MANY + 1};
    return tsr_result_form(&t->settings, &size, t->from) == GxB_BITMAP;
}

void *tsr_few_room(tsr_few_target *t, tsr_type type)
{
    const bool made = tsr_few_many_by_place(t) && tsr_arrays_dense(&t->dense, &tsr_door_memory, t->vlen, type, true);
    if (!made)
        t->dense.x = NULL;
    return t->dense.x;
}

/* Values that are there already, or new room. */
static bool begin_dense(tsr_handover *a, tsr_few_target *t, const tsr_few *few, tsr_type type, int32_t form)
{
    if (!t->dense.x || few->vectors[0].x != t->dense.x)
        return tsr_arrays_dense(a, &tsr_door_memory, t->vlen, type, form == GxB_BITMAP);
    *a = t->dense;
    t->dense.x = NULL;
    tsr_arrays_count(a, few->nvals, form == GxB_FULL ? few->nvals : INT64_MAX);
    return true;
}

static void spread(tsr_handover *a, const tsr_few_vector *v, int64_t vlen, size_t size, bool values)
{
    if (a->b)
        tsr_arrays_put(a, vlen, v->i, v->count, values && !v->by_place ? v->x : NULL, size);
    else if (values)
        memcpy(a->x, v->x, (size_t)vlen * size);
    if (a->b && values && v->by_place)
        take(a->x, v, size, true);
}

/* The list is not copied first. */
static bool make_dense(tsr_handover *a, tsr_few_target *t, const tsr_few *few, tsr_type type, const void *one, int32_t form)
{
    const tsr_few_vector *v = &few->vectors[0];
    const size_t size = tsr_type_size(type);
    if (!form || !begin_dense(a, t, few, type, form))
        return false;
    spread(a, v, t->vlen, size, !one && v->x != a->x);
    a->nvals = few->nvals;
    if (one)
        tsr_arrays_unify(a, size, one);
    if (!one || a->iso)
        return true;
    tsr_arrays_free(a);
    return false;
}

static GrB_Info give_dense(tsr_few_target *t, tsr_handover *a)
{
    drop_room(t);
    tsr_arrays_free(&t->arrays);
    const GrB_Info info = tsr_finish_arrays(t->handle, t->vector, t->vector, a, &t->settings);
    tsr_arrays_free(a);
    t->taken = false;
    t->arrays = (tsr_handover){.memory = &tsr_door_memory};
    return info;
}

static GrB_Info pack_otherwise(const tsr_few_target *t, tsr_handover *a, const tsr_few *few, tsr_type type)
{
    if (is_thin(t, few) && tsr_arrays_spread(a, few->nvec, t->vlen, type, false, 1))
        return pack_in_place(t, a);
    if (t->from == GxB_BITMAP || (a->jumbled && few->nvals == few->nvec * t->vlen))
        (void)tsr_arrays_spread(a, few->nvec, t->vlen, type, false, 1);
    return tsr_finish_arrays(t->handle, t->vector, t->vector, a, &t->settings);
}

bool tsr_few_give(GrB_Info *info, tsr_few_target *t, const tsr_few *few, tsr_type type, const void *one)
{
    const size_t size = tsr_type_size(type);
    tsr_handover a;
    if (make_dense(&a, t, few, type, one, dense_form(t, few))) {
        *info = give_dense(t, &a);
        return true;
    }
    if ((is_thin(t, few) && !stays_thin(t)) || !reserve(&a, &t->arrays, few, size, one))
        return false;
    fill(&a, few, size, one);
    drop_room(t);
    free_replaced(&t->arrays, &a);
    int64_t ends[2] = {0, a.nvals};
    tsr_handover shown = a; /* SuiteSparse takes the arrays over, and may hold other offsets of a vector */
    if (t->vector)
        shown.p = (GrB_Index *)ends;
    const bool in_place = stays_sparse(t, few);
    *info = in_place ? pack_in_place(t, &a) : pack_otherwise(t, &a, few, type);
    tsr_arrays_free(&a);
    t->taken = false;
    t->arrays = (tsr_handover){.memory = &tsr_door_memory};
    if (*info == GrB_SUCCESS && in_place)
        keep(t, &shown, type);
    return true;
}

static GrB_Info put(const tsr_through *to, const tsr_modifiers *mod, tsr_handover *a, tsr_type type, const tsr_settings *settings)
{
    GrB_Matrix T = NULL;
    GrB_Info info = tsr_through_new(&T, to->C, to->vector, type);
    if (info == GrB_SUCCESS)
        info = tsr_through_pack(T, to->vector, to->vector, a);
    if (info == GrB_SUCCESS)
        info = tsr_through_put(to, mod, T, type);
    if (info == GrB_SUCCESS)
        info = tsr_settings_settle(to->C, to->vector, settings, false);
    if (T)
        tsr_real.GrB_Matrix_free(&T);
    return info;
}

bool tsr_few_put(GrB_Info *info, const tsr_few_target *t, const tsr_few *few, tsr_type type, const void *one, const tsr_through *to,
                 const tsr_modifiers *mod)
{
    const tsr_handover none = {.memory = &tsr_door_memory};
    tsr_handover a;
    if (!reserve(&a, &none, few, tsr_type_size(type), one))
        return false;
    fill(&a, few, tsr_type_size(type), one);
    const bool formed = t->from != GxB_BITMAP || tsr_arrays_spread(&a, few->nvec, t->vlen, type, false, 1);
    if (formed)
        *info = put(to, mod, &a, type, &t->settings);
    tsr_arrays_free(&a);
    return formed;
}
