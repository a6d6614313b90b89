/* Elements taken from an array, or put there, by a list of places; or all the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/common/scratch.h"
#include "kernels/cpu/sparse/take.h"

#define GATHER(bits)                                                                                    \
    static void gather_##bits(uint##bits##_t *restrict x, const uint##bits##_t *restrict from, const int64_t *restrict i, int64_t n) \
    {                                                                                                   \
        for (int64_t t = 0; t < n; t++)                                                                 \
            x[t] = from[i[t]];                                                                          \
    }
GATHER(8)
GATHER(16)
GATHER(32)
GATHER(64)

void tsr_take(void *x, const void *from, const int64_t *i, int64_t n, size_t size)
{
    switch (size) {
    case 1: gather_8(x, from, i, n); break;
    case 2: gather_16(x, from, i, n); break;
    case 4: gather_32(x, from, i, n); break;
    default: gather_64(x, from, i, n); break;
    }
}

void tsr_repeat(void *x, const void *value, int64_t n, size_t size)
{
    switch (size) {
    case 1: memset(x, *(const uint8_t *)value, (size_t)n); break;
    case 2: for (int64_t t = 0; t < n; t++) ((uint16_t *)x)[t] = *(const uint16_t *)value; break;
    case 4: for (int64_t t = 0; t < n; t++) ((uint32_t *)x)[t] = *(const uint32_t *)value; break;
    default: for (int64_t t = 0; t < n; t++) ((uint64_t *)x)[t] = *(const uint64_t *)value; break;
    }
}

#define PUT(bits)                                                                                                          \
    static void put_##bits(uint##bits##_t *restrict x, const uint##bits##_t *restrict z, const int64_t *restrict i, int64_t n) \
    {                                                                                                                      \
        for (int64_t t = 0; t < n; t++)                                                                                    \
            x[i[t]] = z[t];                                                                                                \
    }
PUT(8)
PUT(16)
PUT(32)
PUT(64)

void tsr_put(void *x, const void *z, const int64_t *i, int64_t n, size_t size)
{
    switch (size) {
    case 1: put_8(x, z, i, n); break;
    case 2: put_16(x, z, i, n); break;
    case 4: put_32(x, z, i, n); break;
    default: put_64(x, z, i, n); break;
    }
}
