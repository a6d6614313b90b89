/* Elements taken and put by their places.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_TAKE_H
#define TSR_CPU_SPARSE_TAKE_H

#include <stddef.h>
#include <stdint.h>

/* Elements of `size` bytes: x[t] = from[i[t]]; x[i[t]] = z[t]; x[t] = *value. */
void tsr_take(void *x, const void *from, const int64_t *i, int64_t n, size_t size);
void tsr_put(void *x, const void *z, const int64_t *i, int64_t n, size_t size);
void tsr_repeat(void *x, const void *value, int64_t n, size_t size);

#endif
