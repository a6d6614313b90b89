/* Bits that two arrays of words have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/template.h"

int64_t TSR_NAME(tsr_md_count_common)(const uint64_t *x, const uint64_t *y, int64_t n);

/* Four counters: a single one would make every addition wait for the one before. */
int64_t TSR_NAME(tsr_md_count_common)(const uint64_t *x, const uint64_t *y, int64_t n)
{
    int64_t c0 = 0, c1 = 0, c2 = 0, c3 = 0, t = 0;
    for (; t + 4 <= n; t += 4) {
        c0 += __builtin_popcountll(x[t] & y[t]);
        c1 += __builtin_popcountll(x[t + 1] & y[t + 1]);
        c2 += __builtin_popcountll(x[t + 2] & y[t + 2]);
        c3 += __builtin_popcountll(x[t + 3] & y[t + 3]);
    }
    for (; t < n; t++)
        c0 += __builtin_popcountll(x[t] & y[t]);
    return c0 + c1 + c2 + c3;
}
