/* One random product through the native door, compared with loops.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_NATIVE_CASE_H
#define TSR_NATIVE_CASE_H

#include "tessera/tessera.h"

/* The arrays of the cases are in device memory or not, at random; a GPU backend is there. */
extern bool native_case_on_device;
extern int native_case_which; /* which one, as tsr_backend_device.which counts; 0: the first */
extern int native_case_asynchronous; /* plans so far that only queue their work */

/* False: message says which case and what differed. */
bool native_case_passes(tsr_op op, uint64_t seed, char *message, size_t size);

#endif
