/* The first calls of a process: those that gain less here than it costs that our code runs for the first time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/early.h"

#include "src/graphblas/intercept/hooks.h"
#include "src/policy/history/early_history.h"
#include "src/runtime/config.h"

static bool is_over;

static bool wants_all(void)
{
    const tsr_config *config = tsr_config_get();
    return config->mode == TSR_MODE_GPU || config->min_work >= 0 || config->eager || config->defer || config->check || tsr_busy();
}

bool tsr_may_be_early(void)
{
    if (__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        return false;
    if (!wants_all())
        return true;
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    return false;
}

bool tsr_is_early(tsr_small kind, double steps)
{
    const bool early = tsr_early_leaves(tsr_small_gain_us(kind, steps));
    if (!early)
        __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    return early;
}
