/* What programs that time single calls share: a check, a clock, a draw.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BENCH_CALLS_H
#define TSR_BENCH_CALLS_H

#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void must(GrB_Info info)
{
    if (info != GrB_SUCCESS) {
        fprintf(stderr, "GraphBLAS: %d\n", (int)info);
        exit(1);
    }
}

static inline double now_ms(clockid_t of)
{
    struct timespec t;
    clock_gettime(of, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static inline uint64_t draw(uint64_t bound)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

#endif
