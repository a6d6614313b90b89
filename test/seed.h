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

#endif
