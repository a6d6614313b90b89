/* Random products for the kernel tests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/kernels/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/value.h"

/* ---- random numbers (splitmix64) ---- */

uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t rng_below(rng *r, int64_t bound)
{
    return bound <= 0 ? 0 : (int64_t)(rng_next(r) % (uint64_t)bound);
}

bool rng_chance(rng *r, int percent)
{
    return rng_below(r, 100) < percent;
}

/* ---- names ---- */

size_t type_size(tsr_type type)
{
    static const uint8_t sizes[TSR_TYPE_COUNT] = { 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };
    return sizes[type];
}

const char *type_name(tsr_type type)
{
    static const char *const names[TSR_TYPE_COUNT] = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "fp32", "fp64" };
    return names[type];
}

const char *add_name(tsr_add add)
{
    static const char *const names[TSR_ADD_COUNT] = { "plus", "min", "max", "any", "lor" };
    return names[add];
}

const char *mul_name(tsr_mul mul)
{
    static const char *const names[TSR_MUL_COUNT] = { "times", "first", "second", "pair", "plus", "and" };
    return names[mul];
}

const char *op_name(tsr_op op)
{
    static const char *const names[TSR_OP_COUNT] = { "spmm", "spmv", "sddmm", "masked_dot" };
    return names[op];
}

/* ---- memory: exact sizes, so that a sanitizer sees the first byte too many ---- */

static void *take(test_case *c, size_t bytes)
{
    void *block = malloc(bytes > 0 ? bytes : 1);
    if (block == NULL || c->count == CASE_ARRAYS)
        abort();
    c->arrays[c->count] = block;
    c->bytes[c->count++] = bytes;
    return block;
}

void case_free(test_case *c)
{
    for (int at = 0; at < c->count; at++)
        free(c->arrays[at]);
    c->count = 0;
}

uint64_t case_hash(const test_case *c)
{
    uint64_t hash = 14695981039346656037u;
    for (int at = 0; at < c->count; at++)
        for (size_t byte = 0; byte < c->bytes[at]; byte++)
            hash = (hash ^ ((const uint8_t *)c->arrays[at])[byte]) * 1099511628211u;
    return hash;
}

/* ---- values ---- */

static double draw_real(rng *r, draw d)
{
    if (d == DRAW_WILD && rng_chance(r, 10)) {
        static const double odd[] = { 0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0 };
        return odd[rng_below(r, 6)];
    }
    if (d == DRAW_NAN && rng_chance(r, 85))
        return NAN;
    if (d == DRAW_DYADIC)
        return (double)(rng_below(r, 33) - 16) / 8;
    return ldexp((double)(int64_t)(rng_next(r) >> 11) - 0x1p52, (int)rng_below(r, 12) - 58);
}

static void draw_value(rng *r, draw d, tsr_type type, void *x, int64_t at)
{
    uint64_t bits = d == DRAW_DYADIC ? (uint64_t)(rng_below(r, 21) - 10) : rng_next(r) >> rng_below(r, 60);
    bits = rng_chance(r, 10) ? 0 : bits;
    switch (type) {
    case TSR_BOOL: ((uint8_t *)x)[at] = rng_chance(r, 50); break;
    case TSR_FP32: ((float *)x)[at] = (float)draw_real(r, d); break;
    case TSR_FP64: ((double *)x)[at] = draw_real(r, d); break;
    default: memcpy((char *)x + (size_t)at * type_size(type), &bits, type_size(type)); break; /* little endian */
    }
}

static const void *draw_values(test_case *c, rng *r, tsr_type type, int64_t count)
{
    void *x = take(c, (size_t)count * type_size(type));
    for (int64_t at = 0; at < count; at++)
        draw_value(r, c->draw, type, x, at);
    return x;
}

/* ---- shapes ---- */

static int64_t draw_length(rng *r, int size)
{
    static const int64_t lengths[] = { 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128,
        130, 257, 300 };
    static const int64_t most[] = { 13, 18, 22 };
    return rng_chance(r, 2) ? 0 : lengths[rng_below(r, most[size])];
}

/* How many entries a vector gets: none in a window, a full one, a few. */
static int draw_density(rng *r)
{
    static const int percents[] = { 0, 0, 5, 10, 10, 20, 50, 100 };
    return percents[rng_below(r, 8)];
}

#define LONG 9000 /* entries of a row that is cut among threads */

typedef struct pattern {
    int8_t *flags; /* nvec x vlen */
    int64_t nvec, vlen, nvals;
} pattern;

static void fill_pattern(rng *r, pattern *p)
{
    int64_t one_column = rng_chance(r, 15) ? rng_below(r, p->vlen) : -1;
    int64_t dense_vector = rng_chance(r, p->vlen > LONG ? 90 : 30) ? rng_below(r, p->nvec) : -1;
    int percent = draw_density(r);
    for (int64_t v = 0; v < p->nvec; v++) {
        if (v % 16 == 0)
            percent = draw_density(r);
        for (int64_t j = 0; j < p->vlen; j++) {
            bool set = one_column >= 0 ? j == one_column : rng_chance(r, v == dense_vector ? 100 : percent);
            p->flags[v * p->vlen + j] = set;
            p->nvals += set;
        }
    }
}

/* ---- sparse views ---- */

static void put_index(void *i, int size, int64_t at, int64_t index)
{
    if (size == 4)
        ((uint32_t *)i)[at] = (uint32_t)index;
    else
        ((int64_t *)i)[at] = index;
}

static void shuffle(rng *r, void *i, int size, int64_t lo, int64_t hi)
{
    for (int64_t at = hi - 1; at > lo; at--) {
        int64_t with = lo + rng_below(r, at - lo + 1);
        char a[8], *x = (char *)i + at * size, *y = (char *)i + with * size;
        memcpy(a, x, (size_t)size);
        memcpy(x, y, (size_t)size);
        memcpy(y, a, (size_t)size);
    }
}

static void compress(test_case *c, rng *r, tsr_view *v, const pattern *p)
{
    bool hyper = v->format == TSR_HYPERSPARSE;
    int64_t *offsets = take(c, (size_t)(p->nvec + 1) * sizeof *offsets);
    int64_t *names = hyper ? take(c, (size_t)(p->nvec + 1) * sizeof *names) : NULL;
    void *i = take(c, (size_t)(p->nvals * v->index_size));
    int64_t stored = 0, at = 0;
    memset(offsets, 0, (size_t)(p->nvec + 1) * sizeof *offsets);
    if (hyper)
        memset(names, 0, (size_t)(p->nvec + 1) * sizeof *names);
    for (int64_t vector = 0; vector < p->nvec; vector++) {
        int64_t start = at;
        for (int64_t j = 0; j < p->vlen; j++)
            if (p->flags[vector * p->vlen + j])
                put_index(i, v->index_size, at++, j);
        if (v->jumbled)
            shuffle(r, i, v->index_size, start, at);
        if (hyper && at == start && rng_chance(r, 90))
            continue;
        if (hyper)
            names[stored] = vector;
        offsets[++stored] = at;
    }
    v->nvec = stored;
    v->p = offsets;
    v->h = names;
    v->i = i;
}

static void narrow_offsets(test_case *c, tsr_view *v)
{
    uint32_t *p = take(c, (size_t)(v->nvec + 1) * sizeof *p);
    for (int64_t k = 0; k <= v->nvec; k++)
        p[k] = (uint32_t)v->p[k];
    v->p = (const int64_t *)(const void *)p;
    v->narrow_offsets = true;
}

void case_narrow(test_case *c, rng *r)
{
    tsr_view *const views[] = { &c->product.a, &c->product.b, &c->product.mask };
    for (int at = 0; at < 3; at++)
        if (views[at]->p != NULL && rng_chance(r, 50))
            narrow_offsets(c, views[at]);
}

static tsr_view make_sparse(test_case *c, rng *r, int64_t nrows, int64_t ncols, tsr_type type)
{
    tsr_view v = { .format = rng_chance(r, 25) ? TSR_HYPERSPARSE : TSR_SPARSE, .type = type,
        .by_col = rng_chance(r, 50),
        .iso = rng_chance(r, 20), .jumbled = rng_chance(r, 20), .index_size = rng_chance(r, 50) ? 4 : 8, .nrows = nrows,
        .ncols = ncols };
    pattern p = { .nvec = v.by_col ? ncols : nrows, .vlen = v.by_col ? nrows : ncols };
    p.flags = malloc((size_t)(p.nvec * p.vlen) + 1);
    fill_pattern(r, &p);
    v.vlen = p.vlen;
    v.ld = p.vlen;
    v.nvals = p.nvals;
    compress(c, r, &v, &p);
    v.x = draw_values(c, r, type, v.iso ? 1 : p.nvals);
    free(p.flags);
    return v;
}

/* ---- dense views ---- */

static tsr_view make_dense(test_case *c, rng *r, int64_t nrows, int64_t ncols, tsr_type type, bool may_be_bitmap)
{
    tsr_view v = { .format = may_be_bitmap && rng_chance(r, 40) ? TSR_BITMAP : TSR_FULL, .type = type,
        .by_col = rng_chance(r, 50), .iso = rng_chance(r, 10), .index_size = 8, .nrows = nrows, .ncols = ncols };
    v.nvec = v.by_col ? ncols : nrows;
    v.vlen = v.by_col ? nrows : ncols;
    v.ld = v.vlen + (rng_chance(r, 25) ? rng_below(r, 5) : 0);
    int64_t places = v.nvec > 0 && v.vlen > 0 ? (v.nvec - 1) * v.ld + v.vlen : 0;
    v.x = draw_values(c, r, type, v.iso ? 1 : places);
    v.nvals = v.nvec * v.vlen;
    if (v.format == TSR_FULL)
        return v;
    int8_t *b = take(c, (size_t)places);
    int percent = (int)rng_below(r, 5) * 25;
    for (int64_t at = 0; at < places; at++)
        b[at] = rng_chance(r, percent);
    v.b = b;
    v.nvals = 0;
    for (int64_t vector = 0; vector < v.nvec; vector++)
        for (int64_t j = 0; j < v.vlen; j++)
            v.nvals += b[vector * v.ld + j];
    return v;
}

static void drop_values(rng *r, tsr_view *v, bool ignored)
{
    if (!ignored || rng_chance(r, 30))
        return;
    v->x = NULL;
    v->iso = true;
    v->type = TSR_BOOL;
}

/* ---- products ---- */

static tsr_type draw_type(rng *r)
{
    return (tsr_type)rng_below(r, TSR_TYPE_COUNT);
}

static void make_operands(test_case *c, rng *r, bool full_a)
{
    tsr_product *p = &c->product;
    tsr_type type = p->semiring.type;
    bool masked = tsr_is_masked(p->op);
    bool dense_a = p->op == TSR_OP_SDDMM || full_a;
    p->a = dense_a ? make_dense(c, r, p->m, p->k, type, false) : make_sparse(c, r, p->m, p->k, type);
    p->b = p->op == TSR_OP_MASKED_DOT ? make_sparse(c, r, p->k, p->n, type)
                                      : make_dense(c, r, p->k, p->n, type, !dense_a);
    if (masked)
        p->mask = make_sparse(c, r, p->m, p->n, draw_type(r));
    tsr_mul mul = p->semiring.mul;
    drop_values(r, &p->a, mul == TSR_MUL_SECOND || mul == TSR_MUL_PAIR);
    drop_values(r, &p->b, mul == TSR_MUL_FIRST || mul == TSR_MUL_PAIR);
}

/* Few rows of thousands of entries: long enough to be cut among threads. */
static void make_long(tsr_product *p, rng *r)
{
    p->m = 1 + rng_below(r, 4);
    p->k = LONG + 1 + rng_below(r, 20000);
    p->n = p->op == TSR_OP_SPMV ? 1 : 1 + rng_below(r, 9);
}

/* Long rows of B that many rows of A read: they are packed. */
static void make_wide(tsr_product *p, rng *r)
{
    p->m = 40 + rng_below(r, 100);
    p->k = 1 + rng_below(r, 20);
    p->n = 128 + rng_below(r, 1000);
}

static void make(test_case *c, rng *r, tsr_op op, tsr_semiring semiring, int size, bool full_a)
{
    static const int threads[] = { 1, 2, 3, 7 };
    memset(c, 0, sizeof *c);
    const bool extreme = semiring.add == TSR_ADD_MIN || semiring.add == TSR_ADD_MAX;
    c->draw = (draw)rng_below(r, extreme ? 4 : 3);
    c->wants_flags = tsr_is_masked(op) || rng_chance(r, 85);
    tsr_product *p = &c->product;
    p->op = op;
    p->semiring = semiring;
    p->m = draw_length(r, size);
    p->n = op == TSR_OP_SPMV ? 1 : draw_length(r, size);
    p->k = draw_length(r, size);
    if (!tsr_is_masked(op) && rng_chance(r, 8))
        make_long(p, r);
    else if (op == TSR_OP_SPMM && rng_chance(r, 5))
        make_wide(p, r);
    p->mask_structural = rng_chance(r, 50);
    p->c_by_col = rng_chance(r, 50);
    p->nthreads = threads[rng_below(r, 4)];
    make_operands(c, r, full_a);
}

void case_make(test_case *c, rng *r, tsr_op op, tsr_semiring semiring, int size)
{
    make(c, r, op, semiring, size, false);
}

void case_make_full(test_case *c, rng *r, tsr_semiring semiring, int size)
{
    make(c, r, TSR_OP_SPMM, semiring, size, true);
}

void case_join(test_case *c, rng *r)
{
    c->wants_flags = false;
    c->c_iso = rng_chance(r, 20);
    c->in_place = !c->c_iso && rng_chance(r, 50);
    c->c = draw_values(c, r, c->product.semiring.type, c->c_iso ? 1 : c->product.m * c->product.n);
}

static void print_view(const char *name, const tsr_view *v)
{
    static const char *const formats[] = { "sparse", "hypersparse", "bitmap", "full" };
    printf("  %s: %lld x %lld %s %s %s%s%s%s%s index %d ld %lld nvec %lld nvals %lld\n", name, (long long)v->nrows,
        (long long)v->ncols, formats[v->format], type_name(v->type), v->by_col ? "by column" : "by row",
        v->iso ? " iso" : "", v->jumbled ? " jumbled" : "", v->narrow_offsets ? " narrow offsets" : "",
        v->x == NULL ? " pattern" : "", v->index_size,
        (long long)v->ld, (long long)v->nvec, (long long)v->nvals);
}

void case_print(const test_case *c)
{
    const tsr_product *p = &c->product;
    printf("  m %lld n %lld k %lld, C %s, %s, %d threads, draw %d, mask %s\n", (long long)p->m, (long long)p->n,
        (long long)p->k, p->c_by_col ? "by column" : "by row",
        c->wants_flags ? "flags" : c->c_iso ? "joined to an iso C" : c->in_place ? "joined to C in place" : c->c ? "joined to C" : "no flags", p->nthreads,
        (int)c->draw, p->mask_structural ? "structural" : "valued");
    print_view("A", &p->a);
    print_view("B", &p->b);
    if (tsr_is_masked(p->op))
        print_view("mask", &p->mask);
}

/* ---- measuring ---- */

/* One edge of a Kronecker graph with the probabilities of Graph500. */
static void draw_edge(rng *r, int scale, int64_t *row, int64_t *col)
{
    *row = *col = 0;
    for (int bit = 0; bit < scale; bit++) {
        int64_t percent = rng_below(r, 100);
        *row = 2 * *row + (percent >= 76);
        *col = 2 * *col + ((percent >= 57 && percent < 76) || percent >= 95);
    }
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static int64_t draw_edges(rng *r, uint64_t *edges, int scale, int64_t count)
{
    for (int64_t at = 0; at < count; at++) {
        int64_t row, col;
        draw_edge(r, scale, &row, &col);
        edges[at] = (uint64_t)row << 32 | (uint64_t)col;
    }
    qsort(edges, (size_t)count, sizeof *edges, by_value);
    int64_t kept = 0;
    for (int64_t at = 0; at < count; at++)
        if (kept == 0 || edges[at] != edges[kept - 1])
            edges[kept++] = edges[at];
    return kept;
}

static tsr_view make_power_law(test_case *c, rng *r, int scale, tsr_type type)
{
    int64_t size = (int64_t)1 << scale, count = 16 * size;
    uint64_t *edges = malloc((size_t)count * sizeof *edges);
    if (edges == NULL)
        abort();
    int64_t nvals = draw_edges(r, edges, scale, count);
    int64_t *p = take(c, (size_t)(size + 1) * sizeof *p);
    uint32_t *i = take(c, (size_t)nvals * sizeof *i);
    memset(p, 0, (size_t)(size + 1) * sizeof *p);
    for (int64_t at = 0; at < nvals; at++) {
        p[(edges[at] >> 32) + 1]++;
        i[at] = (uint32_t)edges[at];
    }
    for (int64_t row = 0; row < size; row++)
        p[row + 1] += p[row];
    free(edges);
    return (tsr_view){ .format = TSR_SPARSE, .type = type, .index_size = 4, .nrows = size, .ncols = size, .nvec = size,
        .vlen = size, .ld = size, .nvals = nvals, .p = p, .i = i, .x = draw_values(c, r, type, nvals) };
}

void case_make_bench(test_case *c, rng *r, tsr_op op, tsr_semiring semiring, int scale, int64_t n, bool by_col)
{
    memset(c, 0, sizeof *c);
    c->draw = DRAW_PLAIN;
    c->wants_flags = true;
    int64_t size = (int64_t)1 << scale;
    tsr_view b = { .format = TSR_FULL, .type = semiring.type, .by_col = by_col, .index_size = 8, .nrows = size,
        .ncols = n,
        .nvec = by_col ? n : size, .vlen = by_col ? size : n, .ld = by_col ? size : n, .nvals = size * n };
    b.x = draw_values(c, r, semiring.type, size * n);
    c->product = (tsr_product){ .op = op, .semiring = semiring, .m = size, .n = n, .k = size, .b = b,
        .c_by_col = by_col,
        .nthreads = 2 };
    c->product.a = make_power_law(c, r, scale, semiring.type);
}

/* ---- odd elements ---- */

static double odd_real(rng *r)
{
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-40, -0x1p-149, 3e38, -3e38};
    return rng_chance(r, 40) ? odd[rng_below(r, 11)] : ldexp((double)rng_below(r, 2000) - 1000, (int)rng_below(r, 20) - 10);
}

void draw_odd_element(rng *r, tsr_type type, void *x, int64_t at)
{
    uint64_t bits = rng_next(r);
    switch (rng_below(r, 6)) {
    case 0: bits = 0; break;
    case 1: bits = 1; break;
    case 2: bits = UINT64_MAX; break;
    case 3: bits = UINT64_C(1) << (8 * type_size(type) - 1); break;
    case 4: bits %= 7; break;
    default: break;
    }
    tsr_value_store(type, x, at, (tsr_value){.bits = type == TSR_BOOL ? bits & 1 : bits, .real = odd_real(r)});
}
