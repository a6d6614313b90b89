/* Frontiers of several searches: what each kind loses on the host, and whether it has moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/frontier_history.h"

#include <math.h>

#include "src/policy/history/history.h"

typedef struct searches {
    uint64_t key;
    double lost_ms, level_ms; /* level_ms: of one level on the device */
    bool on_device;
    double since_ms;          /* the first search on the device since it moved, or since the last trial on the host; 0: there was none */
    unsigned trials;          /* that confirmed it */
    unsigned trial;           /* pushes that the trial may still last; 0: there is none */
} searches;

static TSR_HISTORY_TABLE(kinds, searches, 64);
static tsr_history history = TSR_HISTORY(kinds);

uint64_t tsr_frontier_kind(double entries, double rows_and_columns, double vectors)
{
    return tsr_history_key((uint64_t[]){(uint64_t)entries, (uint64_t)rows_and_columns, (uint64_t)vectors}, 3);
}

static bool pushes_on_device(const searches *s)
{
    return s->on_device && s->trial == 0;
}

/* On the host a trial has lost time, or has not. */
static void end_trial(searches *s)
{
    s->trial = 0;
    s->on_device = s->lost_ms > 0;
    s->trials += s->trials < TSR_FRONTIER_DOUBLINGS;
    s->since_ms = 0;
    if (!s->on_device)
        s->lost_ms = s->trials = 0;
}

static void lose(searches *s, double ms)
{
    const bool tried = s->trial > 0;
    const double lost = s->lost_ms + fmin(ms, TSR_FRONTIER_MOST * s->level_ms);
    s->lost_ms = tried ? lost : fmax(lost, 0);
    s->on_device |= !tried && lost >= TSR_FRONTIER_RISK * s->level_ms;
}

void tsr_frontier_pushed(uint64_t kind, double ms, double device_ms)
{
    TSR_HISTORY_LOCK(&history);
    searches *s = tsr_history_entry(&history, kind);
    s->level_ms = TSR_FRONTIER_PRODUCT * device_ms + TSR_FRONTIER_REST_MS;
    lose(s, ms - s->level_ms);
    if (s->trial > 0 && --s->trial == 0)
        end_trial(s);
}

void tsr_frontier_uploaded(uint64_t kind, double ms)
{
    TSR_HISTORY_LOCK(&history);
    searches *s = tsr_history_find(&history, kind);
    if (!s || pushes_on_device(s))
        return;
    lose(s, ms);
    if (s->trial > 0)
        end_trial(s);
}

bool tsr_frontier_on_device(uint64_t kind)
{
    TSR_HISTORY_LOCK(&history);
    const searches *s = tsr_history_find(&history, kind);
    return s && pushes_on_device(s);
}

void tsr_frontier_begins(uint64_t kind, double now_ms)
{
    TSR_HISTORY_LOCK(&history);
    searches *s = tsr_history_find(&history, kind);
    if (!s || !pushes_on_device(s))
        return;
    if (s->since_ms == 0)
        s->since_ms = now_ms;
    if (now_ms - s->since_ms < TSR_FRONTIER_PAUSE * s->level_ms * (double)(1u << s->trials))
        return;
    s->lost_ms = 0;
    s->trial = TSR_FRONTIER_TRIAL;
}

void tsr_frontier_forget(void)
{
    tsr_history_forget(&history);
}
