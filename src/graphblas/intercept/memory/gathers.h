/* Operands of which products on the host read rows anywhere, again and again: huge pages for these.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GATHERS_H
#define TSR_GATHERS_H

#include <stddef.h>

/* A product is about to read so many rows (of each of its threads) of an operand, anywhere.  The contents do not move, whoever the memory
 * belongs to, and other threads may read them meanwhile. */
void tsr_gathers_note(const void *block, size_t bytes, double rows);

#endif
