/* How many indices two ascending lists have in common, for masked dot products that only count: searched, or summed over the marks of one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_INTERSECT_H
#define TSR_CPU_MASKED_DOT_INTERSECT_H

#include "kernels/cpu/common/simd.h"

enum { STRIDE = 8 }; /* indices that are summed before the end is looked for */

/* For lists of T.  search: the indices of one that has few in one that has many.  `one`: the first in common ends the search. */
#define TSR_MD_SEARCH(T)                                                                          \
    static inline int64_t first_from_##T(const T *list, int64_t from, int64_t n, T key)                  \
    {                                                                                             \
        int64_t step = 1, low = from;                                                             \
        while (from + step < n && list[from + step] < key) {                                      \
            low = from + step;                                                                    \
            step *= 2;                                                                            \
        }                                                                                         \
        int64_t high = from + step < n ? from + step + 1 : n;                                     \
        while (low < high) {                                                                      \
            const int64_t middle = low + (high - low) / 2;                                        \
            if (list[middle] < key)                                                               \
                low = middle + 1;                                                                 \
            else                                                                                  \
                high = middle;                                                                    \
        }                                                                                         \
        return low;                                                                               \
    }                                                                                             \
    static inline int64_t search_##T(const T *few, int64_t nfew, const T *many, int64_t nmany, bool one) \
    {                                                                                             \
        int64_t count = 0, at = 0;                                                                \
        for (int64_t t = 0; t < nfew && at < nmany && !(one && count); t++) {                     \
            at = first_from_##T(many, at, nmany, few[t]);                                         \
            count += at < nmany && many[at] == few[t];                                            \
        }                                                                                         \
        return count;                                                                             \
    }

/* sum_up: a list over the marks of one that ends with `last`, as far as that; sum_down: from its end to `first`, with which the other begins. */
#define TSR_MD_SUMS(T)                                                                                                  \
    TSR_INLINE int64_t sum_up_##T(const uint8_t *restrict mark, const T *restrict list, int64_t n, T last, bool one)    \
    {                                                                                                                   \
        int64_t even = 0, odd = 0, t = 0;                                                                               \
        for (; t + STRIDE <= n; t += STRIDE) {                                                                          \
            even += mark[list[t]] + mark[list[t + 2]] + mark[list[t + 4]] + mark[list[t + 6]];                          \
            odd += mark[list[t + 1]] + mark[list[t + 3]] + mark[list[t + 5]] + mark[list[t + 7]];                       \
            if (list[t + STRIDE - 1] >= last || (one && even + odd))                                                    \
                return even + odd;                                                                                      \
        }                                                                                                               \
        for (; t < n; t++)                                                                                              \
            even += mark[list[t]];                                                                                      \
        return even + odd;                                                                                              \
    }                                                                                                                   \
    TSR_INLINE int64_t sum_down_##T(const uint8_t *restrict mark, const T *restrict list, int64_t n, T first, bool one) \
    {                                                                                                                   \
        int64_t even = 0, odd = 0, t = n;                                                                               \
        for (; t >= STRIDE; t -= STRIDE) {                                                                              \
            even += mark[list[t - 1]] + mark[list[t - 3]] + mark[list[t - 5]] + mark[list[t - 7]];                      \
            odd += mark[list[t - 2]] + mark[list[t - 4]] + mark[list[t - 6]] + mark[list[t - 8]];                       \
            if (list[t - STRIDE] <= first || (one && even + odd))                                                       \
                return even + odd;                                                                                      \
        }                                                                                                               \
        for (; t > 0; t--)                                                                                              \
            even += mark[list[t - 1]];                                                                                  \
        return even + odd;                                                                                              \
    }

#endif
