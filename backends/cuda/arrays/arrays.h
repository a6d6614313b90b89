/* Values: full and bitmap matrices and vectors that stay on the device (tessera/values.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ARRAYS_H
#define TSR_CUDA_ARRAYS_H

#include "backends/cuda/arrays/array.h"
#include "tessera/kernel_row.h"

extern const tsr_backend_arrays tsr_cuda_arrays;

/* Of its functions, by the names of the engine's operations. */
enum { TSR_CUDA_ARRAY_KERNELS = 3 };
extern const tsr_kernel_row tsr_cuda_array_kernels[TSR_CUDA_ARRAY_KERNELS];

/* One operation, alone with the device, where all values have their elements: representations make room, and it is tried again.
 * TSR_OUT_OF_MEMORY: values alone are too much. */
typedef tsr_status (*tsr_cuda_operation)(void *arguments);
tsr_status tsr_cuda_alone(tsr_cuda_operation run, void *arguments);
/* The same on another device, where no elementwise operation waits.  NULL, one that cannot be used: TSR_DECLINED. */
tsr_status tsr_cuda_alone_on(tsr_cuda_context *device, tsr_cuda_operation run, void *arguments);
/* goes_on: with the operations that are held back, which need not run before. */
tsr_status tsr_cuda_alone_going_on(tsr_cuda_operation run, void *arguments, bool goes_on);

/* Within it: run with `bytes` of device memory, given back afterwards. */
tsr_status tsr_cuda_with_scratch(size_t bytes, tsr_status (*run)(void *arguments, void *scratch), void *arguments);

/* As tsr_backend_contents has it. */
tsr_status tsr_cuda_array_upload_view(const tsr_view *view, int nthreads, void **value, int64_t *bytes_moved);

/* Values made of one value (derive.c), as tsr_backend_arrays has them. */
tsr_status tsr_cuda_array_sums(const tsr_sums *sums, void **value);
tsr_status tsr_cuda_array_cast(void *value, tsr_type from, tsr_type to, void **result);
tsr_status tsr_cuda_array_turn(void *value, int64_t vectors, int64_t length, void **result);
tsr_status tsr_cuda_array_places(const tsr_places *places, void **value);
tsr_status tsr_cuda_array_scatter(void *value, const tsr_indices *to, int64_t count, int nthreads, void **result, int64_t *bytes_moved);
tsr_status tsr_cuda_array_gather(void *value, const tsr_indices *from, int nthreads, void **result, int64_t *bytes_moved);

/* ---- with tsr_cuda_all.busy held ---- */

/* What the host holds, queued on `compute` when it returns; *moved grows. */
tsr_status tsr_cuda_array_upload(tsr_cuda_array **value, const tsr_view *view, int nthreads, int64_t *moved);
#endif
