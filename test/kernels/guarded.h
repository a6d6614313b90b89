/* Arrays for kernels, with room behind them that nobody may write.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_KERNELS_GUARDED_H
#define TSR_TEST_KERNELS_GUARDED_H

#include <stdlib.h>
#include <string.h>

#include "test/kernels/cases.h"

enum { SPARE = 64, POISON = 0xA5, MOST_ARRAYS = 40 };

static void *arrays[MOST_ARRAYS];
static int narrays;

static inline void *take(size_t bytes)
{
    char *p = malloc(bytes + SPARE);
    if (!p || narrays == MOST_ARRAYS)
        abort();
    memset(p, POISON, bytes + SPARE);
    return arrays[narrays++] = p;
}

static inline void free_all(void)
{
    while (narrays)
        free(arrays[--narrays]);
}

/* Elements of all kinds, odd ones as well. */
static inline void *draw_array(rng *r, tsr_type type, int64_t count)
{
    char *x = take((size_t)count * type_size(type));
    for (int64_t k = 0; k < count; k++)
        draw_odd_element(r, type, x, k);
    return x;
}

#endif
