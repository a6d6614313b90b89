/* What became of results: a score for each kind of call, and the objects that would better have been computed on a device.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/placement_history.h"

#include <string.h>

#include "src/policy/history/history.h"

enum { MOST = 2, FIRST_PAUSE = 16, DOUBLINGS = 6, COPIES = 4, FEW_COPIES = 16 };

typedef struct habit {
    uint64_t key;
    int score;        /* -MOST: results are downloaded … MOST: they are used where they are */
    unsigned asked;   /* calls since the score is lowest */
    unsigned trials;  /* since one was used: each doubles how many calls are between two of them */
    unsigned copies;  /* asked for since one was used */
} habit;

/* A result that was computed on the host. */
typedef struct host_result {
    uint64_t key;     /* of its object */
    uint64_t kind[3]; /* the keys of the call, and of those that made its operands, or 0 */
} host_result;

static TSR_HISTORY_TABLE(habits, habit, 1024);
static TSR_HISTORY_TABLE(results, host_result, 64);
static tsr_history history = TSR_HISTORY(habits), on_host = TSR_HISTORY(results);

void tsr_placement_used(uint64_t key)
{
    if (!key)
        return;
    TSR_HISTORY_LOCK(&history);
    habit *h = tsr_history_entry(&history, key);
    h->score += h->score < MOST;
    h->trials = 0;
    h->copies = 0;
}

static void lower(uint64_t key, int by)
{
    if (!key)
        return;
    TSR_HISTORY_LOCK(&history);
    habit *h = tsr_history_entry(&history, key);
    h->score = h->score - by > -MOST ? h->score - by : -MOST;
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
    TSR_HISTORY_LOCK(&history);
    const habit *h = tsr_history_find(&history, key);
    return h && h->score > 0;
}

bool tsr_placement_keeps(uint64_t key)
{
    TSR_HISTORY_LOCK(&history);
    habit *h = tsr_history_entry(&history, key);
    const unsigned copies = h->copies++;
    return copies < COPIES || copies % FEW_COPIES == 0;
}

/* ---- results that were computed on the host ---- */

static uint64_t key_of(const void *C)
{
    return tsr_history_key((uint64_t[]){(uintptr_t)C}, 1);
}

/* What computed it; it counts once. */
static host_result take(const void *C)
{
    TSR_HISTORY_LOCK(&on_host);
    host_result *r = tsr_history_find(&on_host, key_of(C)), found = r ? *r : (host_result){0};
    if (r)
        memset(r->kind, 0, sizeof r->kind);
    return found;
}

static uint64_t kind_of(const void *operand)
{
    const host_result *r = operand ? tsr_history_find(&on_host, key_of(operand)) : NULL;
    return r ? r->kind[0] : 0;
}

void tsr_placement_lost_time(const void *C, uint64_t kind, const void *A, const void *B)
{
    TSR_HISTORY_LOCK(&on_host);
    const uint64_t of_a = kind_of(A), of_b = kind_of(B);
    host_result *r = tsr_history_entry(&on_host, key_of(C));
    memcpy(r->kind, (uint64_t[]){kind, of_a, of_b}, sizeof r->kind);
}

void tsr_placement_uploaded(const void *C)
{
    const host_result made = take(C);
    for (int k = 0; k < 3; k++)
        tsr_placement_used(made.kind[k]);
}

/* ---- what pulls ---- */

/* A lowest score is forgotten a little after some calls. */
static bool may_try(habit *h)
{
    if (h->score > -MOST)
        return true;
    if (++h->asked < (unsigned)FIRST_PAUSE << h->trials)
        return false;
    h->asked = 0;
    h->trials += h->trials < DOUBLINGS;
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
    if (pull->forced || pull->device_only)
        return true;
    if (!pull->on_device)
        return false;
    TSR_HISTORY_LOCK(&history);
    return may_try(tsr_history_entry(&history, pull->key));
}

void tsr_placement_forget(void)
{
    tsr_history_forget(&history);
    tsr_history_forget(&on_host);
}
