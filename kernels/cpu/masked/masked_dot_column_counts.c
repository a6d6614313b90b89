/* Entries of the mask that meet one list of B, where only the number of products counts: the list is marked, and the rows that meet it are
 * summed over the marks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/masked/masked_dot_columns.h"

enum { AHEAD = 16, NEAR = 8, STRIDE = 8 };

static void ask_ahead(const tsr_md_job *job, const tsr_md_deferred *list, int64_t t, int64_t n)
{
    const tsr_md_vectors *a = &job->a;
    const int64_t far = t + AHEAD < n ? t + AHEAD : n - 1, near = t + NEAR < n ? t + NEAR : n - 1;
    tsr_offset_fetch(a->p, list[far].r);
    __builtin_prefetch((const char *)a->i + (size_t)tsr_md_start(a, list[near].r) * (a->wide ? 8 : 4));
    __builtin_prefetch(&job->present[list[near].e], 1);
}

/* Marked ones of an ascending list, from its end to `first`, below which nothing is marked. */
#define SUM(T)                                                                                                               \
    TSR_INLINE int64_t sum_##T(const uint8_t *restrict mark, const T *restrict list, int64_t n, T first)                     \
    {                                                                                                                        \
        int64_t even = 0, odd = 0, t = n;                                                                                    \
        for (; t >= STRIDE; t -= STRIDE) {                                                                                   \
            even += mark[list[t - 1]] + mark[list[t - 3]] + mark[list[t - 5]] + mark[list[t - 7]];                           \
            odd += mark[list[t - 2]] + mark[list[t - 4]] + mark[list[t - 6]] + mark[list[t - 8]];                            \
            if (list[t - STRIDE] <= first)                                                                                   \
                return even + odd;                                                                                           \
        }                                                                                                                    \
        if (t > 0) {                                                                                                         \
            TSR_UNROLL(8)                                                                                                    \
            for (int64_t s = 1; s < STRIDE; s++)                                                                             \
                even += mark[list[t > s ? t - s : 0]] & -(t >= s);                                                           \
        }                                                                                                                    \
        return even + odd;                                                                                                   \
    }                                                                                                                        \
    static void rows_##T(const tsr_md_job *job, const uint8_t *mark, const tsr_md_deferred *list, int64_t n, T first)        \
    {                                                                                                                        \
        const tsr_md_vectors *a = &job->a;                                                                                   \
        for (int64_t t = 0; t < n; t++) {                                                                                    \
            const int64_t r = list[t].r, from = tsr_md_start(a, r);                                                                     \
            ask_ahead(job, list, t, n);                                                                                      \
            tsr_md_finish_count(job, list[t].e, sum_##T(mark, (const T *)a->i + from, tsr_md_start(a, r + 1) - from, first));           \
        }                                                                                                                    \
    }
SUM(uint32_t)
SUM(uint64_t)

void tsr_md_count_column(const tsr_md_job *job, uint8_t *mark, const tsr_md_deferred *list, int64_t n)
{
    const tsr_md_vectors *b = &job->b;
    const int64_t c = list->c, first = tsr_md_index(b->i, b->wide, tsr_md_start(b, c));
    tsr_md_set_marks(mark, b, c, 1);
    if (b->wide)
        rows_uint64_t(job, mark, list, n, (uint64_t)first);
    else
        rows_uint32_t(job, mark, list, n, (uint32_t)first);
    tsr_md_set_marks(mark, b, c, 0);
}
