/* Entries that come twice: formats that keep a bit for a place would lose one of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/sparse_blas/native.h"

/* What a thread looks with: for each index the last vector that had it, or the indices of one vector, to be sorted. */
typedef struct finder {
    const tsr_view *v;
    int64_t *room;
    bool marks;
} finder;

static int64_t index_at(const tsr_view *v, int64_t k)
{
    return tsr_native_index_at(v->i, v->index_size == 4 ? TSR_INDEX_32 : TSR_INDEX_64, k);
}

static int ascending(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static int64_t find_by_marks(const finder *f, int base, int64_t vector)
{
    for (int64_t k = f->v->p[vector]; k < f->v->p[vector + 1]; k++) {
        int64_t *mark = f->room + (index_at(f->v, k) - base);
        if (*mark == vector) {
            return index_at(f->v, k);
        }
        *mark = vector;
    }
    return -1;
}

static int64_t find_by_sorting(const finder *f, int64_t vector)
{
    const int64_t begin = f->v->p[vector], count = f->v->p[vector + 1] - begin;
    for (int64_t k = 0; k < count; k++) {
        f->room[k] = index_at(f->v, begin + k);
    }
    qsort(f->room, (size_t)count, sizeof *f->room, ascending);
    for (int64_t k = 1; k < count; k++) {
        if (f->room[k] == f->room[k - 1]) {
            return f->room[k];
        }
    }
    return -1;
}

static int64_t longest_vector(const tsr_view *v)
{
    int64_t longest = 0;
    for (int64_t vector = 0; vector < v->nvec; vector++) {
        const int64_t length = v->p[vector + 1] - v->p[vector];
        longest = length > longest ? length : longest;
    }
    return longest;
}

static bool start(finder *f, const tsr_view *v, int64_t longest)
{
    *f = (finder){.v = v, .marks = v->vlen / 4 <= v->nvals};
    const size_t bytes = (size_t)(f->marks ? v->vlen : longest) * sizeof *f->room;
    f->room = malloc(bytes + 1);
    if (f->room && f->marks) {
        memset(f->room, 0xff, bytes);
    }
    return f->room;
}

tsr_status tsr_native_check_repeats(const tsr_view *v, int base)
{
    const int64_t longest = longest_vector(v);
    int64_t vector = INT64_MAX, index = -1; /* the first one */
    bool short_of_memory = false;
    #pragma omp parallel num_threads(tsr_native_threads()) if (v->nvals > 100000)
    {
        finder f;
        const bool started = start(&f, v, longest);
        #pragma omp for schedule(dynamic, 1024) nowait
        for (int64_t k = 0; k < v->nvec; k++) {
            const int64_t found = !started ? -1 : f.marks ? find_by_marks(&f, base, k) : find_by_sorting(&f, k);
            if (found >= 0) {
                #pragma omp critical(tsr_repeats)
                if (k < vector) {
                    vector = k;
                    index = found;
                }
            }
        }
        #pragma omp critical(tsr_repeats)
        short_of_memory = short_of_memory || !started;
        free(f.room);
    }
    if (short_of_memory) {
        return TSR_OUT_OF_MEMORY;
    }
    if (vector == INT64_MAX) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s %lld has %s %lld twice", v->by_col ? "column" : "row", (long long)vector + base,
                           v->by_col ? "row" : "column", (long long)index);
}
