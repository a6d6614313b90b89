/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/answers.h"

#include <string.h>

#include "backends/cuda/arrays/cleared.h"
#include "kernels/cuda/elementwise/derive.h"

/* ---- words ---- */

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

/* ---- counts ---- */

tsr_status tsr_cuda_ask_count(tsr_cuda_told *told, tsr_cuda_array *v)
{
    if (!tsr_cuda->counts) {
        const tsr_status status = tsr_cuda_pin((void **)&tsr_cuda->counts, TSR_CUDA_COUNTS * sizeof *tsr_cuda->counts);
        if (status != TSR_OK)
            return status;
        for (int k = 0; k < TSR_CUDA_COUNTS; k++)
            tsr_cuda->counts[k] = 0;
    }
    if (++tsr_cuda->tickets == 0)
        tsr_cuda->tickets = 1;
    v->ticket = tsr_cuda->tickets;
    *told = (tsr_cuda_told){.head = v->list.head, .slot = &tsr_cuda->counts[v->ticket % TSR_CUDA_COUNTS], .ticket = v->ticket};
    tsr_cuda_cleared_begin(&told->clearing);
    return TSR_OK;
}

tsr_status tsr_cuda_hear_count(tsr_cuda_array *v)
{
    if (!v->ticket || tsr_cuda->tickets - v->ticket >= TSR_CUDA_COUNTS)
        return TSR_OK;
    const uint64_t *slot = &tsr_cuda->counts[v->ticket % TSR_CUDA_COUNTS];
    const tsr_status status = tsr_cuda_await(slot, v->ticket, tsr_cuda->compute);
    const uint64_t word = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (status == TSR_OK && tsr_cuda_heard(word, v->ticket))
        v->nvals = (int64_t)(uint32_t)word;
    return status;
}

tsr_status tsr_cuda_array_count(tsr_cuda_array *v)
{
    int64_t *total;
    tsr_status told = v->nvals < 0 ? tsr_cuda_hear_count(v) : TSR_OK;
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
