/* Searching the entries of a sparse vector in a mark array, and in a sorted vector.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/masked_dot.h"

/* Four counters: a single one would make every addition wait for the one before. */
#define COUNT(NAME, T)                                                              \
    static int64_t NAME(const uint8_t *restrict mark, const T *restrict index, int64_t n) \
    {                                                                               \
        uint64_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;                                    \
        int64_t t = 0;                                                              \
        for (; t + 4 <= n; t += 4) {                                                \
            c0 += mark[index[t]];                                                   \
            c1 += mark[index[t + 1]];                                               \
            c2 += mark[index[t + 2]];                                               \
            c3 += mark[index[t + 3]];                                               \
        }                                                                           \
        for (; t < n; t++)                                                          \
            c0 += mark[index[t]];                                                   \
        return (int64_t)(c0 + c1 + c2 + c3);                                        \
    }

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

COUNT(count_narrow, uint32_t)
COUNT(count_wide, int64_t)
FIND(find_narrow, uint32_t)
FIND(find_wide, int64_t)
LOWER_BOUND(lower_bound_narrow, uint32_t)
LOWER_BOUND(lower_bound_wide, int64_t)

int64_t tsr_md_count(const uint8_t *mark, const void *index, bool wide, int64_t begin, int64_t n)
{
    return wide ? count_wide(mark, (const int64_t *)index + begin, n)
                : count_narrow(mark, (const uint32_t *)index + begin, n);
}

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
