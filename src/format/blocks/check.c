/* Invariants of the block formats.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"

#define REQUIRE(condition, broken) \
    do {                           \
        if (!(condition))          \
            return broken;         \
    } while (0)

/* ---- windows ---- */

static const char *check_offsets(const tsr_windows *w)
{
    REQUIRE(w->entry[0] == 0 && w->vector[0] == 0 && w->block[0] == 0, "offsets begin at 0");
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t entries = w->entry[v + 1] - w->entry[v], vectors = w->vector[v + 1] - w->vector[v];
        REQUIRE(entries >= 0 && vectors >= 0, "offsets do not fall");
        REQUIRE(entries <= INT32_MAX, "fewer than 2^31 entries in a window");
        REQUIRE(vectors <= entries && entries <= vectors * w->height, "a vector has 1 to height entries");
        REQUIRE(w->block[v + 1] - w->block[v] == (vectors + w->width - 1) / w->width, "blocks = ceil(vectors / width)");
    }
    REQUIRE(w->entry[w->nwindows] == w->nvals, "the last entry offset is nvals");
    REQUIRE(w->vector[w->nwindows] == w->nvectors, "the last vector offset is nvectors");
    REQUIRE(w->block[w->nwindows] == w->nblocks, "the last block offset is nblocks");
    return NULL;
}

static const char *check_columns(const tsr_windows *w)
{
    for (int64_t v = 0; v < w->nwindows; v++) {
        for (int64_t k = w->vector[v]; k < w->vector[v + 1]; k++) {
            REQUIRE(w->column[k] < w->ncols, "columns are below ncols");
            REQUIRE(k == w->vector[v] || w->column[k - 1] < w->column[k], "columns of a window ascend");
        }
    }
    return NULL;
}

const char *tsr_check_windows(const tsr_windows *w)
{
    REQUIRE(w->height > 0 && w->width > 0 && w->nrows >= 0 && w->ncols >= 0 && w->nvals >= 0, "sizes are not negative");
    REQUIRE(w->ncols <= (int64_t)1 << 32, "ncols <= 2^32");
    REQUIRE(w->nwindows == w->nrows / w->height + (w->nrows % w->height > 0), "nwindows = ceil(nrows / height)");
    REQUIRE(w->entry && w->vector && w->block && w->column, "no array of the windows is NULL");
    const char *broken = check_offsets(w);
    return broken ? broken : check_columns(w);
}

/* ---- blocks ---- */

/* One block: where it is, and the slots seen used. */
typedef struct block {
    int64_t rows;  /* of its window */
    int64_t slots; /* vectors */
    uint64_t used; /* bit per slot */
} block;

static block block_at(const tsr_windows *w, int64_t v, int64_t b)
{
    int64_t first, last, vectors = w->vector[v + 1] - w->vector[v] - (b - w->block[v]) * w->width;
    tsr_window_rows(w, v, &first, &last);
    return (block){.rows = last - first, .slots = vectors < w->width ? vectors : w->width};
}

static bool use(block *k, int64_t row, int64_t slot)
{
    k->used |= 1ull << slot;
    return row < k->rows && slot < k->slots;
}

static bool all_used(const block *k)
{
    return k->used == (1ull << k->slots) - 1;
}

static const char *check_tcf_block(const tsr_me_tcf *a, int64_t v, int64_t b)
{
    block k = block_at(&a->w, v, b);
    int64_t begin = a->w.entry[v] + a->block_entry[b];
    int64_t end = b + 1 < a->w.block[v + 1] ? a->w.entry[v] + a->block_entry[b + 1] : a->w.entry[v + 1];
    REQUIRE(begin < end && end <= a->w.entry[v + 1], "block_entry ascends inside a window");
    for (int64_t e = begin; e < end; e++) {
        REQUIRE(e == begin || a->local[e - 1] < a->local[e], "positions ascend inside a block");
        REQUIRE(use(&k, a->local[e] / 8, a->local[e] % 8), "positions lie inside the block");
    }
    REQUIRE(all_used(&k), "every vector has an entry");
    return NULL;
}

const char *tsr_check_me_tcf(const tsr_me_tcf *a)
{
    REQUIRE(a->w.height == 16 && a->w.width == 8, "blocks are 16 x 8");
    const char *broken = tsr_check_windows(&a->w);
    REQUIRE(!broken, broken);
    REQUIRE(a->block_entry && a->local, "no array of ME-TCF is NULL");
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
            REQUIRE(b > a->w.block[v] || a->block_entry[b] == 0, "a window's first block begins at 0");
            broken = check_tcf_block(a, v, b);
            REQUIRE(!broken, broken);
        }
    }
    return NULL;
}

static bool is_zero(const void *x, tsr_number number, int64_t k)
{
    switch (number) {
    case TSR_NUMBER_FP32: return ((const float *)x)[k] == 0;
    case TSR_NUMBER_FP64: return ((const double *)x)[k] == 0;
    default: return (((const uint16_t *)x)[k] & 0x7fff) == 0;
    }
}

static const char *check_dense_window(const tsr_me_bcrs *a, tsr_number number, int64_t v)
{
    int64_t nonzeros = 0;
    for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
        block k = block_at(&a->w, v, b);
        int64_t begin = 8 * (a->w.vector[v] + (b - a->w.block[v]) * a->w.width);
        for (int64_t place = 0; place < 8 * k.slots; place++) {
            bool zero = is_zero(a->value, number, begin + place);
            REQUIRE(zero || place / k.slots < k.rows, "rows past the end are zero");
            nonzeros += !zero;
        }
    }
    REQUIRE(nonzeros <= a->w.entry[v + 1] - a->w.entry[v], "no more nonzeros than entries");
    return NULL;
}

const char *tsr_check_me_bcrs(const tsr_me_bcrs *a, tsr_number number)
{
    REQUIRE(a->w.height == 8 && (a->w.width == 8 || a->w.width == 16), "blocks are 8 x 8 or 8 x 16");
    const char *broken = tsr_check_windows(&a->w);
    REQUIRE(!broken, broken);
    REQUIRE(a->value, "values of ME-BCRS are not NULL");
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        broken = check_dense_window(a, number, v);
        REQUIRE(!broken, broken);
    }
    return NULL;
}

static const char *check_bmat_window(const tsr_bmat *a, int64_t v)
{
    int64_t words = a->w.height / 8, entries = 0;
    for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
        block k = block_at(&a->w, v, b);
        for (int64_t j = 0; j < words; j++) {
            for (uint64_t bits = a->mask[b * words + j]; bits; bits &= bits - 1, entries++) {
                int bit = __builtin_ctzll(bits);
                REQUIRE(use(&k, 8 * j + bit / 8, bit % 8), "bits lie inside the block");
            }
        }
        REQUIRE(all_used(&k), "every vector has an entry");
    }
    REQUIRE(entries == a->w.entry[v + 1] - a->w.entry[v], "bits of a window = its entries");
    return NULL;
}

const char *tsr_check_bmat(const tsr_bmat *a)
{
    REQUIRE((a->w.height == 8 || a->w.height == 16) && a->w.width == 8, "blocks are 8 x 8 or 16 x 8");
    const char *broken = tsr_check_windows(&a->w);
    REQUIRE(!broken, broken);
    REQUIRE(a->mask, "the mask is not NULL");
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        broken = check_bmat_window(a, v);
        REQUIRE(!broken, broken);
    }
    return NULL;
}

/* ---- bricks ---- */

/* Bricks [begin, end) of block b of window v; *entry: entries of the window before and after. */
static const char *check_bricks(const tsr_hrpb *a, int64_t v, int64_t b, int64_t begin, int64_t end, int64_t *entry)
{
    block k = block_at(&a->w, v, b);
    int64_t q = a->w.height / 16;
    for (int64_t brick = begin; brick < end; brick++) {
        REQUIRE(brick == begin || a->position[brick - 1] < a->position[brick], "bricks of a block ascend");
        REQUIRE(a->position[brick] < 4 * q, "positions lie inside the block");
        REQUIRE(a->pattern[brick], "no brick is empty");
        REQUIRE(a->brick_entry[brick] == *entry, "brick_entry counts the bits before");
        for (uint64_t bits = a->pattern[brick]; bits; bits &= bits - 1) {
            int bit = __builtin_ctzll(bits);
            int64_t row = a->position[brick] % q * 16 + bit / 4, slot = a->position[brick] / q * 4 + bit % 4;
            REQUIRE(use(&k, row, slot), "bits lie inside the block");
        }
        *entry += __builtin_popcountll(a->pattern[brick]);
    }
    REQUIRE(all_used(&k), "every vector has an entry");
    return NULL;
}

static const char *check_panel(const tsr_hrpb *a, int64_t v)
{
    int64_t entry = 0, next = a->brick[v];
    for (int64_t b = a->w.block[v]; b < a->w.block[v + 1]; b++) {
        int64_t begin = a->brick[v] + a->block_brick[b];
        int64_t end = b + 1 < a->w.block[v + 1] ? a->brick[v] + a->block_brick[b + 1] : a->brick[v + 1];
        REQUIRE(begin == next && begin < end && end <= a->brick[v + 1], "block_brick ascends from 0 inside a window");
        const char *broken = check_bricks(a, v, b, begin, end, &entry);
        REQUIRE(!broken, broken);
        next = end;
    }
    REQUIRE(next == a->brick[v + 1], "every brick has a block");
    REQUIRE(entry == a->w.entry[v + 1] - a->w.entry[v], "bits of a window = its entries");
    return NULL;
}

const char *tsr_check_hrpb(const tsr_hrpb *a)
{
    REQUIRE(a->w.height == 16 || a->w.height == 32 || a->w.height == 64, "panels have 16, 32 or 64 rows");
    REQUIRE(a->w.width == 16, "blocks have 16 columns");
    const char *broken = tsr_check_windows(&a->w);
    REQUIRE(!broken, broken);
    REQUIRE(a->brick && a->block_brick && a->position && a->pattern && a->brick_entry, "no array of HRPB is NULL");
    REQUIRE(a->brick[0] == 0 && a->brick[a->w.nwindows] == a->nbricks, "brick goes from 0 to nbricks");
    for (int64_t v = 0; v < a->w.nwindows; v++)
        REQUIRE(a->brick[v] <= a->brick[v + 1], "offsets do not fall");
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        broken = check_panel(a, v);
        REQUIRE(!broken, broken);
    }
    return NULL;
}

/* ---- work ---- */

/* Items [t, t+q) are those of window v. */
static const char *check_items(const tsr_work *work, const tsr_windows *w, int64_t v, int64_t t, int64_t q, int64_t partial)
{
    int64_t nb = w->block[v + 1] - w->block[v];
    for (int64_t j = 0; j < q; j++) {
        REQUIRE(work->window[t + j] == v, "items of a window follow each other");
        REQUIRE(work->block[t + j] == w->block[v] + nb * j / q, "a window is split evenly");
        REQUIRE(work->partial[t + j] == (q > 1 ? partial + j : -1), "partial sums are numbered in order");
    }
    return NULL;
}

static const char *check_item_entries(const tsr_work *work, const tsr_windows *w, const uint64_t *mask)
{
    int64_t words = w->height / 8, k = 0, entry = 0;
    for (int64_t t = 0; t < work->nitems; t++) {
        for (; k < work->block[t] * words; k++)
            entry += __builtin_popcountll(mask[k]);
        REQUIRE(work->entry[t] == entry, "entry counts the bits before the item");
    }
    return NULL;
}

const char *tsr_check_work(const tsr_work *work, const tsr_windows *w, const uint64_t *mask, int64_t most)
{
    int64_t t = 0, split = 0, partial = 0;
    REQUIRE(work->window && work->block && work->partial, "no array of the items is NULL");
    REQUIRE(work->split_window && work->split_partial, "no array of the split windows is NULL");
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t nb = w->block[v + 1] - w->block[v], q = nb > most ? (nb + most - 1) / most : 1;
        REQUIRE(t + q <= work->nitems, "every window has its items");
        const char *broken = check_items(work, w, v, t, q, partial);
        REQUIRE(!broken, broken);
        t += q;
        if (q == 1)
            continue;
        REQUIRE(split < work->nsplit && work->split_window[split] == v, "every split window is listed");
        REQUIRE(work->split_partial[split] == partial, "split_partial counts the partial sums before");
        split++;
        partial += q;
    }
    REQUIRE(t == work->nitems && split == work->nsplit && partial == work->npartials, "nothing is left over");
    REQUIRE(work->block[t] == w->nblocks, "the last item ends at nblocks");
    REQUIRE(work->split_partial[split] == partial, "the last of split_partial is npartials");
    REQUIRE(!work->entry == !mask, "entry is there for a BMat only");
    return mask ? check_item_entries(work, w, mask) : NULL;
}
