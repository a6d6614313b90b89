/* Sums of rows, and of everything.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_REDUCE_H
#define TSR_ENGINE_REDUCE_H

#include "src/engine/call/call.h"

extern const tsr_operation tsr_row_sums_operation, tsr_host_row_sums_operation; /* on a device, on the host */
extern const tsr_operation tsr_total_operation; /* of everything, to one scalar */

#endif
