/* What the mask of a product of at most eight vectors lets pass, all vectors side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/sparse/gate.h"

#include <string.h>

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

static void open_dense(uint8_t *restrict open, const tsr_push *p, int64_t n, int64_t r)
{
    const tsr_view *m = p->mask;
    const tsr_gate gate = tsr_gate_of(p, r);
    for (int64_t j = 0; j < n && !gate.later; j++)
        open[j] |= (uint8_t)(((gate.open[j & gate.all] != 0) != gate.closed) << r);
    for (int64_t j = 0; j < n && gate.later; j++) {
        const int64_t at = r * m->ld + j;
        open[j] |= (uint8_t)((((!m->b || m->b[at]) && tsr_is_true(m, at)) != p->mask_complement) << r);
    }
}

void tsr_open_places(uint8_t *open, const tsr_push *p, int64_t n)
{
    const bool listed = tsr_is_listed(p);
    memset(open, listed && p->mask_complement ? (1 << p->u.nvec) - 1 : 0, (size_t)n);
    for (int64_t r = 0; r < p->u.nvec; r++)
        if (listed)
            open_listed(open, p, r);
        else
            open_dense(open, p, n, r);
}
