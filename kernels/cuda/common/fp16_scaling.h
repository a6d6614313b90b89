/* TF32 numbers held as FP16: both have 11 significant bits, FP16 has less room for exponents.  Scaled by a power of two such that the
 * greatest lies below 2^15, numbers down to 2^-28 of it keep all 11 bits; smaller ones are off by at most 2^-39 of the greatest, and none
 * becomes 0.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_FP16_SCALING_H
#define TSR_CUDA_FP16_SCALING_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int tsr_exponent_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return ilogbf(x);
}

/* range: see tsr_cuda_find_range.  *shift: that power of two.  false: numbers differ by more than FP16 can hold, or are so large or small
 * that sums of products might leave FP32. */
static inline bool tsr_fp16_scale(int *shift, const uint32_t range[2])
{
    enum { GREATEST = 14, LEAST = -24, MOST = 40 }; /* exponents; of a shift */
    *shift = 0;
    if (range[0] == 0)
        return true;
    if (range[0] >= 0x7f800000)
        return false;
    *shift = GREATEST - tsr_exponent_of_bits(range[0]);
    return *shift <= MOST && *shift >= -MOST && tsr_exponent_of_bits(~range[1]) + *shift >= LEAST;
}

/* Rows of FP32 numbers as FP16, each times a power of two of its own that brings its greatest magnitude just below 2^15; cols apart.
 * exponent [rows]: times 2^(exponent - 127) undoes it; 255: the row has elements that are not finite, or differ by more than FP16 can
 * hold.  TSR_DECLINED: cols no multiple of 8, or rows of src that do not begin at multiples of 16 bytes. */
tsr_status tsr_cuda_narrow_rows(void *dst, uint8_t *exponent, const void *src, int64_t ld, int64_t rows, int64_t cols, void *stream);

/* tsr_cuda_sddmm_csr with the elements of B' rounded as TF32 rounds them: b, exponent: what tsr_cuda_narrow_rows made of product->b, which
 * is read where that cannot be used.  plus_times of FP32, k a multiple of 8, rows of both operands at multiples of 16 bytes; else
 * TSR_DECLINED. */
tsr_status tsr_cuda_sddmm_narrow(const tsr_cuda_sddmm *product, const void *b, const uint8_t *exponent);

#ifdef __cplusplus
}
#endif

#endif
