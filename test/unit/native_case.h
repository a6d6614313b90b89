/* One random product through the native door, compared with loops.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_NATIVE_CASE_H
#define TSR_NATIVE_CASE_H

#include "tessera/tessera.h"

/* False: message says which case and what differed. */
bool native_case_passes(tsr_op op, uint64_t seed, char *message, size_t size);

#endif
