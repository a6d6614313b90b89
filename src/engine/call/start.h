/* When CUDA is started: what calls would have gained on a GPU that runs is added up, in this run and, of the same command, in earlier ones.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_START_H
#define TSR_ENGINE_START_H

#include <stdbool.h>

#include "src/engine/call/call.h"

/* In auto, one is installed and was not asked for yet. */
bool tsr_engine_may_start_gpu(void);

/* A call would gain so many ms on a GPU that runs.  Does one run, or does the call wait until it does?  Counts towards starting it. */
bool tsr_engine_starts_gpu(double gain_ms, double expected_calls);

/* The same of a call that is done: however much it was, nobody waits for the start. */
void tsr_engine_start_gpu_for(double gain_ms);

/* The program has just begun: what its first calls will touch is touched, and a device starts beside it if earlier runs of this command would have
 * gained by that (src/runtime/past_runs.h). */
void tsr_engine_begin(void);

/* A call was computed on the GPU. */
void tsr_engine_gpu_ran(const tsr_decision *d);

/* Nothing more is computed: was an early start worth it? */
void tsr_engine_run_ends(void);

#endif
