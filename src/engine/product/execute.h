/* Running one product.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_EXECUTE_H
#define TSR_ENGINE_EXECUTE_H

#include "src/engine/call/call.h"

/* Run a decision (decision->backend != NULL) into the caller's arrays and write the trace record.  What the GPU does not finish
 * is computed by the CPU.  Anything but TSR_OK: nothing usable was written, inputs are untouched, compute it elsewhere. */
tsr_status tsr_engine_execute(const tsr_call *call, const tsr_decision *decision, tsr_result *result);

/* tsr_engine_execute for a product that can go nowhere else any more: with one thread, then with the reference kernels.  Fails
 * only when not even scratch of the size of the operands' values can be had. */
tsr_status tsr_engine_execute_surely(const tsr_call *call, const tsr_decision *decision, tsr_result *result);

#endif
