/* Values gathered and scattered by a list of indices; lists that fit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/selection.h"
#include "src/base/split.h"

enum { GRAIN = 1 << 14 };

typedef struct gathering {
    void *z;
    const void *x;
    size_t size;
    const tsr_indices *from;
    uint64_t bound;
    atomic_bool outside;
} gathering;

#define GATHER(T, expression) \
    for (int64_t k = first; k < last; k++) \
        ((T *)g->z)[k] = ((const T *)g->x)[expression];
#define GATHER_ALL(expression) \
    switch (g->size) { \
    case 1: GATHER(uint8_t, expression) break; \
    case 2: GATHER(uint16_t, expression) break; \
    case 4: GATHER(uint32_t, expression) break; \
    default: GATHER(uint64_t, expression) break; \
    }

static void gather_listed(void *context, int64_t first, int64_t last)
{
    const gathering *g = context;
    const uint64_t *list = g->from->list;
    GATHER_ALL(list[k])
}

static void gather_strided(void *context, int64_t first, int64_t last)
{
    const gathering *g = context;
    const int64_t begin = g->from->first, step = g->from->step;
    GATHER_ALL(begin + k * step)
}

void tsr_cpu_gather(void *z, const void *x, size_t size, const tsr_indices *from, int nthreads)
{
    gathering g = {.z = z, .x = x, .size = size, .from = from};
    tsr_for_ranges(from->count, GRAIN, tsr_pass_threads(from->count, nthreads), from->list ? gather_listed : gather_strided, &g);
}

#define SCATTER(T) \
    for (int64_t k = 0; k < to->count; k++) \
        ((T *)z)[to->list[k]] = ((const T *)x)[k * step];

void tsr_cpu_scatter(void *z, const void *x, int64_t step, size_t size, const tsr_indices *to)
{
    switch (size) {
    case 1: SCATTER(uint8_t) break;
    case 2: SCATTER(uint16_t) break;
    case 4: SCATTER(uint32_t) break;
    default: SCATTER(uint64_t) break;
    }
}

static void find_outside(void *context, int64_t first, int64_t last)
{
    gathering *g = context;
    const uint64_t *list = g->from->list;
    bool outside = false;
    for (int64_t k = first; k < last; k++)
        outside |= list[k] >= g->bound;
    if (outside)
        atomic_store_explicit(&g->outside, true, memory_order_relaxed);
}

bool tsr_indices_fit(const tsr_indices *s, int64_t bound, int nthreads)
{
    if (s->count == 0)
        return true;
    if (!s->list) {
        const int64_t last = tsr_index_at(s, s->count - 1);
        return s->first >= 0 && s->first < bound && last >= 0 && last < bound;
    }
    gathering g = {.from = s, .bound = (uint64_t)bound};
    tsr_for_ranges(s->count, GRAIN, tsr_pass_threads(s->count, nthreads), find_outside, &g);
    return !atomic_load(&g.outside);
}

bool tsr_indices_differ(const tsr_indices *s, int64_t bound)
{
    uint64_t *seen = calloc((size_t)bound / 64 + 1, sizeof *seen), repeated = 0;
    for (int64_t k = 0; seen && k < s->count; k++) {
        const uint64_t place = s->list[k], bit = UINT64_C(1) << place % 64;
        repeated |= seen[place / 64] & bit;
        seen[place / 64] |= bit;
    }
    const bool known = seen;
    free(seen);
    return known && !repeated;
}
