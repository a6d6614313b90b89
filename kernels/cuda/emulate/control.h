/* What a test can ask of the emulated device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EMULATE_CONTROL_H
#define TSR_EMULATE_CONTROL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The k-th allocation of device memory (launch of a kernel) from now on fails, once; 0: none. */
void tsr_emulate_fail_malloc(long k);
void tsr_emulate_fail_launch(long k);
long tsr_emulate_mallocs(void); /* allocations and launches asked for so far */
long tsr_emulate_launches(void);

size_t tsr_emulate_live_bytes(void); /* device memory that nobody has freed */
long tsr_emulate_live_blocks(void);

/* How the threads of later launches are interleaved.  order: 0 = by number, 1 = backwards, more = shuffled with this seed.
 * early != 0: asynchronous copies happen at once and not as late as they may. */
void tsr_emulate_schedule(unsigned order, int early);

#ifdef __cplusplus
}
#endif

#endif
