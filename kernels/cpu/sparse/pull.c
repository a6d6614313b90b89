/* Few dense vectors, present or not at each place, times the rows of a matrix, where every product counts and is a value of the vector: the
 * vectors lie side by side, so that an entry of A is read once for all of them (pull).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/bundle.h"
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/sparse/pull_each.h"
#include "src/base/split.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { FEW = TSR_BUNDLE_FEW, MANY = TSR_PULL_MOST, ROWS = 512, AHEAD = 24, RANGE = 1 << 13 };

/* ---- sums ---- */

typedef struct monoid {
    uint64_t (*none)(void); /* the identity, as bits */
    int64_t (*pull)(const tsr_bundle *w, int64_t first, int64_t last);
} monoid;

/* The identity joins any x to x, bit for bit: zero with a sign, NaN for extremes. */
#define PULL(name, type, join)                                                                                                   \
    static uint64_t none_##name##_##type(void)                                                                                   \
    {                                                                                                                            \
        const tsr_c_##type none = tsr_identity_##name##_##type();                                                                \
        uint64_t bits = 0;                                                                                                       \
        memcpy(&bits, &none, sizeof none);                                                                                       \
        return bits;                                                                                                             \
    }                                                                                                                            \
    static inline __attribute__((always_inline)) int64_t name##_lanes_##type(const tsr_bundle *w, int64_t first, int64_t last,       \
                                                                             const int64_t lanes, const bool narrow)             \
    {                                                                                                                            \
        const void *restrict starts = w->p->starts, *restrict indices = w->p->a.i;                                               \
        const int64_t n = w->p->a.nvec, nvec = w->p->u.nvec, end = tsr_push_at(starts, n, narrow);                               \
        const tsr_c_##type *restrict u = w->u;                                                                                   \
        const uint8_t *restrict present = w->present;                                                                            \
        tsr_c_##type *restrict z = w->x;                                                                                         \
        int64_t total = 0;                                                                                                       \
        for (int64_t j = first; j < last; j++) {                                                                                 \
            tsr_c_##type sum[MANY];                                                                                              \
            uint8_t found = 0;                                                                                                   \
            for (int64_t r = 0; r < lanes; r++)                                                                                  \
                sum[r] = tsr_identity_##name##_##type();                                                                         \
            const int64_t stop = tsr_push_at(starts, j + 1, narrow);                                                             \
            for (int64_t e = tsr_push_at(starts, j, narrow); w->open[j] && e < stop; e++) {                                      \
                const int64_t k = tsr_push_at(indices, e, narrow);                                                               \
                __builtin_prefetch(&u[tsr_push_at(indices, e + AHEAD < end ? e + AHEAD : e, narrow) * lanes]);                   \
                found |= present[k];                                                                                             \
                for (int64_t r = 0; r < lanes; r++) {                                                                            \
                    const tsr_c_##type x = sum[r], y = u[k * lanes + r];                                                         \
                    sum[r] = (tsr_c_##type)(join);                                                                               \
                }                                                                                                                \
            }                                                                                                                    \
            found &= w->open[j];                                                                                                 \
            for (int64_t r = 0; r < nvec; r++) {                                                                                 \
                const bool on = found >> r & 1;                                                                                  \
                w->b[r * n + j] = on;                                                                                            \
                total += on;                                                                                                     \
                if (on)                                                                                                          \
                    z[r * n + j] = sum[r];                                                                                       \
            }                                                                                                                    \
        }                                                                                                                        \
        return total;                                                                                                            \
    }                                                                                                                            \
    static int64_t pull_##name##_##type(const tsr_bundle *w, int64_t first, int64_t last)                                            \
    {                                                                                                                            \
        if (tsr_push_is_narrow(w->p))                                                                                            \
            return w->lanes == FEW ? name##_lanes_##type(w, first, last, FEW, true)                                              \
                                   : name##_lanes_##type(w, first, last, MANY, true);                                            \
        return w->lanes == FEW ? name##_lanes_##type(w, first, last, FEW, false)                                                 \
                               : name##_lanes_##type(w, first, last, MANY, false);                                               \
    }
TSR_FOR_MONOIDS(PULL)

#define MONOID(name, type) ((monoid){none_##name##_##type, pull_##name##_##type})

static monoid find_monoid(const tsr_push_semiring *s)
{
    TSR_RETURN_OF_MONOID(s->result, s->add, MONOID)
    return (monoid){NULL, NULL};
}

/* ---- the call ---- */

static bool takes(const tsr_push *p)
{
    const tsr_push_semiring *s = &p->semiring;
    const bool mask = !p->mask || p->mask->format != TSR_HYPERSPARSE;
    return mask && !p->pattern && p->u.nvec <= MANY && tsr_push_reads_u(s) && !tsr_push_reads_a(s) && s->type == s->result &&
           p->a.format == TSR_SPARSE && !tsr_is_compressed(&p->u) && find_monoid(s).pull;
}

/* In the memory that the thread keeps: elements of up to 8 bytes, then the bytes of places. */
static bool reserve(tsr_bundle *w)
{
    const int64_t elements = w->p->u.vlen * w->lanes, bytes = w->p->u.vlen + w->p->a.nvec;
    w->u = tsr_scratch_block(elements * 8 + bytes);
    if (!w->u)
        return false;
    w->present = (uint8_t *)w->u + elements * 8;
    w->open = w->present + w->p->u.vlen;
    return true;
}

static void lay_range(void *context, int64_t first, int64_t last)
{
    const tsr_bundle *w = context;
    TSR_PICK_ISA(tsr_bundle_lay)(w, find_monoid(&w->p->semiring).none(), first, last);
}

int64_t tsr_cpu_pull(const tsr_push *p, int64_t work, int8_t *b, void *x)
{
    tsr_bundle w = {.p = p, .lanes = p->u.nvec <= FEW ? FEW : MANY, .b = b, .x = x};
    if (!takes(p))
        return -1;
    if (tsr_pull_is_each(p, work))
        return tsr_pull_each(p, work, b, x);
    if (!reserve(&w))
        return -1;
    const monoid m = find_monoid(&p->semiring);
    const int64_t n = p->a.nvec;
    const int nthreads = tsr_chunk_threads((double)p->a.nvals, p->nthreads);
    int64_t total = 0;
    (void)tsr_team(nthreads); /* of the rows, and what comes before is dealt to as many */
    tsr_open_places(w.open, p, n);
    tsr_for_ranges(p->u.vlen, RANGE, nthreads, lay_range, &w);
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 1) reduction(+ : total) if (nthreads > 1)
    for (int64_t first = 0; first < n; first += ROWS)
        total += m.pull(&w, first, first + ROWS < n ? first + ROWS : n);
    return total;
}
