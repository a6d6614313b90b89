/* What is remembered of kinds of calls: tables that find an entry by its key, each under a lock of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HISTORY_H
#define TSR_HISTORY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An entry is a structure that begins with its key (uint64_t, not 0).  Each key has one place, where the newest key wins; what it forgets is
 * learnt again.  Entries lie in the order in which their places were first taken, so that a program with few kinds of calls touches few pages. */
typedef struct tsr_history {
    pthread_mutex_t lock;
    uint16_t *numbers; /* of each place: that of its entry, from 1 on; 0: it has none */
    void *table;
    size_t places, entry_bytes;
    uint16_t used;
} tsr_history;

/* static TSR_HISTORY_TABLE(of, entry, 64); static tsr_history history = TSR_HISTORY(of); */
#define TSR_HISTORY_TABLE(name, entry, places) \
    struct {                                   \
        uint16_t numbers[places];              \
        entry entries[places];                 \
    } name
#define TSR_HISTORY(of)                                                                                       \
    {.lock = PTHREAD_MUTEX_INITIALIZER, .numbers = (of).numbers, .table = (of).entries,                       \
     .places = sizeof(of).entries / sizeof *(of).entries, .entry_bytes = sizeof *(of).entries}

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

/* The lock is held, here and below. */
static inline void *tsr_history_numbered(const tsr_history *history, uint16_t number)
{
    return (char *)history->table + (number - 1) * history->entry_bytes;
}

/* NULL: nothing is known. */
static inline void *tsr_history_find(const tsr_history *history, uint64_t key)
{
    const uint16_t number = history->used > 0 ? history->numbers[key % history->places] : 0;
    uint64_t *entry = number ? tsr_history_numbered(history, number) : NULL;
    return entry && *entry == key ? entry : NULL;
}

/* The entry, which begins as zeros. */
static inline void *tsr_history_entry(tsr_history *history, uint64_t key)
{
    uint16_t *number = &history->numbers[key % history->places];
    if (!*number)
        *number = ++history->used;
    uint64_t *entry = tsr_history_numbered(history, *number);
    if (*entry != key) {
        memset(entry, 0, history->entry_bytes);
        *entry = key;
    }
    return entry;
}

void tsr_history_forget(tsr_history *history); /* everything (tests) */

#endif
