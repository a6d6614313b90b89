/* What is remembered of kinds of calls: tables that find an entry by its key, each under a lock of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HISTORY_H
#define TSR_HISTORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An entry is a structure that begins with its key (uint64_t, not 0).  Each key has one place, where the newest key wins; what it forgets is
 * learnt again. */
typedef struct tsr_history {
    pthread_mutex_t lock;
    void *table;
    size_t places, entry_bytes;
} tsr_history;

#define TSR_HISTORY(entries) {PTHREAD_MUTEX_INITIALIZER, entries, sizeof(entries) / sizeof *(entries), sizeof *(entries)}

/* Calls of one kind have the same parts: never 0. */
uint64_t tsr_history_key(const uint64_t *parts, size_t count);

/* The history is this thread's until the end of the block. */
#define TSR_HISTORY_LOCK(history) \
    __attribute__((cleanup(tsr_history_unlock))) tsr_history *locked = (history); \
    pthread_mutex_lock(&locked->lock)

static inline void tsr_history_unlock(tsr_history **history)
{
    pthread_mutex_unlock(&(*history)->lock);
}

/* The lock is held, here and below.  The place of a key, whoever has it. */
static inline void *tsr_history_place(const tsr_history *history, uint64_t key)
{
    return (char *)history->table + key % history->places * history->entry_bytes;
}

/* NULL: nothing is known. */
static inline void *tsr_history_find(const tsr_history *history, uint64_t key)
{
    uint64_t *entry = tsr_history_place(history, key);
    return key && *entry == key ? entry : NULL;
}

/* The entry, which begins as zeros. */
static inline void *tsr_history_entry(const tsr_history *history, uint64_t key)
{
    uint64_t *entry = tsr_history_place(history, key);
    if (*entry != key) {
        memset(entry, 0, history->entry_bytes);
        *entry = key;
    }
    return entry;
}

void tsr_history_forget(tsr_history *history); /* everything (tests) */

#endif
