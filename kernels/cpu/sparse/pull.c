/* A bitmap times the rows of a matrix (pull).  For monoids that take any product: each row ends at its first entry that meets one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/sparse/pull_sums.h"
#include "kernels/cpu/sparse/scratch.h"

enum { SOME = TSR_PRODUCTS, ROWS = 1024 };

/* Rows [first, last), whose results are listed before their values are computed. */
typedef struct span {
    const tsr_push *p;
    const uint64_t *bits; /* of u; NULL: full */
    int64_t i[SOME], from[SOME], at[SOME];
    int64_t count, total;
    int8_t *b;
    char *x;
} span;

/* A mask of two arrays, or of wide values. */
static bool is_open(const tsr_push *p, int64_t j)
{
    const tsr_view *m = p->mask;
    return ((!m->b || m->b[j]) && tsr_is_true(m, j)) != p->mask_complement;
}

static void flush(span *w)
{
    const tsr_push *p = w->p;
    const size_t size = tsr_type_size(p->semiring.result);
    uint64_t x[SOME];
    w->total += w->count;
    tsr_products_list(x, p, 0, w->i, w->from, w->at, w->count);
    tsr_put(w->x, x, w->i, w->count, size);
    w->count = 0;
}

static inline bool is_set(const uint64_t *bits, int64_t k)
{
    return bits[(uint64_t)k / 64] >> ((uint64_t)k % 64) & 1;
}

enum { LIST, NARROW, WIDE, NOTHING }; /* what is written of each entry: it is listed, its k, nothing */

static inline __attribute__((always_inline)) void pull_so_in(span *w, int64_t first, int64_t last, const int what,
                                                             const bool narrow)
{
    const tsr_push *p = w->p;
    const tsr_gate gate = tsr_gate_of(p, 0);
    const void *restrict starts = p->starts, *restrict indices = p->a.i;
    const uint64_t *restrict bits = w->bits;
    int32_t *positions = (int32_t *)w->x;
    int64_t *wide_positions = (int64_t *)w->x;
    const int64_t offset = p->semiring.offset;
    for (int64_t j = first; j < last; j++) {
        int64_t e = tsr_push_at(starts, j, narrow), end = tsr_push_at(starts, j + 1, narrow);
        const bool open = gate.later ? is_open(p, j) : (gate.open[j & gate.all] != 0) != gate.closed;
        if (open && bits)
            while (e < end && !is_set(bits, tsr_push_at(indices, e, narrow)))
                e++;
        const bool found = open && e < end;
        w->b[j] = found;
        if (!found)
            continue;
        const int64_t k = tsr_push_at(indices, e, narrow);
        if (what != LIST) {
            w->total++;
            if (what == NARROW)
                positions[j] = (int32_t)(k + offset);
            if (what == WIDE)
                wide_positions[j] = k + offset;
            continue;
        }
        w->i[w->count] = j;
        w->from[w->count] = k;
        w->at[w->count++] = e;
        if (w->count == SOME)
            flush(w);
    }
}

static inline __attribute__((always_inline)) void pull_so(span *w, int64_t first, int64_t last, const int what)
{
    if (tsr_push_is_narrow(w->p))
        pull_so_in(w, first, last, what, true);
    else
        pull_so_in(w, first, last, what, false);
}

static void pull_rows(span *w, int64_t first, int64_t last)
{
    const tsr_push *p = w->p;
    const bool middle = p->semiring.factor == TSR_FACTOR_MIDDLE;
    if (p->pattern)
        pull_so(w, first, last, NOTHING);
    else if (middle && p->semiring.result == TSR_INT32)
        pull_so(w, first, last, NARROW);
    else if (middle)
        pull_so(w, first, last, WIDE);
    else
        pull_so(w, first, last, LIST);
}

static void pack_bits(uint64_t *bits, const int8_t *b, int64_t n)
{
    for (int64_t first = 0; first < n; first += 64) {
        uint64_t word = 0;
        for (int64_t k = first; k < n && k < first + 64; k++)
            word |= (uint64_t)(b[k] != 0) << (k - first);
        bits[first / 64] = word;
    }
}

static int64_t pull_any(const tsr_push *p, int8_t *b, void *x)
{
    const bool takes = p->u.nvec == 1 && p->a.format == TSR_SPARSE && !tsr_is_compressed(&p->u) &&
                       !(p->mask && tsr_is_compressed(p->mask));
    tsr_scratch *s = takes ? tsr_scratch_get(p->a.vlen / 64 + 8, 0) : NULL;
    if (!s)
        return -1;
    if (p->u.b)
        pack_bits(s->sums, p->u.b, p->a.vlen);
    const uint64_t *bits = p->u.b ? s->sums : NULL;
    int64_t total = 0;
#pragma omp parallel for num_threads(p->nthreads) schedule(dynamic, 1) reduction(+ : total) if (p->nthreads > 1)
    for (int64_t first = 0; first < p->a.nvec; first += ROWS) {
        span w;
        w.p = p;
        w.bits = bits;
        w.b = b;
        w.x = x;
        w.count = w.total = 0;
        pull_rows(&w, first, first + ROWS < p->a.nvec ? first + ROWS : p->a.nvec);
        flush(&w);
        total += w.total;
    }
    return total;
}

int64_t tsr_cpu_pull(const tsr_push *p, int8_t *b, void *x)
{
    return p->pattern || p->semiring.add == TSR_REDUCE_ANY ? pull_any(p, b, x) : tsr_cpu_pull_sums(p, b, x);
}
