/* Which objects are built of tuples by our CPU kernels sooner than by SuiteSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_POLICY_BUILD_H
#define TSR_POLICY_BUILD_H

#include <stdbool.h>

/* Tuples below which a call is forwarded before it is taken apart. */
#define TSR_BUILD_LEAST 1024.0

/* Of unsorted tuples, dealt out among so many vectors (or places of the one vector). */
bool tsr_build_pays(double tuples, double vectors);

#endif
