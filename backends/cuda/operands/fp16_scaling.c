/* The range of an array, downloaded, and what follows from it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/operands/fp16_scaling.h"

#include "backends/cuda/device/context.h"
#include "kernels/cuda/common/fp16_scaling.h"

static tsr_status fetch_range(uint32_t range[2], const tsr_cuda_numbers *of, uint32_t *device_range)
{
    const size_t bytes = 2 * sizeof *range;
    tsr_status status = tsr_cuda_set(device_range, 0, bytes, tsr_cuda->compute);
    if (status == TSR_OK && of->x)
        status = tsr_cuda_find_range(device_range, of->x, of->ld, of->rows, of->columns, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(range, device_range, bytes, tsr_cuda->compute);
    const tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    return status == TSR_OK ? waited : status;
}

tsr_status tsr_cuda_find_fp16_scale(int *shift, bool *fits, const tsr_cuda_numbers *of, uint32_t *range)
{
    uint32_t found[2] = {0, 0}, *own = NULL;
    tsr_status status = range ? TSR_OK : tsr_cuda_new((void **)&own, sizeof found);
    if (status == TSR_OK)
        status = fetch_range(found, of, range ? range : own);
    tsr_cuda_delete(own);
    *fits = status == TSR_OK && tsr_fp16_scale(shift, found);
    return status;
}
