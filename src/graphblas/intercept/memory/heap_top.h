/* The top of the C library's heap, which the next call takes.
 *
 * glibc gives it back to the kernel when more of it is free than twice the largest mapping that was ever freed.  A masked product holds more at
 * once here than in SuiteSparse (values of all places of the mask, operands with narrow indices), so the top would be given back after each, and
 * touched anew by the next one, or by what SuiteSparse computes then.  Elsewhere a byte decides: two arrays as large as that mapping, freed side by
 * side, go back or stay, as a small block lies behind them or before.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HEAP_TOP_H
#define TSR_HEAP_TOP_H

#include <stddef.h>

/* A call has a block of so many bytes beside its result, or for it, where SuiteSparse would take one of its pool; of whatever allocator.  From now on glibc keeps four of them free, 64 MiB at most; nothing changes while such
 * blocks are mappings of their own, which go back when they are freed, where the program has set a threshold itself, or where allocations are limited. */
void tsr_heap_top_note(const void *block, size_t bytes);

#define TSR_HEAP_TOP_LEAST ((size_t)128 << 10)

/* GraphBLAS has got a block of at least TSR_HEAP_TOP_LEAST bytes.  Two of them and a half may lie free from now on, and a top that was given back and
 * is wanted again is kept, under the same conditions. */
void tsr_heap_top_observe(const void *block, size_t bytes);

#endif
