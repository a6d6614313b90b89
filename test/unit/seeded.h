/* Random numbers of a test program that TESSERA_TEST_SEED repeats.  Included once in a program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_UNIT_SEEDED_H
#define TEST_UNIT_SEEDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test/seed.h"

static uint64_t first_seed, seed;

/* 0 to n - 1 (xorshift64). */
static inline int64_t draw(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed >> 11) % n;
}

/* Setup of each test. */
static inline int set_seed(void **state)
{
    (void)state;
    seed = first_seed;
    return 0;
}

/* Setup of the group. */
static inline int tell_seed(void **state)
{
    (void)state;
    first_seed = test_seed() | 1; /* xorshift stays at 0 */
    print_message("seed %llu\n", (unsigned long long)first_seed);
    return 0;
}

#endif
