/* The objects of a random case: every format, by row and by column, lists with empty vectors, iso, jumbled, pending, zombies, settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "case.h"

enum { HELD_FULL, HELD_BITMAP, HELD_SPARSE, HELD_HYPER };
enum { MOST_CELLS = 40000, MOST_WALKED = 400, MOST_DRAWN = 20000, MOST_NAMED = 1 << 20, FEW_VECTORS = 30, FEW_ENTRIES = 6 };

/* Where entries lie, in odd cases. */
enum { SCATTERED, DIAGONAL, PERMUTED, AS_MANY_AS_VECTORS, AS_MANY_AS_PLACES, CROSS, GRAPH, TWINS, PLACES };

/* … and what they are. */
enum { SMALL, ZEROS, NEGATIVE_ZEROS, NANS, INFINITIES, VALUES };

static bool odd;

void case_be_odd(void)
{
    odd = true;
}

bool case_is_odd(void)
{
    return odd;
}

int64_t case_cells(int64_t nrows, int64_t ncols)
{
    int64_t cells;
    return __builtin_mul_overflow(nrows, ncols, &cells) ? INT64_MAX : cells;
}

/* How one object will be held. */
typedef struct holding {
    int held;
    bool by_col, iso, jumbled, packed, empty_vectors;
    int type;
    int64_t nvec, vlen;
    bool special;
    int places, values;
} holding;

/* Entries by vectors.  h: the vectors listed; all of them unless held hypersparse. */
typedef struct lists {
    GrB_Index *p, *h, *i;
    int64_t nvec, nvals;
} lists;

/* ---- places ---- */

static int64_t next_place(int64_t place, int64_t length, int percent, int few)
{
    if (length > MOST_WALKED)
        return place + 1 + (int64_t)(rng_next() % (uint64_t)(2 * length / few));
    do place++;
    while (place < length && !rng_chance(percent));
    return place;
}

static int random_percent(const holding *h)
{
    static const int percent[] = {2, 5, 10, 20, 40, 70, 100};
    if (h->held == HELD_FULL) return 100;
    return percent[rng_below(h->held == HELD_HYPER ? 5 : 7)];
}

static void add_vector(lists *l, GrB_Index name)
{
    l->h[l->nvec] = name;
    l->p[++l->nvec] = (GrB_Index)l->nvals;
}

/* Room for what next_place can find. */
static lists new_lists(const holding *h)
{
    const size_t vectors = (size_t)(h->nvec > MOST_WALKED ? MOST_WALKED * 100 : h->nvec);
    const size_t listed = (size_t)(h->nvec > MOST_NAMED ? MOST_NAMED : h->nvec);
    const size_t entries = (size_t)(h->vlen > MOST_WALKED ? MOST_WALKED * 100 : h->vlen);
    const size_t room = vectors * entries < 4 * MOST_CELLS ? vectors * entries : 4 * MOST_CELLS;
    lists l = {0};
    l.p = calloc(listed + 2, sizeof *l.p);
    l.h = malloc((listed + 1) * sizeof *l.h);
    l.i = malloc((room + 1) * sizeof *l.i);
    return l;
}

static void add_entries(lists *l, const holding *h, int percent)
{
    for (int64_t k = next_place(-1, h->vlen, percent, FEW_ENTRIES); k < h->vlen && l->nvals < 4 * MOST_CELLS;
         k = next_place(k, h->vlen, percent, FEW_ENTRIES))
        l->i[l->nvals++] = (GrB_Index)k;
}

/* ---- places that seem to say more than they do ---- */

/* How many entries each vector has, drawn one by one: as many altogether as wanted, none more than it has places. */
static void deal_entries(int64_t *counts, const holding *h, int64_t wanted)
{
    for (int64_t k = 0; k < wanted; k++) {
        const int64_t v = (int64_t)(rng_next() % (uint64_t)h->nvec);
        counts[v] += counts[v] < h->vlen;
    }
}

static void add_run(lists *l, int64_t first, int64_t count)
{
    for (int64_t k = 0; k < count && l->nvals < 4 * MOST_CELLS; k++) l->i[l->nvals++] = (GrB_Index)(first + k);
}

static void draw_order(int64_t *order, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t other = (int64_t)(rng_next() % (uint64_t)(k + 1));
        order[k] = order[other];
        order[other] = k;
    }
}

static lists draw_places(const holding *h)
{
    lists l = new_lists(h);
    int64_t *order = calloc((size_t)h->vlen + 1, sizeof *order), *counts = calloc((size_t)h->nvec + 1, sizeof *counts);
    const int64_t hub = (int64_t)(rng_next() % (uint64_t)h->nvec), spoke = (int64_t)(rng_next() % (uint64_t)h->vlen);
    draw_order(order, h->vlen);
    if (h->places == AS_MANY_AS_VECTORS) deal_entries(counts, h, h->nvec);
    if (h->places == AS_MANY_AS_PLACES) deal_entries(counts, h, h->vlen);
    for (int64_t v = 0; v < h->nvec; v++) {
        const int64_t before = l.nvals;
        switch (h->places) {
            case DIAGONAL: add_run(&l, v, v < h->vlen); break;
            case PERMUTED: add_run(&l, order[v % h->vlen], 1); break;
            case CROSS: add_run(&l, v == hub ? 0 : spoke, v == hub ? h->vlen : 1); break;
            case GRAPH: add_entries(&l, h, 100 * FEW_ENTRIES / (FEW_ENTRIES + (int)h->vlen)); break;
            case TWINS: add_run(&l, spoke / 2, h->vlen - spoke); break;
            default: add_run(&l, (int64_t)(rng_next() % (uint64_t)(h->vlen - counts[v] + 1)), counts[v]); break;
        }
        if (h->held != HELD_HYPER || l.nvals > before) add_vector(&l, (GrB_Index)v);
    }
    free(order);
    free(counts);
    return l;
}

/* Of very many vectors a few. */
static lists draw_named(const holding *h)
{
    lists l = new_lists(h);
    for (int64_t v = next_place(-1, h->nvec, 0, FEW_VECTORS); v < h->nvec && l.nvec < MOST_NAMED; v = next_place(v, h->nvec, 0, FEW_VECTORS)) {
        const int64_t before = l.nvals;
        add_entries(&l, h, 10);
        if (l.nvals > before) add_vector(&l, (GrB_Index)v);
    }
    return l;
}

/* Which vectors have entries, and which.  Lists of length 1 name no empty vector: 7.4.0 reads them wrongly. */
static lists draw_lists(const holding *h)
{
    if (h->nvec > MOST_NAMED) return draw_named(h);
    if (h->places != SCATTERED) return draw_places(h);
    const int used = h->held == HELD_HYPER ? 5 + rng_below(60) : 100, percent = random_percent(h);
    lists l = new_lists(h);
    int64_t next = next_place(-1, h->nvec, used, FEW_VECTORS);
    for (int64_t v = 0; v < h->nvec; v++) {
        const int64_t before = l.nvals;
        if (v == next) {
            add_entries(&l, h, percent);
            next = next_place(next, h->nvec, used, FEW_VECTORS);
        }
        const bool kept = h->empty_vectors && h->vlen > 1 && h->nvec <= MOST_WALKED && rng_chance(30);
        if (h->held != HELD_HYPER || l.nvals > before || kept)
            add_vector(&l, (GrB_Index)v);
    }
    return l;
}

static void free_lists(lists *l)
{
    free(l->p);
    free(l->h);
    free(l->i);
}

/* ---- values ---- */

static int small_value(int type)
{
    const int v = rng_below(9) - 3;
    return type >= T_UINT8 && type <= T_UINT64 ? abs(v) : v;
}

static void put_special(int type, void *x, int64_t p)
{
    static const double special[] = {INFINITY, -INFINITY, NAN};
    const double s = special[rng_below(3)];
    if (type == T_FP32) ((float *)x)[p] = (float)s;
    if (type == T_FP64) ((double *)x)[p] = s;
}

static void put_number(int type, void *x, int64_t p, double value)
{
    if (type == T_FP32) ((float *)x)[p] = (float)value;
    else if (type == T_FP64) ((double *)x)[p] = value;
    else value_put(type, x, p, 0);
}

static void put_odd(const holding *h, void *x, int64_t p)
{
    static const double values[VALUES] = {[ZEROS] = 0, [NEGATIVE_ZEROS] = -0.0, [NANS] = NAN, [INFINITIES] = -INFINITY};
    put_number(h->type, x, p, values[h->values]);
}

static void *draw_values(const holding *h, int64_t n)
{
    void *x = calloc((size_t)n + 1, type_size(h->type));
    const int64_t count = h->iso && n > 1 ? 1 : n;
    for (int64_t p = 0; p < count; p++) {
        value_put(h->type, x, p, small_value(h->type));
        if (h->special && rng_chance(5)) put_special(h->type, x, p);
        if (h->values != SMALL) put_odd(h, x, p);
    }
    return x;
}

/* ---- handing over ---- */

static GrB_Index bytes_of_values(const holding *h, int64_t n)
{
    return (GrB_Index)(h->iso || n == 0 ? 1 : n) * type_size(h->type);
}

static void reverse_vectors(lists *l)
{
    for (int64_t v = 0; v < l->nvec; v++)
        for (GrB_Index a = l->p[v], b = l->p[v + 1]; a + 1 < b; a++, b--) {
            const GrB_Index kept = l->i[a];
            l->i[a] = l->i[b - 1];
            l->i[b - 1] = kept;
        }
}

static int8_t *presence_of(const lists *l, const holding *h)
{
    int8_t *b = calloc((size_t)(h->nvec * h->vlen) + 1, 1);
    for (int64_t v = 0; v < l->nvec; v++)
        for (GrB_Index e = l->p[v]; e < l->p[v + 1]; e++) b[(int64_t)l->h[v] * h->vlen + (int64_t)l->i[e]] = 1;
    return b;
}

static GrB_Info pack_matrix(GrB_Matrix A, const holding *h, lists *l, void **x)
{
    const GrB_Index cells = (GrB_Index)(h->nvec * h->vlen), nvals = (GrB_Index)l->nvals, nvec = (GrB_Index)l->nvec;
    const GrB_Index wide = sizeof(GrB_Index), p = (nvec + 1) * wide, hs = nvec * wide, i = nvals * wide;
    const GrB_Index dense = bytes_of_values(h, (int64_t)cells), listed = bytes_of_values(h, l->nvals);
    int8_t *b;
    switch (h->held) {
    case HELD_FULL:
        return h->by_col ? GxB_Matrix_pack_FullC(A, x, dense, h->iso, NULL) : GxB_Matrix_pack_FullR(A, x, dense, h->iso, NULL);
    case HELD_BITMAP:
        b = presence_of(l, h);
        return h->by_col ? GxB_Matrix_pack_BitmapC(A, &b, x, cells, dense, h->iso, nvals, NULL)
                         : GxB_Matrix_pack_BitmapR(A, &b, x, cells, dense, h->iso, nvals, NULL);
    case HELD_SPARSE:
        return h->by_col ? GxB_Matrix_pack_CSC(A, &l->p, &l->i, x, p, i, listed, h->iso, h->jumbled, NULL)
                         : GxB_Matrix_pack_CSR(A, &l->p, &l->i, x, p, i, listed, h->iso, h->jumbled, NULL);
    default:
        return h->by_col ? GxB_Matrix_pack_HyperCSC(A, &l->p, &l->h, &l->i, x, p, hs, i, listed, h->iso, nvec, h->jumbled, NULL)
                         : GxB_Matrix_pack_HyperCSR(A, &l->p, &l->h, &l->i, x, p, hs, i, listed, h->iso, nvec, h->jumbled, NULL);
    }
}

static GrB_Info pack_vector(GrB_Vector v, const holding *h, lists *l, void **x)
{
    const GrB_Index cells = (GrB_Index)h->vlen, nvals = (GrB_Index)l->nvals, i = nvals * sizeof(GrB_Index);
    int8_t *b;
    if (h->held == HELD_FULL) return GxB_Vector_pack_Full(v, x, bytes_of_values(h, h->vlen), h->iso, NULL);
    if (h->held != HELD_BITMAP) return GxB_Vector_pack_CSC(v, &l->i, x, i, bytes_of_values(h, l->nvals), h->iso, nvals, h->jumbled, NULL);
    b = presence_of(l, h);
    return GxB_Vector_pack_Bitmap(v, &b, x, cells, bytes_of_values(h, h->vlen), h->iso, nvals, NULL);
}

static GrB_Info build(const case_object *o, const holding *h, const lists *l, const void *x)
{
    GrB_Index *names = malloc(((size_t)l->nvals + 1) * sizeof *names);
    for (int64_t v = 0; v < l->nvec; v++)
        for (GrB_Index e = l->p[v]; e < l->p[v + 1]; e++) names[e] = l->h[v];
    const GrB_Index n = (GrB_Index)l->nvals;
    const GrB_BinaryOp dup = binary_op(OP_PLUS, h->type);
    const GrB_Info info = o->vector ? vec_build(h->type, o->v, l->i, x, n, dup)
                          : h->by_col ? mat_build(h->type, o->m, l->i, names, x, n, dup)
                                      : mat_build(h->type, o->m, names, l->i, x, n, dup);
    free(names);
    return info;
}

static void fill(const case_object *o, holding *h)
{
    lists l = draw_lists(h);
    const bool dense = h->held == HELD_FULL || h->held == HELD_BITMAP;
    void *x = draw_values(h, h->packed && dense ? h->nvec * h->vlen : l.nvals);
    if (l.nvals == h->nvec * h->vlen) h->jumbled = false; /* 7.4.0 takes lists of every place for a full matrix */
    if (h->packed && h->jumbled) reverse_vectors(&l);
    const GrB_Info info = !h->packed ? build(o, h, &l, x) : o->vector ? pack_vector(o->v, h, &l, &x) : pack_matrix(o->m, h, &l, &x);
    if (info != GrB_SUCCESS) printf(" (made: %d)", (int)info);
    free(x);
    free_lists(&l);
}

/* ---- settings, unfinished work ---- */

static bool finish_always;

void case_finish_always(void)
{
    finish_always = true;
}

/* As CHECK mode does it: whatever an iterator cannot walk over. */
void case_finish(const case_object *o)
{
    struct GB_Iterator_opaque it = {.header_size = sizeof it};
    (void)GB_Iterator_attach(&it, o->m, GxB_NO_FORMAT, NULL);
}

void case_wrote(const case_object *o)
{
    if (finish_always) case_finish(o);
}

bool case_needs_lists(int64_t nrows, int64_t ncols)
{
    return case_cells(nrows, ncols) > 8 * MOST_CELLS;
}

bool case_is_huge(const case_object *o)
{
    return o->nrows > MOST_NAMED || o->ncols > MOST_NAMED;
}

static void set_switches(const case_object *o)
{
    static const double switches[] = {0, .04, .0625, .5, 1}, hyper_switches[] = {-1 /* never */, .04, .0625, .5, 1};
    if (case_is_huge(o)) return;
    const double hyper = hyper_switches[rng_below(5)], bitmap = switches[rng_below(5)];
    if (!o->vector && rng_chance(25)) {
        GxB_Matrix_Option_set(o->m, GxB_HYPER_SWITCH, hyper);
        printf(" hyper=%g", hyper);
    }
    if (!case_needs_lists(o->nrows, o->ncols) && rng_chance(25)) {
        if (o->vector) GxB_Vector_Option_set(o->v, GxB_BITMAP_SWITCH, bitmap);
        else GxB_Matrix_Option_set(o->m, GxB_BITMAP_SWITCH, bitmap);
        printf(" bitmap=%g", bitmap);
    }
}

/* One that allows what there is, or any. */
static void set_control(const case_object *o, const holding *h)
{
    static const int allows[] = {GxB_FULL, GxB_BITMAP, GxB_SPARSE, GxB_HYPERSPARSE};
    int control = 1 + rng_below(GxB_AUTO_SPARSITY);
    if (!h->packed && rng_chance(70)) control = allows[h->held];
    else if (rng_chance(50)) return;
    else if (rng_chance(50)) control |= allows[h->held];
    if (case_needs_lists(o->nrows, o->ncols)) control |= GxB_SPARSE;
    if (case_is_huge(o)) control |= GxB_HYPERSPARSE;
    if (o->vector) GxB_Vector_Option_set(o->v, GxB_SPARSITY_CONTROL, control);
    else GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, control);
    printf(" control=%d", control);
}

/* 7.4.0 lists a new vector behind later ones that have no entry. */
static void add_pending(case_object *o)
{
    case_drop_empties(o);
    if (case_cells(o->nrows, o->ncols) == 0) return;
    for (int k = 1 + rng_below(4); k > 0; k--) {
        any_value x = {.i = 0};
        const GrB_Index i = rng_next() % (uint64_t)o->nrows, j = rng_next() % (uint64_t)o->ncols;
        value_put(o->type, &x, 0, small_value(o->type));
        if (o->vector) vec_set(o->type, o->v, &x, i);
        else mat_set(o->type, o->m, &x, i, j);
        case_wrote(o);
    }
    printf(" pending");
}

/* Some of its entries go, by their places: jumbled tuples come in any order.  Finished one by one they may leave another form, and each takes
 * the time of all that are left: of many few go. */
static void add_zombies(const case_object *o)
{
    enum { MOST_ZOMBIES = 1000 };
    GrB_Index n = 0;
    if (o->vector) GrB_Vector_nvals(&n, o->v);
    else GrB_Matrix_nvals(&n, o->m);
    GrB_Index *i = calloc(2 * n + 1, sizeof *i), *j = i + n;
    if (o->vector) vec_tuples(o->type, i, NULL, &n, o->v);
    else mat_tuples(o->type, i, j, NULL, &n, o->m);
    const GrB_Index step = 2 + rng_next() % 5 + n / MOST_ZOMBIES;
    for (GrB_Index e = 0; e < n; e++) {
        if ((7 * i[e] + 3 * j[e]) % step) continue;
        if (o->vector) GrB_Vector_removeElement(o->v, i[e]);
        else GrB_Matrix_removeElement(o->m, i[e], j[e]);
        case_wrote(o);
    }
    free(i);
    printf(" zombies");
}

/* ---- a case's objects ---- */

static void draw_odd(holding *h, bool special)
{
    h->empty_vectors &= h->nvec <= MOST_NAMED;
    const bool drawn = h->nvec > 0 && h->vlen > 0 && h->nvec <= MOST_DRAWN && h->vlen <= MOST_DRAWN;
    if (drawn && h->held != HELD_FULL && rng_chance(60)) h->places = rng_below(case_needs_lists(h->nvec, h->vlen) ? TWINS : PLACES);
    if (h->places != SCATTERED && h->nvec > MOST_WALKED && rng_chance(50)) h->held = HELD_SPARSE;
    if (rng_chance(15)) h->values = rng_below(special ? VALUES : NANS);
}

static holding draw_holding(const case_object *o, bool special)
{
    const int64_t cells = case_cells(o->nrows, o->ncols);
    holding h = {.type = o->type, .by_col = o->vector || rng_chance(40), .iso = rng_chance(20), .jumbled = rng_chance(25),
                 .packed = rng_chance(60), .empty_vectors = rng_chance(50), .special = special};
    h.nvec = h.by_col ? o->ncols : o->nrows;
    h.vlen = h.by_col ? o->nrows : o->ncols;
    h.held = cells > MOST_CELLS ? (h.nvec > MOST_WALKED ? HELD_HYPER : HELD_SPARSE) : rng_below(4);
    if (o->vector && h.held == HELD_HYPER) h.held = HELD_SPARSE;
    if (h.held == HELD_FULL || h.held == HELD_BITMAP || !h.packed) h.jumbled = false;
    if (!h.packed) h.iso = false;
    if (h.iso) h.jumbled = false; /* 7.4.0 multiplies such by a bitmap wrongly */
    if (odd) draw_odd(&h, special);
    return h;
}

static void print_holding(const case_object *o, const holding *h)
{
    static const char *const held[] = {"full", "bitmap", "sparse", "hyper"};
    if (odd) printf(" places %d values %d", h->places, h->values);
    printf(" %c[t%d %lldx%lld %s %s%s%s%s%s", o->name, o->type, (long long)o->nrows, (long long)o->ncols, held[h->held],
           h->by_col ? "col" : "row", h->packed ? " packed" : "", h->iso ? " iso" : "", h->jumbled ? " jumbled" : "",
           h->packed && h->held == HELD_HYPER && h->empty_vectors ? " empties" : "");
}

static case_object *make(one_case *c, int64_t nrows, int64_t ncols, bool vector)
{
    case_object *o = &c->objects[c->count];
    *o = (case_object){.vector = vector, .name = 'A' + c->count++, .type = case_type(c), .nrows = nrows, .ncols = ncols};
    holding h = draw_holding(o, c->special);
    o->iso = h.iso;
    o->written = h.values == NEGATIVE_ZEROS;
    o->sparse = h.held == HELD_SPARSE || h.held == HELD_HYPER;
    o->empties = h.packed && h.held == HELD_HYPER && h.empty_vectors;
    print_holding(o, &h);
    if (vector) GrB_Vector_new(&o->v, type_handle(o->type), (GrB_Index)nrows);
    else GrB_Matrix_new(&o->m, type_handle(o->type), (GrB_Index)nrows, (GrB_Index)ncols);
    if (!vector) GxB_Matrix_Option_set(o->m, GxB_FORMAT, h.by_col ? GxB_BY_COL : GxB_BY_ROW);
    if (case_cells(nrows, ncols) > 0 && !rng_chance(8)) fill(o, &h);
    case_wrote(o);
    set_switches(o);
    set_control(o, &h);
    if (rng_chance(15)) add_zombies(o);
    if (rng_chance(15)) add_pending(o);
    printf("]");
    return o;
}

static case_object *find(one_case *c, int64_t nrows, int64_t ncols, bool vector, int most_level)
{
    const int first = rng_below(CASE_OBJECTS);
    for (int k = 0; k < CASE_OBJECTS; k++) {
        case_object *o = &c->objects[(first + k) % CASE_OBJECTS];
        if (o->m && o->vector == vector && o->nrows == nrows && o->ncols == ncols && o->level <= most_level) return o;
    }
    return NULL;
}

static case_object *get(one_case *c, int64_t nrows, int64_t ncols, bool vector, int most_level)
{
    case_object *o = c->count == CASE_OBJECTS || rng_chance(c->again) ? find(c, nrows, ncols, vector, most_level) : NULL;
    if (o) printf(" %c", o->name);
    return o ? o : c->count == CASE_OBJECTS ? NULL : make(c, nrows, ncols, vector);
}

case_object *case_copy(one_case *c, const case_object *of, GrB_Info *info)
{
    if (c->count == CASE_OBJECTS) return NULL;
    case_object *o = &c->objects[c->count];
    *o = *of;
    o->m = NULL;
    o->name = 'A' + c->count++;
    printf(" = %c", o->name);
    *info = o->vector ? GrB_Vector_dup(&o->v, of->v) : GrB_Matrix_dup(&o->m, of->m);
    return o;
}

void case_drop_empties(case_object *o)
{
    int control = GxB_AUTO_SPARSITY;
    if (!o->empties) return;
    GxB_Matrix_Option_get(o->m, GxB_SPARSITY_CONTROL, &control);
    GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, control);
    o->empties = false;
}

static double usual_bitmap_switch(const case_object *o)
{
    GrB_Matrix A = NULL;
    double usual = 0;
    GrB_Matrix_new(&A, GrB_BOOL, (GrB_Index)o->nrows, (GrB_Index)o->ncols);
    GxB_Matrix_Option_get(A, GxB_BITMAP_SWITCH, &usual);
    GrB_Matrix_free(&A);
    return usual;
}

void case_usual_settings(const case_object *o)
{
    const double bitmap = usual_bitmap_switch(o);
    if (o->vector) {
        GxB_Vector_Option_set(o->v, GxB_BITMAP_SWITCH, bitmap);
        GxB_Vector_Option_set(o->v, GxB_SPARSITY_CONTROL, GxB_AUTO_SPARSITY);
        return;
    }
    GxB_Matrix_Option_set(o->m, GxB_BITMAP_SWITCH, bitmap);
    GxB_Matrix_Option_set(o->m, GxB_SPARSITY_CONTROL, GxB_AUTO_SPARSITY);
}

void case_share_settings(const case_object *C, const case_object *M)
{
    int control = GxB_AUTO_SPARSITY;
    double hyper = 0;
    const double bitmap = usual_bitmap_switch(C);
    if (C->vector) {
        GxB_Vector_Option_get(C->v, GxB_SPARSITY_CONTROL, &control);
        GxB_Vector_Option_set(M->v, GxB_SPARSITY_CONTROL, control);
        GxB_Vector_Option_set(C->v, GxB_BITMAP_SWITCH, bitmap);
        return;
    }
    GxB_Matrix_Option_get(C->m, GxB_SPARSITY_CONTROL, &control);
    GxB_Matrix_Option_get(C->m, GxB_HYPER_SWITCH, &hyper);
    GxB_Matrix_Option_set(M->m, GxB_HYPER_SWITCH, hyper);
    GxB_Matrix_Option_set(M->m, GxB_SPARSITY_CONTROL, control);
    GxB_Matrix_Option_set(C->m, GxB_BITMAP_SWITCH, bitmap);
}

case_object *case_matrix(one_case *c, int64_t nrows, int64_t ncols, int most_level)
{
    return get(c, nrows, ncols, false, most_level);
}

case_object *case_vector(one_case *c, int64_t size, int most_level)
{
    return get(c, size, 1, true, most_level);
}

int64_t case_size(const one_case *c)
{
    return c->sizes[rng_below(CASE_SIZES)];
}

int case_type(const one_case *c)
{
    const int usual = c->type == T_USER ? 96 : 80;
    return rng_chance(usual) ? c->type : rng_below(rng_chance(3) ? NKINDS : NTYPES);
}

/* None, one, or more than any array has. */
static void draw_odd_sizes(one_case *c, bool square)
{
    static const int64_t sizes[] = {0, 1, 2, 600, 5000, INT64_C(1) << 33, INT64_C(1) << 60};
    const int64_t size = sizes[rng_below(7)];
    if (!rng_chance(30)) return;
    for (int k = 0; k < CASE_SIZES; k++)
        if (square || rng_chance(40)) c->sizes[k] = size;
}

/* Mostly one size, so that anything may be aliased; often 1; sometimes one that only a list of vectors can hold. */
void case_begin(one_case *c)
{
    static const int64_t small[] = {1, 1, 2, 3, 5, 8, 16, 17, 33, 64, 70, 100}, large[] = {1000, 5000, 100000};
    static const int types[] = {T_FP64, T_FP64, T_FP32, T_INT32, T_INT64, T_BOOL, T_UINT32};
    *c = (one_case){.type = rng_chance(6) ? T_USER : types[rng_below(7)], .special = rng_chance(odd ? 25 : 5), .again = odd && rng_chance(30) ? 85 : 45};
    const bool square = rng_chance(50), wide = rng_chance(8);
    for (int k = 0; k < CASE_SIZES; k++) c->sizes[k] = square && k > 0 ? c->sizes[0] : small[rng_below(wide ? 6 : 12)];
    if (wide) c->sizes[rng_below(CASE_SIZES)] = large[rng_below(3)];
    if (odd) draw_odd_sizes(c, square);
    printf(" sizes %lld %lld %lld:", (long long)c->sizes[0], (long long)c->sizes[1], (long long)c->sizes[2]);
}

void case_end(one_case *c)
{
    for (int k = 0; k < c->count; k++) {
        if (c->objects[k].vector) GrB_Vector_free(&c->objects[k].v);
        else GrB_Matrix_free(&c->objects[k].m);
    }
}
