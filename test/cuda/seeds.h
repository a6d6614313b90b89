/* A test program that runs random cases by seed.
 *     --seed=N    the one case N     --count=N  cases     --first=N  seed of the first case
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_SEEDS_H
#define TEST_CUDA_SEEDS_H

#include <stdint.h>
#include <stdio.h>

#include "kernels/cuda/common/cuda_kernels.h"

/* The next random number (splitmix64). */
static inline uint64_t seeds_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* What main returns: 0 when every run returned 0; 77 without a device.  Stops after 20 failures. */
static inline int run_seeds(int argc, char **argv, const char *name, unsigned long long count, int (*run)(uint64_t seed))
{
    unsigned long long first = 1, seed;
    tsr_cuda_device device;
    int failures = 0;
    for (int k = 1; k < argc; k++)
        if (sscanf(argv[k], "--seed=%llu", &seed) == 1)
            first = seed, count = 1;
        else if (sscanf(argv[k], "--count=%llu", &count) != 1 && sscanf(argv[k], "--first=%llu", &first) != 1)
            return fprintf(stderr, "usage: %s [--seed=N] [--count=N] [--first=N]\n", name), 2;
    if (tsr_cuda_count() == 0)
        return 77;
    if (tsr_cuda_open(0, &device) != TSR_OK)
        return 1;
    for (seed = first; seed < first + count && failures < 20; seed++)
        failures += run(seed);
    printf("%s: %llu cases, %d failures\n", name, seed - first, failures);
    return failures != 0;
}

#endif
