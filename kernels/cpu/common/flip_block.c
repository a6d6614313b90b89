/* Turning a small block of values over, in cache or past it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/arrays.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

/* ---- added ---- */

/* Whole lines of the destination, eight at a time: it is read and written once.  The next eight are fetched meanwhile: columns that are far
 * apart may share a set of the cache, so no more of them. */
#define FLIP_ADD(real) \
    static inline __attribute__((always_inline)) void add_square_##real(real *restrict dst, int64_t dst_ld, const real *restrict src, \
        int64_t src_ld) \
    { \
        real t[SIDE][SIDE]; \
        for (int r = 0; r < SIDE; r++) \
            for (int c = 0; c < SIDE; c++) \
                t[c][r] = src[r * src_ld + c]; \
        for (int c = 0; c < SIDE; c++) { \
            __builtin_prefetch(dst + (c + SIDE) * dst_ld, 1, 3); \
            for (int r = 0; r < SIDE; r++) \
                dst[c * dst_ld + r] += t[c][r]; \
        } \
    } \
    static void add_flipped_##real(real *dst, int64_t dst_ld, const real *src, int64_t src_ld, int64_t rows, int64_t columns) \
    { \
        const int64_t whole_rows = rows / SIDE * SIDE, whole_columns = columns / SIDE * SIDE; \
        for (int64_t c = 0; c < whole_columns; c += SIDE) \
            for (int64_t r = 0; r < whole_rows; r += SIDE) \
                add_square_##real(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld); \
        for (int64_t r = 0; r < rows; r++) \
            for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++) \
                dst[c * dst_ld + r] += src[r * src_ld + c]; \
    }

FLIP_ADD(float)
FLIP_ADD(double)

void tsr_flip_add_block(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size)
{
    if (size == sizeof(float))
        add_flipped_float(dst, dst_ld, src, src_ld, rows, columns);
    else
        add_flipped_double(dst, dst_ld, src, src_ld, rows, columns);
}

/* ---- past the cache ---- */

#if defined(__SSE2__)

/* Two columns of 8 rows: each becomes 64 consecutive bytes. */
static inline void stream_two(uint64_t *dst, int64_t dst_ld, const uint64_t *src, int64_t src_ld)
{
    __m128i x[SIDE];
    for (int k = 0; k < SIDE; k++)
        x[k] = _mm_loadu_si128((const __m128i *)(const void *)(src + k * src_ld));
    for (int k = 0; k < SIDE; k += 2)
        _mm_stream_si128((__m128i *)(void *)(dst + k), _mm_unpacklo_epi64(x[k], x[k + 1]));
    for (int k = 0; k < SIDE; k += 2)
        _mm_stream_si128((__m128i *)(void *)(dst + dst_ld + k), _mm_unpackhi_epi64(x[k], x[k + 1]));
}

/* Lines of cache are written whole, or side by side.  8 source rows at a time where they are far apart (they may share a set of the
 * cache), all of them where the destination's are. */
static void stream_64(uint64_t *dst, int64_t dst_ld, const uint64_t *src, int64_t src_ld, int64_t rows, int64_t columns)
{
    if (src_ld > dst_ld) {
        for (int64_t r = 0; r < rows; r += SIDE)
            for (int64_t c = 0; c < columns; c += 2)
                stream_two(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld);
    } else {
        for (int64_t c = 0; c < columns; c += 2)
            for (int64_t r = 0; r < rows; r += SIDE)
                stream_two(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld);
    }
    _mm_sfence();
}

static bool can_stream(const void *dst, int64_t dst_ld, size_t size)
{
    return size == 8 && (uintptr_t)dst % 16 == 0 && dst_ld % 2 == 0;
}

void tsr_flip_block_streamed(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size)
{
    const int64_t r = can_stream(dst, dst_ld, size) ? rows / SIDE * SIDE : 0, c = r > 0 ? columns / 2 * 2 : 0;
    if (r > 0 && c > 0)
        stream_64(dst, dst_ld, src, src_ld, r, c);
    tsr_flip_block((char *)dst + (size_t)r * size, dst_ld, (const char *)src + (size_t)(r * src_ld) * size, src_ld, rows - r, c, size);
    tsr_flip_block((char *)dst + (size_t)(c * dst_ld) * size, dst_ld, (const char *)src + (size_t)c * size, src_ld, rows, columns - c, size);
}

#else

void tsr_flip_block_streamed(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size)
{
    tsr_flip_block(dst, dst_ld, src, src_ld, rows, columns, size);
}

#endif
