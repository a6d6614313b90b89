/* Loops: what each loses on the host, how long its intervals are, and whether it has moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/stay_history.h"

#include <math.h>
#include <stdatomic.h>

#include "src/policy/history/history.h"

#define CLIP 4.0         /* of the intervals on the host: a longer one was not the loop's */
#define MOST_PATIENCE 1e6

/* The last intervals of one place. */
typedef struct intervals {
    double ms[TSR_STAY_WINDOW];
    unsigned count;
} intervals;

typedef struct loop {
    uint64_t key;
    bool on_device;
    double lost_ms, move_ms;
    unsigned returns;           /* to the host, so far */
    double last_ms;             /* when the last product started … */
    bool any, last_on_device;   /* … if there was one, and where */
    intervals host, device;
    unsigned moved;             /* products since the loop moved to the device */
    double excess_ms;           /* what they took longer since then */
} loop;

static TSR_HISTORY_TABLE(loops, loop, 256);
static tsr_history history = TSR_HISTORY(loops);

/* Of all loops. */
static atomic_bool expected, settled, returned;

/* ---- intervals ---- */

static void keep(intervals *all, double ms)
{
    all->ms[all->count++ % TSR_STAY_WINDOW] = ms;
}

static bool complete(const intervals *all)
{
    return all->count >= TSR_STAY_WINDOW;
}

/* Of two at least.  The longest of them does not count. */
static double typical(const intervals *all)
{
    const int count = all->count < TSR_STAY_WINDOW ? (int)all->count : TSR_STAY_WINDOW;
    double sum = 0, longest = 0;
    for (int k = 0; k < count; k++) {
        sum += all->ms[k];
        longest = all->ms[k] > longest ? all->ms[k] : longest;
    }
    return (sum - longest) / (count - 1);
}

/* ---- moves ---- */

static void move_to_device(loop *l)
{
    l->on_device = true;
    l->moved = 0;
    l->excess_ms = 0;
    l->device.count = 0;
}

static void move_to_host(loop *l)
{
    l->on_device = false;
    l->lost_ms = 0;
    l->returns++;
    atomic_store_explicit(&returned, true, memory_order_relaxed);
}

/* How many times the price must have been lost. */
static double patience(const loop *l)
{
    return fmin(pow(TSR_STAY_PATIENCE, l->returns), MOST_PATIENCE);
}

static double risk_ms(const loop *l)
{
    return l->move_ms + TSR_STAY_RISK * typical(&l->host);
}

/* Enough was lost, and enough is known. */
static bool moves(const loop *l)
{
    const bool sure = l->returns == 0 && atomic_load_explicit(&expected, memory_order_relaxed);
    if (l->host.count < (sure ? TSR_STAY_EXPECTED : TSR_STAY_KNOWN))
        return false;
    return l->lost_ms >= (sure ? l->move_ms : patience(l) * risk_ms(l));
}

/* One product on the device and what followed it. */
static void judge(loop *l, double ms)
{
    const double usual = typical(&l->host);
    const bool moving = l->moved++ < TSR_STAY_MOVING;
    const double most = CLIP * usual + (moving ? l->move_ms : 0), counted = ms < most ? ms : most;
    l->excess_ms += counted - usual;
    if (!moving)
        keep(&l->device, counted);
    const bool worse = complete(&l->device) && typical(&l->device) >= TSR_STAY_BETTER * usual;
    if (worse || l->excess_ms > risk_ms(l))
        move_to_host(l);
    else if (complete(&l->device))
        atomic_store_explicit(&settled, true, memory_order_relaxed);
}

/* ---- loops ---- */

bool tsr_stay_on_device(uint64_t key)
{
    TSR_HISTORY_LOCK(&history);
    const loop *l = tsr_history_find(&history, key);
    return l && l->on_device;
}

bool tsr_stay_given_up(uint64_t key)
{
    TSR_HISTORY_LOCK(&history);
    const loop *l = tsr_history_find(&history, key);
    return l && l->returns > 0 && !l->on_device;
}

void tsr_stay_starts(uint64_t key, bool on_device, double now_ms)
{
    if (!key)
        return;
    TSR_HISTORY_LOCK(&history);
    loop *l = tsr_history_entry(&history, key);
    const double ms = now_ms - l->last_ms;
    if (l->any && !l->last_on_device && !on_device)
        keep(&l->host, ms);
    else if (l->any && l->last_on_device && l->on_device)
        judge(l, ms);
    l->any = true;
    l->last_ms = now_ms;
    l->last_on_device = on_device;
}

void tsr_stay_lost_time(uint64_t key, double gain_ms, double move_ms)
{
    if (!key)
        return;
    TSR_HISTORY_LOCK(&history);
    loop *l = tsr_history_entry(&history, key);
    l->lost_ms = fmax(l->lost_ms + gain_ms, 0);
    l->move_ms = move_ms;
    if (!l->on_device && moves(l))
        move_to_device(l);
}

/* ---- searches ---- */

typedef struct matrix {
    uint64_t key;
    bool on_device;
    double lost_ms; /* by pushes */
} matrix;

static TSR_HISTORY_TABLE(matrices, matrix, 64);
static tsr_history searched = TSR_HISTORY(matrices);

static uint64_t size_key(double entries, double rows_and_columns)
{
    return tsr_history_key((uint64_t[]){(uint64_t)entries, (uint64_t)rows_and_columns}, 2);
}

void tsr_stay_set_searched(double entries, double rows_and_columns, bool on_device)
{
    TSR_HISTORY_LOCK(&searched);
    matrix *m = tsr_history_entry(&searched, size_key(entries, rows_and_columns));
    m->on_device = on_device;
}

bool tsr_stay_is_searched(double entries, double rows_and_columns)
{
    TSR_HISTORY_LOCK(&searched);
    const matrix *m = tsr_history_find(&searched, size_key(entries, rows_and_columns));
    return m && m->on_device;
}

void tsr_stay_lost_pushing(double entries, double rows_and_columns, double gain_ms)
{
    TSR_HISTORY_LOCK(&searched);
    matrix *m = tsr_history_entry(&searched, size_key(entries, rows_and_columns));
    m->lost_ms = fmax(m->lost_ms + gain_ms, 0);
}

double tsr_stay_take_pushed(double entries, double rows_and_columns)
{
    TSR_HISTORY_LOCK(&searched);
    matrix *m = tsr_history_find(&searched, size_key(entries, rows_and_columns));
    const double lost = m ? m->lost_ms : 0;
    if (m)
        m->lost_ms = 0;
    return lost;
}

/* ---- runs ---- */

bool tsr_stay_has_settled(void)
{
    return atomic_load_explicit(&settled, memory_order_relaxed);
}

bool tsr_stay_has_returned(void)
{
    return atomic_load_explicit(&returned, memory_order_relaxed);
}

void tsr_stay_expect(void)
{
    atomic_store(&expected, true);
}

void tsr_stay_forget(void)
{
    atomic_store(&expected, false);
    atomic_store(&settled, false);
    atomic_store(&returned, false);
    tsr_history_forget(&history);
    tsr_history_forget(&searched);
}
