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

static bool have_keys(tsr_sg_thread *t, int64_t n)
{
    if (t->keys_room >= n)
        return true;
    free(t->keys);
    t->keys_room = 2 * n;
    t->keys = malloc((size_t)t->keys_room * 3 * sizeof *t->keys);
    t->keys_room = t->keys ? t->keys_room : 0;
    return t->keys;
}

bool tsr_sg_sort(tsr_sg_thread *t, size_t size, int64_t start)
{
    int64_t *i = t->i + start;
    const int64_t n = t->used - start;
    if (ascends(i, n))
        return true;
    if (!have_keys(t, n))
        return false;
    uint64_t most = 0;
    for (int64_t a = 0; a < n; a++) {
        t->keys[a] = (uint64_t)i[a] << 32 | (uint64_t)a;
        most |= (uint64_t)i[a];
    }
    const uint64_t *key = tsr_sort_keys(t->keys, t->keys + n, n, most);
    put(i, size ? (char *)t->x + (size_t)start * size : NULL, size, n, key, t->keys + 2 * n);
    return true;
}
