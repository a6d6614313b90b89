/* The sums of a pull: vectors lie side by side, and rows of A are read once for all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/sparse/bundle.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

tsr_bundle_find TSR_NAME(tsr_bundle_sums);

enum { FEW = TSR_BUNDLE_FEW, MANY = TSR_PULL_MOST, AHEAD = 24 };

#define OF_LANES(function, narrow)                                                                                               \
    (w->lanes == FEW ? w->far ? function(w, first, last, FEW, narrow, true) : function(w, first, last, FEW, narrow, false)          \
                     : w->far ? function(w, first, last, MANY, narrow, true) : function(w, first, last, MANY, narrow, false))

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
                                                                             const int64_t lanes, const bool narrow, const bool far) \
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
                if (far)                                                                                                         \
                    __builtin_prefetch(&u[tsr_push_at(indices, e + AHEAD < end ? e + AHEAD : e, narrow) * lanes]);               \
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
            return OF_LANES(name##_lanes_##type, true);                                                                          \
        return OF_LANES(name##_lanes_##type, false);                                                                             \
    }
TSR_FOR_MONOIDS(PULL)

#define MONOID(name, type) ((tsr_bundle_monoid){none_##name##_##type, pull_##name##_##type})

tsr_bundle_monoid TSR_NAME(tsr_bundle_sums)(const tsr_push_semiring *s)
{
    TSR_RETURN_OF_MONOID(s->result, s->add, MONOID)
    return (tsr_bundle_monoid){NULL, NULL};
}
