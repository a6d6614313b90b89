/* Elementwise operations on entries of one pattern.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_ENTRIES_H
#define TSR_ENGINE_ENTRIES_H

#include "src/engine/call/call.h"

/* op (x, y) of sparse matrices on the host, an operand being a scalar or of the same pattern: step, A and B of call->update and call->given. */
extern const tsr_operation tsr_entries_operation;

#endif
