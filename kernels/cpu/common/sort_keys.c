/* Sorting 64-bit keys by their upper halves.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/sort_keys.h"

enum { DIGIT = 8 };

static void by_insertion(uint64_t *key, int64_t n)
{
    for (int64_t a = 1; a < n; a++) {
        const uint64_t moving = key[a];
        int64_t b = a;
        for (; b > 0 && key[b - 1] > moving; b--)
            key[b] = key[b - 1];
        key[b] = moving;
    }
}

/* One pass by the digit at `shift`; stable. */
static void pass(uint64_t *to, const uint64_t *from, int64_t n, int shift)
{
    int64_t start[1 << DIGIT] = {0}, sum = 0;
    for (int64_t a = 0; a < n; a++)
        start[from[a] >> shift & ((1 << DIGIT) - 1)]++;
    for (int d = 0; d < 1 << DIGIT; d++) {
        const int64_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (int64_t a = 0; a < n; a++)
        to[start[from[a] >> shift & ((1 << DIGIT) - 1)]++] = from[a];
}

static uint64_t *by_digits(uint64_t *key, uint64_t *other, int64_t n, uint64_t most)
{
    for (int shift = 32; shift < 64 && most >> (shift - 32); shift += DIGIT) {
        pass(other, key, n, shift);
        uint64_t *sorted = other;
        other = key;
        key = sorted;
    }
    return key;
}

uint64_t *tsr_sort_keys(uint64_t *key, uint64_t *other, int64_t n, uint64_t most)
{
    if (n > TSR_SORT_FEW)
        return by_digits(key, other, n, most);
    by_insertion(key, n);
    return key;
}
