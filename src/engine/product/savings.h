/* What SuiteSparse would have taken for a product that is computed here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_SAVINGS_H
#define TSR_ENGINE_SAVINGS_H

#include "src/engine/call/call.h"

/* ms, from a part of the product that the door's library computes now, or did of a product of this kind before; < 0: not known.  Called
 * before the result is handed over, since C may be an operand.  A few percent of the time of the product. */
double tsr_engine_other_ms(const tsr_call *call);

#endif
