/* The order in which the block formats of a matrix hold its rows (src/format/order/row_order.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_ORDER_H
#define TSR_CUDA_ORDER_H

#include "backends/cuda/operands/operand.h"

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
