/* A small table of habits: a slot per kind of call, the newest kind wins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/placement_history.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 1024, MOST = 2, FIRST_PAUSE = 16, LONGEST_PAUSE = 1024, COPIES = 4, FEW_COPIES = 16 };

typedef struct habit {
    uint64_t key;
    int score;              /* -MOST: results go home … MOST: they are used where they are */
    unsigned asked, pause;  /* calls since the score is lowest; calls after which another one is tried */
    unsigned copies;        /* asked for since one was used */
} habit;

static habit table[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t tsr_placement_key(const uint64_t *parts, size_t count)
{
    uint64_t h = count;
    for (size_t k = 0; k < count; k++) {
        h = (h ^ parts[k]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ? h : 1;
}

/* The lock is held. */
static habit *slot_of(uint64_t key)
{
    habit *h = &table[key % SLOTS];
    if (h->key != key)
        *h = (habit){.key = key, .pause = FIRST_PAUSE};
    return h;
}

void tsr_placement_used(uint64_t key)
{
    if (!key)
        return;
    pthread_mutex_lock(&lock);
    habit *h = slot_of(key);
    h->score += h->score < MOST;
    h->pause = FIRST_PAUSE;
    h->copies = 0;
    pthread_mutex_unlock(&lock);
}

static void lower(uint64_t key, int by)
{
    if (!key)
        return;
    pthread_mutex_lock(&lock);
    habit *h = slot_of(key);
    h->score = h->score - by > -MOST ? h->score - by : -MOST;
    pthread_mutex_unlock(&lock);
}

void tsr_placement_read(uint64_t key)
{
    lower(key, 1);
}

void tsr_placement_moved(uint64_t key)
{
    lower(key, 2);
}

bool tsr_placement_stays(uint64_t key)
{
    pthread_mutex_lock(&lock);
    const habit *h = &table[key % SLOTS];
    bool stays = h->key == key && h->score > 0;
    pthread_mutex_unlock(&lock);
    return stays;
}

bool tsr_placement_keeps(uint64_t key)
{
    pthread_mutex_lock(&lock);
    unsigned copies = slot_of(key)->copies++;
    pthread_mutex_unlock(&lock);
    return copies < COPIES || copies % FEW_COPIES == 0;
}

/* ---- results that were computed on the host ---- */

enum { MISSES = 64 };

typedef struct miss {
    const void *C;
    uint64_t key;
} miss;

static miss misses[MISSES];

static miss *miss_of(const void *C)
{
    return &misses[((uintptr_t)C >> 4) * 0x9e3779b97f4a7c15u >> 58];
}

void tsr_placement_lost_time(const void *C, uint64_t key)
{
    pthread_mutex_lock(&lock);
    *miss_of(C) = (miss){C, key};
    pthread_mutex_unlock(&lock);
}

void tsr_placement_brought(const void *C)
{
    pthread_mutex_lock(&lock);
    miss *m = miss_of(C);
    const uint64_t key = m->C == C ? m->key : 0;
    if (key)
        *m = (miss){0};
    pthread_mutex_unlock(&lock);
    tsr_placement_used(key);
}

/* ---- what pulls ---- */

/* A lowest score is forgotten a little after `pause` calls. */
static bool may_try(habit *h)
{
    if (h->score > -MOST)
        return true;
    if (++h->asked < h->pause)
        return false;
    h->asked = 0;
    h->pause = h->pause < LONGEST_PAUSE ? 2 * h->pause : h->pause;
    return true;
}

double tsr_placement_least(double configured, bool forced)
{
    return configured >= 0 ? configured : forced ? TSR_PLACEMENT_LEAST_FORCED : TSR_PLACEMENT_LEAST;
}

bool tsr_placement_pulls(const tsr_pull *pull)
{
    if (pull->elements < tsr_placement_least(pull->least, pull->forced))
        return false;
    if (pull->forced)
        return true;
    if (!pull->there)
        return false;
    pthread_mutex_lock(&lock);
    bool pulls = may_try(slot_of(pull->key));
    pthread_mutex_unlock(&lock);
    return pulls;
}

void tsr_placement_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(table, 0, sizeof table);
    memset(misses, 0, sizeof misses);
    pthread_mutex_unlock(&lock);
}
