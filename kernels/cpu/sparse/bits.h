/* Products of the patterns of several sparse or dense vectors, all together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_BITS_H
#define TSR_CPU_SPARSE_BITS_H

#include "kernels/sparse_vectors.h"

/* Is it a pattern with so many multiply-adds that rows of A are better read once for all vectors? */
bool tsr_push_has_bits(const tsr_push *push, int64_t work);

/* The push, of a u in any form; result holds no entries before.  Only where tsr_push_has_bits. */
tsr_status tsr_push_bits(const tsr_push *push, tsr_few *result);

#endif
