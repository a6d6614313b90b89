/* Commands whose earlier runs would have gained on a GPU that had been running from their beginning, by more than its start takes from a program.
 * They are kept by number in $XDG_CACHE_HOME/tessera/starts (~/.cache/tessera/starts): a key does not say what was run.  Where that cannot
 * be made, in a set-user-ID program, or where the file is another user's, nothing is known and nothing kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PAST_RUNS_H
#define TSR_PAST_RUNS_H

#include <stdbool.h>

/* What is known of the runs of a command: each says what those before it say. */
typedef enum tsr_past_runs {
    TSR_PAST_UNKNOWN,
    TSR_PAST_GAINED,
    TSR_PAST_STAYED /* … and their loops moved to the GPU and stayed there */
} tsr_past_runs;

/* Of this command: its program's file, its arguments and the working directory. */
tsr_past_runs tsr_past_runs_known(void);

/* That is what the next one finds. */
void tsr_past_runs_keep(tsr_past_runs known);

#endif
