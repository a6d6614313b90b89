/* The first calls of a process: those that gain less here than it costs that our code runs for the first time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EARLY_H
#define TSR_EARLY_H

#include <stdbool.h>

#include "src/policy/price/few.h"

/* Are calls still looked at like this? */
bool tsr_may_be_early(void);

/* Is it one of them?  Ends them otherwise. */
bool tsr_is_early(tsr_small kind, double steps);

#endif
