/* TF32 numbers held as FP16: both have 11 significant bits, FP16 has less room for exponents.  Scaled by a power of two, numbers that do
 * not differ by more than 2^28 keep all 11 bits, and take half the bytes.
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

/* range: see tsr_cuda_find_range.  Numbers times 2^*shift are FP16 numbers that are not subnormal, but for rounding.  false: there is no
 * such shift, or it is so large that sums of products might leave FP32. */
static inline bool tsr_narrow_shift(int *shift, const uint32_t range[2])
{
    enum { GREATEST = 14, LEAST = -14, MOST = 40 }; /* exponents; of a shift */
    *shift = 0;
    if (range[0] == 0)
        return true;
    if (range[0] >= 0x7f800000)
        return false;
    *shift = GREATEST - tsr_exponent_of_bits(range[0]);
    return *shift <= MOST && *shift >= -MOST && tsr_exponent_of_bits(~range[1]) + *shift >= LEAST;
}

#endif
