/* Arrays of values, whatever they are for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_ARRAYS_H
#define TSR_CPU_ARRAYS_H

#include "kernels/kernels.h"
#include "src/base/types.h"

/* dst[0..n) = value, each `size` bytes. */
void tsr_fill(void *dst, const void *value, size_t size, int64_t n);

/* dst[c * dst_ld + r] = src[r * src_ld + c], elements of `size` bytes, r < rows, c < columns. */
void tsr_flip_block(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns,
    size_t size);

/* dst[c * dst_ld + r] += src[r * src_ld + c], FP32 or FP64. */
void tsr_flip_add_block(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size);

/* The same past the cache, for a destination of more than TSR_STREAM_BYTES of which this is a part: it would push out what is of use
 * there, and would be read before it is written. */
#define TSR_STREAM_BYTES (32 << 20)
void tsr_flip_block_streamed(void *dst, int64_t dst_ld, const void *src, int64_t src_ld, int64_t rows, int64_t columns, size_t size);

/* Nothing to multiply, or nothing to write: then a dense C is done, without an entry. */
bool tsr_is_trivial(const tsr_product *product, tsr_result *result);

/* Big scratch: from so many bytes on at huge-page boundaries.  NULL: out of memory.  Freed with free. */
#define TSR_SCRATCH_HUGE ((size_t)4 << 20)
void *tsr_scratch(size_t bytes);

/* The memory is about to be written for the first time, by one of so many threads: its whole pages come at once, which takes two thirds of what a fault
 * for each takes.  Nothing where they are there already, by the last of them, where it is little, or for many threads: whose heap grows would wait for all
 * pages that others ask for. */
#define TSR_POPULATE_LEAST ((size_t)64 << 10)
#define TSR_POPULATE_THREADS 2
void tsr_populate(void *block, size_t bytes, int nthreads);

#endif
