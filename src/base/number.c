/* Rounding to the numbers that representations store.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/number.h"
#include "src/base/split.h"

#include <math.h>
#include <string.h>

#define NAN_16 0x7fff /* what the device's conversions give for every NaN */

static inline uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Truncated, the last bit set if anything was lost: rounding the result to fewer bits is then rounding d once. */
static float round_to_odd(double d)
{
    float f = (float)d;
    uint32_t bits = float_bits(f);
    if ((double)f == d || d != d)
        return f;
    if (fabs((double)f) > fabs(d))
        bits--;
    return bits_float(bits | 1);
}

static uint16_t to_bf16(float f)
{
    uint32_t bits = float_bits(f);
    if (f != f)
        return NAN_16;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t to_fp16(float f)
{
    uint32_t bits = float_bits(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (f != f)
        return NAN_16;
    if (size >= 0x47800000) /* 2^16 */
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) /* below 2^-14 the steps are those of floats near 1/2: the addition rounds */
        return (uint16_t)(sign | (float_bits(bits_float(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

/* One loop for each pair of numbers. */
#define ROUND(to_t, from_t, expression)          \
    {                                            \
        to_t *restrict out = dst;                \
        const from_t *restrict in = src;         \
        for (int64_t e = 0; e < n; e++)          \
            out[e] = expression;                 \
        return;                                  \
    }

static void round_fp32(void *dst, tsr_number to, const void *src, int64_t n)
{
    switch (to) {
    case TSR_NUMBER_FP32: memcpy(dst, src, (size_t)n * 4); return;
    case TSR_NUMBER_FP64: ROUND(double, float, in[e])
    case TSR_NUMBER_FP16: ROUND(uint16_t, float, to_fp16(in[e]))
    case TSR_NUMBER_BF16: ROUND(uint16_t, float, to_bf16(in[e]))
    }
}

static void round_fp64(void *dst, tsr_number to, const void *src, int64_t n)
{
    switch (to) {
    case TSR_NUMBER_FP32: ROUND(float, double, (float)in[e])
    case TSR_NUMBER_FP64: memcpy(dst, src, (size_t)n * 8); return;
    case TSR_NUMBER_FP16: ROUND(uint16_t, double, to_fp16(round_to_odd(in[e])))
    case TSR_NUMBER_BF16: ROUND(uint16_t, double, to_bf16(round_to_odd(in[e])))
    }
}

void tsr_round_values(void *dst, tsr_number to, const void *src, tsr_type from, int64_t n, int nthreads)
{
    if (n <= 0)
        return;
    int nparts = tsr_parts(n, 1 << 16, nthreads);
    size_t to_size = tsr_number_size(to), from_size = tsr_type_size(from);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t begin = tsr_part_begin(n, part, nparts), end = tsr_part_begin(n, part + 1, nparts);
        void *out = (char *)dst + (size_t)begin * to_size;
        const void *in = (const char *)src + (size_t)begin * from_size;
        (from == TSR_FP64 ? round_fp64 : round_fp32)(out, to, in, end - begin);
    }
}
