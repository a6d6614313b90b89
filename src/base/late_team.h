/* Teams that come late.  Where threads of another library spin on every processor (OpenBLAS's do for 20 ms after its last call), or other programs
 * have them, the first thread of a region waits for the others for much longer than it computed, call after call.  Then what surely takes less
 * longer by one thread than was waited is computed by one, until that has cost what was lost; then a team is tried again.
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

/* May a call be computed by one thread that takes so much more time for it than a team in time?  If so, that is counted. */
bool tsr_late_team_spares(double more_ms);

void tsr_late_team_forget(void); /* tests */

#endif
