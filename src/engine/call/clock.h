/* The time that calls take.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_CLOCK_H
#define TSR_ENGINE_CLOCK_H

double tsr_engine_clock_ms(void);

/* How long the program has run with the library, by the clock.  Tests let it begin anew. */
double tsr_engine_run_ms(void);
void tsr_engine_run_begins(void);

/* When work began: by the clock, and the CPU time of this thread and of all. */
typedef struct tsr_stopwatch {
    double clock_ms, thread_ms, process_ms;
} tsr_stopwatch;

tsr_stopwatch tsr_engine_stopwatch(void);

/* What work of the CPU took since.  What else runs on a busy machine does not count: of one thread its CPU time; of several the time that
 * passed, but not more than what this one computed, or each of them on average. */
double tsr_engine_work_ms(const tsr_stopwatch *start, int nthreads);

/* Without the time in which this thread waited or others had its processor. */
double tsr_engine_busy_ms(void);

#endif
