/* Sparse times sparse for a door whose arrays are the caller's: the kernel's two steps, count and fill, as they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_SPARSE_PRODUCT_H
#define TSR_ENGINE_SPARSE_PRODUCT_H

#include "kernels/spgemm.h"

#endif
