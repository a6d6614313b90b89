/* SpGEMM: the entries of one row by index.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/sort_keys.h"
#include "src/base/split.h"

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
    uint64_t few[3 * TSR_SORT_FEW];
    uint64_t *block = n <= TSR_SORT_FEW ? few : malloc((size_t)n * 3 * sizeof *block), *key = block, most = 0;
    if (!block)
        return false;
    if (!ascends(i, n)) {
        for (int64_t a = 0; a < n; a++) {
            key[a] = (uint64_t)i[a] << 32 | (uint64_t)a;
            most |= (uint64_t)i[a];
        }
        key = tsr_sort_keys(key, block + n, n, most);
        put(i, x, size, n, key, block + 2 * n);
    }
    if (block != few)
        free(block);
    return true;
}
