/* Matrices to train on.  All numbers come from one hash: the same matrices on every machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/train/train_matrices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(uint64_t a, uint64_t b)
{
    uint64_t z = (a * 0x9e3779b97f4a7c15u + b) * 0xd6e8feb86659fd93u + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t a, uint64_t b)
{
    return (double)(hash(a, b) >> 11) * 0x1p-53;
}

static int64_t below(uint64_t a, uint64_t b, int64_t bound)
{
    int64_t x = (int64_t)(uniform(a, b) * (double)bound);
    return x < bound ? x : bound - 1;
}

static bool new_matrix(tsr_train_matrix *m, int64_t most)
{
    m->p = calloc((size_t)m->nrows + 1, sizeof *m->p);
    m->i = calloc((size_t)most + 1, sizeof *m->i);
    if (m->p && m->i)
        return true;
    tsr_train_matrix_free(m);
    return false;
}

void tsr_train_matrix_free(tsr_train_matrix *m)
{
    free(m->p);
    free(m->i);
    m->p = NULL;
    m->i = NULL;
}

/* ---- windows ---- */

static const int window_counts[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 130, 256, 600, 2000};
static const int window_sixteenths[] = {1, 2, 3, 4, 6, 8, 12, 15};

bool tsr_train_make_window(tsr_train_window *w, char name[48], int at)
{
    enum { COUNTS = sizeof window_counts / sizeof *window_counts, SHARES = sizeof window_sixteenths / sizeof *window_sixteenths };
    int height = at / (COUNTS * SHARES) ? 16 : 8, count = window_counts[at / SHARES % COUNTS], share = window_sixteenths[at % SHARES];
    *w = (tsr_train_window){.height = height, .count = count};
    if (at >= 2 * COUNTS * SHARES || !(w->vector = calloc((size_t)count, sizeof *w->vector))) {
        w->count = 0;
        return false;
    }
    snprintf(name, 48, "window-%dx%d-%d/16", height, count, share);
    for (int k = 0; k < count; k++) {
        w->vector[k] = (uint16_t)(1u << below((uint64_t)at, (uint64_t)k << 8, height));
        for (int r = 0; r < height; r++)
            if (uniform((uint64_t)at, (uint64_t)k << 8 | (uint64_t)(r + 1)) * 16 < share - 16.0 / height)
                w->vector[k] |= (uint16_t)(1u << r);
    }
    return true;
}

/* Rows of one window are merged: the next column is the least of those that the rows are at. */
bool tsr_train_take_window(tsr_train_window *w, const tsr_train_matrix *of, int height, int64_t v)
{
    int64_t first = v * height, last = first + height < of->nrows ? first + height : of->nrows, at[16];
    *w = (tsr_train_window){.height = height};
    int64_t most = of->p[last] - of->p[first];
    if (most == 0 || !(w->vector = calloc((size_t)most, sizeof *w->vector)))
        return false;
    for (int64_t row = first; row < last; row++)
        at[row - first] = of->p[row];
    for (;; w->count++) {
        int64_t least = INT64_MAX;
        for (int64_t row = first; row < last; row++)
            if (at[row - first] < of->p[row + 1] && of->i[at[row - first]] < least)
                least = of->i[at[row - first]];
        if (least == INT64_MAX)
            return true;
        for (int64_t row = first; row < last; row++)
            if (at[row - first] < of->p[row + 1] && of->i[at[row - first]] == least) {
                w->vector[w->count] |= (uint16_t)(1u << (row - first));
                at[row - first]++;
            }
    }
}

void tsr_train_window_free(tsr_train_window *w)
{
    free(w->vector);
    *w = (tsr_train_window){0};
}

/* About so many entries, more where there would be few windows for the places of a large device. */
enum { REPEATED_ENTRIES = 1500000, MOST_ENTRIES = 8000000, MANY_WINDOWS = 2048, COLUMNS = 65536 };

static int64_t copies_of(int64_t entries)
{
    int64_t windows = REPEATED_ENTRIES / entries, most = MOST_ENTRIES / entries;
    return windows < MANY_WINDOWS ? (most < MANY_WINDOWS ? most : MANY_WINDOWS) : windows;
}

/* Column of vector k of copy number v: one of each stretch of columns. */
static uint32_t column_of(const tsr_train_window *w, int64_t ncols, int64_t v, int64_t k)
{
    int64_t stretch = ncols / w->count;
    return (uint32_t)(k * stretch + below((uint64_t)v, (uint64_t)k, stretch));
}

bool tsr_train_repeat(tsr_train_matrix *m, const tsr_train_window *w, int shrink)
{
    int64_t each = 0;
    for (int64_t k = 0; k < w->count; k++)
        each += __builtin_popcount(w->vector[k]);
    int64_t windows = copies_of(each) / shrink + 1;
    m->height = w->height;
    m->nrows = windows * w->height;
    m->ncols = w->count > COLUMNS ? w->count : COLUMNS;
    m->nvals = windows * each;
    if (!new_matrix(m, m->nvals))
        return false;
#pragma omp parallel for
    for (int64_t v = 0; v < windows; v++) {
        int64_t at = v * each;
        for (int r = 0; r < w->height; r++) {
            m->p[v * w->height + r] = at;
            for (int64_t k = 0; k < w->count; k++)
                if (w->vector[k] >> r & 1)
                    m->i[at++] = column_of(w, m->ncols, v, k);
        }
    }
    m->p[m->nrows] = m->nvals;
    return true;
}

/* ---- graphs ---- */

/* A row has `degree` entries, or of a power law with that mean.  Each is, with a probability, one of the template that `shared`
 * rows have in common (within `reach` of them), one of the row's group of `group` columns, else any.  power > 1: hubs, in the
 * group and among all; 0: an R-MAT graph of so many entries a row, whatever else. */
typedef struct recipe {
    const char *name;
    int64_t n, degree;
    double skew; /* of degrees; 0: all alike */
    int64_t shared, reach;
    double shared_share, group_share;
    int64_t group;
    double power;
} recipe;

static const recipe recipes[] = {
    {"uniform", 400000, 16, 0, 8, 0, 0, 0, 1, 1},
    {"uniform-large", 2000000, 4, 0, 8, 0, 0, 0, 1, 1},
    {"skewed", 300000, 20, 0.5, 8, 0, 0, 0, 1, 2},
    {"skewed-more", 600000, 12, 0.7, 8, 0, 0, 0, 1, 3},
    {"communities", 120000, 80, 0.3, 8, 0, 0, 0.8, 1000, 1.3},
    {"communities-loose", 600000, 16, 0.3, 8, 0, 0, 0.6, 500, 1.2},
    {"dense", 5000, 600, 0.2, 8, 0, 0, 0, 1, 1.3},
    {"dense-hubs", 20000, 200, 0.4, 8, 0, 0, 0, 1, 1.6},
    {"mesh", 300000, 24, 0, 24, 200, 1, 0, 1, 1},
    {"mesh-stiff", 120000, 60, 0, 6, 800, 1, 0, 1, 1},
    {"web", 500000, 12, 0.2, 8, 100, 0.6, 0.3, 200, 1},
    {"short-rows", 1500000, 2, 0, 4, 8, 0.7, 0, 1, 1},
    {"diagonals", 700000, 9, 0, 16, 60, 0.8, 0.2, 64, 1},
    {"hubs", 1000000, 16, 0.6, 8, 0, 0, 0, 1, 4},
    {"communities-large", 250000, 200, 0.3, 8, 0, 0, 0.8, 4600, 1.5},
    {"small-mesh", 9000, 60, 0, 6, 200, 1, 0, 1, 1},
    {"small-grid", 36000, 9, 0, 12, 40, 0.9, 0.1, 100, 1},
    {"small-hubs", 10000, 60, 0.6, 8, 0, 0, 0, 1, 2.5},
    {"small-graph", 24000, 8, 0.4, 8, 0, 0, 0.3, 400, 1.3},
    {"small-citations", 34000, 12, 0.5, 8, 300, 0.3, 0.3, 1000, 1.5},
    {"small-dense", 2000, 300, 0.2, 8, 0, 0, 0, 1, 1.3},
    {"small-short", 20000, 4, 0.3, 8, 0, 0, 0, 1, 1.5},
    {"middle-web", 300000, 10, 0.4, 8, 100, 0.7, 0.2, 200, 1.5},
    {"middle-mesh", 150000, 13, 0.1, 8, 200, 0.7, 0.3, 300, 1},
    {"middle-hubs", 80000, 25, 0.6, 8, 0, 0, 0.2, 500, 2},
    {"rmat", (1 << 20) - 1, 16, 0, 0, 0, 0, 0, 0, 0},
    {"middle-rmat", (1 << 17) - 1, 24, 0, 0, 0, 0, 0, 0, 0},
    {"small-rmat", (1 << 14) - 1, 40, 0, 0, 0, 0, 0, 0, 0},
    {"mesh-large", 300000, 81, 0, 3, 1500, 1, 0, 1, 1},
    {"mesh-solid", 100000, 14, 0.1, 4, 600, 0.8, 0.2, 2000, 1},
    {"islands", 1500000, 3, 0, 8, 0, 0, 1, 24, 1},
    {"roads", 800000, 3, 0, 4, 300, 0.9, 0, 1, 1},
    {"proteins", 50000, 400, 0.2, 8, 0, 0, 0.9, 2500, 1.2},
    {"purchases", 800000, 24, 0.4, 8, 50, 0.2, 0.5, 300, 2},
    {"small-stiff", 9000, 66, 0.1, 3, 300, 1, 0, 1, 1},
    {"small-social", 14000, 75, 0.5, 8, 0, 0, 0.3, 800, 1.8},
    {"small-mail", 36000, 10, 0.7, 8, 0, 0, 0.3, 300, 3},
    {"small-complete", 4200, 450, 0.1, 8, 0, 0, 0, 1, 1.2},
    {"small-uniform", 30000, 16, 0, 8, 0, 0, 0, 1, 1},
    {"middle-uniform", 120000, 30, 0, 8, 0, 0, 0, 1, 1},
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

const char *tsr_train_graph_name(int at)
{
    return at < RECIPES ? recipes[at].name : NULL;
}

/* The quarters of an R-MAT graph, and of every quarter, have 0.57, 0.19, 0.19 and 0.05 of the entries. */
static int levels_of(const recipe *r)
{
    return r->n > 1 ? 64 - __builtin_clzll((uint64_t)r->n - 1) : 0;
}

static double rmat_factor(const recipe *r, int64_t row)
{
    double factor = 1;
    for (int level = 0; level < levels_of(r); level++)
        factor *= row >> level & 1 ? 2 * 0.24 : 2 * 0.76;
    return factor;
}

static int64_t rmat_column(const recipe *r, int64_t row, uint64_t e)
{
    int64_t column = 0;
    for (int level = 0; level < levels_of(r); level++) {
        double right = row >> level & 1 ? 0.05 / 0.24 : 0.19 / 0.76;
        column |= (int64_t)(uniform((uint64_t)row | (uint64_t)(level + 1) << 40, e) < right) << level;
    }
    return column % r->n;
}

/* 0 <= skew < 1: x^-skew has mean 1 / (1 - skew). */
static int64_t degree_of(const recipe *r, int64_t row)
{
    double skewed = pow(uniform((uint64_t)row, 1u << 20) + 1e-6, -r->skew) * (1 - r->skew);
    double factor = r->power > 0 ? skewed : rmat_factor(r, row);
    int64_t degree = (int64_t)((double)r->degree * factor + 0.5);
    return degree < 1 ? 1 : degree > r->n / 2 ? r->n / 2 : degree;
}

static int64_t power_in(const recipe *r, uint64_t a, uint64_t b, int64_t size)
{
    int64_t rank = (int64_t)(pow(uniform(a, b), r->power) * (double)size);
    return (int64_t)((uint64_t)(rank < size ? rank : size - 1) * 2654435761u % (uint64_t)size);
}

static uint32_t entry_of(const recipe *r, int64_t row, int64_t e)
{
    uint64_t a = (uint64_t)row, b = (uint64_t)e << 3;
    double u = uniform(a, b);
    if (r->power <= 0)
        return (uint32_t)rmat_column(r, row, b);
    if (u < r->shared_share) {
        int64_t family = row / r->shared, off = below((uint64_t)family + (1ull << 40), b + 1, 2 * r->reach) - r->reach;
        return (uint32_t)(((family * r->shared + off) % r->n + r->n) % r->n);
    }
    if (u < r->shared_share + r->group_share)
        return (uint32_t)((row / r->group * r->group + power_in(r, a, b + 2, r->group)) % r->n);
    return (uint32_t)power_in(r, a, b + 3, r->n);
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Entries of a row, sorted, the same ones once; returns how many. */
static int64_t fill_row(uint32_t *to, const recipe *r, int64_t row)
{
    int64_t degree = degree_of(r, row), count = 0;
    for (int64_t e = 0; e < degree; e++)
        to[e] = entry_of(r, row, e);
    qsort(to, (size_t)degree, sizeof *to, ascending);
    for (int64_t e = 0; e < degree; e++)
        if (e == 0 || to[e] != to[e - 1])
            to[count++] = to[e];
    return count;
}

bool tsr_train_graph(tsr_train_matrix *m, int at, int shrink)
{
    recipe smaller = recipes[at], *r = &smaller;
    r->n = r->n / shrink + 1;
    *m = (tsr_train_matrix){.role = TSR_SAMPLE_GRAPH, .nrows = r->n, .ncols = r->n};
    snprintf(m->name, sizeof m->name, "%s", r->name);
    int64_t most = 0;
    for (int64_t row = 0; row < r->n; row++)
        most += degree_of(r, row);
    if (!new_matrix(m, most))
        return false;
    for (int64_t row = 0; row < r->n; row++)
        m->p[row + 1] = m->p[row] + degree_of(r, row);
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t row = 0; row < r->n; row++) { /* the number of entries in the row's own place, until all are known */
        int64_t count = fill_row(m->i + m->p[row], r, row);
        if (count < m->p[row + 1] - m->p[row])
            m->i[m->p[row] + count] = UINT32_MAX;
    }
    for (int64_t row = 0; row < r->n; row++) {
        int64_t from = m->p[row], end = m->p[row + 1];
        m->p[row] = m->nvals;
        for (; from < end && m->i[from] != UINT32_MAX; from++)
            m->i[m->nvals++] = m->i[from];
    }
    m->p[r->n] = m->nvals;
    return true;
}
