/* What the mask of a product of at most eight vectors lets pass, all vectors side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/common/chunks.h"
#include "src/base/split.h"
#include "kernels/cpu/sparse/gate.h"

#include <string.h>

enum { RANGE = 1 << 14 }; /* places that one thread opens at once */

static void open_listed(uint8_t *restrict open, const tsr_push *p, int64_t r)
{
    const tsr_view *m = p->mask;
    const bool valued = tsr_mask_has_values(p);
    const uint8_t bit = (uint8_t)(1U << r);
    const int64_t *i = m->i;
    for (int64_t t = m->p[r]; t < m->p[r + 1]; t++)
        if (!valued || tsr_is_true(m, t))
            open[i[t]] ^= bit;
}

typedef struct opening {
    uint8_t *open;
    const tsr_push *p;
    bool listed;
} opening;

static void open_dense(uint8_t *restrict open, const tsr_push *p, int64_t r, int64_t first, int64_t last)
{
    const tsr_view *m = p->mask;
    const tsr_gate gate = tsr_gate_of(p, r);
    for (int64_t j = first; j < last && !gate.later; j++)
        open[j] |= (uint8_t)(((gate.open[j & gate.all] != 0) != gate.closed) << r);
    for (int64_t j = first; j < last && gate.later; j++) {
        const int64_t at = r * m->ld + j;
        open[j] |= (uint8_t)((((!m->b || m->b[at]) && tsr_is_true(m, at)) != p->mask_complement) << r);
    }
}

static void open_range(void *context, int64_t first, int64_t last)
{
    const opening *o = context;
    memset(o->open + first, o->listed && o->p->mask_complement ? (1 << o->p->u.nvec) - 1 : 0, (size_t)(last - first));
    for (int64_t r = 0; r < o->p->u.nvec && !o->listed; r++)
        open_dense(o->open, o->p, r, first, last);
}

void tsr_open_places(uint8_t *open, const tsr_push *p, int64_t n)
{
    opening o = {open, p, tsr_is_listed(p)};
    tsr_for_ranges(n, RANGE, tsr_pass_threads(n * p->u.nvec, p->nthreads), open_range, &o);
    for (int64_t r = 0; r < p->u.nvec && o.listed; r++)
        open_listed(open, p, r);
}
