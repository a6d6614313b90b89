/* Inside of SpGEMM: what the driver's parts offer each other.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPGEMM_DRIVER_H
#define TSR_CPU_SPGEMM_DRIVER_H

#include <pthread.h>

#include "kernels/cpu/spgemm/rows.h"
#include "src/format/sparse/format.h"

/* Places that notes can tell apart before they are cleared; less in tests. */
extern uint32_t tsr_sg_most_places;

/* Rows [first, last) of C. */
typedef struct tsr_sg_chunk {
    int64_t first, last;
    int64_t entries; /* negative: not computed */
    int64_t at;      /* in the output of the thread that computed it … */
    int64_t next;    /* … which computed this one next; -1: none yet */
    int64_t to;      /* in C, once all chunks before are computed */
} tsr_sg_chunk;

/* C's entries. */
typedef struct tsr_sg_result {
    void *i, *x;
    int64_t room;
    size_t index_bytes; /* of which there is room for an index */
} tsr_sg_result;

struct tsr_spgemm_work {
    tsr_spgemm product;          /* by row */
    tsr_spgemm_memory memory;    /* of the result */
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
    tsr_sg_result result;
    bool dense;                  /* rows take the array of notes rather than the table */
};

/* prepare.c: the job of a product: operands flipped, narrowed and found; products counted.  On failure the work is still to be freed. */
tsr_status tsr_sg_prepare(tsr_spgemm_work *w);

/* threads.c: the C library's */
extern const tsr_spgemm_memory tsr_sg_own_memory;
/* *block stays where it fails. */
bool tsr_sg_resize(const tsr_spgemm_memory *memory, void **block, size_t bytes);

/* Scratch and output of a thread, which will probably hold so many entries. */
bool tsr_sg_thread_begin(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t expected);
void tsr_sg_thread_end(tsr_sg_thread *t);
void tsr_sg_thread_drop_scratch(tsr_sg_thread *t);
/* Room for `entries` more in the output, and notes that can hold them. */
bool tsr_sg_room(tsr_sg_thread *t, const tsr_spgemm_work *w, int64_t entries);

/* assembly.c: several threads bring C together. */
typedef struct tsr_sg_assembly {
    tsr_spgemm_work *w;
    pthread_mutex_t order;   /* of the next two, and of what chunks have */
    int64_t known, end;      /* chunks before `known` have places, up to `end` */
    pthread_rwlock_t moving; /* for writing: C moves */
} tsr_sg_assembly;

/* False: out of memory; to be ended all the same. */
bool tsr_sg_assembly_begin(tsr_sg_assembly *a, tsr_spgemm_work *w);
void tsr_sg_assembly_end(tsr_sg_assembly *a);
/* Chunk `at` is the last in t's output; chunks of a thread ascend. */
bool tsr_sg_assembly_add(tsr_sg_assembly *a, tsr_sg_thread *t, int64_t at);
/* All chunks are computed: copies those of t that still wait. */
bool tsr_sg_assembly_finish(tsr_sg_assembly *a, tsr_sg_thread *t);
bool tsr_sg_result_resize(tsr_spgemm_work *w, int64_t entries);
/* Indices of 4 or 8 bytes. */
void tsr_sg_copy_indices(void *to, size_t to_size, const void *from, size_t from_size, int64_t n);

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
