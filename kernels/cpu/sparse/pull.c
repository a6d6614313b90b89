/* Few dense vectors, present or not at each place, times the rows of a matrix, where every product counts and is a value of the vector: the
 * vectors lie side by side, so that an entry of A is read once for all of them (pull).
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/bundle.h"
#include "kernels/cpu/sparse/open.h"
#include "kernels/cpu/sparse/products.h"
#include "kernels/cpu/sparse/pull_each.h"
#include "src/base/split.h"

enum {
    FEW = TSR_BUNDLE_FEW,
    MANY = TSR_PULL_MOST,
    ROWS = 512,
    RANGE = 1 << 13,
    NEAR_BYTES = 3 << 20 /* of vectors: what is asked for ahead in them takes longer than it spares */
};

static tsr_bundle_monoid find_monoid(const tsr_push_semiring *s)
{
    return TSR_PICK_ISA(tsr_bundle_sums)(s);
}

/* ---- the call ---- */

static bool takes(const tsr_push *p)
{
    const tsr_push_semiring *s = &p->semiring;
    const bool mask = !p->mask || p->mask->format != TSR_HYPERSPARSE;
    return mask && !p->pattern && p->u.nvec <= MANY && tsr_push_reads_u(s) && !tsr_push_reads_a(s) && s->type == s->result &&
           p->a.format == TSR_SPARSE && !tsr_is_compressed(&p->u) && find_monoid(s).sum;
}

/* In the memory that the thread keeps: elements of up to 8 bytes, then the bytes of places. */
static bool reserve(tsr_bundle *w)
{
    const int64_t elements = w->p->u.vlen * w->lanes, bytes = w->p->u.vlen + w->p->a.nvec;
    w->u = tsr_scratch_block(elements * 8 + bytes);
    if (!w->u)
        return false;
    w->far = elements * (int64_t)tsr_type_size(w->p->semiring.result) > NEAR_BYTES;
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
    const tsr_bundle_monoid m = find_monoid(&p->semiring);
    const int64_t n = p->a.nvec;
    const int nthreads = tsr_chunk_threads((double)p->a.nvals, p->nthreads);
    int64_t total = 0;
    (void)tsr_team(nthreads); /* of the rows, and what comes before is dealt to as many */
    tsr_open_places(w.open, p, n);
    tsr_for_ranges(p->u.vlen, RANGE, nthreads, lay_range, &w);
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 1) reduction(+ : total) if (nthreads > 1)
    for (int64_t first = 0; first < n; first += ROWS)
        total += m.sum(&w, first, first + ROWS < n ? first + ROWS : n);
    return total;
}
