/* What a process might have gained so far.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EARLY_HISTORY_H
#define TSR_EARLY_HISTORY_H

#include <stdbool.h>

/* Is this product, which ours do sooner by so much at best, one of those at the beginning of a process that SuiteSparse gets whatever they are?
 * Code that has not run yet is in no cache, its pages are not mapped and its names not bound: the first product that is matched takes 20 to 90 us
 * more, the first one computed 60 to 80.  Once false, always false. */
bool tsr_early_leaves(double gain_us);

/* Nothing was gained yet (tests). */
void tsr_early_forget(void);

#endif
