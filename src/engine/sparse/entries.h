/* Elementwise operations on entries of one pattern.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_ENTRIES_H
#define TSR_ENGINE_ENTRIES_H

#include "src/engine/call/call.h"

/* op (x, y) of sparse matrices on the host, an operand being a scalar or of the same pattern: step, A and B of call->update and call->given. */
extern const tsr_operation tsr_entries_operation;

/* Has C the shape and the orientation of an operand?  Then the call knows C's type. */
bool tsr_entries_fit_c(tsr_call *call, const tsr_view *a);

/* All values of its result are the same: SuiteSparse writes only one. */
bool tsr_entries_make_one_value(const tsr_call *call);

/* call->of.host of so many entries: values of A and B as they lie, or scalars. */
void tsr_entries_prepare(tsr_call *call, int64_t count);

/* op (x, y) of the entries that two sparse matrices have in common, where lists are long. */
extern const tsr_operation tsr_common_operation;

#endif
