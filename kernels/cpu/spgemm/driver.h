/* Inside of SpGEMM: what the driver's parts offer each other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPGEMM_DRIVER_H
#define TSR_CPU_SPGEMM_DRIVER_H

#include "kernels/cpu/spgemm/rows.h"
#include "src/format/sparse/format.h"

/* Places that notes can tell apart before they are cleared; less in tests. */
extern uint32_t tsr_sg_most_places;

/* Rows [first, last) of C: where the thread that computed them has them. */
typedef struct tsr_sg_chunk {
    int64_t first, last;
    int64_t at;     /* in that thread's output */
    int thread;
} tsr_sg_chunk;

struct tsr_spgemm_work {
    tsr_spgemm product;          /* by row */
    tsr_spgemm_memory memory;    /* of the threads' outputs */
    tsr_compressed a, b, mask;   /* flipped or narrowed copies, where they were needed */
    int64_t *b_offsets;          /* of all rows of a hypersparse B */
    uint64_t one;                /* the value of a pattern */
    tsr_sg_job job;
    tsr_sg_loops loops;
    int64_t *before;             /* products of the rows before, nvec + 1 */
    int64_t *p;                  /* nvec + 1 */
    int64_t expected;            /* entries of C, by a sample */
    tsr_sg_chunk *chunks;
    int64_t nchunks;
    tsr_sg_thread *threads;
    int nthreads;
    bool dense;                  /* rows take the array of notes rather than the table */
};

/* prepare.c: the job of a product: operands flipped, narrowed and found; products counted.  On failure the work is still to be freed. */
tsr_status tsr_sg_prepare(tsr_spgemm_work *w);

/* threads.c: scratch and output of a thread, which will probably hold so many entries. */
bool tsr_sg_thread_begin(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t expected);
void tsr_sg_thread_end(tsr_sg_thread *t, const tsr_spgemm_work *w);
void tsr_sg_thread_drop_scratch(tsr_sg_thread *t);
/* Room for `entries` more in the output, and notes that can hold them. */
bool tsr_sg_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries);

/* row.c: is an array of notes for every thread worth its being cleared once, and found in a cache? */
bool tsr_sg_dense_pays(int64_t columns, int64_t products, int nthreads);
/* Stored row v of C appended to the output.  False: out of memory. */
bool tsr_sg_compute_row(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t v);

/* estimate.c: about how many entries C has; never less than one. */
int64_t tsr_sg_estimate(const tsr_spgemm_work *w);

/* sort.c: the entries of the output from `start` on by index, with their values of `size` bytes (0: none).  noted_columns: of C, if t->place has the
 * row's notes; else 0.  False: out of memory. */
bool tsr_sg_sort(tsr_sg_thread *t, size_t size, int64_t start, int64_t noted_columns);

#endif
