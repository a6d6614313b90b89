/* One device array, as those who compute with it see it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ARRAY_H
#define TSR_CUDA_ARRAY_H

#include "backends/cuda/device/contents.h"
#include "kernels/cuda/common/list.h"

enum { TSR_CUDA_ALIGNMENT = 256 }; /* bytes, of every array on the device */

/* What a value is, seen from inside.  Its arrays are read and written on `compute` only, or while somebody waits. */
typedef struct tsr_cuda_array {
    tsr_cuda_contents contents;
    int64_t count;   /* elements */
    size_t size;     /* bytes of one */
    void *x;         /* device; one allocation with: */
    int8_t *present; /* 0/1; NULL: all are */
    size_t bytes;    /* reserved */
    int64_t nvals;   /* entries present; < 0: not yet counted */
    double below;    /* every element is known to be less in magnitude; 0: not yet looked at */
    struct tsr_cuda_array *lister; /* whose list has all places that are present; may be itself, else a reference; NULL: there is none */
    tsr_cuda_list list;            /* part of its memory, if it was asked for: all 0 at first */
    int64_t room;                  /* of that list */
    uint32_t ticket;               /* of the count that the host will hear (listed.h); 0: none */
} tsr_cuda_array;

static inline tsr_elements tsr_cuda_elements(const tsr_cuda_array *value) /* NULL allowed */
{
    return value ? (tsr_elements){value->x, value->present} : (tsr_elements){NULL, NULL};
}

/* ---- with tsr_cuda_all.busy held ---- */

/* Arrays with nothing in them.  TSR_OUT_OF_MEMORY, also for more than is allowed. */
tsr_status tsr_cuda_array_new(tsr_cuda_array **value, int64_t count, size_t size, bool bitmap);
/* A bitmap with so many bytes beside it, aligned; and where in its memory these begin. */
tsr_status tsr_cuda_array_new_beside(tsr_cuda_array **value, int64_t count, size_t size, size_t beside);
size_t tsr_cuda_array_beside(const tsr_cuda_array *value);
/* One reference; free: what becomes of it after the last. */
void tsr_cuda_array_start(tsr_cuda_array *value, void (*free)(void *whole));
void tsr_cuda_array_let_go(tsr_cuda_array *value); /* one reference less; NULL allowed */
void tsr_cuda_array_free(tsr_cuda_array *value); /* NULL allowed; when what is queued on `compute` is done */

/* nvals is set, bytes_moved grows.  After a failure nothing is under way. */
tsr_status tsr_cuda_array_download(tsr_cuda_array *value, tsr_download *to);

#endif
