/* Ski-rental between a team that may be late again and one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/late_team.h"

#include <stdatomic.h>
#include <stddef.h>

#define LEAST_WAIT 1000000   /* ns; parts of a region in time differ by less */
#define UNTRIED 5000000      /* ns: what a late team takes, about a turn of the scheduler's */
#define MOST_LOST 100000000  /* one wait of seconds, as of a machine that stood still, says no more */
enum {
    FAR_LONGER = 4, /* parts of a region may be that unequal */
    SURELY_LESS = 2
};

static _Atomic int64_t untried_ns = UNTRIED; /* that one thread may take longer before a team is tried, less what it took longer */
static _Atomic int64_t lost_ns; /* by waiting, less what one thread took longer since */
static _Atomic int64_t last_ns; /* the last wait */
static atomic_bool was_late;    /* the last team of a call that might have had one thread */

static atomic_bool seen;        /* a team in time, of any call */

/* Of this thread's call. */
static _Thread_local bool sparable, had_team;
static _Thread_local int64_t waited_here_ns;
static _Thread_local _Atomic int64_t *spent; /* the budget that this call was spared from; NULL: it was not */

void tsr_late_team_waited(int64_t computed_ns, int64_t waited_ns)
{
    had_team = true;
    if (waited_ns >= LEAST_WAIT && waited_ns >= FAR_LONGER * computed_ns)
        waited_here_ns += waited_ns;
}

/* A team in time ends it; a processor that was busy once, as on a host of many programs, is no reason to do without all others. */
static void judge(int64_t waited_ns)
{
    atomic_store_explicit(&last_ns, waited_ns, memory_order_relaxed);
    const bool again = atomic_exchange_explicit(&was_late, waited_ns > 0, memory_order_relaxed);
    if (waited_ns == 0) {
        atomic_store_explicit(&untried_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&lost_ns, 0, memory_order_relaxed);
    } else if (again) {
        const int64_t lost = atomic_load_explicit(&lost_ns, memory_order_relaxed) + waited_ns;
        atomic_store_explicit(&lost_ns, lost < MOST_LOST ? lost : MOST_LOST, memory_order_relaxed);
    }
}

void tsr_late_team_begin(void)
{
    if (had_team && waited_here_ns == 0)
        atomic_store_explicit(&seen, true, memory_order_relaxed);
    if (sparable && had_team)
        judge(waited_here_ns);
    sparable = had_team = false;
    waited_here_ns = 0;
    spent = NULL;
}

static bool spend(_Atomic int64_t *budget, double ns)
{
    const int64_t left = atomic_load_explicit(budget, memory_order_relaxed);
    if (left == 0 || ns > (double)left)
        return false;
    atomic_store_explicit(budget, left - (int64_t)ns, memory_order_relaxed);
    spent = budget;
    return true;
}

void tsr_late_team_took(double less_ms)
{
    if (spent && less_ms > 0)
        atomic_store_explicit(spent, atomic_load_explicit(spent, memory_order_relaxed) + (int64_t)(less_ms * 1e6), memory_order_relaxed);
    spent = NULL;
}

bool tsr_late_team_spares(double more_ms, bool wins_alone)
{
    const double more_ns = more_ms * 1e6;
    sparable = true;
    if (wins_alone && spend(&untried_ns, more_ns))
        return true;
    return SURELY_LESS * more_ns <= (double)atomic_load_explicit(&last_ns, memory_order_relaxed) && spend(&lost_ns, more_ns);
}

bool tsr_late_team_seen(void)
{
    return atomic_load_explicit(&seen, memory_order_relaxed);
}

void tsr_late_team_forget(void)
{
    sparable = had_team = false;
    waited_here_ns = 0;
    atomic_store(&untried_ns, UNTRIED);
    atomic_store(&was_late, false);
    atomic_store(&seen, false);
    atomic_store(&last_ns, 0);
    atomic_store(&lost_ns, 0);
}
