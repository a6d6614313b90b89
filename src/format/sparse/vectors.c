/* Which vectors of compressed arrays have entries, and whether two lists are the same: passes over all vectors or entries, on all threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/format.h"

#include "src/base/split.h"
#include "src/base/types.h"

#include <string.h>

enum { MOST_PARTS = 64, FIRST_VECTORS = 1 << 16, VECTORS_AT_ONCE = 1 << 12, FIRST_INDICES = 1 << 13 };

static int parts_of(int64_t elements, int nthreads)
{
    return tsr_pass_threads(elements, nthreads < MOST_PARTS ? nthreads : MOST_PARTS);
}

static int64_t count_part(const int64_t *p, int64_t first, int64_t last)
{
    int64_t count = 0;
    for (int64_t v = first; v < last; v++)
        count += p[v] < p[v + 1];
    return count;
}

/* Most results have entries nearly everywhere: the first vectors tell. */
int64_t tsr_nonempty_vectors(const int64_t *p, int64_t nvec, int64_t enough, int nthreads)
{
    const int64_t first = nvec < FIRST_VECTORS ? nvec : FIRST_VECTORS, rest = nvec - first;
    const int nparts = parts_of(rest, nthreads);
    int64_t count = 0;
    for (int64_t v = 0; v < first && count < enough; v += VECTORS_AT_ONCE)
        count += count_part(p, v, v + VECTORS_AT_ONCE < first ? v + VECTORS_AT_ONCE : first);
    if (count >= enough || rest == 0)
        return count;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) reduction(+ : count) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        count += count_part(p + first, tsr_part_begin(rest, part, nparts), tsr_part_begin(rest, part + 1, nparts));
    return count;
}

static void list_part(int64_t *to_p, int64_t *to_h, const int64_t *p, int64_t first, int64_t last)
{
    for (int64_t v = first; v < last; v++) {
        if (p[v] == p[v + 1])
            continue;
        *to_h++ = v;
        *to_p++ = p[v + 1];
    }
}

void tsr_list_vectors(int64_t *to_p, int64_t *to_h, const int64_t *p, int64_t nvec, int nthreads)
{
    int64_t before[MOST_PARTS + 1] = {0};
    const int nparts = parts_of(nvec, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts - 1; part++)
        before[part + 1] = count_part(p, tsr_part_begin(nvec, part, nparts), tsr_part_begin(nvec, part + 1, nparts));
    for (int part = 0; part < nparts - 1; part++)
        before[part + 1] += before[part];
    to_p[0] = 0;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        list_part(to_p + 1 + before[part], to_h + before[part], p, tsr_part_begin(nvec, part, nparts), tsr_part_begin(nvec, part + 1, nparts));
}

static bool same_part(const tsr_index_list *a, const tsr_index_list *b, int64_t first, int64_t last)
{
    if (a->size == b->size)
        return memcmp((const char *)a->i + (size_t)first * a->size, (const char *)b->i + (size_t)first * b->size, (size_t)(last - first) * a->size) == 0;
    const uint32_t *narrow = a->size == 4 ? a->i : b->i;
    const int64_t *wide = a->size == 4 ? b->i : a->i;
    int64_t k = first;
    while (k < last && narrow[k] == wide[k])
        k++;
    return k == last;
}

/* Lists that differ mostly do so soon. */
bool tsr_same_indices(tsr_index_list a, tsr_index_list b, int64_t count, int nthreads)
{
    const int64_t first = count < FIRST_INDICES ? count : FIRST_INDICES, rest = count - first;
    const int nparts = parts_of(rest, nthreads);
    if ((a.i == b.i && a.size == b.size) || !same_part(&a, &b, 0, first))
        return a.i == b.i && a.size == b.size;
    int differ = 0;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) reduction(| : differ) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        differ |= !same_part(&a, &b, first + tsr_part_begin(rest, part, nparts), first + tsr_part_begin(rest, part + 1, nparts));
    return !differ;
}
