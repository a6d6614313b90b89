/* Dealing the rows of a sparse matrix (its stored vectors) to threads in pieces of about equal work.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_CHUNKS_H
#define TSR_CPU_CHUNKS_H

#include "kernels/kernels.h"
#include "src/base/types.h"

/* Whole vectors [first, last), or, when slot >= 0, the entries [bounds[0], bounds[1]) of the one vector `first`: its
 * partial result then goes to carry slot `slot`. */
typedef struct tsr_chunk {
    int64_t first, last;
    int64_t bounds[2];
    int64_t slot;
} tsr_chunk;

/* A list of chunks that depends on p, nvec and nthreads only. slots: carry slots in use; slots of one vector
 * follow each
 * other. */
typedef struct tsr_chunks {
    tsr_chunk *list;
    int64_t count;
    int64_t slots;
} tsr_chunks;

/* Cut nvec vectors with these offsets. may_split: a vector longer than two chunks is cut into pieces. */
tsr_status tsr_chunks_make(tsr_chunks *chunks, tsr_offsets p, int64_t nvec, int nthreads, bool may_split);
void tsr_chunks_free(tsr_chunks *chunks);

/* Call work(context, job) for every job in [0, jobs) on up to nthreads threads, in any order. */
void tsr_for_jobs(int64_t jobs, int nthreads, void (*work)(void *context, int64_t job), void *context);

/* The same over ranges of [0, size) of about `grain` each. */
void tsr_for_ranges(int64_t size, int64_t grain, int nthreads,
    void (*work)(void *context, int64_t first, int64_t last), void *context);

/* sums[k] = sums[0] + … + sums[k] for k in [0, count): counts become offsets.  On more than one thread where it is long. */
void tsr_prefix_sums(int64_t *sums, int64_t count, int nthreads);

#endif
