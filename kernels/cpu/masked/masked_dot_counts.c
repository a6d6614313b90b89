/* Counts of products become results of the masked dot product.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"

#include <string.h>

enum { BLOCK = 8 };

static bool counts_are_results(const tsr_md_job *job)
{
    const bool wide = job->semiring.type == TSR_INT64 || job->semiring.type == TSR_UINT64;
    static const int64_t one = 1;
    return job->kind == TSR_MD_COUNT && wide && memcmp(job->product, &one, sizeof one) == 0 && !job->mask_x;
}

static void store(const tsr_md_job *job, int64_t e, const uint32_t *counts, int64_t n)
{
    int64_t *x = (int64_t *)job->x + e;
    for (int64_t t = 0; t < n; t++) {
        x[t] = counts[t];
        job->present[e + t] = counts[t] != 0;
    }
}

/* Where no pair of eight has a product, nothing is written: memory that is not touched need not be had. */
static void finish_plain(const tsr_md_job *job, int64_t e, const uint32_t *counts, int64_t n)
{
    for (int64_t t = 0; t < n; t += BLOCK) {
        uint32_t any = 0;
        const int64_t some = n - t < BLOCK ? n - t : BLOCK;
        for (int64_t k = 0; k < some; k++)
            any |= counts[t + k];
        if (any)
            store(job, e + t, counts + t, some);
    }
}

void tsr_md_finish_count(const tsr_md_job *job, int64_t e, int64_t count)
{
    if (!count || !tsr_md_passes(job, e))
        return;
    tsr_md_finish(job, e, count);
    job->present[e] = 1;
}

static void finish(const tsr_md_job *job, int64_t e, const uint32_t *counts, int64_t n)
{
    memset(job->present + e, 0, (size_t)n);
    for (int64_t t = 0; t < n; t++)
        tsr_md_finish_count(job, e + t, counts[t]);
}

void tsr_md_finish_counts(const tsr_md_job *job, int64_t e, const uint32_t *counts, int64_t n)
{
    (counts_are_results(job) ? finish_plain : finish)(job, e, counts, n);
}
