/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/half.h"

void tsr_widen_values(float *dst, const uint16_t *src, tsr_type from, int64_t n)
{
    if (from == TSR_BF16) {
        for (int64_t k = 0; k < n; k++)
            dst[k] = tsr_float_of_bf16(src[k]);
    } else {
        for (int64_t k = 0; k < n; k++)
            dst[k] = tsr_float_of_fp16(src[k]);
    }
}
