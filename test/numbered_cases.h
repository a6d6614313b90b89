/* A test program of random cases that have a number.
 *     --seed=N     of all of them (else test/seed.h)     --count=N    how many
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_NUMBERED_CASES_H
#define TEST_NUMBERED_CASES_H

#include <stdbool.h>
#include <stdio.h>

#include "test/seed.h"

typedef struct numbered_cases {
    unsigned long long seed, count;
} numbered_cases;

/* Exits with a message when an argument is another. */
static inline numbered_cases read_cases(int argc, char **argv, unsigned long long count)
{
    numbered_cases c = {test_seed(), count};
    for (int k = 1; k < argc; k++)
        if (sscanf(argv[k], "--seed=%llu", &c.seed) != 1 && sscanf(argv[k], "--count=%llu", &c.count) != 1) {
            fprintf(stderr, "usage: %s [--seed=N] [--count=N]\n", argv[0]);
            exit(2);
        }
    return c;
}

/* Until one is wrong, which is said. */
static inline bool cases_are_right(const numbered_cases *c, bool (*check)(uint64_t seed, int64_t number))
{
    for (unsigned long long number = 0; number < c->count; number++)
        if (!check(c->seed, (int64_t)number)) {
            printf("case %llu differs: --seed=%llu\n", number, c->seed);
            return false;
        }
    printf("%llu cases, seed %llu\n", c->count, c->seed);
    return true;
}

#endif
