/* Keys, and the end of what is known.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/history.h"

uint64_t tsr_history_key(const uint64_t *parts, size_t count)
{
    uint64_t h = count;
    for (size_t k = 0; k < count; k++) {
        h = (h ^ parts[k]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ? h : 1;
}

void tsr_history_forget(tsr_history *history)
{
    TSR_HISTORY_LOCK(history);
    memset(history->numbers, 0, history->places * sizeof *history->numbers);
    memset(history->table, 0, history->used * history->entry_bytes);
    history->used = 0;
}
