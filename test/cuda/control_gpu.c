/* A GPU cannot be told to fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/device_control.h"

void control_seed(uint64_t seed)
{
    (void)seed;
}

bool control_fail(long k, bool sticky)
{
    return k == 0 && !sticky;
}

long control_calls(void)
{
    return 0;
}

long control_live(void)
{
    return 0;
}

bool control_sums_exactly(void)
{
    return false;
}
