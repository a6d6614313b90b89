/* Places of a list in ascending order, by a bit for each place of the vector.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/sparse/lane.h"

enum { WORD = 64, SPREAD = 32 }; /* places for each entry, of which a word has two then */

/* The words lie in the list of entries of A, which has room for a number for each entry. */
bool tsr_lane_order(const tsr_lane *w, int64_t count)
{
    const int64_t n = w->p->a.vlen, words = (n + WORD - 1) / WORD;
    if (count <= n / SPREAD || tsr_lane_has_many(w, count))
        return false;
    int64_t *restrict i = w->s->i + w->first, sorted = 0;
    uint64_t *restrict bits = (uint64_t *)(w->s->at + w->first);
    memset(bits, 0, (size_t)words * sizeof *bits);
    for (int64_t t = 0; t < count; t++)
        bits[i[t] / WORD] |= (uint64_t)1 << i[t] % WORD;
    for (int64_t word = 0; word < words; word++)
        for (uint64_t left = bits[word]; left; left &= left - 1)
            i[sorted++] = word * WORD + __builtin_ctzll(left);
    return true;
}
