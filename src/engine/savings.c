/* Estimates of SuiteSparse's time: a part of each kind of product is computed by it once, and counts for the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/savings.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/base/hash.h"

enum { KINDS = 64, LARGEST_PART = 4, STEP = 4, REPEATS = 3 };
/* A part is large enough when it takes so long, or such a share of what the product is predicted to take here. */
static const double enough_ms = 4, enough_share = 0.02;

/* Products alike in everything but their entries: what one entry takes, measured on a product of `entries`. */
typedef struct kind {
    uint64_t key;
    double entries, ms;
} kind;

static kind kinds[KINDS];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t key_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const uint64_t parts[] = {(uint64_t)p->op, (uint64_t)p->semiring.add, (uint64_t)p->semiring.mul, (uint64_t)p->semiring.type, (uint64_t)p->m,
                              (uint64_t)p->n, (uint64_t)p->k, p->a.by_col, p->b.by_col, call->c_by_col, (uint64_t)p->nthreads};
    uint64_t key = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        key = (key ^ parts[k]) * 0x9e3779b97f4a7c15u + (key >> 29);
    return key | 1;
}

static double entries_of(const tsr_product *p)
{
    return (double)(tsr_is_masked(p->op) ? p->mask.nvals : p->a.nvals);
}

static kind *find(uint64_t key)
{
    int k = 0;
    while (k < used && kinds[k].key != key)
        k++;
    if (k == KINDS)
        return NULL;
    if (k == used)
        kinds[used++] = (kind){.key = key};
    return &kinds[k];
}

/* `count` rows of n, one at random from each of as many pieces. */
static void draw(int64_t *rows, int64_t count, int64_t n)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t first = k * n / count, last = (k + 1) * n / count;
        rows[k] = first + (int64_t)tsr_order_hash((uint32_t)k + 12345) % (last - first);
    }
}

/* ---- how much work a row is ---- */

static int64_t index_at(const tsr_view *v, int64_t place)
{
    return v->index_size == 4 ? ((const uint32_t *)v->i)[place] : ((const int64_t *)v->i)[place];
}

static bool has_vectors(const tsr_view *v, bool by_col)
{
    return v->format == TSR_SPARSE && !v->h && v->by_col == by_col;
}

static int64_t length_of(const tsr_view *v, int64_t vector)
{
    return v->p[vector + 1] - v->p[vector];
}

/* Rows of C are rows of the product, or, where it is computed transposed, columns. */
static bool can_weigh(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    return p->op == TSR_OP_MASKED_DOT && has_vectors(&p->mask, call->swapped) && has_vectors(&p->a, false) && has_vectors(&p->b, true);
}

/* Entries of both operands that meet under the mask in these rows (NULL: in all). */
static double weight_of(const tsr_call *call, const int64_t *rows, int64_t count)
{
    const tsr_product *p = &call->product;
    const tsr_view *own = call->swapped ? &p->b : &p->a, *other = call->swapped ? &p->a : &p->b;
    double weight = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = rows ? rows[k] : k;
        for (int64_t e = p->mask.p[row]; e < p->mask.p[row + 1]; e++)
            weight += (double)(length_of(own, row) + length_of(other, index_at(&p->mask, e)));
    }
    return weight;
}

/* ---- parts ---- */

typedef struct part {
    double ms, work, all; /* work of the part, of the whole, in any unit */
} part;

/* The least of several times: others were interrupted, or the first in their memory. */
static bool take(part *out, const tsr_call *call, int64_t *rows, int64_t count, int64_t nrows)
{
    int64_t entries, all;
    draw(rows, count, nrows);
    for (int k = 0; k < REPEATS; k++) {
        double ms;
        if (!call->door->sample(&call->given, tsr_is_masked(call->product.op), rows, count, &ms, &entries, &all))
            return false;
        out->ms = k == 0 || ms < out->ms ? ms : out->ms;
    }
    const bool weigh = can_weigh(call);
    out->work = weigh ? weight_of(call, rows, count) : (double)entries;
    out->all = weigh ? weight_of(call, NULL, nrows) : (double)all;
    return true;
}

/* The smallest part tells what does not depend on its size; each next one is larger, until it takes long enough. */
static double measure(const tsr_call *call, int64_t *rows, int64_t nrows)
{
    const double target = fmax(enough_ms, call->decision.predicted_ms * enough_share);
    part first, last;
    int64_t count = nrows / 1024 > 0 ? nrows / 1024 : 1;
    if (!take(&first, call, rows, count, nrows))
        return -1;
    last = first;
    while (last.ms < target && STEP * count <= nrows / LARGEST_PART) {
        count *= STEP;
        if (!take(&last, call, rows, count, nrows))
            return -1;
    }
    if (last.work <= first.work || last.ms <= first.ms)
        return last.work > 0 ? last.ms * last.all / last.work : -1;
    return first.ms + (last.ms - first.ms) * (last.all - first.work) / (last.work - first.work);
}

static double measure_rows(const tsr_call *call)
{
    const int64_t nrows = call->swapped ? call->product.n : call->product.m;
    int64_t *rows = malloc((size_t)(nrows > 0 ? nrows : 1) * sizeof *rows);
    const double ms = rows && nrows > 0 ? measure(call, rows, nrows) : -1;
    free(rows);
    return ms;
}

double tsr_engine_other_ms(const tsr_call *call)
{
    if (!call->door || !call->door->sample || call->given.vector || call->in_place)
        return -1;
    const double entries = entries_of(&call->product);
    pthread_mutex_lock(&lock);
    kind *k = find(key_of(call));
    if (k && !(k->entries > 0 && entries < 1.5 * k->entries && k->entries < 1.5 * entries)) {
        k->ms = measure_rows(call);
        k->entries = entries;
    }
    const double ms = k && k->ms >= 0 && k->entries > 0 ? k->ms * entries / k->entries : -1;
    pthread_mutex_unlock(&lock);
    return ms;
}
