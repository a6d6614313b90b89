/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/emulate/control.h"
#include "test/cuda/device_control.h"

static long mallocs, launches; /* before control_fail */
static long counted_mallocs;   /* of one run without failures: those fail first, then the launches */

void control_seed(uint64_t seed)
{
    tsr_emulate_schedule((unsigned)(seed % 5), 0);
}

bool control_fail(long k, bool sticky)
{
    if (sticky)
        return false;
    tsr_emulate_fail_malloc(k <= counted_mallocs ? k : 0);
    tsr_emulate_fail_launch(k > counted_mallocs ? k - counted_mallocs : 0);
    mallocs = tsr_emulate_mallocs();
    launches = tsr_emulate_launches();
    return true;
}

long control_calls(void)
{
    counted_mallocs = tsr_emulate_mallocs() - mallocs;
    return counted_mallocs + tsr_emulate_launches() - launches;
}

long control_live(void)
{
    return tsr_emulate_live_blocks();
}

bool control_sums_exactly(void)
{
    return false;
}
