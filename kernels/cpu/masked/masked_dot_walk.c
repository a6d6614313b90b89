/* Searching the entries of a sparse vector in a mark array, and in a sorted vector.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked/masked_dot.h"

/* Every entry is written to the next free place; only a marked one advances it. */
#define FIND(NAME, T)                                                                                              \
    static int64_t NAME(const uint8_t *restrict mark, const T *restrict index, int64_t n, uint32_t *restrict place, \
                        int64_t *restrict found)                                                                   \
    {                                                                                                              \
        int64_t hits = 0;                                                                                          \
        for (int64_t t = 0; t < n; t++) {                                                                          \
            place[hits] = (uint32_t)t;                                                                             \
            hits += mark[index[t]];                                                                                \
        }                                                                                                          \
        for (int64_t t = 0; t < hits; t++)                                                                         \
            found[t] = (int64_t)index[place[t]];                                                                   \
        return hits;                                                                                               \
    }

/* Halving without a branch on what was read: the steps depend on the length alone. */
#define LOWER_BOUND(NAME, T)                                                              \
    static int64_t NAME(const T *restrict index, int64_t begin, int64_t end, int64_t key) \
    {                                                                                     \
        int64_t n = end - begin;                                                          \
        if (n <= 0)                                                                       \
            return begin;                                                                 \
        while (n > 1) {                                                                   \
            int64_t half = n / 2;                                                         \
            begin += (int64_t)index[begin + half - 1] < key ? half : 0;                   \
            n -= half;                                                                    \
        }                                                                                 \
        return begin + ((int64_t)index[begin] < key);                                     \
    }

FIND(find_narrow, uint32_t)
FIND(find_wide, int64_t)
LOWER_BOUND(lower_bound_narrow, uint32_t)
LOWER_BOUND(lower_bound_wide, int64_t)

int64_t tsr_md_find(const uint8_t *mark, const void *index, bool wide, int64_t begin, int64_t n, uint32_t *place,
                    int64_t *found)
{
    return wide ? find_wide(mark, (const int64_t *)index + begin, n, place, found)
                : find_narrow(mark, (const uint32_t *)index + begin, n, place, found);
}

int64_t tsr_md_lower_bound(const void *index, bool wide, int64_t begin, int64_t end, int64_t key)
{
    return wide ? lower_bound_wide(index, begin, end, key) : lower_bound_narrow(index, begin, end, key);
}

int64_t tsr_md_gallop(const void *index, bool wide, int64_t from, int64_t end, int64_t key)
{
    int64_t step = 1, low = from;
    while (from + step < end && tsr_md_index(index, wide, from + step) < key) {
        low = from + step;
        step *= 2;
    }
    const int64_t high = from + step < end ? from + step + 1 : end;
    return tsr_md_lower_bound(index, wide, low, high, key);
}

#define MARK_MOST ((int64_t)1 << 31)

bool tsr_md_may_mark(const tsr_md_job *job)
{
    const bool sorted = job->a.sorted && job->b.sorted;
    return job->k <= MARK_MOST && (!sorted || job->k / 1024 <= job->a.nvals + job->b.nvals + job->m.nvals);
}

void tsr_md_set_marks(uint8_t *restrict mark, const tsr_md_vectors *v, int64_t vector, uint8_t value)
{
    const int64_t begin = tsr_md_start(v, vector), end = tsr_md_start(v, vector + 1);
    const int64_t *wide = v->i;
    const uint32_t *narrow = v->i;
    if (v->wide)
        for (int64_t e = begin; e < end; e++)
            mark[wide[e]] = value;
    else
        for (int64_t e = begin; e < end; e++)
            mark[narrow[e]] = value;
}
