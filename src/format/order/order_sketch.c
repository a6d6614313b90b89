/* Sketches of rows, and rows dealt to the pivots that they are most like.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"

void tsr_sketch_row(tsr_sketch *sketch, const tsr_source *in, uint32_t row)
{
    memset(sketch, 0xff, sizeof *sketch); /* TSR_ORDER_NOTHING */
    int64_t begin = in->p[row], length = in->p[row + 1] - begin;
    length = length < TSR_ORDER_LONGEST ? length : TSR_ORDER_LONGEST;
    for (int64_t e = begin; e < begin + length; e++) {
        uint16_t *least = &sketch->least[tsr_order_bucket(in->i[e])], here = (uint16_t)tsr_order_bucket_hash(in->i[e]);
        *least = here < *least ? here : *least;
    }
}

int tsr_shared_buckets(const tsr_sketch *a, const tsr_sketch *b)
{
    int n = 0;
    for (int k = 0; k < TSR_ORDER_BUCKETS; k++)
        n += a->least[k] == b->least[k];
    return n;
}

/* One thread's scratch. */
typedef struct chunk {
    int n;
    uint32_t row[TSR_ORDER_CHUNK];
    uint8_t pivot[TSR_ORDER_CHUNK];
    tsr_sketch of[TSR_ORDER_PIVOTS];
} chunk;

/* An empty bucket of a pivot is like none of a row. */
static void sketch_pivots(chunk *c, const tsr_source *in)
{
    for (int k = 0; k < tsr_order_pivots(c->n); k++) {
        tsr_sketch_row(&c->of[k], in, c->row[tsr_order_pivot(c->n, k)]);
        for (int b = 0; b < TSR_ORDER_BUCKETS; b++)
            if (c->of[k].least[b] == TSR_ORDER_NOTHING)
                c->of[k].least[b] = TSR_ORDER_NOTHING_YET;
    }
}

static uint8_t pivot_of(const chunk *c, const tsr_source *in, int place)
{
    tsr_sketch mine;
    int best = tsr_order_pivot_before(c->n, place), most = TSR_ORDER_LEAST_SHARED - 1;
    tsr_sketch_row(&mine, in, c->row[place]);
    for (int k = 0; k < tsr_order_pivots(c->n); k++) {
        int n = tsr_shared_buckets(&mine, &c->of[k]);
        if (n > most) {
            most = n;
            best = k;
        }
    }
    return (uint8_t)best;
}

static void deal_chunk(uint32_t *order, chunk *c, const tsr_source *in, int64_t n)
{
    int next[TSR_ORDER_PIVOTS + 1] = {0};
    c->n = n < TSR_ORDER_CHUNK ? (int)n : TSR_ORDER_CHUNK;
    memcpy(c->row, order, (size_t)c->n * sizeof *order);
    sketch_pivots(c, in);
    for (int place = 0; place < c->n; place++) {
        c->pivot[place] = pivot_of(c, in, place);
        next[c->pivot[place] + 1]++;
    }
    for (int k = 0; k < TSR_ORDER_PIVOTS; k++)
        next[k + 1] += next[k];
    for (int place = 0; place < c->n; place++)
        order[next[c->pivot[place]]++] = c->row[place];
}

tsr_status tsr_order_deal(uint32_t *order, const tsr_source *in, int nthreads)
{
    if (in->nvals < TSR_ORDER_SHORT * in->nrows)
        return TSR_OK;
    int64_t nchunks = (in->nrows + TSR_ORDER_CHUNK - 1) / TSR_ORDER_CHUNK;
    int nparts = tsr_parts(nchunks, 1, nthreads);
    chunk *chunks = tsr_format_alloc(nparts, sizeof *chunks);
    if (!chunks)
        return TSR_OUT_OF_MEMORY;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        for (int64_t k = tsr_part_begin(nchunks, part, nparts); k < tsr_part_begin(nchunks, part + 1, nparts); k++)
            deal_chunk(order + k * TSR_ORDER_CHUNK, &chunks[part], in, in->nrows - k * TSR_ORDER_CHUNK);
    free(chunks);
    return TSR_OK;
}
