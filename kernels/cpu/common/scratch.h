/* What each thread keeps between calls on sparse vectors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SCRATCH_H
#define TSR_CPU_SCRATCH_H

#include "kernels/sparse_vectors.h"

/* Marks and sums have a place for every index of a vector.  A place is marked when its byte is that of the present generation: so marks
 * need no clearing but every 250 generations. */
typedef struct tsr_scratch {
    uint8_t *marks;
    void *sums;           /* elements of up to 8 bytes, any value */
    int64_t places;       /* of marks and sums */
    uint8_t generation;
    int calls;            /* since there are these places, up to a few */
    int64_t *i;           /* a list of results: indices … */
    int64_t *from, *at;   /* … where each one's first product came from: entry of U, entry of A */
    void *x;
    int64_t entries;      /* of the lists */
    void *block;          /* for whatever a call on dense vectors lays out */
    int64_t bytes;        /* of the block */
    uint8_t *zeros;       /* 0 between calls */
    int64_t zero_bytes;
} tsr_scratch;

/* This thread's, with room for `places` and for `entries` more than one list has.  NULL: no memory. */
tsr_scratch *tsr_scratch_get(int64_t places, int64_t entries);

/* A block of this thread, at a page, of any contents.  NULL: no memory. */
void *tsr_scratch_block(int64_t bytes);

/* Bytes of this thread that are 0, and are when the call ends.  NULL: no memory. */
uint8_t *tsr_scratch_zeros(int64_t bytes);

/* Gives back what of the block and the zeros is of more than `most` bytes together. */
void tsr_scratch_keep(int64_t most);

/* The first of `count` generations that no place has. */
uint8_t tsr_scratch_generation(tsr_scratch *s, int count);

/* Lists keep their entries.  False: no memory, and nothing has changed. */
bool tsr_scratch_grow(tsr_scratch *s, int64_t entries);

#endif
