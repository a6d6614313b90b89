/* Host arrays to staging memory and back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_HOST_COPY_H
#define TSR_CUDA_HOST_COPY_H

#include "tessera/backend.h"

/* A rectangle of a dense host array, and its place on the device: there vector v starts at element v * device_ld.  Positions
 * below count elements on the device, padding included. */
typedef struct tsr_cuda_rectangle {
    char *host;           /* element (0, 0) of the rectangle; only read when it goes to the device */
    int64_t host_ld;      /* elements */
    int64_t outer, inner; /* vectors, and elements of each */
    int64_t device_ld;    /* >= inner */
    size_t size;          /* bytes of an element */
    bool iso;             /* host holds one value, for every element */
    bool direct;          /* host is page-locked: the device copies by itself */
    char *device;
} tsr_cuda_rectangle;

static inline int64_t tsr_cuda_positions(const tsr_cuda_rectangle *r)
{
    return r->outer * r->device_ld;
}

/* Can the device copy `vectors` vectors of `length` elements, `ld` elements apart, by itself: are they page-locked? */
bool tsr_cuda_may_copy_direct(const void *x, int64_t vectors, int64_t length, int64_t ld, size_t size);

/* All of a direct rectangle, queued on the stream. */
tsr_status tsr_cuda_copy_direct(const tsr_cuda_rectangle *r, bool to_device, void *stream);

/* A rectangle (not iso) to the device, by the device alone or through the chunks of several threads; it reads what is queued on
 * `compute` later, after what is queued there already, and nothing reads the host any more when this returns.  *moved grows by the
 * bytes. */
tsr_status tsr_cuda_upload(const tsr_cuda_rectangle *r, int nthreads, int64_t *moved);

/* staging[0..) = the elements at positions [first, last); what is padding is left alone. */
void tsr_cuda_gather(void *staging, const tsr_cuda_rectangle *r, int64_t first, int64_t last);

/* The other way. */
void tsr_cuda_scatter(const tsr_cuda_rectangle *r, const void *staging, int64_t first, int64_t last);

/* Out of staging memory, past the cache: nobody reads large results soon.  widen: 32-bit numbers. */
void tsr_cuda_copy_out(void *to, const void *staging, size_t bytes);
void tsr_cuda_widen(int64_t *to, const uint32_t *staging, int64_t count);

/* Bytes that are 1, of n that are 0 or 1; none for a negative n. */
int64_t tsr_cuda_count_flags(const int8_t *flags, int64_t n);

/* The same in the rectangle's part of positions [first, last). */
int64_t tsr_cuda_count_present(const tsr_cuda_rectangle *r, const void *staging, int64_t first, int64_t last);

/* How many elements of `size` bytes fill one chunk. */
int64_t tsr_cuda_chunk_elements(size_t size);

/* How many of `count` elements a thread copies at a time: a chunk, or its share of fewer. */
int64_t tsr_cuda_piece_elements(int64_t count, size_t size, int nthreads);

/* Fills staging with elements [first, last) of an array being made for the device. */
typedef void (*tsr_cuda_fill)(void *staging, const void *source, int64_t first, int64_t last);

/* device[0..count) = what `fill` makes, chunk by chunk on several threads; queued on the stream `up` when it returns.  *moved
 * grows by the bytes. */
tsr_status tsr_cuda_host_copy(void *device, int64_t count, size_t size, tsr_cuda_fill fill, const void *source, int nthreads,
                          int64_t *moved);

#endif
