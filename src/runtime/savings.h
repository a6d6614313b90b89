/* What was saved: one line at exit, and a line of the report for each product (TESSERA_SAVINGS, `tessera run` on a terminal).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SAVINGS_H
#define TSR_SAVINGS_H

#include <stdbool.h>

/* Does somebody want to know?  The first call that says yes sees to the line at exit. */
bool tsr_savings_wanted(void);

/* GrB_mxm, mxv or vxm was called. */
void tsr_savings_called(void);

/* One of them was computed here in `ms`.  other_ms: what the library that we stand before would have taken; < 0: not known. */
void tsr_savings_computed(double ms, double other_ms);

#endif
