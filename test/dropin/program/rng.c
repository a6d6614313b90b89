/* The random numbers of a program (splitmix64): the same on every machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

static uint64_t state;

void rng_seed(uint64_t seed)
{
    state = seed * 0x9E3779B97F4A7C15u + 0x1234567u;
}

uint64_t rng_next(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int rng_below(int n)
{
    return (int)(rng_next() % (uint64_t)n);
}

bool rng_chance(int percent)
{
    return rng_below(100) < percent;
}
