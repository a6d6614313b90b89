/* The ranges of arrays, brought home, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/shifts.h"

#include "backends/cuda/context.h"
#include "kernels/cuda/narrow.h"

static tsr_status fetch_ranges(uint32_t (*range)[2], const tsr_cuda_numbers *of, int count, uint32_t *ranges)
{
    const size_t bytes = (size_t)count * sizeof *range;
    tsr_status status = tsr_cuda_set(ranges, 0, bytes, tsr_cuda.compute);
    for (int k = 0; k < count && status == TSR_OK; k++)
        if (of[k].x)
            status = tsr_cuda_find_range(ranges + 2 * k, of[k].x, of[k].ld, of[k].rows, of[k].columns, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(range, ranges, bytes, tsr_cuda.compute);
    const tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    return status == TSR_OK ? waited : status;
}

tsr_status tsr_cuda_find_shifts(int *shift, bool *fit, const tsr_cuda_numbers *of, int count, uint32_t *ranges)
{
    uint32_t range[TSR_CUDA_MOST_SHIFTS][2] = {{0}}, *own = NULL;
    tsr_status status = ranges ? TSR_OK : tsr_cuda_new((void **)&own, sizeof range);
    if (status == TSR_OK)
        status = fetch_ranges(range, of, count, ranges ? ranges : own);
    tsr_cuda_delete(own);
    *fit = status == TSR_OK;
    for (int k = 0; k < count && *fit; k++)
        *fit = tsr_narrow_shift(&shift[k], range[k]);
    return status;
}
