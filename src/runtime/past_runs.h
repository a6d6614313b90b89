/* Commands whose earlier runs would have gained on a GPU that had been running from their beginning, by more than its start takes from a program.
 * They are kept by number in $XDG_CACHE_HOME/tessera/starts (~/.cache/tessera/starts): what was run says nothing to who reads it.  Without such a
 * folder, in a set-user-ID program, or where the file is another user's, nothing is known and nothing kept.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PAST_RUNS_H
#define TSR_PAST_RUNS_H

#include <stdbool.h>

/* This command is its program's file, its arguments and the working directory. */
bool tsr_past_runs_gained(void);

/* From now on they did, or did not. */
void tsr_past_runs_keep(bool gained);

#endif
