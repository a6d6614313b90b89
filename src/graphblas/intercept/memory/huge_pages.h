/* Huge pages for memory that lies in small ones: whole pages inside of a block, whose first and last bytes stay as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HUGE_PAGES_H
#define TSR_HUGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* madvise with this advice. */
void tsr_huge_advise(void *block, size_t bytes, int advice);

/* From now on filled with huge pages, as long as the mapping lasts; the contents are lost. */
void tsr_huge_move(void *block, size_t bytes);

/* Moves the contents, too, and leaves no advice behind (Linux 6.1); 0.3 to 0.6 ms for each MiB, none if that was done before.  False: it
 * cannot be done. */
bool tsr_huge_collapse(const void *block, size_t bytes);

#endif
