/* Random numbers of a test program that TESSERA_TEST_SEED repeats.  Included once in a program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_UNIT_SEEDED_H
#define TEST_UNIT_SEEDED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t first_seed = 20261121, seed;

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
    const char *text = getenv("TESSERA_TEST_SEED");
    (void)state;
    if (text)
        first_seed = strtoull(text, NULL, 10) | 1;
    print_message("seed %llu\n", (unsigned long long)first_seed);
    return 0;
}

#endif
