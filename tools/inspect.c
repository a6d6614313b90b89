/* Degrees, symmetry and row windows of a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/blocks.h"
#include "src/route/model.h"

const char *const tsr_inspect_order_names[TSR_INSPECT_ORDERS] = {"lpa", "tca", "loa"};

static int degree_class(int64_t degree)
{
    return degree > 0 ? 64 - __builtin_clzll((uint64_t)degree) : 0;
}

static void count_degrees(tsr_inspection *out, const tsr_mm_csr *a)
{
    for (int64_t row = 0; row < a->nrows; row++) {
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
static int64_t distinct_columns(const tsr_mm_csr *a, int64_t first, int64_t last, int64_t *mark, int64_t stamp)
{
    int64_t count = 0;
    for (int64_t k = first; k < last; k++) {
        count += mark[a->i[k]] != stamp;
        mark[a->i[k]] = stamp;
    }
    return count;
}

static void count_windows(tsr_inspection *out, const tsr_mm_csr *a, int64_t *mark)
{
    memset(mark, 0xff, (size_t)a->ncols * sizeof *mark);
    for (int64_t v = 0; v < out->nwindows; v++) {
        int64_t row = v * TSR_INSPECT_HEIGHT, left = a->nrows - row;
        int64_t first = a->p[row], last = a->p[row + (left < TSR_INSPECT_HEIGHT ? left : TSR_INSPECT_HEIGHT)];
        tsr_window *window = &out->windows[v];
        *window = (tsr_window){last - first, distinct_columns(a, first, last, mark, v)};
        out->routes[tsr_route_window((double)window->nvals, (double)window->vectors)]++;
    }
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

static tsr_status count_sample(tsr_inspection *out, const tsr_source *source, int nthreads)
{
    tsr_source sample;
    tsr_status status = tsr_sample_rows(&sample, source, NULL, nthreads);
    for (int at = 0; at < 2 && status == TSR_OK; at++) {
        status = count_sampled(out, &sample, at, nthreads);
    }
    tsr_free_source(&sample);
    return status;
}

static tsr_status count_orders(tsr_inspection *out, const tsr_source *source, int nthreads, tsr_mm_watch watch, void *watcher)
{
    static const tsr_reorder orders[TSR_INSPECT_ORDERS] = {TSR_REORDER_LPA, TSR_REORDER_TCA, TSR_REORDER_LOA};
    uint32_t *order = malloc(((size_t)source->nrows + 1) * sizeof *order);
    tsr_status status = order ? TSR_OK : TSR_OUT_OF_MEMORY;
    for (int k = 0; k < TSR_INSPECT_ORDERS && status == TSR_OK; k++) {
        watch(watcher, (k + 1.0) / (TSR_INSPECT_ORDERS + 1));
        status = count_ordered(out->ordered_vectors[k], source, orders[k], order, nthreads);
    }
    free(order);
    return status;
}

/* Everything that needs the pattern with narrow indices. */
static tsr_status count_blocks(tsr_inspection *out, const tsr_mm_csr *a, int nthreads, tsr_mm_watch watch, void *watcher)
{
    uint32_t *narrow = malloc(((size_t)a->nvals + 1) * sizeof *narrow);
    if (!narrow) {
        return TSR_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; k < a->nvals; k++) {
        narrow[k] = (uint32_t)a->i[k];
    }
    const tsr_source source = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals, .p = a->p, .i = narrow};
    tsr_status status = tsr_make_statistics(&out->statistics, &source, nthreads);
    status = status == TSR_OK ? tsr_count_degrees(&out->spread, &source, TSR_DEGREE_SAMPLE, nthreads) : status;
    status = status == TSR_OK ? count_sample(out, &source, nthreads) : status;
    status = status == TSR_OK ? count_orders(out, &source, nthreads, watch, watcher) : status;
    free(narrow);
    return status;
}

static void nobody_watches(void *watcher, double share)
{
    (void)watcher, (void)share;
}

tsr_status tsr_inspect(tsr_inspection *out, const tsr_mm_csr *a, int nthreads)
{
    return tsr_inspect_watched(out, a, nthreads, nobody_watches, NULL);
}

tsr_status tsr_inspect_watched(tsr_inspection *out, const tsr_mm_csr *a, int nthreads, tsr_mm_watch watch, void *watcher)
{
    int64_t longest = a->ncols > a->nrows ? a->ncols : a->nrows;
    int64_t *mark = malloc((size_t)(longest + 1) * sizeof *mark);
    *out = (tsr_inspection){.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals};
    out->nwindows = a->nrows / TSR_INSPECT_HEIGHT + (a->nrows % TSR_INSPECT_HEIGHT > 0);
    out->windows = malloc((size_t)(out->nwindows + 1) * sizeof *out->windows);
    tsr_status status = mark && out->windows ? count_blocks(out, a, nthreads, watch, watcher) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK) {
        watch(watcher, 1);
        count_degrees(out, a);
        out->symmetric = tsr_is_transpose(a, a, mark);
        count_windows(out, a, mark);
    } else {
        tsr_inspection_free(out);
    }
    free(mark);
    return status;
}

void tsr_inspection_free(tsr_inspection *inspection)
{
    free(inspection->windows);
    free(inspection->sampled[0]);
    free(inspection->sampled[1]);
    memset(inspection, 0, sizeof *inspection);
}
