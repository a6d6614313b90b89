/* Values: full and bitmap matrices and vectors that stay on the device (tessera/values.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ARRAYS_H
#define TSR_CUDA_ARRAYS_H

#include <stdatomic.h>

#include "backends/cuda/device/context.h"

/* What a value is, seen from inside.  Its arrays are read and written on `compute` only, or while somebody waits. */
typedef struct tsr_cuda_array {
    tsr_cuda_dead dead; /* once it is forgotten by all */
    atomic_int refs;
    int64_t count;   /* elements */
    size_t size;     /* bytes of one */
    void *x;         /* device; one allocation with: */
    int8_t *present; /* 0/1; NULL: all are */
    size_t bytes;    /* reserved */
    int64_t nvals;   /* entries present; < 0: not yet counted */
    double below;    /* every element is known to be less in magnitude; 0: not yet looked at */
} tsr_cuda_array;

extern const tsr_backend_arrays tsr_cuda_arrays;

/* One operation, alone with the device, where all values have their elements: representations make room, and it is tried again.
 * TSR_OUT_OF_MEMORY: values alone are too much. */
typedef tsr_status (*tsr_cuda_operation)(void *arguments);
tsr_status tsr_cuda_alone(tsr_cuda_operation run, void *arguments);

/* Within it: run with `bytes` of device memory, given back afterwards. */
tsr_status tsr_cuda_with_scratch(size_t bytes, tsr_status (*run)(void *arguments, void *scratch), void *arguments);

static inline tsr_elements tsr_cuda_elements(const tsr_cuda_array *value) /* NULL allowed */
{
    return value ? (tsr_elements){value->x, value->present} : (tsr_elements){NULL, NULL};
}

/* Values made of one value (derive.c), as tsr_backend_arrays has them. */
tsr_status tsr_cuda_array_sums(const tsr_sums *sums, void **value);
tsr_status tsr_cuda_array_cast(void *value, tsr_type from, tsr_type to, void **result);
tsr_status tsr_cuda_array_turn(void *value, int64_t vectors, int64_t length, void **result);
tsr_status tsr_cuda_array_places(const tsr_places *places, void **value);

/* ---- with tsr_cuda.busy held ---- */

/* Arrays with nothing in them.  TSR_OUT_OF_MEMORY, also for more than is allowed. */
tsr_status tsr_cuda_array_new(tsr_cuda_array **value, int64_t count, size_t size, bool bitmap);
void tsr_cuda_array_free(tsr_cuda_array *value); /* NULL allowed; when what is queued on `compute` is done */

/* What the host holds, queued on `compute` when it returns; *moved grows. */
tsr_status tsr_cuda_array_bring(tsr_cuda_array **value, const tsr_view *view, int nthreads, int64_t *moved);
/* Entries present, counted if need be (then it waits): value->nvals. */
tsr_status tsr_cuda_array_count(tsr_cuda_array *value);
/* A few bytes when what is queued on `compute` is done; waits. */
tsr_status tsr_cuda_fetch_word(void *host, const void *device, size_t bytes);
tsr_status tsr_cuda_array_fetch(tsr_cuda_array *value, tsr_result *result, int nthreads);

#endif
