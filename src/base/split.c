/* How work is cut into parts, and where the memory of the converters comes from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/split.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "src/base/late_team.h"

#define HUGE_PAGE ((size_t)2 << 20)

static _Thread_local int team;    /* of the last parallel region of this call */
static _Thread_local bool spared; /* this call has none */

void tsr_team_begin(void)
{
    tsr_late_team_begin();
    team = 0;
    spared = false;
}

void tsr_team_none(void)
{
    spared = true;
}

void tsr_team_spare(double more_ms, bool wins_alone)
{
    spared = spared || tsr_late_team_spares(more_ms, wins_alone);
}

int tsr_team(int useful)
{
    if (useful > 1 && useful > team)
        team = useful;
    return useful > 1 && !spared ? team : 1;
}

int tsr_parts(int64_t work, int64_t least_per_part, int nthreads)
{
    int64_t parts = work / least_per_part;
    if (parts < 1)
        return 1;
    return parts < nthreads ? (int)parts : nthreads < 1 ? 1 : nthreads;
}

int tsr_pass_threads(int64_t elements, int nthreads)
{
    return elements < 2 * (int64_t)TSR_THREAD_WORK ? 1 : tsr_chunk_threads((double)elements, nthreads);
}

int64_t tsr_part_begin(int64_t n, int part, int nparts)
{
    return n / nparts * part + n % nparts * part / nparts;
}

/* narrow: known where this is called. */
static inline __attribute__((always_inline)) int64_t search(const void *p, const bool narrow, int64_t n, int64_t x)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (tsr_offset(p, narrow, middle) < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t tsr_first_at_least(const int64_t *p, int64_t n, int64_t x)
{
    return search(p, false, n, x);
}

static int64_t first_at_least(tsr_offsets p, int64_t n, int64_t x)
{
    return p.narrow ? search(p.list, true, n, x) : search(p.list, false, n, x);
}

int64_t tsr_vector_of(tsr_offsets p, int64_t nvec, int64_t entry)
{
    return first_at_least(tsr_offsets_from(p, 1), nvec, entry + 1);
}

int64_t tsr_part_vector_of(tsr_offsets p, int64_t nvec, int part, int nparts)
{
    if (part <= 0)
        return 0;
    if (part >= nparts)
        return nvec;
    const int64_t first = tsr_offset_at(p, 0);
    return first_at_least(p, nvec, first + tsr_part_begin(tsr_offset_at(p, nvec) - first, part, nparts));
}

int64_t tsr_part_vector(const int64_t *p, int64_t nvec, int part, int nparts)
{
    return tsr_part_vector_of(tsr_offsets_wide(p), nvec, part, nparts);
}

void *tsr_format_alloc(int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX - HUGE_PAGE)
        return NULL;
    if (bytes < 2 * HUGE_PAGE)
        return malloc(bytes ? bytes : 1);
    bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *block = aligned_alloc(HUGE_PAGE, bytes);
#ifdef MADV_HUGEPAGE
    if (block)
        madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
}

tsr_share *tsr_make_shares(const int64_t *p, int64_t nvec, int nparts, size_t bytes_per_entry)
{
    tsr_share *shares = malloc((size_t)nparts * sizeof *shares);
    int64_t total = 0;
    if (!shares)
        return NULL;
    for (int part = 0; part < nparts; part++) {
        tsr_share *s = &shares[part];
        *s = (tsr_share){.first = tsr_part_vector(p, nvec, part, nparts), .last = tsr_part_vector(p, nvec, part + 1, nparts)};
        for (int64_t v = s->first; v < s->last; v++)
            s->largest = p[v + 1] - p[v] > s->largest ? p[v + 1] - p[v] : s->largest;
        total += s->largest;
    }
    char *scratch = tsr_format_alloc(total, bytes_per_entry);
    if (!scratch) {
        free(shares);
        return NULL;
    }
    for (int part = 0; part < nparts; part++) {
        shares[part].scratch = scratch;
        scratch += (size_t)shares[part].largest * bytes_per_entry;
    }
    return shares;
}

void tsr_free_shares(tsr_share *shares)
{
    if (shares)
        free(shares[0].scratch);
    free(shares);
}
