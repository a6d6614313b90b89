/* Ski-rental between a team that may be late again and one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/late_team.h"

#include <stdatomic.h>

#define LEAST_WAIT 1000000   /* ns; parts of a region in time differ by less */
#define MOST_LOST 100000000  /* one wait of seconds, as of a machine that stood still, says no more */
enum { FAR_LONGER = 4 };     /* parts of a region may be that unequal */

static _Atomic int64_t lost_ns; /* by waiting, less what one thread took longer since */

void tsr_late_team_waited(int64_t computed_ns, int64_t waited_ns)
{
    if (waited_ns < LEAST_WAIT || waited_ns < FAR_LONGER * computed_ns)
        return;
    const int64_t lost = atomic_load_explicit(&lost_ns, memory_order_relaxed) + waited_ns;
    atomic_store_explicit(&lost_ns, lost < MOST_LOST ? lost : MOST_LOST, memory_order_relaxed);
}

bool tsr_late_team_spares(double more_ms)
{
    const int64_t lost = atomic_load_explicit(&lost_ns, memory_order_relaxed);
    const double more_ns = more_ms * 1e6;
    if (lost == 0 || more_ns > (double)lost)
        return false;
    atomic_store_explicit(&lost_ns, lost - (int64_t)more_ns, memory_order_relaxed);
    return true;
}

void tsr_late_team_forget(void)
{
    atomic_store(&lost_ns, 0);
}
