/* The plug-in that a test asks, and with which numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/plugin_start.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/cuda/device_control.h"
#include "test/seed.h"

const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
int tsr_backend_score(const tsr_backend_options *options);

enum { SKIPPED = 77 };

const tsr_backend *gpu;
uint64_t seed;
int rounds = 1;

int start_plugin(int argc, char **argv, const tsr_backend_options *options)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : test_seed();
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    printf("seed %llu\n", (unsigned long long)seed);
    control_seed(seed);
    if (tsr_backend_score(options) <= 0)
        return SKIPPED;
    gpu = tsr_backend_init(options);
    return gpu ? 0 : 1;
}
