/* Sorting 64-bit keys by their upper halves, so that those that are equal stay in order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SORT_KEYS_H
#define TSR_CPU_SORT_KEYS_H

#include <stdint.h>

/* Lower halves ascend among equal upper ones.  `most`: no upper half is greater.  Where n is more than TSR_SORT_FEW, the sorted keys
 * lie in one of the two, which is returned. */
enum { TSR_SORT_FEW = 32 };
uint64_t *tsr_sort_keys(uint64_t *key, uint64_t *other, int64_t n, uint64_t most);

#endif
