/* Which objects are built of tuples by our CPU kernels sooner than by SuiteSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/build.h"

/* Every vector is looked at, full or empty. */
bool tsr_build_pays(double tuples, double vectors)
{
    return tuples >= TSR_BUILD_LEAST && vectors <= 16 * tuples;
}
