/* What pulls took on the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/pull_history.h"

#include "src/policy/history/history.h"

typedef struct pulled {
    uint64_t key;
    double unit_ms;
} pulled;

static TSR_HISTORY_TABLE(pulls, pulled, 64);
static tsr_history history = TSR_HISTORY(pulls);

void tsr_pull_took(uint64_t key, double unit_ms)
{
    TSR_HISTORY_LOCK(&history);
    pulled *kind = tsr_history_entry(&history, key);
    kind->unit_ms = unit_ms;
}

double tsr_pull_unit_ms(uint64_t key)
{
    TSR_HISTORY_LOCK(&history);
    const pulled *kind = tsr_history_find(&history, key);
    return kind ? kind->unit_ms : 0;
}
