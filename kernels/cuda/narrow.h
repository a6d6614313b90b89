/* TF32 numbers held as FP16: both have 11 significant bits, FP16 has less room for exponents.  Scaled by a power of two such that the
 * greatest lies below 2^15, numbers down to 2^-28 of it keep all 11 bits; smaller ones are off by at most 2^-39 of the greatest, and none
 * becomes 0.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_NARROW_H
#define TSR_CUDA_NARROW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline int tsr_exponent_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return ilogbf(x);
}

/* range: see tsr_cuda_find_range.  *shift: that power of two.  false: numbers differ by more than FP16 can hold, or are so large or small
 * that sums of products might leave FP32. */
static inline bool tsr_narrow_shift(int *shift, const uint32_t range[2])
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

#endif
