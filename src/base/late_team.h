/* Teams that come late.  Where threads of another library spin on every processor (OpenBLAS's do for 20 ms after its last call), or other programs
 * have them, the first thread of a region waits for the others for much longer than it computed, call after call.  Then what surely takes less
 * longer by one thread than was waited is computed by one, until that has cost what was lost; then a team is tried again.  In a process that
 * has seen no team in time yet, what one thread does before others could do it with a team has one thread, until that has cost what a late team would.
 *
 * Results are the same bits: a region's parts do not depend on how many threads compute them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_LATE_TEAM_H
#define TSR_LATE_TEAM_H

#include <stdbool.h>
#include <stdint.h>

/* A call of this thread begins: its last one is judged.  One late team is an accident; two calls one after another begin to count. */
void tsr_late_team_begin(void);

/* The first thread of a region computed for so long, and then waited. */
void tsr_late_team_waited(int64_t computed_ns, int64_t waited_ns);

/* May a call be computed by one thread that takes so much more time for it than a team in time?  If so, that is counted.  wins_alone: it takes
 * less than whoever else would compute the call. */
bool tsr_late_team_spares(double more_ms, bool wins_alone);

/* Has this process seen a team in time, of a call of any kind?  Where others start one for the same work, that is enough to try. */
bool tsr_late_team_seen(void);

/* The call, if it was spared, took so much less longer than that: it counts by what it took.  More says that the thread had no processor. */
void tsr_late_team_took(double less_ms);

void tsr_late_team_forget(void); /* tests */

#endif
