/* Work lists: blocks of windows in items of bounded size.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

/* Items of a window of nb blocks; an empty one has an item too. */
static int64_t items_of(int64_t nb, int64_t most)
{
    return nb ? (nb - 1) / most + 1 : 1;
}

static void count(tsr_work *work, const tsr_windows *w, int64_t most)
{
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t q = items_of(w->block[v + 1] - w->block[v], most);
        work->nitems += q;
        work->nsplit += q > 1;
        work->npartials += q > 1 ? q : 0;
    }
}

static bool allocate(tsr_work *work, bool entries)
{
    work->window = tsr_format_alloc(work->nitems, sizeof *work->window);
    work->block = tsr_format_alloc(work->nitems + 1, sizeof *work->block);
    work->entry = entries ? tsr_format_alloc(work->nitems, sizeof *work->entry) : NULL;
    work->partial = tsr_format_alloc(work->nitems, sizeof *work->partial);
    work->split_window = tsr_format_alloc(work->nsplit, sizeof *work->split_window);
    work->split_partial = tsr_format_alloc(work->nsplit + 1, sizeof *work->split_partial);
    return work->window && work->block && (work->entry || !entries) && work->partial && work->split_window && work->split_partial;
}

static void fill(tsr_work *work, const tsr_windows *w, int64_t most)
{
    int64_t t = 0, split = 0, partial = 0;
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t nb = w->block[v + 1] - w->block[v], q = items_of(nb, most);
        if (q > 1) {
            work->split_window[split] = v;
            work->split_partial[split++] = partial;
        }
        for (int64_t j = 0; j < q; j++, t++) {
            work->window[t] = v;
            work->block[t] = w->block[v] + nb * j / q;
            work->partial[t] = q > 1 ? partial++ : -1;
        }
    }
    work->block[t] = w->nblocks;
    work->split_partial[split] = partial;
}

static int64_t count_bits(const uint64_t *mask, int64_t begin, int64_t end)
{
    int64_t sum = 0;
    for (int64_t k = begin; k < end; k++)
        sum += __builtin_popcountll(mask[k]);
    return sum;
}

/* Only split windows need their masks read. */
static void count_entries(tsr_work *work, const tsr_windows *w, const uint64_t *mask)
{
    int64_t words = w->height / 8;
    for (int64_t t = 0; t < work->nitems; t++) {
        if (t == 0 || work->window[t] != work->window[t - 1])
            work->entry[t] = w->entry[work->window[t]];
        else
            work->entry[t] = work->entry[t - 1] + count_bits(mask, work->block[t - 1] * words, work->block[t] * words);
    }
}

tsr_status tsr_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most)
{
    memset(out, 0, sizeof *out);
    if (most < 1)
        return TSR_INVALID_VALUE;
    count(out, windows, most);
    if (!allocate(out, mask)) {
        tsr_free_work(out);
        return TSR_OUT_OF_MEMORY;
    }
    fill(out, windows, most);
    if (mask)
        count_entries(out, windows, mask);
    return TSR_OK;
}

void tsr_free_work(tsr_work *work)
{
    free(work->window);
    free(work->block);
    free(work->entry);
    free(work->partial);
    free(work->split_window);
    free(work->split_partial);
    memset(work, 0, sizeof *work);
}
