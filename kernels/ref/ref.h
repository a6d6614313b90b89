/* The oracle, and a second mode of it for error bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_H
#define TSR_REF_H

#include "kernels/kernels.h"
#include "kernels/ref/value.h"

/* As tsr_ref_execute, but floats are computed in long double throughout and stored as such: x[c] in the order of
 * result->x.  FP32 and FP64 semirings only. */
tsr_status tsr_ref_execute_exact(const tsr_product *product, long double *x, int8_t *b, int64_t *nvals);

/* For ANY: matches[place] = 1 where x[place] equals one of the terms that meet there (== or both NaN). */
tsr_status tsr_ref_match_any(const tsr_product *product, const void *x, int8_t *matches);

#endif
