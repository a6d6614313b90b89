/* Indices and offsets of the caller, of either width, counted from 0 or 1.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/sparse_blas/native.h"

void tsr_native_count_from_0(void *indices, size_t size, int64_t count, int base)
{
    for (int64_t k = 0; k < count; k++) {
        if (size == 4) {
            ((uint32_t *)indices)[k] -= (uint32_t)base;
        } else {
            ((int64_t *)indices)[k] -= base;
        }
    }
}
