/* Two levels of clusters by min-hashes: rows, then windows of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"

typedef struct clusters {
    int64_t nrows, nwindows;             /* whole windows: rows left over stay last */
    uint32_t *least[TSR_ORDER_HASHES];   /* [nrows] min-hashes of rows */
    uint32_t *window, *window_least;     /* [nwindows] their order; a min-hash of each */
    uint32_t *scratch;                   /* [nrows] */
} clusters;

/* The least hash of a union is the least of all. */
static void hash_windows(clusters *c, const uint32_t *least, const uint32_t *order)
{
    for (int64_t v = 0; v < c->nwindows; v++) {
        uint32_t mine = TSR_ORDER_EMPTY;
        for (int64_t r = v * TSR_ORDER_WINDOW; r < (v + 1) * TSR_ORDER_WINDOW; r++)
            mine = least[order[r]] < mine ? least[order[r]] : mine;
        c->window_least[v] = mine;
    }
}

static void sort_rows(clusters *c, uint32_t *order)
{
    for (int64_t row = 0; row < c->nrows; row++)
        order[row] = (uint32_t)row;
    tsr_sort_by_key(order, c->scratch, c->least[1], c->nrows);
    tsr_sort_by_key(order, c->scratch, c->least[0], c->nrows);
}

static void sort_windows(clusters *c, uint32_t *order)
{
    for (int64_t v = 0; v < c->nwindows; v++)
        c->window[v] = (uint32_t)v;
    for (int k = TSR_ORDER_HASHES - 1; k >= 2; k--) {
        hash_windows(c, c->least[k], order);
        tsr_sort_by_key(c->window, c->scratch, c->window_least, c->nwindows);
    }
    for (int64_t v = 0; v < c->nwindows; v++)
        memcpy(c->scratch + v * TSR_ORDER_WINDOW, order + (int64_t)c->window[v] * TSR_ORDER_WINDOW, TSR_ORDER_WINDOW * sizeof *order);
    memcpy(order, c->scratch, (size_t)c->nwindows * TSR_ORDER_WINDOW * sizeof *order);
}

tsr_status tsr_order_tca(uint32_t *order, const tsr_source *in, int nthreads)
{
    clusters c = {.nrows = in->nrows, .nwindows = in->nrows / TSR_ORDER_WINDOW};
    c.window = tsr_format_alloc(c.nwindows, sizeof *c.window);
    c.window_least = tsr_format_alloc(c.nwindows, sizeof *c.window_least);
    c.scratch = tsr_format_alloc(in->nrows, sizeof *c.scratch);
    bool done = c.window && c.window_least && c.scratch;
    for (int k = 0; k < TSR_ORDER_HASHES; k++)
        done = (c.least[k] = tsr_format_alloc(in->nrows, sizeof *c.least[k])) && done;
    if (done) {
        for (int k = 0; k < TSR_ORDER_HASHES; k++)
            tsr_min_hashes(c.least[k], in, k, nthreads);
        sort_rows(&c, order);
        sort_windows(&c, order);
    }
    for (int k = 0; k < TSR_ORDER_HASHES; k++)
        free(c.least[k]);
    free(c.window);
    free(c.window_least);
    free(c.scratch);
    return done ? TSR_OK : TSR_OUT_OF_MEMORY;
}
