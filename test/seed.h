/* The seed of a test program's random data: TESSERA_TEST_SEED, else always the same, so that a run can be repeated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SEED_H
#define TEST_SEED_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t test_seed(void)
{
    const char *text = getenv("TESSERA_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20261121;
}

/* splitmix64 */
static inline uint64_t test_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

#endif
