/* Typecasts of value arrays by the rules of SuiteSparse:GraphBLAS.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/split.h"

#include <string.h>

/* Floating point to integer: C leaves what does not fit undefined; the rule is to saturate, and NaN gives 0.
 * Both bounds are taken in double: that of a 64-bit type rounds up to a power of two, hence >=. */
#define TO_SIGNED(T, LOW, HIGH, v) \
    (v != v ? (T)0 : (double)v <= (double)LOW ? LOW : (double)v >= (double)HIGH ? HIGH : (T)(double)v)
#define TO_UNSIGNED(T, HIGH, v) (v != v || v <= 0 ? (T)0 : (double)v >= (double)HIGH ? HIGH : (T)(double)v)

#define F_TO_BOOL(v) (v != 0)
#define F_TO_INT8(v) TO_SIGNED(int8_t, INT8_MIN, INT8_MAX, v)
#define F_TO_INT16(v) TO_SIGNED(int16_t, INT16_MIN, INT16_MAX, v)
#define F_TO_INT32(v) TO_SIGNED(int32_t, INT32_MIN, INT32_MAX, v)
#define F_TO_INT64(v) TO_SIGNED(int64_t, INT64_MIN, INT64_MAX, v)
#define F_TO_UINT8(v) TO_UNSIGNED(uint8_t, UINT8_MAX, v)
#define F_TO_UINT16(v) TO_UNSIGNED(uint16_t, UINT16_MAX, v)
#define F_TO_UINT32(v) TO_UNSIGNED(uint32_t, UINT32_MAX, v)
#define F_TO_UINT64(v) TO_UNSIGNED(uint64_t, UINT64_MAX, v)
#define F_TO_FP32(v) (float)v
#define F_TO_FP64(v) (double)v

/* Integer to anything: bool is a test against zero, integers wrap, floating point rounds. */
#define I_TO_BOOL(v) (v != 0)
#define I_TO_INT8(v) (int8_t)v
#define I_TO_INT16(v) (int16_t)v
#define I_TO_INT32(v) (int32_t)v
#define I_TO_INT64(v) (int64_t)v
#define I_TO_UINT8(v) (uint8_t)v
#define I_TO_UINT16(v) (uint16_t)v
#define I_TO_UINT32(v) (uint32_t)v
#define I_TO_UINT64(v) (uint64_t)v
#define I_TO_FP32(v) (float)v
#define I_TO_FP64(v) (double)v

#define CASE(KIND, FROM, TO, to_t)                    \
    case TSR_##TO: {                                  \
        to_t *restrict to_##TO = dst;                 \
        for (int64_t e = 0; e < n; e++)               \
            to_##TO[e] = (to_t)KIND##_TO_##TO(in[e]); \
        return;                                       \
    }

/* The casts from one type into every type. */
#define CAST_FROM(KIND, FROM, from_t)                                                             \
    static void cast_from_##FROM(void *restrict dst, tsr_type to, const void *restrict src, int64_t n) \
    {                                                                                             \
        const from_t *restrict in = src;                                                          \
        switch (to) {                                                                             \
            CASE(KIND, FROM, BOOL, uint8_t)                                                       \
            CASE(KIND, FROM, INT8, int8_t)                                                        \
            CASE(KIND, FROM, INT16, int16_t)                                                      \
            CASE(KIND, FROM, INT32, int32_t)                                                      \
            CASE(KIND, FROM, INT64, int64_t)                                                      \
            CASE(KIND, FROM, UINT8, uint8_t)                                                      \
            CASE(KIND, FROM, UINT16, uint16_t)                                                    \
            CASE(KIND, FROM, UINT32, uint32_t)                                                    \
            CASE(KIND, FROM, UINT64, uint64_t)                                                    \
            CASE(KIND, FROM, FP32, float)                                                         \
            CASE(KIND, FROM, FP64, double)                                                        \
        }                                                                                         \
    }

CAST_FROM(I, INT8, int8_t)
CAST_FROM(I, INT16, int16_t)
CAST_FROM(I, INT32, int32_t)
CAST_FROM(I, INT64, int64_t)
CAST_FROM(I, UINT8, uint8_t)
CAST_FROM(I, UINT16, uint16_t)
CAST_FROM(I, UINT32, uint32_t)
CAST_FROM(I, UINT64, uint64_t)
CAST_FROM(F, FP32, float)
CAST_FROM(F, FP64, double)

static void cast_range(void *dst, tsr_type to, const void *src, tsr_type from, int64_t n)
{
    if (to == from) {
        memcpy(dst, src, (size_t)n * tsr_type_size(to));
        return;
    }
    switch (from) {
    case TSR_BOOL:
    case TSR_UINT8: cast_from_UINT8(dst, to, src, n); break;
    case TSR_INT8: cast_from_INT8(dst, to, src, n); break;
    case TSR_INT16: cast_from_INT16(dst, to, src, n); break;
    case TSR_INT32: cast_from_INT32(dst, to, src, n); break;
    case TSR_INT64: cast_from_INT64(dst, to, src, n); break;
    case TSR_UINT16: cast_from_UINT16(dst, to, src, n); break;
    case TSR_UINT32: cast_from_UINT32(dst, to, src, n); break;
    case TSR_UINT64: cast_from_UINT64(dst, to, src, n); break;
    case TSR_FP32: cast_from_FP32(dst, to, src, n); break;
    case TSR_FP64: cast_from_FP64(dst, to, src, n); break;
    }
}

void tsr_cast_values(void *dst, tsr_type to, const void *src, tsr_type from, int64_t n, int nthreads)
{
    if (n <= 0)
        return;
    int nparts = tsr_parts(n, 1 << 16, nthreads);
    if (nparts < 2) { /* the OpenMP runtime is not asked: often it is one value, and the first one of a process */
        cast_range(dst, to, src, from, n);
        return;
    }
    size_t to_size = tsr_type_size(to), from_size = tsr_type_size(from);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1)
    for (int part = 0; part < nparts; part++) {
        int64_t begin = tsr_part_begin(n, part, nparts), end = tsr_part_begin(n, part + 1, nparts);
        cast_range((char *)dst + (size_t)begin * to_size, to, (const char *)src + (size_t)begin * from_size, from,
                   end - begin);
    }
}
