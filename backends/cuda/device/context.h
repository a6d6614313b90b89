/* The devices as the plug-in holds them: streams, staging memory, the statistics of device memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CONTEXT_H
#define TSR_CUDA_CONTEXT_H

#include <pthread.h>

#include "backends/cuda/device/runtime.h"
#include "src/base/types.h"

/* Sizes that tests make small.  What is copied at once by the device; a tile has at least so many bytes of B or C, so that
 * kernels and copies have work, and rows of at least a few cache lines; fewer where the device copies by itself. */
#ifndef TSR_CUDA_CHUNK_BYTES
#define TSR_CUDA_CHUNK_BYTES (2 << 20)
#define TSR_CUDA_TILE_BYTES (16 << 20)
#define TSR_CUDA_ROW_BYTES 256
#define TSR_CUDA_DIRECT_ROW_BYTES 256
#endif

/* Pinned memory that the device copies at once, and the event of its last copy.  There are few: together they stay in the last
 * level cache, where the bus finds what the threads wrote and the threads what came over the bus; main memory sees B and C
 * only. */
typedef struct tsr_cuda_chunk {
    void *staging;
    void *event;
} tsr_cuda_chunk;

enum { TSR_CUDA_ANSWER_WORDS = 7, TSR_CUDA_COUNTS = 64 };
enum { TSR_CUDA_RING = 16 }; /* most chunks of one direction */

struct tsr_cuda_sparse;

/* What those above are asked to do.  tsr_cuda_all.busy is held. */
typedef struct tsr_cuda_callbacks {
    bool (*evict_oldest)(void); /* free the sparse operand of this device that was not used for longest; false: nothing is left */
    void (*free_representations)(struct tsr_cuda_sparse *a); /* all that was made of it */
    void (*drop_unseen)(void);  /* operations whose results nobody can look at any more */
} tsr_cuda_callbacks;

/* What all devices share. */
typedef struct tsr_cuda_process {
    pthread_mutex_t busy; /* one product at a time: the bus is the limit.  Guards all below, and of a device what is not set when it is opened */
    bool timed;           /* somebody asks how long the first device takes (times.c) */
    const tsr_cuda_callbacks *callbacks;
    int built, evicted;   /* block formats and the like made, sparse operands given up, by the present product */
    int64_t chunk, tile, row, direct_row; /* TSR_CUDA_CHUNK_BYTES and so on, unless a benchmark tries others */
    int ring;             /* chunks of one direction wanted, <= TSR_CUDA_RING */
} tsr_cuda_process;

extern tsr_cuda_process tsr_cuda_all;

/* One device. */
typedef struct tsr_cuda_context {
    tsr_cuda_device device;
    void *context;             /* the driver's */
    void *compute, *up, *down; /* streams; memory is allocated and freed on `compute` */
    void *order;               /* event of tsr_cuda_after */
    size_t cap, used;          /* bytes of device memory: allowed, reserved */
    const struct tsr_model *model; /* what kernels cost */
    int npairs;                /* there are 2 npairs chunks: even ones go up, odd ones come down */
    tsr_cuda_chunk chunks[2 * TSR_CUDA_RING];
    uint64_t *counts;          /* page-locked, TSR_CUDA_COUNTS of them: where kernels tell what they count (arrays/listed.h); NULL: as above */
    uint32_t tickets;          /* that were given out */
    uint64_t *answer;          /* page-locked, TSR_CUDA_ANSWER_WORDS and one: of tsr_cuda_send.  NULL: none was asked for yet */
} tsr_cuda_context;

/* The device that this thread has entered; the first one, which the options name, where it has entered none. */
extern _Thread_local tsr_cuda_context *tsr_cuda;
tsr_cuda_context *tsr_cuda_first(void);

/* Opens the first device, once per process.  False: it cannot be used. */
bool tsr_cuda_start(const tsr_backend_options *options, const tsr_cuda_callbacks *callbacks);
/* Not a child forked since: there the device is gone. */
bool tsr_cuda_alive(void);

/* Device number `which` - 1, or the first one where it is 0; opened when it is asked for.  NULL: it cannot be used. */
tsr_cuda_context *tsr_cuda_device_numbered(int which);
/* Which one has p in its memory, counted like that; 0: none. */
int tsr_cuda_which(const void *p);

/* Where a thread was: its device here, and the driver's context. */
typedef struct tsr_cuda_place {
    tsr_cuda_context *device;
    void *context;
} tsr_cuda_place;

/* The device becomes that of the calling thread; leave, also after a failure, gives it back what it had. */
tsr_status tsr_cuda_enter(tsr_cuda_context *device, tsr_cuda_place *before);
void tsr_cuda_leave(tsr_cuda_place before);

/* Takes tsr_cuda_all.busy, enters, frees what others have let go; end, also after a failure, leaves and gives it back. */
tsr_status tsr_cuda_begin(tsr_cuda_context *device, tsr_cuda_place *before);
void tsr_cuda_end(tsr_cuda_place before);

/* The first member of what any thread may let go at any time: freed by whoever takes tsr_cuda_all.busy next, on its device. */
typedef struct tsr_cuda_dead {
    struct tsr_cuda_dead *next;
    void (*free)(void *whole);
    tsr_cuda_context *device; /* NULL: the first one */
} tsr_cuda_dead;

void tsr_cuda_let_go(tsr_cuda_dead *dead);
void tsr_cuda_free_dead_unless_busy(void);

/* As many pairs of chunks as there can be, at most `wanted` and `ring`; < 0: a tsr_status. */
int tsr_cuda_need_pairs(int64_t wanted);

/* What is queued on `stream` from now on waits for what is on `earlier` already. */
tsr_status tsr_cuda_after(void *stream, void *earlier);

/* Wait for all streams, whatever happened on them: afterwards nothing touches staging or device memory. */
tsr_status tsr_cuda_settle(void);

/* Account for bytes about to be allocated here; representations that are not in use are evicted when it gets tight. False: too much. */
bool tsr_cuda_reserve(size_t bytes);
bool tsr_cuda_has_room(size_t bytes); /* without evicting anything */
void tsr_cuda_evict_all(void); /* all that are not in use: memory is shorter than what we count */
void tsr_cuda_unreserve(size_t bytes);

/* At least one byte, so that NULL means failure. */
tsr_status tsr_cuda_new(void **p, size_t bytes);
void tsr_cuda_delete(void *p);

#endif
