/* The time that calls take.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/clock.h"

#include <math.h>
#include <time.h>

static double in_ms(struct timespec t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double ms_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return in_ms(t);
}

double tsr_engine_clock_ms(void)
{
    return ms_of(CLOCK_MONOTONIC);
}

static struct timespec began; /* as it is: numbers would be one page more that every start reads */

__attribute__((constructor)) void tsr_engine_run_begins(void)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
}

double tsr_engine_run_ms(void)
{
    return tsr_engine_clock_ms() - in_ms(began);
}

double tsr_engine_busy_ms(void)
{
    return ms_of(CLOCK_THREAD_CPUTIME_ID);
}

tsr_stopwatch tsr_engine_stopwatch(void)
{
    return (tsr_stopwatch){tsr_engine_clock_ms(), tsr_engine_busy_ms(), ms_of(CLOCK_PROCESS_CPUTIME_ID)};
}

double tsr_engine_work_ms(const tsr_stopwatch *start, int nthreads)
{
    const tsr_stopwatch now = tsr_engine_stopwatch();
    const double here = now.thread_ms - start->thread_ms;
    return nthreads == 1 ? here : fmin(now.clock_ms - start->clock_ms, fmax(here, (now.process_ms - start->process_ms) / nthreads));
}
