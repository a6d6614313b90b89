/* The order in which the block formats of a matrix hold its rows (src/format/order/row_order.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ORDER_H
#define TSR_CUDA_ORDER_H

#include "kernels/cuda/common/cuda_kernels.h"

/* All zero: their own order. */
typedef struct tsr_cuda_order {
    uint32_t *row; /* on the device, [nrows]: which row of the matrix each of theirs is */
    size_t bytes;  /* reserved for it */
} tsr_cuda_order;

/* Predicted cost of that. */
double tsr_cuda_order_ms(const tsr_source *a, tsr_reorder wanted);

/* Makes the order that is wanted, AUTO: keeps it where it pays.  Without memory, or where there is no such order of this matrix, rows
 * stay as they are.  Waits for the device.  TSR_OK or TSR_INTERNAL_ERROR. */
tsr_status tsr_cuda_decide_order(tsr_cuda_order *order, const tsr_source *a, tsr_reorder wanted);
void tsr_cuda_order_free(tsr_cuda_order *order);

/* `a` with its rows in that order: a itself, or a copy.  tsr_cuda_end_order in either case, also after a failure. */
tsr_status tsr_cuda_in_order(tsr_source *out, const tsr_cuda_order *order, const tsr_source *a);
void tsr_cuda_end_order(tsr_source *ordered, const tsr_cuda_order *order);

#endif
