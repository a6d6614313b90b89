/* Numbers that representations store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BASE_NUMBER_H
#define TSR_BASE_NUMBER_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the values of a representation are stored. */
typedef enum tsr_number { TSR_NUMBER_FP32, TSR_NUMBER_FP64, TSR_NUMBER_FP16, TSR_NUMBER_BF16 } tsr_number;
#define TSR_NUMBER_COUNT 4

/* Bytes of one value. */
static inline size_t tsr_number_size(tsr_number number)
{
    return number == TSR_NUMBER_FP64 ? 8 : number == TSR_NUMBER_FP32 ? 4 : 2;
}

/* Of the four types that are stored as numbers. */
static inline tsr_number tsr_number_of(tsr_type type)
{
    return type == TSR_FP64 ? TSR_NUMBER_FP64 : type == TSR_FP16 ? TSR_NUMBER_FP16 : type == TSR_BF16 ? TSR_NUMBER_BF16 : TSR_NUMBER_FP32;
}

/* dst[0..n) = src[0..n), FP32 or FP64 (`from`), as numbers: round to nearest even, once; too large gives infinity, and NaN
 * becomes 0x7fff in the 16-bit numbers, as on the device. */
void tsr_round_values(void *dst, tsr_number to, const void *src, tsr_type from, int64_t n, int nthreads);

#ifdef __cplusplus
}
#endif

#endif
