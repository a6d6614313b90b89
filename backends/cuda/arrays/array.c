/* Memory of one device array.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/array.h"

#include <stdlib.h>

static size_t aligned(size_t bytes)
{
    return (bytes + TSR_CUDA_ALIGNMENT - 1) / TSR_CUDA_ALIGNMENT * TSR_CUDA_ALIGNMENT;
}

static tsr_status allocate(tsr_cuda_array *v, bool bitmap)
{
    size_t elements = (size_t)v->count * v->size, bytes = bitmap ? aligned(elements) + (size_t)v->count : elements;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    v->bytes = bytes;
    tsr_status status = tsr_cuda_new(&v->x, bytes);
    if (status == TSR_OK && bitmap)
        v->present = (int8_t *)v->x + aligned(elements);
    return status;
}

static void free_value(void *whole)
{
    tsr_cuda_array_free(whole);
}

tsr_status tsr_cuda_array_new(tsr_cuda_array **out, int64_t count, size_t size, bool bitmap)
{
    tsr_cuda_array *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v)
        return TSR_OUT_OF_MEMORY;
    *v = (tsr_cuda_array){.dead.free = free_value, .count = count, .size = size, .nvals = bitmap ? -1 : count};
    atomic_init(&v->refs, 1);
    tsr_status status = allocate(v, bitmap);
    if (status == TSR_OK)
        *out = v;
    else
        tsr_cuda_array_free(v);
    return status;
}

void tsr_cuda_array_free(tsr_cuda_array *v)
{
    if (!v)
        return;
    tsr_cuda_delete(v->x);
    tsr_cuda_unreserve(v->bytes);
    free(v);
}
