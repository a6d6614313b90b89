/* A small table of accounts: a slot per kind of product, the newest kind wins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/stay_history.h"

#include <pthread.h>
#include <string.h>

enum { SLOTS = 256 };
#define CLIP 4.0         /* of the intervals on the host: a longer one was not the loop's */
#define MOST_PATIENCE 1e6

/* The last intervals of one place. */
typedef struct intervals {
    double ms[TSR_STAY_WINDOW];
    unsigned count;
} intervals;

typedef struct account {
    uint64_t key;
    double missed_ms, move_ms;
    double patience;      /* times the price that must have been missed */
    double last_ms;       /* when the last one started … */
    bool last_there, any; /* … and where; has any? */
    bool there, lost;
    intervals host, device;
    unsigned moved;       /* products since they moved there */
    double excess_ms;     /* what they took longer since then */
} account;

static account table[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static account *find(uint64_t key)
{
    account *a = &table[key % SLOTS];
    return key && a->key == key ? a : NULL;
}

static account *find_or_make(uint64_t key)
{
    account *a = &table[key % SLOTS];
    if (a->key != key)
        *a = (account){.key = key, .patience = 1};
    return a;
}

/* ---- intervals ---- */

static void keep(intervals *all, double ms)
{
    all->ms[all->count++ % TSR_STAY_WINDOW] = ms;
}

static bool complete(const intervals *all)
{
    return all->count >= TSR_STAY_WINDOW;
}

/* The longest of them does not count. */
static double typical(const intervals *all)
{
    double sum = 0, longest = 0;
    for (int k = 0; k < TSR_STAY_WINDOW; k++) {
        sum += all->ms[k];
        longest = all->ms[k] > longest ? all->ms[k] : longest;
    }
    return (sum - longest) / (TSR_STAY_WINDOW - 1);
}

/* ---- moves ---- */

static void move_there(account *a)
{
    a->there = true;
    a->moved = 0;
    a->excess_ms = 0;
    a->device.count = 0;
}

static void move_back(account *a)
{
    a->there = false;
    a->lost = true;
    a->missed_ms = 0;
    a->patience = a->patience < MOST_PATIENCE ? a->patience * TSR_STAY_PATIENCE : MOST_PATIENCE;
}

static double risk_ms(const account *a)
{
    return a->move_ms + TSR_STAY_RISK * typical(&a->host);
}

/* One product there and what followed it. */
static void judge(account *a, double ms)
{
    const double usual = typical(&a->host);
    const bool moving = a->moved++ < TSR_STAY_MOVING;
    const double most = CLIP * usual + (moving ? a->move_ms : 0), counted = ms < most ? ms : most;
    a->excess_ms += counted - usual;
    if (!moving)
        keep(&a->device, counted);
    const bool worse = complete(&a->device) && typical(&a->device) >= TSR_STAY_BETTER * usual;
    if (worse || a->excess_ms > risk_ms(a))
        move_back(a);
}

/* ---- accounts ---- */

bool tsr_stay_there(uint64_t key)
{
    pthread_mutex_lock(&lock);
    const account *a = find(key);
    const bool there = a && a->there;
    pthread_mutex_unlock(&lock);
    return there;
}

bool tsr_stay_lost(uint64_t key)
{
    pthread_mutex_lock(&lock);
    const account *a = find(key);
    const bool lost = a && a->lost && !a->there;
    pthread_mutex_unlock(&lock);
    return lost;
}

void tsr_stay_starts(uint64_t key, bool there, double now_ms)
{
    if (!key)
        return;
    pthread_mutex_lock(&lock);
    account *a = find_or_make(key);
    const double ms = now_ms - a->last_ms;
    if (a->any && !a->last_there && !there)
        keep(&a->host, ms);
    else if (a->any && a->last_there && a->there)
        judge(a, ms);
    a->any = true;
    a->last_ms = now_ms;
    a->last_there = there;
    pthread_mutex_unlock(&lock);
}

void tsr_stay_missed(uint64_t key, double gain_ms, double move_ms)
{
    if (!key)
        return;
    pthread_mutex_lock(&lock);
    account *a = find_or_make(key);
    const double missed = a->missed_ms + gain_ms;
    a->missed_ms = missed > 0 ? missed : 0;
    a->move_ms = move_ms;
    if (!a->there && complete(&a->host) && a->missed_ms >= a->patience * risk_ms(a))
        move_there(a);
    pthread_mutex_unlock(&lock);
}

/* ---- searches ---- */

typedef struct searched {
    double entries, sides;
} searched;

enum { SIZES = 8 }; /* the newest ones */
static searched sizes[SIZES];
static unsigned newest;

static searched *find_size(double entries, double sides)
{
    for (int k = 0; k < SIZES; k++)
        if (sizes[k].entries == entries && sizes[k].sides == sides)
            return &sizes[k];
    return NULL;
}

void tsr_stay_set_searched(double entries, double rows_and_columns, bool there)
{
    pthread_mutex_lock(&lock);
    searched *s = find_size(entries, rows_and_columns);
    if (!s && there)
        s = &sizes[newest++ % SIZES];
    if (s)
        *s = there ? (searched){entries, rows_and_columns} : (searched){0, 0};
    pthread_mutex_unlock(&lock);
}

bool tsr_stay_is_searched(double entries, double rows_and_columns)
{
    pthread_mutex_lock(&lock);
    const bool is = entries > 0 && find_size(entries, rows_and_columns);
    pthread_mutex_unlock(&lock);
    return is;
}

void tsr_stay_forget(void)
{
    pthread_mutex_lock(&lock);
    memset(table, 0, sizeof table);
    memset(sizes, 0, sizeof sizes);
    pthread_mutex_unlock(&lock);
}
