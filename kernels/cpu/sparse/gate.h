/* What a mask lets pass.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_GATE_H
#define TSR_CPU_SPARSE_GATE_H

#include <string.h>

#include "kernels/cpu/common/scratch.h"
#include "src/base/types.h"

/* Is the value at this place of a mask true? */
static inline bool tsr_is_true(const tsr_view *m, int64_t at)
{
    static const uint64_t zero;
    const size_t size = tsr_type_size(m->type);
    return memcmp((const char *)m->x + (m->iso ? 0 : (size_t)at * size), &zero, size) != 0;
}

/* The entries of vector r of a sparse mask that are true. */
static inline void tsr_mark_true(tsr_scratch *s, const tsr_view *m, int64_t r, bool structural, uint8_t mark)
{
    const int64_t *i = m->i;
    for (int64_t t = m->p[r]; t < m->p[r + 1]; t++)
        if (structural || tsr_is_true(m, t))
            s->marks[i[t]] = mark;
}

/* Places of one vector that a mask lets pass: j where (open[j & all] != 0) != closed.  `listed`: the marks say it. */
typedef struct tsr_gate {
    const uint8_t *open;
    int64_t all;
    bool closed;
    bool later; /* a mask of two arrays, or of wide values: looked at when sums are done */
} tsr_gate;

static inline bool tsr_mask_has_values(const tsr_push *p)
{
    return p->mask && !p->mask_structural && p->mask->x;
}

static inline bool tsr_is_listed(const tsr_push *p)
{
    return p->mask && tsr_is_compressed(p->mask);
}

static inline tsr_gate tsr_gate_of(const tsr_push *p, int64_t r)
{
    const tsr_view *m = p->mask;
    static const uint8_t every = 1;
    const tsr_gate none = {&every, 0, false, false};
    if (!m || tsr_is_listed(p))
        return none;
    const int64_t start = r * m->ld;
    const bool valued = tsr_mask_has_values(p) && !(m->iso && tsr_is_true(m, 0));
    if (!valued && !m->b)
        return (tsr_gate){&every, 0, p->mask_complement, false};
    if (!valued)
        return (tsr_gate){(const uint8_t *)m->b + start, -1, p->mask_complement, false};
    if (m->iso)
        return (tsr_gate){&every, 0, !p->mask_complement, false};
    if (!m->b && tsr_type_size(m->type) == 1)
        return (tsr_gate){(const uint8_t *)m->x + start, -1, p->mask_complement, false};
    return (tsr_gate){&every, 0, false, true};
}

#endif
