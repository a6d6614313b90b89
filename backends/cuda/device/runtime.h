/* What the plug-in uses of the CUDA runtime beside kernels/cuda/common/cuda_kernels.h: pinned memory and events, in plain C.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_RUNTIME_H
#define TSR_CUDA_RUNTIME_H

#include "kernels/cuda/common/cuda_kernels.h"

tsr_status tsr_cuda_pin(void **p, size_t bytes); /* *p = NULL on failure */
void tsr_cuda_unpin(void *p);                    /* NULL allowed */

/* Page-lock memory of others, so that copies to and from it are made by the device alone.  The pages must stay mapped until they
 * are unlocked. */
tsr_status tsr_cuda_lock_pages(void *p, size_t bytes);
void tsr_cuda_unlock_pages(void *p);

/* A rectangle of `height` rows of `width` bytes, whose rows start `pitch` bytes apart: width <= pitch < 2^31 unless it is one row.
 * Host memory is page-locked. */
typedef struct tsr_cuda_copy {
    void *device, *host;
    size_t device_pitch, host_pitch, width, height;
} tsr_cuda_copy;
tsr_status tsr_cuda_rows_to_device(const tsr_cuda_copy *copy, void *stream);
tsr_status tsr_cuda_rows_to_host(const tsr_cuda_copy *copy, void *stream);

/* Likewise from one place on the device to another. */
tsr_status tsr_cuda_rows_on_device(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                                   void *stream);

/* Is this what was waited for: any word but 0, or one whose upper half is a ticket that is not 0? */
static inline bool tsr_cuda_heard(uint64_t word, uint32_t ticket)
{
    return ticket ? word >> 32 == ticket : word != 0;
}

/* Looks until *word, which work on the stream sets, is that, or the stream has nothing left to do.  Also reports errors, as tsr_cuda_wait. */
tsr_status tsr_cuda_await(const uint64_t *word, uint32_t ticket, void *stream);

/* Events without times.  record: everything queued on the stream so far.  follow: what is queued on the stream from now on
 * waits for the event as last recorded.  done: 1, 0, or a negative tsr_status. */
tsr_status tsr_cuda_event_new(void **event);
void tsr_cuda_event_free(void *event); /* NULL allowed */
tsr_status tsr_cuda_event_record(void *event, void *stream);
tsr_status tsr_cuda_event_wait(void *event);
tsr_status tsr_cuda_event_follow(void *event, void *stream);
int tsr_cuda_event_done(void *event);

/* An event with a time, and the ms between two that have been waited for. */
tsr_status tsr_cuda_timer_new(void **event);
tsr_status tsr_cuda_event_ms(double *ms, void *from, void *to);

tsr_status tsr_cuda_use(int ordinal); /* the device of the calling thread */

/* The context of the calling thread, which its program may have chosen; NULL: none.  Given to restore it is current again. */
void *tsr_cuda_current(void);
void tsr_cuda_restore(void *context);

tsr_status tsr_cuda_free_memory(size_t *bytes);

tsr_status tsr_cuda_wait_device(void); /* for all streams of it, those of others too */

/* The number of the device in whose memory it is (managed memory is in one), as the driver knows it; < 0: in none. */
int tsr_cuda_ordinal_of(const void *p);

#endif
