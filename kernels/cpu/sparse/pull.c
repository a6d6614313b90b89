/* Few dense vectors, present or not at each place, times the rows of a matrix, where every product counts and is a value of the vector: the
 * vectors lie side by side, so that an entry of A is read once for all of them (pull).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/sparse/products.h"
#include "src/base/split.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { FEW = 4, MANY = TSR_PULL_MOST, ROWS = 512, AHEAD = 24, RANGE = 1 << 13 };

/* The operands side by side: element r of place k at [k * lanes + r], the monoid's identity where none is present; bit r of present[k] and
 * open[j]: vector r has one, the mask lets its place j pass. */
typedef struct bundle {
    const tsr_push *p;
    int64_t lanes;
    void *u;
    uint8_t *present, *open;
    int8_t *b;
    void *x;
} bundle;

/* ---- sums ---- */

typedef struct monoid {
    void (*lay)(const bundle *w, int64_t first, int64_t last);
    int64_t (*pull)(const bundle *w, int64_t first, int64_t last);
} monoid;

/* The identity joins any x to x, bit for bit: zero with a sign, NaN for extremes. */
#define PULL(name, type, join)                                                                                                   \
    static void lay_##name##_##type(const bundle *w, int64_t first, int64_t last)                                                \
    {                                                                                                                            \
        const tsr_view *v = &w->p->u;                                                                                            \
        const tsr_c_##type *restrict x = v->x;                                                                                   \
        tsr_c_##type *restrict u = w->u;                                                                                         \
        const int64_t lanes = w->lanes;                                                                                          \
        for (int64_t k = first; k < last; k++) {                                                                                 \
            uint8_t present = 0;                                                                                                 \
            for (int64_t r = 0; r < lanes; r++) {                                                                                \
                const int64_t at = r * v->ld + k;                                                                                \
                const bool on = r < v->nvec && (!v->b || v->b[at]);                                                              \
                u[k * lanes + r] = on ? x[v->iso ? 0 : at] : tsr_identity_##name##_##type();                                     \
                present |= (uint8_t)(on << r);                                                                                   \
            }                                                                                                                    \
            w->present[k] = present;                                                                                             \
        }                                                                                                                        \
    }                                                                                                                            \
    static inline __attribute__((always_inline)) int64_t name##_lanes_##type(const bundle *w, int64_t first, int64_t last,       \
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
    static int64_t pull_##name##_##type(const bundle *w, int64_t first, int64_t last)                                            \
    {                                                                                                                            \
        if (tsr_push_is_narrow(w->p))                                                                                            \
            return w->lanes == FEW ? name##_lanes_##type(w, first, last, FEW, true)                                              \
                                   : name##_lanes_##type(w, first, last, MANY, true);                                            \
        return w->lanes == FEW ? name##_lanes_##type(w, first, last, FEW, false)                                                 \
                               : name##_lanes_##type(w, first, last, MANY, false);                                               \
    }
TSR_FOR_MONOIDS(PULL)

#define MONOID(name, type) ((monoid){lay_##name##_##type, pull_##name##_##type})

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
static bool reserve(bundle *w)
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
    const bundle *w = context;
    find_monoid(&w->p->semiring).lay(w, first, last);
}

int64_t tsr_cpu_pull(const tsr_push *p, int8_t *b, void *x)
{
    bundle w = {.p = p, .lanes = p->u.nvec <= FEW ? FEW : MANY, .b = b, .x = x};
    if (!takes(p) || !reserve(&w))
        return -1;
    const monoid m = find_monoid(&p->semiring);
    const int64_t n = p->a.nvec;
    int64_t total = 0;
    (void)tsr_team(p->nthreads); /* of the rows, and what comes before is dealt to as many */
    tsr_open_places(w.open, p, n);
    tsr_for_ranges(p->u.vlen, RANGE, p->nthreads, lay_range, &w);
#pragma omp parallel for num_threads(tsr_team(p->nthreads)) schedule(dynamic, 1) reduction(+ : total) if (p->nthreads > 1)
    for (int64_t first = 0; first < n; first += ROWS)
        total += m.pull(&w, first, first + ROWS < n ? first + ROWS : n);
    return total;
}
