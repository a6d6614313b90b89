/* What the host asks the device for in few words, through page-locked memory; tsr_cuda_all.busy is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ANSWERS_H
#define TSR_CUDA_ANSWERS_H

#include "backends/cuda/arrays/array.h"

/* Entries present, counted if need be (then it waits): value->nvals. */
tsr_status tsr_cuda_array_count(tsr_cuda_array *value);
/* Queues what writes words to answer[1] and on, and 1 to answer[0] when they are there. */
typedef tsr_status (*tsr_cuda_answering)(uint64_t *answer, int words, const void *arguments);
/* These words, at most TSR_CUDA_ANSWER_WORDS; waits for them. */
tsr_status tsr_cuda_answer_words(uint64_t *host, int words, tsr_cuda_answering queue, const void *arguments);
/* A few words, at most TSR_CUDA_ANSWER_WORDS, when what is queued on `compute` is done; waits. */
tsr_status tsr_cuda_fetch_words(uint64_t *host, const void *device, int words);

/* Of an array whose kernel is to count its entries: what to tell it, which may be to clear another one as well: tsr_cuda_cleared_end once it is queued.
 * TSR_OUT_OF_MEMORY: no page-locked memory. */
tsr_status tsr_cuda_ask_count(tsr_cuda_told *told, tsr_cuda_array *v);
/* Waits for that; nvals stays unknown where nobody counts, or what was told is lost. */
tsr_status tsr_cuda_hear_count(tsr_cuda_array *v);

#endif
