/* Products as operations of a call: sparse times full, a masked product, full times full.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_PRODUCT_H
#define TSR_ENGINE_PRODUCT_H

#include "src/engine/call/call.h"

extern const tsr_operation tsr_product_operation;
extern const tsr_operation tsr_full_product_operation; /* full times full, on a device */

/* The result that was left on the device; NULL: out of memory. */
tsr_device_array *tsr_engine_result_array(tsr_call *call, bool full);

#endif
