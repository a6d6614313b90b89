/* Windows filled greedily by sketches, among the rows that label propagation brought together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include <stdlib.h>

#include "src/base/split.h"

/* One group of the order. */
typedef struct group {
    int n;
    uint32_t row[TSR_ORDER_GROUP];
    tsr_sketch of[TSR_ORDER_GROUP];
    bool taken[TSR_ORDER_GROUP];
} group;

/* The place of the row that shares most with the window; of several, the first.  There is one. */
static int best_of(const group *g, const tsr_sketch *window)
{
    int best = -1, most = -1;
    for (int k = 0; k < g->n; k++) {
        int n = g->taken[k] ? -1 : tsr_shared_buckets(window, &g->of[k]);
        if (n > most) {
            most = n;
            best = k;
        }
    }
    return best;
}

/* Of an empty window every row shares nothing: the first one is taken. */
static void fill_windows(uint32_t *order, group *g)
{
    tsr_sketch window;
    for (int place = 0; place < g->n; place++) {
        for (int k = 0; place % TSR_ORDER_FILLED == 0 && k < TSR_ORDER_BUCKETS; k++)
            window.least[k] = TSR_ORDER_NOTHING_YET;
        int best = best_of(g, &window);
        g->taken[best] = true;
        order[place] = g->row[best];
        for (int k = 0; k < TSR_ORDER_BUCKETS; k++)
            window.least[k] = g->of[best].least[k] < window.least[k] ? g->of[best].least[k] : window.least[k];
    }
}

static void fill_group(uint32_t *order, group *g, const tsr_source *in, int64_t n)
{
    g->n = n < TSR_ORDER_GROUP ? (int)n : TSR_ORDER_GROUP;
    for (int k = 0; k < g->n; k++) {
        g->row[k] = order[k];
        tsr_sketch_row(&g->of[k], in, order[k]);
        g->taken[k] = false;
    }
    fill_windows(order, g);
}

tsr_status tsr_order_loa(uint32_t *order, const tsr_source *in, int nthreads)
{
    int nparts = tsr_parts(in->nrows, TSR_ORDER_GROUP, nthreads);
    group *groups = tsr_format_alloc(nparts, sizeof *groups);
    tsr_status status = groups ? tsr_order_lpa(order, in, nthreads) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        status = tsr_order_deal(order, in, nthreads);
    int64_t ngroups = status == TSR_OK ? (in->nrows + TSR_ORDER_GROUP - 1) / TSR_ORDER_GROUP : 0;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        for (int64_t g = tsr_part_begin(ngroups, part, nparts); g < tsr_part_begin(ngroups, part + 1, nparts); g++)
            fill_group(order + g * TSR_ORDER_GROUP, &groups[part], in, in->nrows - g * TSR_ORDER_GROUP);
    free(groups);
    return status;
}
