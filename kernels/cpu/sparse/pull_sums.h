/* The part of tsr_cpu_pull (kernels/sparse_vectors.h) for few vectors and monoids that want every product.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_PULL_SUMS_H
#define TSR_CPU_SPARSE_PULL_SUMS_H

#include "kernels/sparse_vectors.h"

int64_t tsr_cpu_pull_sums(const tsr_push *p, int8_t *b, void *x);

#endif
