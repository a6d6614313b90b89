/* Kronecker products.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_KRONECKER_H
#define TSR_ENGINE_KRONECKER_H

#include "src/engine/call/call.h"

/* C<M> accum= kron (A, B) on the host: A and B, or their transposes, held as C is; op, type and result in update.step. */
extern const tsr_operation tsr_kronecker_operation;

/* C = kron (A, B) on a device that has one of them: the transposes in a and b, op, type and result in of.entries.step. */
extern const tsr_operation tsr_device_kronecker_operation;

/* What both say of A and B: all values of C are the same; this one, in `type`; their line in the trace. */
bool tsr_kronecker_is_one(const tsr_call *call, tsr_ewise_op op);
uint64_t tsr_kronecker_one(const tsr_call *call, const tsr_ewise *step, tsr_type type);
void tsr_kronecker_describe(char *text, size_t size, const tsr_call *call, const tsr_ewise *step);

#endif
