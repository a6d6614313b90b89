/* Allocations that fail one after another.  Programs that use it are linked with --wrap for the allocation functions
 * (failing_memory_dep).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FAILING_MEMORY_H
#define TSR_FAILING_MEMORY_H

#include "tessera/tessera.h"

/* Something that allocates, on one thread at a time; returns its status with everything freed again. */
typedef tsr_status memory_attempt(void *context);

/* Calls attempt until it succeeds, with the first, second, third ... allocation failing; returns how often it ran out of memory.
 * Asserts that nothing else goes wrong and that no block stays behind. */
int memory_failures(memory_attempt *attempt, void *context);

/* Inside an attempt: what lies between is neither counted nor fails. */
void memory_pause(void);
void memory_resume(void);

#endif
