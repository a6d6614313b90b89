/* A push of the patterns of several vectors together: a word for each row of A and for each place of the result, a bit of it for each vector.
 * A row of A is read once for all vectors that name it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/bits.h"

#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/sparse/gate.h"
#include "src/base/split.h"

enum {
    VECTORS = 4,       /* the least */
    WORK_OF_PLACE = 4, /* multiply-adds for each place of the operands that pay for a look at all of them */
    RANGE = 1 << 12,   /* places whose words stay in the first cache while all vectors are looked at */
    ROWS = 1 << 9      /* of A that a thread takes at once */
};

typedef struct bits_push {
    const tsr_push *p;
    int pushing; /* threads that push rows of A */
    uint64_t *named;  /* of each row of A, bit r: vector r names it */
    uint64_t *closed; /* of each place, bit r: the mask does not let vector r pass */
    uint64_t *found;  /* … or it has an entry; at the end: it has one, and may */
    tsr_scratch *s;   /* its list is that of the result, vector r from … on */
    int64_t first[TSR_FEW + 1];
    tsr_few *result;
} bits_push;

bool tsr_push_has_bits(const tsr_push *p, int64_t work)
{
    return p->pattern && p->u.nvec >= VECTORS && p->u.nvec <= TSR_FEW && work / WORK_OF_PLACE >= p->u.vlen + p->a.vlen;
}

/* Of a pass over so many elements. */
static int threads_of(const tsr_push *p, int64_t elements)
{
    return tsr_pass_threads(elements, p->nthreads);
}

/* ---- words of the operands ---- */

static void name_listed(const bits_push *h)
{
    const tsr_view *u = &h->p->u;
    const int64_t *i = u->i;
    memset(h->named, 0, (size_t)u->vlen * sizeof *h->named);
    for (int64_t r = 0; r < u->nvec; r++)
        for (int64_t t = u->p[r]; t < u->p[r + 1]; t++)
            h->named[i[t]] |= UINT64_C(1) << r;
}

static void name_dense(void *context, int64_t first, int64_t last)
{
    const bits_push *h = context;
    const tsr_view *u = &h->p->u;
    memset(h->named + first, 0, (size_t)(last - first) * sizeof *h->named);
    for (int64_t r = 0; r < u->nvec; r++)
        for (int64_t k = first; k < last; k++)
            h->named[k] |= (uint64_t)(!u->b || u->b[r * u->ld + k] != 0) << r;
}

static void close_listed(const bits_push *h)
{
    const tsr_push *p = h->p;
    const tsr_view *m = p->mask;
    const bool valued = tsr_mask_has_values(p);
    const int64_t *i = m->i;
    for (int64_t r = 0; r < m->nvec; r++)
        for (int64_t t = m->p[r]; t < m->p[r + 1]; t++)
            if (!valued || tsr_is_true(m, t))
                h->closed[i[t]] ^= UINT64_C(1) << r;
}

static void close_dense(const bits_push *h, int64_t r, int64_t first, int64_t last)
{
    const tsr_push *p = h->p;
    const tsr_view *m = p->mask;
    const tsr_gate gate = tsr_gate_of(p, r);
    for (int64_t j = first; j < last && !gate.later; j++)
        h->closed[j] |= (uint64_t)((gate.open[j & gate.all] != 0) == gate.closed) << r;
    for (int64_t j = first; j < last && gate.later; j++) {
        const int64_t at = r * m->ld + j;
        h->closed[j] |= (uint64_t)(((!m->b || m->b[at]) && tsr_is_true(m, at)) == p->mask_complement) << r;
    }
}

/* A listed mask turns over what its places begin with. */
static void begin_places(void *context, int64_t first, int64_t last)
{
    const bits_push *h = context;
    const bool listed = tsr_is_listed(h->p);
    memset(h->closed + first, listed && !h->p->mask_complement ? -1 : 0, (size_t)(last - first) * sizeof *h->closed);
    for (int64_t r = 0; r < h->p->u.nvec && h->p->mask && !listed; r++)
        close_dense(h, r, first, last);
}

static void copy_closed(void *context, int64_t first, int64_t last)
{
    const bits_push *h = context;
    memcpy(h->found + first, h->closed + first, (size_t)(last - first) * sizeof *h->found);
}

static void lay(bits_push *h)
{
    const tsr_push *p = h->p;
    if (tsr_is_compressed(&p->u))
        name_listed(h);
    else
        tsr_for_ranges(p->u.vlen, RANGE, threads_of(p, p->u.vlen * p->u.nvec), name_dense, h);
    tsr_for_ranges(p->a.vlen, RANGE, threads_of(p, p->a.vlen * p->u.nvec), begin_places, h);
    if (tsr_is_listed(p))
        close_listed(h);
    tsr_for_ranges(p->a.vlen, RANGE, threads_of(p, p->a.vlen), copy_closed, h);
}

/* ---- rows of A ---- */

/* Several threads set bits of one word; soon there are none that are new. */
static inline void set_bits(uint64_t *word, uint64_t bits, const bool shared)
{
    if (!shared)
        *word |= bits;
    else if (bits & ~__atomic_load_n(word, __ATOMIC_RELAXED))
        __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void push_rows_in(const bits_push *h, int64_t first, int64_t last, const bool narrow, const bool shared)
{
    const void *restrict starts = h->p->starts, *restrict indices = h->p->a.i;
    for (int64_t k = first; k < last; k++) {
        const uint64_t bits = h->named[k];
        const int64_t stop = bits ? tsr_push_at(starts, k + 1, narrow) : 0;
        for (int64_t e = bits ? tsr_push_at(starts, k, narrow) : 0; e < stop; e++)
            set_bits(h->found + tsr_push_at(indices, e, narrow), bits, shared);
    }
}

static void push_rows(void *context, int64_t first, int64_t last)
{
    const bits_push *h = context;
    const bool narrow = tsr_push_is_narrow(h->p), shared = h->pushing > 1;
    if (narrow)
        shared ? push_rows_in(h, first, last, true, true) : push_rows_in(h, first, last, true, false);
    else
        shared ? push_rows_in(h, first, last, false, true) : push_rows_in(h, first, last, false, false);
}

/* ---- results ---- */

/* counts: at [r + 1] of the places [0, n) of vector r. */
static void count_entries(bits_push *h, int64_t n)
{
    int64_t *counts = h->first + 1;
    memset(h->first, 0, sizeof h->first);
    for (int64_t first = 0; first < n; first += RANGE) {
        const int64_t last = n - first < RANGE ? n : first + RANGE;
        for (int64_t j = first; j < last; j++)
            h->found[j] &= ~h->closed[j];
        for (int64_t r = 0; r < h->p->u.nvec; r++) {
            int64_t count = 0;
            for (int64_t j = first; j < last; j++)
                count += (int64_t)(h->found[j] >> r & 1);
            counts[r] += count;
        }
    }
}

static int64_t list_range(int64_t *restrict i, const uint64_t *restrict found, int64_t r, int64_t first, int64_t last)
{
    int64_t count = 0;
    for (int64_t j = first; j < last; j++) {
        i[count] = j;
        count += (int64_t)(found[j] >> r & 1);
    }
    return count;
}

/* Vectors [begin, end); one index more than a vector has is written over. */
static void list(void *context, int64_t begin, int64_t end)
{
    const bits_push *h = context;
    const int64_t n = h->p->a.vlen;
    int64_t at[TSR_FEW];
    memcpy(at, h->first, sizeof at);
    for (int64_t first = 0; first < n; first += RANGE)
        for (int64_t r = begin; r < end; r++)
            at[r] += list_range(h->s->i + at[r], h->found, r, first, n - first < RANGE ? n : first + RANGE);
    for (int64_t r = begin; r < end; r++)
        h->result->vectors[r] = (tsr_few_vector){.i = h->s->i + h->first[r], .count = at[r] - h->first[r], .sorted = true};
}

static bool reserve(bits_push *h)
{
    const int64_t k = h->p->u.vlen, n = h->p->a.vlen;
    h->named = tsr_scratch_block((k + 2 * n) * (int64_t)sizeof *h->named);
    h->closed = h->named + k;
    h->found = h->closed + n;
    return h->named;
}

tsr_status tsr_push_bits(const tsr_push *p, tsr_few *result)
{
    bits_push h = {.p = p, .pushing = threads_of(p, p->a.nvals), .result = result};
    const int listing = threads_of(p, p->a.vlen * p->u.nvec);
    if (!reserve(&h))
        return TSR_OUT_OF_MEMORY;
    lay(&h);
    tsr_for_ranges(p->u.vlen, ROWS, h.pushing, push_rows, &h);
    count_entries(&h, p->a.vlen);
    for (int64_t r = 0; r < p->u.nvec; r++)
        h.first[r + 1] += h.first[r] + 1;
    h.s = tsr_scratch_get(0, h.first[p->u.nvec]);
    if (!h.s)
        return TSR_OUT_OF_MEMORY;
    tsr_for_ranges(p->u.nvec, (p->u.nvec + listing - 1) / listing, listing, list, &h);
    return TSR_OK;
}
