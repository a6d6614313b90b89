/* What several tuples of one place become.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_JOIN_H
#define TSR_CPU_JOIN_H

#include "kernels/build.h"

/* x[e] = what n of the values given become: those at the lower halves of the keys. */
typedef void tsr_join(void *x, int64_t e, const void *given, const uint64_t *key, int64_t n);

/* NULL: no such monoid. */
tsr_join *tsr_join_of(const tsr_tuples *t);

#endif
