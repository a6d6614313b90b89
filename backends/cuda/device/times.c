/* Pairs of events around what a call puts on `compute`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/times.h"

#include <math.h>
#include <stdlib.h>

#include "backends/cuda/device/context.h"

typedef struct span {
    void *from, *to; /* events */
    pthread_t thread;
    struct span *next;
} span;

static span *current; /* started; guarded by tsr_cuda_all.busy */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the lists */
static span *unused, *stopped; /* stopped: newest first, until their threads ask */

/* ---- lists ---- */

static void push(span **list, span *s)
{
    pthread_mutex_lock(&mutex);
    s->next = *list;
    *list = s;
    pthread_mutex_unlock(&mutex);
}

static span *pop_unused(void)
{
    pthread_mutex_lock(&mutex);
    span *s = unused;
    unused = s ? s->next : NULL;
    pthread_mutex_unlock(&mutex);
    return s;
}

static void free_span(span *s)
{
    tsr_cuda_event_free(s->from);
    tsr_cuda_event_free(s->to);
    free(s);
}

static span *new_span(void)
{
    span *s = pop_unused();
    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (s && (tsr_cuda_timer_new(&s->from) != TSR_OK || tsr_cuda_timer_new(&s->to) != TSR_OK)) {
        free_span(s);
        return NULL;
    }
    return s;
}

/* ---- around a call ---- */

void tsr_cuda_times_start(void)
{
    current = tsr_cuda_all.timed && tsr_cuda == tsr_cuda_first() ? new_span() : NULL;
    if (!current || tsr_cuda_event_record(current->from, tsr_cuda->compute) == TSR_OK)
        return;
    free_span(current);
    current = NULL;
}

void tsr_cuda_times_stop(void)
{
    span *s = current;
    current = NULL;
    if (!s)
        return;
    s->thread = pthread_self();
    if (tsr_cuda_event_record(s->to, tsr_cuda->compute) == TSR_OK)
        push(&stopped, s);
    else
        free_span(s);
}

/* ---- afterwards ---- */

void *tsr_cuda_times(void)
{
    span *mine = NULL;
    pthread_mutex_lock(&mutex);
    for (span **link = &stopped, *s; (s = *link);) {
        if (!pthread_equal(s->thread, pthread_self())) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        s->next = mine;
        mine = s;
    }
    pthread_mutex_unlock(&mutex);
    return mine;
}

/* 1, 0: not yet, < 0: the device failed. */
static int is_done(span *first, bool wait)
{
    int done = 1;
    for (span *s = first; s && done == 1; s = s->next)
        done = wait ? (tsr_cuda_event_wait(s->to) == TSR_OK ? 1 : -1) : tsr_cuda_event_done(s->to);
    return done;
}

static double total(span *first)
{
    double sum = 0;
    for (span *s = first; s; s = s->next) {
        double ms;
        sum += tsr_cuda_event_ms(&ms, s->from, s->to) == TSR_OK ? ms : NAN;
    }
    return sum;
}

static double elapsed(span *first, bool wait)
{
    const int done = is_done(first, wait);
    if (done == 0)
        return -1.0;
    const double ms = done == 1 ? total(first) : NAN;
    for (span *s = first, *next; s; s = next) {
        next = s->next;
        push(&unused, s);
    }
    return ms;
}

double tsr_cuda_elapsed(void *times, bool wait)
{
    tsr_cuda_place before;
    if (!tsr_cuda_alive())
        return NAN;
    const double ms = tsr_cuda_enter(tsr_cuda_first(), &before) == TSR_OK ? elapsed(times, wait) : NAN;
    tsr_cuda_leave(before);
    return ms;
}
