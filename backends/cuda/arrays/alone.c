/* One operation on device arrays, alone with the device; and what is asked of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/arrays.h"

#include <string.h>

#include "backends/cuda/arrays/fusion.h"
#include "backends/cuda/arrays/listed.h"
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

static tsr_status need_answer(void)
{
    return tsr_cuda->answer ? TSR_OK : tsr_cuda_pin((void **)&tsr_cuda->answer, (TSR_CUDA_ANSWER_WORDS + 1) * sizeof *tsr_cuda->answer);
}

tsr_status tsr_cuda_answer_words(uint64_t *host, int words, tsr_cuda_answering queue, const void *arguments)
{
    tsr_status status = need_answer();
    if (status != TSR_OK)
        return status;
    uint64_t *answer = tsr_cuda->answer;
    __atomic_store_n(answer, 0, __ATOMIC_RELEASE);
    status = queue(answer, words, arguments);
    if (status == TSR_OK)
        status = tsr_cuda_await(answer, 0, tsr_cuda->compute);
    if (status == TSR_OK)
        memcpy(host, answer + 1, (size_t)words * sizeof *host);
    else
        (void)tsr_cuda_wait(tsr_cuda->compute);
    return status;
}

static tsr_status send(uint64_t *answer, int words, const void *device)
{
    return tsr_cuda_send(answer, device, words, tsr_cuda->compute);
}

tsr_status tsr_cuda_fetch_words(uint64_t *host, const void *device, int words)
{
    return tsr_cuda_answer_words(host, words, send, device);
}

tsr_status tsr_cuda_array_count(tsr_cuda_array *v)
{
    int64_t *total;
    tsr_status told = v->nvals < 0 ? tsr_cuda_listed_hear(v) : TSR_OK;
    if (v->nvals >= 0 || told != TSR_OK)
        return told;
    tsr_status status = tsr_cuda_new((void **)&total, sizeof *total);
    if (status == TSR_OK)
        status = tsr_cuda_count_ones(total, v->present, v->count, &tsr_cuda->device, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_fetch_words((uint64_t *)&v->nvals, total, 1);
    tsr_cuda_delete(total);
    return status;
}
