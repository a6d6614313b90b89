/* SpGEMM: how large C will be, from the patterns of a few rows: memory of about the right size is neither moved nor given back, and blocks
 * that are kept fit the next time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW = 1 << 16,          /* products of which the memory of all is taken */
    SHARE = 64,             /* one row in so many, at least */
    MOST_ROWS = 2048,
    SPARE = 8               /* an eighth more than expected */
};

/* Different columns of stored row v; seen: a table of `room` (a power of two) columns + 1. */
static int64_t count_row(const tsr_sg_job *job, int64_t v, uint32_t *seen, int64_t room)
{
    int64_t count = 0;
    memset(seen, 0, (size_t)room * sizeof *seen);
    for (int64_t e = job->a_p[v]; e < job->a_p[v + 1]; e++) {
        int64_t lo, hi;
        tsr_sg_row_of_b(job, tsr_sg_index(job->a_i, job->a_wide, e), &lo, &hi);
        for (; lo < hi; lo++) {
            const uint32_t name = (uint32_t)tsr_sg_index(job->b_i, job->b_wide, lo) + 1;
            int64_t slot = (int64_t)(name * 0x9E3779B1u) & (room - 1);
            while (seen[slot] && seen[slot] != name)
                slot = (slot + 1) & (room - 1);
            count += !seen[slot];
            seen[slot] = name;
        }
    }
    return count;
}

static int64_t most_of_row(const tsr_spgemm_work *w, int64_t v)
{
    const int64_t products = w->before[v + 1] - w->before[v];
    return products < w->job.n ? products : w->job.n;
}

typedef struct sample {
    double most, counted, all; /* bounds of the rows that were counted, what they have, bounds of all rows */
} sample;

static bool take_sample(sample *s, const tsr_spgemm_work *w)
{
    const int64_t nvec = w->job.nvec, step = nvec / MOST_ROWS > SHARE ? nvec / MOST_ROWS : SHARE;
    int64_t room = 0, limit = w->before[nvec] / SHARE; /* products to look at, about */
    uint32_t *seen = NULL;
    for (int64_t v = 0; v < nvec; v++) {
        const int64_t most = most_of_row(w, v);
        s->all += (double)most;
        if ((v + step / 2) % step || most == 0 || limit < 0)
            continue;
        limit -= w->before[v + 1] - w->before[v];
        if (room < 2 * most) {
            for (room = 64; room < 2 * most;)
                room *= 2;
            free(seen);
            seen = malloc((size_t)room * sizeof *seen);
        }
        if (!seen)
            return false;
        s->most += (double)most;
        s->counted += (double)count_row(&w->job, v, seen, room);
    }
    free(seen);
    return true;
}

int64_t tsr_sg_estimate(const tsr_spgemm_work *w)
{
    const int64_t products = w->before[w->job.nvec];
    sample s = {0};
    if (products <= FEW)
        return products + 1;
    if (!take_sample(&s, w) || s.most == 0)
        return (int64_t)(s.all > 0 ? s.all / 2 : (double)products / 4) + 1;
    const double expected = s.all * (s.counted / s.most) * (1 + 1.0 / SPARE);
    return (int64_t)(expected < s.all ? expected : s.all) + 1;
}
