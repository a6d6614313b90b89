/* One operation on device arrays, alone with the device; and what is asked of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/arrays.h"

#include "backends/cuda/arrays/fusion.h"
#include "backends/cuda/device/times.h"

tsr_status tsr_cuda_alone_going_on(tsr_cuda_operation run, void *arguments, bool goes_on)
{
    tsr_cuda_place before;
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    tsr_status status = tsr_cuda_begin(tsr_cuda_first(), &before);
    tsr_cuda_times_start();
    if (status == TSR_OK && !goes_on)
        status = tsr_cuda_fusion_run();
    if (status == TSR_OK)
        status = run(arguments);
    if (status == TSR_OUT_OF_MEMORY && (status = tsr_cuda_fusion_run()) == TSR_OK) {
        tsr_cuda_evict_all();
        status = run(arguments);
    }
    tsr_cuda_times_stop();
    tsr_cuda_end(before);
    return status;
}

tsr_status tsr_cuda_alone(tsr_cuda_operation run, void *arguments)
{
    return tsr_cuda_alone_going_on(run, arguments, false);
}

tsr_status tsr_cuda_alone_on(tsr_cuda_context *device, tsr_cuda_operation run, void *arguments)
{
    tsr_cuda_place before;
    if (device == tsr_cuda_first())
        return tsr_cuda_alone(run, arguments);
    if (!device || !tsr_cuda_alive())
        return device ? TSR_INTERNAL_ERROR : TSR_DECLINED;
    tsr_status status = tsr_cuda_begin(device, &before);
    if (status == TSR_OK)
        status = run(arguments);
    if (status == TSR_OUT_OF_MEMORY) {
        tsr_cuda_evict_all();
        status = run(arguments);
    }
    tsr_cuda_end(before);
    return status;
}

tsr_status tsr_cuda_with_scratch(size_t bytes, tsr_status (*run)(void *arguments, void *scratch), void *arguments)
{
    void *scratch;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_new(&scratch, bytes);
    if (status == TSR_OK)
        status = run(arguments, scratch);
    tsr_cuda_delete(scratch);
    tsr_cuda_unreserve(bytes);
    return status;
}
