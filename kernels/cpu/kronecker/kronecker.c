/* Kronecker products: offsets follow from those of the operands, entries are dealt to threads in equal shares.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/kronecker/kronecker_entries.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"
#include "src/base/types.h"

/* Of so few entries of B copies take nothing; loops may read beyond their ends. */
enum { SMALL = 4096, SHARE = 1 << 16, VECTORS = 1 << 16, COPIES = 4 };

typedef struct copies {
    void *block[COPIES];
    int count;
} copies;

static void *add_copy(copies *held, int64_t count, size_t size)
{
    void *block = malloc((size_t)(count + TSR_KRONECKER_LANES) * size);
    if (block)
        held->block[held->count++] = block;
    return block;
}

static void free_copies(copies *held)
{
    while (held->count)
        free(held->block[--held->count]);
}

/* ---- operands ---- */

/* Offsets in 64 bits. */
static bool take_offsets(tsr_factor *f, const tsr_view *v, copies *held)
{
    if (!f->full && !v->narrow_offsets) {
        f->p = v->p;
        return true;
    }
    int64_t *p = add_copy(held, v->nvec + 1, sizeof *p);
    for (int64_t k = 0; p && k <= v->nvec; k++)
        p[k] = f->full ? k * v->vlen : tsr_view_start(v, k);
    f->p = p;
    return p;
}

static bool take_factor(tsr_factor *f, const tsr_view *v, copies *held)
{
    *f = (tsr_factor){.i = v->i, .narrow = v->index_size == 4, .full = v->format == TSR_FULL, .x = v->x, .iso = v->iso, .nvec = v->nvec,
                      .vlen = v->vlen, .nvals = v->nvals, .room = v->nvals};
    return take_offsets(f, v, held);
}

/* Indices of a vector of B as C has them; some more behind them. */
static bool copy_indices(tsr_factor *b, bool narrow, copies *held)
{
    const int64_t count = b->full ? b->vlen : b->nvals;
    void *i = add_copy(held, count, narrow ? sizeof(uint32_t) : sizeof(int64_t));
    for (int64_t k = 0; i && k < count + TSR_KRONECKER_LANES; k++) {
        const int64_t index = b->full ? k : k < count ? tsr_offset(b->i, b->narrow, k) : 0;
        if (narrow)
            ((uint32_t *)i)[k] = (uint32_t)index;
        else
            ((int64_t *)i)[k] = index;
    }
    b->i = i;
    b->narrow = narrow;
    return i;
}

static bool copy_values(tsr_factor *b, size_t size, copies *held)
{
    char *x = add_copy(held, b->nvals, size);
    if (!x)
        return false;
    memcpy(x, b->x, (size_t)b->nvals * size);
    memset(x + (size_t)b->nvals * size, 0, TSR_KRONECKER_LANES * size);
    b->x = x;
    return true;
}

/* B, which is read again and again. */
static bool take_repeated(tsr_kronecker_job *j, copies *held)
{
    tsr_factor *b = &j->b;
    const bool small = j->k->b.nvals <= SMALL;
    if (!take_factor(b, &j->k->b, held))
        return false;
    if (j->c.i && (small || b->full || b->narrow != j->k->narrow) && !copy_indices(b, j->k->narrow, held))
        return false;
    if (!small)
        return true;
    if (j->c.x && b->x && !b->iso && !copy_values(b, tsr_type_size(j->k->type), held))
        return false;
    b->room += TSR_KRONECKER_LANES;
    return true;
}

/* ---- the result ---- */

static void put_vectors(void *context, int64_t first, int64_t last)
{
    const tsr_kronecker_job *j = context;
    const tsr_factor *a = &j->a, *b = &j->b;
    for (int64_t v = first / b->nvec, at = first; at < last; v++) {
        const int64_t begin = v * b->nvec, stop = begin + b->nvec < last ? begin + b->nvec : last;
        const uint64_t before = (uint64_t)(a->p[v] * b->nvals), length = (uint64_t)(a->p[v + 1] - a->p[v]);
        for (; at < stop; at++)
            j->c.p[at] = before + length * (uint64_t)b->p[at - begin];
    }
}

static void put_names(void *context, int64_t first, int64_t last)
{
    const tsr_kronecker_job *j = context;
    const tsr_view *a = &j->k->a, *b = &j->k->b;
    const int64_t vectors = tsr_view_vectors(b);
    for (int64_t at = first; at < last; at++) {
        const int64_t v = at / b->nvec, w = at % b->nvec;
        j->c.h[at] = (uint64_t)((a->h ? a->h[v] : v) * vectors + (b->h ? b->h[w] : w));
    }
}

static void put_entries(void *context, int64_t first, int64_t last)
{
    TSR_PICK_ISA(tsr_kronecker_entries)(context, first, last);
}

static void compute(tsr_kronecker_job *j)
{
    const int64_t vectors = j->a.nvec * j->b.nvec, entries = j->a.nvals * j->b.nvals;
    const int nthreads = tsr_pass_threads(entries > vectors ? entries : vectors, j->k->nthreads);
    if (j->c.p) {
        tsr_for_ranges(vectors, VECTORS, nthreads, put_vectors, j);
        j->c.p[vectors] = (uint64_t)entries;
    }
    if (j->c.h)
        tsr_for_ranges(vectors, VECTORS, nthreads, put_names, j);
    if (j->c.i || j->c.x)
        tsr_for_ranges(entries, SHARE, nthreads, put_entries, j);
}

tsr_status tsr_cpu_kronecker(const tsr_kronecker *k, const tsr_kronecker_c *c)
{
    tsr_kronecker_job j = {.k = k, .c = *c, .table = TSR_PICK_ISA(&tsr_ewise_table)};
    copies held = {.count = 0};
    const bool ready = take_factor(&j.a, &k->a, &held) && take_repeated(&j, &held);
    if (ready)
        compute(&j);
    free_copies(&held);
    return ready ? TSR_OK : TSR_OUT_OF_MEMORY;
}
