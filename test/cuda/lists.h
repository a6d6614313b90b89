/* Lists of places (kernels/cuda/common/list.h) for the tests of kernels that take them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_LISTS_H
#define TSR_TEST_LISTS_H

#include "kernels/cuda/common/list.h"
#include "test/cuda/semirings.h"

/* Empty, with room for so many. */
static inline tsr_cuda_list new_list(int64_t most)
{
    const tsr_cuda_list_head none = {0};
    return (tsr_cuda_list){upload(&none, sizeof none), device_new((size_t)most * sizeof(uint32_t)), most};
}

static inline void free_list(tsr_cuda_list *list)
{
    tsr_cuda_free(list->head, NULL);
    tsr_cuda_free(list->places, NULL);
}

#endif
