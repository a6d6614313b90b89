/* Degrees, symmetry and row windows of a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/matrix/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/blocks/tc_blocks.h"
#include "src/format/order/row_order.h"
#include "src/policy/model/model.h"

const char *const tsr_inspect_order_names[TSR_INSPECT_ORDERS] = {"lpa", "tca", "loa"};

static int degree_class(int64_t degree)
{
    return degree > 0 ? 64 - __builtin_clzll((uint64_t)degree) : 0;
}

static int64_t stored_rows(const tsr_mm_csr *a)
{
    return a->row ? a->nstored : a->nrows;
}

static int64_t row_number(const tsr_mm_csr *a, int64_t stored)
{
    return a->row ? a->row[stored] : stored;
}

static void count_degrees(tsr_inspection *out, const tsr_mm_csr *a)
{
    out->degrees[0] = a->nrows - stored_rows(a);
    for (int64_t row = 0; row < stored_rows(a); row++) {
        int64_t degree = a->p[row + 1] - a->p[row];
        out->degrees[degree_class(degree)]++;
        out->longest_row = degree > out->longest_row ? degree : out->longest_row;
    }
    out->empty_rows = out->degrees[0];
    out->mean_row = a->nrows > 0 ? (double)a->nvals / (double)a->nrows : 0;
}

/* One pass over A in row order meets the entries of each row of A' in order too: next[r] is the place in row r of B that must hold
 * the next entry of column r. */
bool tsr_is_transpose(const tsr_mm_csr *a, const tsr_mm_csr *b, int64_t *next)
{
    if (a->nrows != b->ncols || a->ncols != b->nrows || a->nvals != b->nvals) {
        return false;
    }
    memcpy(next, b->p, (size_t)b->nrows * sizeof *next);
    for (int64_t row = 0; row < a->nrows; row++) {
        for (int64_t k = a->p[row]; k < a->p[row + 1]; k++) {
            int64_t col = a->i[k];
            if (next[col] == b->p[col + 1] || b->i[next[col]++] != row) {
                return false;
            }
        }
    }
    return true;
}

typedef struct pair {
    int64_t row, col;
} pair;

static int by_row(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    return a->row != b->row ? (a->row < b->row ? -1 : 1) : a->col != b->col ? (a->col < b->col ? -1 : 1) : 0;
}

/* tsr_is_transpose (a, a), of stored rows.  False also without memory, which who comes next lacks as well. */
static bool is_symmetric(const tsr_mm_csr *a, int64_t *next)
{
    if (!a->row) {
        return tsr_is_transpose(a, a, next);
    }
    pair *turned = a->nrows == a->ncols ? malloc(((size_t)a->nvals + 1) * sizeof *turned) : NULL;
    bool same = turned != NULL;
    for (int64_t r = 0; same && r < a->nstored; r++) {
        for (int64_t k = a->p[r]; k < a->p[r + 1]; k++) {
            turned[k] = (pair){a->i[k], a->row[r]};
        }
    }
    if (same) {
        qsort(turned, (size_t)a->nvals, sizeof *turned, by_row);
    }
    for (int64_t r = 0; same && r < a->nstored; r++) {
        for (int64_t k = a->p[r]; same && k < a->p[r + 1]; k++) {
            same = turned[k].row == a->row[r] && turned[k].col == a->i[k];
        }
    }
    free(turned);
    return same;
}

/* ---- columns with narrow indices ---- */

/* Those that hold entries, where not all rows are stored. */
typedef struct columns {
    uint32_t *of; /* [nvals] */
    int64_t n;
} columns;

static int by_number(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* used = i in ascending order without repetitions; returns how many. */
static int64_t list_columns(int64_t *used, const tsr_mm_csr *a)
{
    int64_t n = 0;
    memcpy(used, a->i, (size_t)a->nvals * sizeof *used);
    qsort(used, (size_t)a->nvals, sizeof *used, by_number);
    for (int64_t k = 0; k < a->nvals; k++) {
        if (n == 0 || used[n - 1] != used[k]) {
            used[n++] = used[k];
        }
    }
    return n;
}

static bool make_columns(columns *c, const tsr_mm_csr *a)
{
    *c = (columns){malloc(((size_t)a->nvals + 1) * sizeof *c->of), a->ncols};
    int64_t *used = a->row ? malloc(((size_t)a->nvals + 1) * sizeof *used) : NULL;
    const bool good = c->of && (used || !a->row);
    if (good && used) {
        c->n = list_columns(used, a);
    }
    for (int64_t k = 0; good && k < a->nvals; k++) {
        const int64_t *found = used ? bsearch(&a->i[k], used, (size_t)c->n, sizeof *used, by_number) : NULL;
        c->of[k] = (uint32_t)(found ? found - used : a->i[k]);
    }
    free(used);
    return good;
}

/* ---- row windows ---- */

double tsr_window_sparsity(double nvals, double vectors)
{
    return vectors > 0 ? 1 - nvals / (TSR_INSPECT_HEIGHT * vectors) : 0;
}

tsr_window_route tsr_route_window(double nvals, double vectors)
{
    if (nvals <= 0) {
        return TSR_WINDOW_EMPTY;
    }
    double tensor = tsr_window_probability(tsr_model_default(0), TSR_GPU_EXACT, nvals, vectors, TSR_INSPECT_WIDTH);
    return tensor > 0.5 ? TSR_WINDOW_TENSOR_CORES : TSR_WINDOW_CUDA_CORES;
}

/* Distinct columns of entries [first, last); mark[c] == stamp: seen in this window. */
static int64_t distinct_columns(const columns *c, int64_t first, int64_t last, int64_t *mark, int64_t stamp)
{
    int64_t count = 0;
    for (int64_t k = first; k < last; k++) {
        count += mark[c->of[k]] != stamp;
        mark[c->of[k]] = stamp;
    }
    return count;
}

static void count_windows(tsr_inspection *out, const tsr_mm_csr *a, const columns *c, int64_t *mark)
{
    const int64_t stored = stored_rows(a);
    memset(mark, 0xff, (size_t)c->n * sizeof *mark);
    for (int64_t row = 0, end; row < stored; row = end) {
        for (end = row + 1; end < stored && row_number(a, end) / TSR_INSPECT_HEIGHT == row_number(a, row) / TSR_INSPECT_HEIGHT;) {
            end++;
        }
        tsr_window *window = &out->windows[out->nlisted];
        *window = (tsr_window){a->p[end] - a->p[row], distinct_columns(c, a->p[row], a->p[end], mark, out->nlisted++)};
        out->routes[tsr_route_window((double)window->nvals, (double)window->vectors)]++;
    }
    out->routes[TSR_WINDOW_EMPTY] += out->nwindows - out->nlisted;
}

/* ---- all of it ---- */

static tsr_status count_ordered(int64_t vectors[5], const tsr_source *source, tsr_reorder which, uint32_t *order, int nthreads)
{
    tsr_source ordered = {0};
    tsr_statistics statistics;
    tsr_status status = tsr_make_order(order, source, which, nthreads);
    status = status == TSR_OK ? tsr_take_rows(&ordered, source, order, source->nrows, nthreads) : status;
    status = status == TSR_OK ? tsr_make_statistics(&statistics, &ordered, nthreads) : status;
    tsr_free_source(&ordered);
    if (status == TSR_OK) {
        memcpy(vectors, statistics.vectors, sizeof statistics.vectors);
    }
    return status;
}

static tsr_status count_sampled(tsr_inspection *out, const tsr_source *sample, int at, int nthreads)
{
    tsr_windows w;
    uint32_t *place;
    tsr_status status = tsr_make_windows(&w, &place, sample, 8 << at, 8, nthreads);
    if (status != TSR_OK) {
        return status;
    }
    out->nsampled[at] = w.nwindows;
    out->sampled[at] = malloc((size_t)(w.nwindows + 1) * sizeof *out->sampled[at]);
    for (int64_t v = 0; out->sampled[at] && v < w.nwindows; v++) {
        out->sampled[at][v] = (tsr_window_count){(uint32_t)(w.entry[v + 1] - w.entry[v]), (uint32_t)(w.vector[v + 1] - w.vector[v])};
    }
    free(place);
    tsr_free_windows(&w);
    return out->sampled[at] ? TSR_OK : TSR_OUT_OF_MEMORY;
}

/* Rows of the sample; the one behind the last is empty. */
static void find_sample(uint32_t *rows, int64_t n, const tsr_mm_csr *a)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t place = tsr_order_sample_place(a->nrows, k);
        const int64_t *found = bsearch(&place, a->row, (size_t)a->nstored, sizeof *a->row, by_number);
        rows[k] = (uint32_t)(found ? found - a->row : a->nstored);
    }
}

static tsr_status sample_stored(tsr_source *out, const tsr_source *source, const tsr_mm_csr *a, int nthreads)
{
    const int64_t n = tsr_order_sampled(a->nrows);
    uint32_t *rows = malloc((size_t)(n + 1) * sizeof *rows);
    int64_t *p = malloc((size_t)(a->nstored + 2) * sizeof *p);
    tsr_source longer = *source;
    tsr_status status = TSR_OUT_OF_MEMORY;
    *out = (tsr_source){0};
    if (rows && p) {
        memcpy(p, a->p, (size_t)(a->nstored + 1) * sizeof *p);
        p[a->nstored + 1] = a->nvals;
        longer.p = p;
        longer.nrows++;
        find_sample(rows, n, a);
        status = tsr_take_rows(out, &longer, rows, n, nthreads);
    }
    free(rows);
    free(p);
    return status;
}

static tsr_status count_sample(tsr_inspection *out, const tsr_source *source, const tsr_mm_csr *a, int nthreads)
{
    tsr_source sample;
    tsr_status status = a->row ? sample_stored(&sample, source, a, nthreads) : tsr_sample_rows(&sample, source, NULL, nthreads);
    for (int at = 0; at < 2 && status == TSR_OK; at++) {
        status = count_sampled(out, &sample, at, nthreads);
    }
    tsr_free_source(&sample);
    return status;
}

static tsr_status count_orders(tsr_inspection *out, const tsr_source *source, int nthreads, tsr_mm_progress progress, void *watcher)
{
    static const tsr_reorder orders[TSR_INSPECT_ORDERS] = {TSR_REORDER_LPA, TSR_REORDER_TCA, TSR_REORDER_LOA};
    uint32_t *order = malloc(((size_t)source->nrows + 1) * sizeof *order);
    tsr_status status = order ? TSR_OK : TSR_OUT_OF_MEMORY;
    for (int k = 0; k < TSR_INSPECT_ORDERS && status == TSR_OK; k++) {
        progress(watcher, (k + 1.0) / (TSR_INSPECT_ORDERS + 1));
        status = count_ordered(out->ordered_vectors[k], source, orders[k], order, nthreads);
    }
    free(order);
    return status;
}

/* Everything that needs the pattern with narrow indices. */
static tsr_status count_blocks(tsr_inspection *out, const tsr_mm_csr *a, const columns *c, int nthreads, tsr_mm_progress progress, void *watcher)
{
    const tsr_source source = {.nrows = stored_rows(a), .ncols = c->n, .nvals = a->nvals, .p = a->p, .i = c->of};
    tsr_status status = tsr_make_statistics_of_rows(&out->statistics, &source, a->row, a->nrows, nthreads);
    status = status == TSR_OK ? tsr_count_degrees(&out->spread, &source, TSR_DEGREE_SAMPLE, nthreads) : status;
    out->spread.columns[0] += a->ncols - c->n;
    status = status == TSR_OK ? count_sample(out, &source, a, nthreads) : status;
    return status == TSR_OK ? count_orders(out, &source, nthreads, progress, watcher) : status;
}

static void report_nothing(void *watcher, double share)
{
    (void)watcher, (void)share;
}

tsr_status tsr_inspect(tsr_inspection *out, const tsr_mm_csr *a, int nthreads)
{
    return tsr_inspect_reporting(out, a, nthreads, report_nothing, NULL);
}

tsr_status tsr_inspect_reporting(tsr_inspection *out, const tsr_mm_csr *a, int nthreads, tsr_mm_progress progress, void *watcher)
{
    columns c;
    const bool narrowed = make_columns(&c, a);
    const int64_t longest = c.n > stored_rows(a) ? c.n : stored_rows(a);
    int64_t *mark = malloc((size_t)(longest + 1) * sizeof *mark);
    *out = (tsr_inspection){.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals};
    out->nwindows = a->nrows / TSR_INSPECT_HEIGHT + (a->nrows % TSR_INSPECT_HEIGHT > 0);
    const int64_t most = a->row ? a->nstored : out->nwindows;
    out->windows = malloc((size_t)(most + 1) * sizeof *out->windows);
    tsr_status status = narrowed && mark && out->windows ? count_blocks(out, a, &c, nthreads, progress, watcher) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK) {
        progress(watcher, 1);
        count_degrees(out, a);
        out->symmetric = is_symmetric(a, mark);
        count_windows(out, a, &c, mark);
    } else {
        tsr_inspection_free(out);
    }
    free(mark);
    free(c.of);
    return status;
}

void tsr_inspection_free(tsr_inspection *inspection)
{
    free(inspection->windows);
    free(inspection->sampled[0]);
    free(inspection->sampled[1]);
    memset(inspection, 0, sizeof *inspection);
}
