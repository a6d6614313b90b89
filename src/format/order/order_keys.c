/* Keys of rows, and rows sorted by them: what several orders start from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/order/order.h"

#include "src/base/split.h"

void tsr_min_hashes(uint32_t *least, const tsr_source *in, int k, int nthreads)
{
    int nparts = tsr_parts(in->nvals, 1 << 14, nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) if (nparts > 1)
    for (int64_t row = 0; row < in->nrows; row++) {
        int64_t begin = in->p[row], length = in->p[row + 1] - begin;
        length = length < TSR_ORDER_LONGEST ? length : TSR_ORDER_LONGEST;
        uint32_t mine = TSR_ORDER_EMPTY;
        for (int64_t e = begin; e < begin + length; e++) {
            uint32_t hash = tsr_order_hash_of(k, in->i[e]);
            mine = hash < mine ? hash : mine;
        }
        least[row] = mine;
    }
}

/* One digit of 8 bits; from where to where does not overlap. */
static void sort_digit(uint32_t *to, const uint32_t *from, const uint32_t *key, int64_t n, int shift)
{
    int64_t place[257] = {0};
    for (int64_t k = 0; k < n; k++)
        place[(key[from[k]] >> shift & 255) + 1]++;
    for (int d = 0; d < 256; d++)
        place[d + 1] += place[d];
    for (int64_t k = 0; k < n; k++)
        to[place[key[from[k]] >> shift & 255]++] = from[k];
}

void tsr_sort_by_key(uint32_t *items, uint32_t *scratch, const uint32_t *key, int64_t n)
{
    for (int shift = 0; shift < 32; shift += 16) {
        sort_digit(scratch, items, key, n, shift);
        sort_digit(items, scratch, key, n, shift + 8);
    }
}
