/* SpGEMM: the entries of one row by index.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"

enum { FEW = 32, DIGIT = 8 };

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

/* Indices are the upper halves of the keys. */
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

static bool ascends(const int64_t *i, int64_t n)
{
    for (int64_t a = 1; a < n; a++)
        if (i[a - 1] > i[a])
            return false;
    return true;
}

static void put(int64_t *i, void *x, size_t size, int64_t n, const uint64_t *key, void *values)
{
    if (x)
        memcpy(values, x, (size_t)n * size);
    for (int64_t a = 0; a < n; a++) {
        i[a] = (int64_t)(key[a] >> 32);
        if (x && size == 1)
            ((char *)x)[a] = ((const char *)values)[(uint32_t)key[a]];
        else if (x)
            tsr_move_value(x, a, values, (uint32_t)key[a], size);
    }
}

bool tsr_sg_sort(int64_t *i, void *x, size_t size, int64_t n)
{
    uint64_t few[3 * FEW];
    uint64_t *block = n <= FEW ? few : malloc((size_t)n * 3 * sizeof *block), *key = block, most = 0;
    if (!block)
        return false;
    if (!ascends(i, n)) {
        for (int64_t a = 0; a < n; a++) {
            key[a] = (uint64_t)i[a] << 32 | (uint64_t)a;
            most |= (uint64_t)i[a];
        }
        if (n <= FEW)
            by_insertion(key, n);
        else
            key = by_digits(key, block + n, n, most);
        put(i, x, size, n, key, block + 2 * n);
    }
    if (block != few)
        free(block);
    return true;
}
