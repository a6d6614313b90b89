/* What a process might have gained so far.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/early_history.h"

#include <stdatomic.h>

/* About what the first product loses that is computed here. */
#define MOST_US 60.0

static _Atomic double lost_us;

/* Threads that add at once may lose a part. */
bool tsr_early_leaves(double gain_us)
{
    const double lost = atomic_load_explicit(&lost_us, memory_order_relaxed) + gain_us;
    atomic_store_explicit(&lost_us, lost, memory_order_relaxed);
    return lost < MOST_US;
}

void tsr_early_forget(void)
{
    atomic_store_explicit(&lost_us, 0, memory_order_relaxed);
}
