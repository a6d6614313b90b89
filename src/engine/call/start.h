/* When CUDA is started: what calls would have gained on a GPU that runs is added up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_START_H
#define TSR_ENGINE_START_H

#include <stdbool.h>

/* In auto, one is installed and was not asked for yet. */
bool tsr_engine_may_start_gpu(void);

/* A call would gain so many ms on a GPU that runs.  Does one run, or does the call wait until it does?  Counts towards starting it. */
bool tsr_engine_starts_gpu(double gain_ms, double expected_calls);

/* The same of a call that is done: however much it was, nobody waits for the start. */
void tsr_engine_start_gpu_for(double gain_ms);

#endif
