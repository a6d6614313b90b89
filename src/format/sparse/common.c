/* Eight indices of the longer list are left behind by one comparison with the last of them: its memory is read once, one line after the other,
 * which takes less than the misses of searching it, until it is far longer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/common.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/split.h"
#include "src/base/types.h"

enum { STRIDE = 8, SEARCHED = 512, VECTORS_AT_ONCE = 64 };

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}

/* Lists of the longer matrix of either width: the first place in [at, end) whose index is `wanted` or more; end: none. */
#define SEEK(name, index) \
    static int64_t step_##name(const index *list, int64_t at, int64_t end, index wanted) \
    { \
        while (at + STRIDE <= end && list[at + STRIDE - 1] < wanted) \
            at += STRIDE; \
        if (at + STRIDE > end) { \
            while (at < end && list[at] < wanted) \
                at++; \
            return at; \
        } \
        int64_t less = 0; \
        for (int k = 0; k < STRIDE; k++) \
            less += list[at + k] < wanted; \
        return at + less; \
    } \
    static int64_t search_##name(const index *list, int64_t at, int64_t end, index wanted) \
    { \
        while (at < end) { \
            const int64_t middle = at + (end - at) / 2; \
            if (list[middle] < wanted) \
                at = middle + 1; \
            else \
                end = middle; \
        } \
        return at; \
    } \
    static int64_t find_##name(int64_t *places, const tsr_view *fewer, int64_t from, int64_t to, const index *list, int64_t at, int64_t end) \
    { \
        const bool far = end - at > SEARCHED * (to - from); \
        int64_t found = 0; \
        for (int64_t e = from; e < to; e++) { \
            const index wanted = (index)index_at(fewer, e); \
            at = far ? search_##name(list, at, end, wanted) : step_##name(list, at, end, wanted); \
            const bool has = at < end && list[at] == wanted; \
            places[e] = has ? at : -1; \
            found += has; \
        } \
        return found; \
    }
SEEK(narrow, uint32_t)
SEEK(wide, int64_t)

static int64_t find_vector(int64_t *places, const tsr_view *fewer, const tsr_view *more, int64_t v)
{
    const int64_t from = tsr_view_start(fewer, v), to = tsr_view_start(fewer, v + 1), at = tsr_view_start(more, v), end = tsr_view_start(more, v + 1);
    return more->index_size == 4 ? find_narrow(places, fewer, from, to, more->i, at, end) : find_wide(places, fewer, from, to, more->i, at, end);
}

bool tsr_common_find(tsr_common *common, const tsr_view *fewer, const tsr_view *more, int nthreads)
{
    const int64_t nvec = tsr_view_vectors(fewer);
    const int useful = tsr_pass_threads(more->nvals, nthreads);
    *common = (tsr_common){.places = malloc((size_t)(fewer->nvals + 1) * sizeof *common->places), .p = malloc((size_t)(nvec + 1) * sizeof *common->p)};
    if (!common->places || !common->p) {
        tsr_common_free(common);
        return false;
    }
    common->p[0] = 0;
#pragma omp parallel for num_threads(tsr_team(useful)) schedule(dynamic, VECTORS_AT_ONCE) if (useful > 1)
    for (int64_t v = 0; v < nvec; v++)
        common->p[v + 1] = find_vector(common->places, fewer, more, v);
    for (int64_t v = 0; v < nvec; v++)
        common->p[v + 1] += common->p[v];
    return true;
}

#define COPY(type) ((type *)to)[k] = ((const type *)from)[e]

static void copy_value(void *to, int64_t k, const void *from, int64_t e, size_t size)
{
    switch (size) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    default: COPY(uint64_t); break;
    }
}

static void take_vector(const tsr_common *c, void *i, bool narrow, void *of_fewer, void *of_more, const tsr_view *fewer, const tsr_view *more, int64_t v)
{
    int64_t k = c->p[v];
    for (int64_t e = tsr_view_start(fewer, v), end = tsr_view_start(fewer, v + 1); e < end; e++) {
        if (c->places[e] < 0)
            continue;
        if (narrow)
            ((uint32_t *)i)[k] = (uint32_t)index_at(fewer, e);
        else
            ((int64_t *)i)[k] = index_at(fewer, e);
        if (of_fewer)
            copy_value(of_fewer, k, fewer->x, e, tsr_type_size(fewer->type));
        if (of_more)
            copy_value(of_more, k, more->x, c->places[e], tsr_type_size(more->type));
        k++;
    }
}

void tsr_common_take(const tsr_common *common, void *i, bool narrow, void *of_fewer, void *of_more, const tsr_view *fewer, const tsr_view *more,
                     int nthreads)
{
    const int64_t nvec = tsr_view_vectors(fewer);
    const int useful = tsr_pass_threads(fewer->nvals, nthreads);
#pragma omp parallel for num_threads(tsr_team(useful)) schedule(dynamic, VECTORS_AT_ONCE) if (useful > 1)
    for (int64_t v = 0; v < nvec; v++)
        take_vector(common, i, narrow, of_fewer, of_more, fewer, more, v);
}

void tsr_common_free(tsr_common *common)
{
    free(common->places);
    free(common->p);
    *common = (tsr_common){0};
}
