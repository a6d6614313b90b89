/* Elementwise steps and reductions: one loop each, element by element.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_EWISE_H
#define TSR_REF_EWISE_H

#include "kernels/elements.h"
#include "kernels/ref/value.h"

/* z = op (x, y) of one type; comparisons give a boolean. */
tsr_value tsr_ref_operator(tsr_ewise_op op, tsr_type type, tsr_value x, tsr_value y);

/* C<M> accum= op (x, y) on host arrays. */
void tsr_ref_ewise(const tsr_ewise *step, const tsr_ewise_arrays *arrays);

/* The same at the listed places alone.  With step->c: z is C before.  Entries that were stored. */
uint32_t tsr_ref_ewise_listed(const tsr_ewise *step, const tsr_ewise_arrays *arrays, const uint32_t *places, uint32_t length);

/* Two parts of a sum, as tsr_ref_reduce joins them. */
tsr_value tsr_ref_join(tsr_type type, tsr_reduce_op op, tsr_value sum, tsr_value x);

/* Over the entries present, one after the other, sums and products of floats in long double; false: there is none. */
bool tsr_ref_reduce(tsr_value *result, tsr_type type, tsr_reduce_op op, const tsr_elements *elements, int64_t count);
/* The same over those of these places. */
bool tsr_ref_reduce_listed(tsr_value *result, tsr_type type, tsr_reduce_op op, const tsr_elements *elements, const uint32_t *places, uint32_t length);

#endif
