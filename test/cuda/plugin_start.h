/* The plug-in that a test asks, and with which numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_PLUGIN_START_H
#define TEST_CUDA_PLUGIN_START_H

#include "tessera/backend.h"
#include "tessera/kernel_row.h"

bool tsr_backend_kernel(int k, tsr_kernel_row *row); /* the plug-in's */

extern const tsr_backend *gpu;
extern uint64_t seed;
extern int rounds;

/* Arguments: [seed] [rounds] (else test/seed.h).  Not 0: leave with that. */
int start_plugin(int argc, char **argv, const tsr_backend_options *options);

#endif
