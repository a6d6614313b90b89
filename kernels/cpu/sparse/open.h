/* What the mask of a product of at most eight vectors lets pass, all vectors side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_OPEN_H
#define TSR_CPU_SPARSE_OPEN_H

#include "kernels/sparse_vectors.h"

/* Bit r of open[j], j < n: the mask, or no mask, lets place j of vector r pass. */
void tsr_open_places(uint8_t *open, const tsr_push *p, int64_t n);

#endif
