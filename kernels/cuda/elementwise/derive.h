/* Values made of one value: sums of its vectors, its typecast, its transpose, what depends on places, what is gathered (tessera/values.h).
 * Arrays are 16-byte aligned; z_present may be NULL where every element of the result is present.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_DERIVE_H
#define TSR_CUDA_DERIVE_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* z[vectors] = 0 where nothing is present (kernels/cuda/elementwise/vector_sums.cu).  The order of a sum is fixed by the shape and the device; sums are
 * formed as by tsr_cuda_reduce.  scratch: tsr_cuda_sums_bytes, may be NULL if that is 0.  TSR_DECLINED: EQ but of BOOL. */
size_t tsr_cuda_sums_bytes(const tsr_sums *sums, const tsr_cuda_device *device);
tsr_status tsr_cuda_sums(const tsr_sums *sums, const tsr_elements *e, void *z, int8_t *z_present, void *scratch,
                         const tsr_cuda_device *device, void *stream);

/* All of what follows: kernels/cuda/elementwise/derive.cu. */
tsr_status tsr_cuda_cast(void *z, int8_t *z_present, tsr_type to, const tsr_elements *e, tsr_type from, int64_t count,
                         const tsr_cuda_device *device, void *stream);

/* size: bytes of an element. */
tsr_status tsr_cuda_turn(void *z, int8_t *z_present, const tsr_elements *e, int size, int64_t vectors, int64_t length,
                         const tsr_cuda_device *device, void *stream);

/* size: of an element of e; those of z are INT64 unless places->select.  0 where nothing is present. */
tsr_status tsr_cuda_places(const tsr_places *places, const tsr_elements *e, int size, void *z, int8_t *z_present,
                           const tsr_cuda_device *device, void *stream);

/* z[k] = e[from[k]], elements of `size` bytes, 0 where nothing is present; z_present NULL: where all of e are.  list: from->list on the
 * device, narrow; NULL: from has none. */
tsr_status tsr_cuda_gather_elements(const tsr_indices *from, const uint32_t *list, const tsr_elements *e, int size, void *z,
                                    int8_t *z_present, const tsr_cuda_device *device, void *stream);

/* z[to[k]] = e[k] where that is present; the rest of z and z_present is left alone.  Of two with one place any one. */
tsr_status tsr_cuda_scatter_elements(const tsr_indices *to, const uint32_t *list, const tsr_elements *e, int size, void *z,
                                     int8_t *z_present, const tsr_cuda_device *device, void *stream);

#ifdef __cplusplus
}
#endif

#endif
