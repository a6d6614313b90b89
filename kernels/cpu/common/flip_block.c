/* Turning a small block of values over, in cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/arrays.h"

#define SIDE 8

#define FLIP(bits) \
    static inline __attribute__((always_inline)) void square_##bits(uint##bits##_t *restrict dst, int64_t dst_ld, \
        const uint##bits##_t *restrict src, int64_t src_ld) \
    { \
        uint##bits##_t t[SIDE][SIDE]; \
        for (int r = 0; r < SIDE; r++) \
            for (int c = 0; c < SIDE; c++) \
                t[r][c] = src[r * src_ld + c]; \
        for (int c = 0; c < SIDE; c++) \
            for (int r = 0; r < SIDE; r++) \
                dst[c * dst_ld + r] = t[r][c]; \
    } \
    static void flip_##bits(uint##bits##_t *dst, int64_t dst_ld, const uint##bits##_t *src, int64_t src_ld, \
        int64_t rows, int64_t columns) \
    { \
        int64_t whole_rows = rows / SIDE * SIDE, whole_columns = columns / SIDE * SIDE; \
        for (int64_t r = 0; r < whole_rows; r += SIDE) \
            for (int64_t c = 0; c < whole_columns; c += SIDE) \
                square_##bits(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld); \
        for (int64_t r = 0; r < rows; r++) \
            for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++) \
                dst[c * dst_ld + r] = src[r * src_ld + c]; \
    }

FLIP(8)
FLIP(16)
FLIP(32)
FLIP(64)

void tsr_flip_block(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns,
    size_t size)
{
    switch (size) {
    case 1: flip_8(dst, dst_ld, src, src_ld, rows, columns); break;
    case 2: flip_16(dst, dst_ld, src, src_ld, rows, columns); break;
    case 4: flip_32(dst, dst_ld, src, src_ld, rows, columns); break;
    default: flip_64(dst, dst_ld, src, src_ld, rows, columns); break;
    }
}
