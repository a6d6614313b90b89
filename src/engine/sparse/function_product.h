/* Products with a full vector that multiply by a function of the program's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_FUNCTION_PRODUCT_H
#define TSR_ENGINE_FUNCTION_PRODUCT_H

#include "src/engine/call/call.h"

/* w accum= A u, or u A: call->of.function says what with; its a.type and call->b.view.type are those that the function takes of A and u.  A is
 * held by the vectors that are summed up. */
extern const tsr_operation tsr_function_product_operation;

#endif
