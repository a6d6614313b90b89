/* One operation on device arrays, alone with the device; and what is asked of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/arrays.h"

#include <string.h>

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

/* ---- answers, with tsr_cuda_all.busy held ---- */

tsr_status tsr_cuda_fetch_word(void *host, const void *device, size_t bytes)
{
    int pairs = tsr_cuda_need_pairs(1);
    if (pairs < 0)
        return (tsr_status)pairs;
    void *staging = tsr_cuda->chunks[1].staging;
    tsr_status status = tsr_cuda_to_host(staging, device, bytes, tsr_cuda->compute), waited = tsr_cuda_wait(tsr_cuda->compute);
    if (status != TSR_OK || waited != TSR_OK)
        return status != TSR_OK ? status : waited;
    memcpy(host, staging, bytes);
    return TSR_OK;
}

tsr_status tsr_cuda_array_count(tsr_cuda_array *v)
{
    int64_t *total;
    if (v->nvals >= 0)
        return TSR_OK;
    tsr_status status = tsr_cuda_new((void **)&total, sizeof *total);
    if (status == TSR_OK)
        status = tsr_cuda_count_ones(total, v->present, v->count, &tsr_cuda->device, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_fetch_word(&v->nvals, total, sizeof v->nvals);
    tsr_cuda_delete(total);
    return status;
}
