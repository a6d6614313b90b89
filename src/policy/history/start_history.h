/* What has been lost so far without a GPU that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_START_HISTORY_H
#define TSR_START_HISTORY_H

#include <stdbool.h>

typedef enum tsr_start {
    TSR_START_NOT,
    TSR_START_AHEAD, /* beside the program, which need not wait for it */
    TSR_START_NOW    /* the product waits */
} tsr_start;

/* A product would gain so many ms on a GPU that runs.  To start it costs as much as many products gain.  It is started beside the program
 * when enough has been lost without it, less a tenth of the time that has passed meanwhile; at once by a product that gains as much as a start takes, or is
 * expected often enough.  How much is enough depends on how long the program has run (TSR_GPU_START_SHARE). */
tsr_start tsr_start_pays(double gain_ms, double expected_calls, double run_ms);

/* A run that would have gained so much, or did, by a GPU from its beginning: do runs like it start one then?  And one for which that was done: was it
 * worth it? */
bool tsr_start_tells(double gain_ms);
bool tsr_start_was_worth(double gain_ms);

/* Does a call that takes `host_ms` gain on a GPU for sure?  Where it is less, what is done between such calls loses as much there: of components,
 * whose matrices are packed anew for each product and are uploaded, nothing is gained as a whole. */
bool tsr_start_gains(double host_ms, double device_ms);

#endif
