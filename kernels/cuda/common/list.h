/* The places of a bitmap that may be present, as a list beside it: kernels over a few thousand of a million places look at these alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_LIST_H
#define TSR_CUDA_LIST_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* On the device; all 0 before the kernel that fills it. */
typedef struct tsr_cuda_list_head {
    uint32_t length;  /* of the list */
    uint32_t present; /* places of the bitmap that are, once all blocks are done */
    uint32_t done;    /* blocks */
    uint32_t unused;
} tsr_cuda_list_head;

/* Every place that is present is in the list, once, in any order; others may be. */
typedef struct tsr_cuda_list {
    tsr_cuda_list_head *head;
    uint32_t *places;
    int64_t most; /* room, which head->length does not exceed */
} tsr_cuda_list;

/* Places of another bitmap to be made 0 beside what a kernel does: elements of `size` bytes, their presence, and then `head`. */
typedef struct tsr_cuda_clearing {
    void *x; /* NULL: none */
    int8_t *present;
    int64_t size;
    tsr_cuda_list list; /* of the places; its head may be … */
    tsr_cuda_list_head *head;
} tsr_cuda_clearing;

/* Who wants to know how many are present: *slot, page-locked, becomes ticket << 32 | head->present with the end of the kernel. */
typedef struct tsr_cuda_told {
    tsr_cuda_list_head *head;
    uint64_t *slot;
    uint32_t ticket; /* not 0 */
    tsr_cuda_clearing clearing; /* is done, too */
} tsr_cuda_told;

/* ---- kernels/cuda/elementwise/listed.cu; arrays are 16-byte aligned ---- */

/* The list of a bitmap of `count` places, of which at most list->most are present; list->head is 0. */
tsr_status tsr_cuda_list_present(const tsr_cuda_list *list, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream);

/* A step (tsr_cuda_ewise) at the listed places alone:
 * - step->c NULL: z is 0 and not present anywhere before, and nothing would be present elsewhere.  `told` counts what is.
 * - else z is C before, and changes where the mask passes; no `replace`; z is no other operand, and a copy of C with an accumulator, which reads
 *   arrays->c.  told: NULL.
 * TSR_DECLINED: as tsr_cuda_ewise. */
tsr_status tsr_cuda_ewise_listed(const tsr_ewise *step, const tsr_ewise_arrays *arrays, const tsr_cuda_list *list, const tsr_cuda_told *told,
                                 const tsr_cuda_device *device, void *stream);

/* Is the result the same in any order? */
static inline bool tsr_cuda_reduces_listed(tsr_type type, tsr_reduce_op op)
{
    if (type == TSR_BOOL)
        return op != TSR_REDUCE_ANY;
    return type != TSR_FP32 && type != TSR_FP64 && op <= TSR_REDUCE_MAX;
}

/* answer[1] and [2] become a tsr_cuda_reduced of the listed places, then answer[0] 1, in page-locked memory.  What tsr_cuda_reduces_listed says no to:
 * TSR_DECLINED. */
tsr_status tsr_cuda_reduce_listed(uint64_t *answer, tsr_type type, tsr_reduce_op op, const tsr_elements *elements, const tsr_cuda_list *list,
                                  void *stream);

#ifdef __cplusplus
}
#endif

#endif
