/* Panels: blocks as lists of entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, ROWS_BITS = 8, RENEW_BITS = 24 }; /* of a word: as many rows; where counts begin, and rows to renew */

/* What the place in data of everything follows from. */
typedef struct layout {
    size_t value, entry, head; /* bytes: of a value, of an entry, of the words of a block */
    int64_t align;             /* 8 rows begin at a place that is a multiple of this */
    int64_t spare;             /* places of a block besides those of its entries */
} layout;

static layout layout_of(int height, tsr_number number)
{
    size_t value = tsr_number_size(number);
    bool pairs = 2 * value < TSR_PANEL_UNIT;
    return (layout){.value = value, .entry = 2 * value, .head = (size_t)(height / ROWS) * sizeof(uint32_t),
                    .align = pairs ? 2 : 1, .spare = pairs ? height / ROWS : 0};
}

static int64_t units(const layout *l, int64_t entries)
{
    return (int64_t)((l->head + (size_t)(entries + l->spare) * l->entry + TSR_PANEL_UNIT - 1) / TSR_PANEL_UNIT);
}

static unsigned char *block_data(const tsr_panel *a, int64_t k)
{
    return (unsigned char *)a->data + (size_t)a->first[k] * TSR_PANEL_UNIT;
}

/* ---- making ---- */

typedef struct work {
    tsr_panel *a;
    const tsr_source *in;
    const uint32_t *place;
    uint32_t *entries; /* [nvectors] of every vector */
    int64_t *owner;    /* [nvectors] block of every vector */
    uint32_t *count;   /* [nblocks] places that are taken */
    layout l;
    double iso;
} work;

static void count_window(void *context, int64_t v)
{
    const work *w = context;
    const tsr_windows *windows = &w->a->w;
    for (int64_t k = windows->vector[v]; k < windows->vector[v + 1]; k++)
        w->entries[k] = 0;
    for (int64_t e = windows->entry[v]; e < windows->entry[v + 1]; e++)
        w->entries[windows->vector[v] + w->place[e]]++;
}

static int64_t entries_between(const work *w, int64_t from, int64_t to)
{
    int64_t sum = 0;
    for (int64_t k = from; k < to; k++)
        sum += w->entries[k];
    return sum;
}

/* Where the block ends that begins with vector `from`, part of a span that begins with `span`; `end`: of the window. */
static int64_t end_of_block(const work *w, int64_t span, int64_t from, int64_t end)
{
    int64_t most = tsr_panel_most(w->a->w.height, w->a->w.width, w->in->number);
    for (int64_t size = w->a->w.width;; size /= 2) {
        int64_t to = from + size < end ? from + size : end;
        if ((from - span) % size == 0 && (size == 1 || entries_between(w, from, to) <= most))
            return to;
    }
}

/* Blocks of window v, from number k on: where they begin and their units go to the arrays if there are any.  Returns how many. */
static int64_t cut_window(const work *w, int64_t v, int64_t k)
{
    const tsr_panel *a = w->a;
    int64_t blocks = 0, begin = a->w.vector[v], end = a->w.vector[v + 1];
    for (int64_t from = begin, to; from < end; from = to, blocks++) {
        to = end_of_block(w, from - (from - begin) % a->w.width, from, end);
        if (!a->begin)
            continue;
        a->begin[k + blocks] = from;
        a->first[k + blocks] = units(&w->l, entries_between(w, from, to));
        for (int64_t vector = from; vector < to; vector++)
            w->owner[vector] = k + blocks;
    }
    return blocks;
}

static void count_blocks(void *context, int64_t v)
{
    const work *w = context;
    w->a->w.block[v + 1] = cut_window(w, v, 0);
}

static void note_blocks(void *context, int64_t v)
{
    const work *w = context;
    cut_window(w, v, w->a->w.block[v]);
}

static int64_t vector_of(const work *w, int64_t v, int64_t e)
{
    return w->a->w.vector[v] + w->place[e];
}

static void put_value(const work *w, unsigned char *to, int64_t e)
{
    float single = (float)w->iso;
    if (w->in->x)
        tsr_move_value(to, 0, w->in->x, e, w->l.value);
    else if (w->l.value == sizeof single)
        memcpy(to, &single, sizeof single);
    else
        memcpy(to, &w->iso, sizeof w->iso);
}

/* Entries of one row, which is number r of its window. */
static void fill_row(const work *w, int64_t v, int64_t row, uint32_t r)
{
    for (int64_t e = w->in->p[row], end = w->in->p[row + 1]; e < end; e++) {
        int64_t vector = vector_of(w, v, e), k = w->owner[vector];
        bool last = e + 1 == end || w->owner[vector_of(w, v, e + 1)] != k;
        uint32_t word, at = (uint32_t)(vector - w->a->begin[k]) << 16 | (last ? TSR_PANEL_LAST : 0) | r;
        unsigned char *data = block_data(w->a, k), *head = data + r / ROWS * sizeof word;
        unsigned char *entry = data + w->l.head + w->count[k]++ * w->l.entry;
        put_value(w, entry, e);
        memcpy(entry + w->l.value, &at, sizeof at);
        memcpy(&word, head, sizeof word);
        word |= 1u << r % ROWS;
        if ((e + 1 - w->in->p[row]) % TSR_PANEL_RENEW == 0)
            word |= 1u << RENEW_BITS << r % ROWS;
        memcpy(head, &word, sizeof word);
    }
}

/* Words: what comes before the 8 rows that begin with number r. */
static void note_counts(const work *w, int64_t v, uint32_t r)
{
    for (int64_t k = w->a->w.block[v]; k < w->a->w.block[v + 1]; k++) {
        w->count[k] += (uint32_t)(w->count[k] % w->l.align);
        uint32_t word = w->count[k] << ROWS_BITS;
        memcpy(block_data(w->a, k) + r / ROWS * sizeof word, &word, sizeof word);
    }
}

static void fill_window(void *context, int64_t v)
{
    const work *w = context;
    const tsr_windows *windows = &w->a->w;
    int64_t first, last, begin = windows->block[v], end = windows->block[v + 1];
    if (begin == end)
        return;
    memset(block_data(w->a, begin), 0, (size_t)(block_data(w->a, end) - block_data(w->a, begin)));
    memset(w->count + begin, 0, (size_t)(end - begin) * sizeof *w->count);
    tsr_window_rows(windows, v, &first, &last);
    for (uint32_t r = 0; r < (uint32_t)windows->height; r++) {
        if (r % ROWS == 0)
            note_counts(w, v, r);
        if (first + r < last)
            fill_row(w, v, first + r, r);
    }
}

/* sum[k+1] += sum[k] */
static int64_t add_up(int64_t *sum, int64_t n)
{
    sum[0] = 0;
    for (int64_t k = 0; k < n; k++)
        sum[k + 1] += sum[k];
    return sum[n];
}

/* first[k] = units of block k -> units before it */
static void sum_units(tsr_panel *a)
{
    for (int64_t k = 0; k < a->w.nblocks; k++) {
        int64_t here = a->first[k];
        a->largest = here > a->largest ? here : a->largest;
        a->first[k] = a->nunits;
        a->nunits += here;
    }
    a->first[a->w.nblocks] = a->nunits;
    a->begin[a->w.nblocks] = a->w.nvectors;
}

static tsr_status cut(work *w, int nthreads)
{
    tsr_panel *a = w->a;
    w->entries = tsr_format_alloc(a->w.nvectors, sizeof *w->entries);
    w->owner = tsr_format_alloc(a->w.nvectors, sizeof *w->owner);
    if (!w->entries || !w->owner)
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, count_window, w);
    tsr_for_windows(&a->w, nthreads, count_blocks, w);
    a->w.nblocks = add_up(a->w.block, a->w.nwindows);
    a->begin = tsr_format_alloc(a->w.nblocks + 1, sizeof *a->begin);
    a->first = tsr_format_alloc(a->w.nblocks + 1, sizeof *a->first);
    w->count = tsr_format_alloc(a->w.nblocks, sizeof *w->count);
    if (!a->begin || !a->first || !w->count)
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, note_blocks, w);
    sum_units(a);
    return TSR_OK;
}

static tsr_status fill(work *w, int nthreads)
{
    tsr_panel *a = w->a;
    a->data = tsr_format_alloc(a->nunits + 1, TSR_PANEL_UNIT);
    if (!a->data)
        return TSR_OUT_OF_MEMORY;
    tsr_for_windows(&a->w, nthreads, fill_window, w);
    memset(block_data(a, a->w.nblocks), 0, TSR_PANEL_UNIT);
    return TSR_OK;
}

static tsr_status cut_and_fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    work *w = context;
    w->in = in;
    w->place = place;
    tsr_status status = cut(w, nthreads);
    return status == TSR_OK ? fill(w, nthreads) : status;
}

static bool has_width(int width)
{
    return width == 16 || width == 24 || width == 32 || width == 48 || width == 64;
}

tsr_status tsr_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, int nthreads)
{
    memset(out, 0, sizeof *out);
    if ((height != 32 && height != 64) || !has_width(width))
        return TSR_INVALID_VALUE;
    if (in->number != TSR_NUMBER_FP32 && in->number != TSR_NUMBER_FP64)
        return TSR_INVALID_VALUE;
    work w = {.a = out, .l = layout_of(height, in->number), .iso = iso};
    tsr_status status = tsr_make_format(&out->w, in, height, width, nthreads, cut_and_fill, &w);
    free(w.entries);
    free(w.owner);
    free(w.count);
    if (status != TSR_OK)
        tsr_free_panel(out);
    return status;
}

void tsr_free_panel(tsr_panel *a)
{
    tsr_free_windows(&a->w);
    free(a->begin);
    free(a->first);
    free(a->data);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_panel(const tsr_panel *a)
{
    return tsr_bytes_windows(&a->w) + ((size_t)a->w.nblocks + 1) * (sizeof *a->begin + sizeof *a->first) +
           ((size_t)a->nunits + 1) * TSR_PANEL_UNIT;
}

/* ---- walking ---- */

static uint32_t word_at(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Of a word: places for entries before its rows. */
static uint32_t places_before(uint32_t word)
{
    return word >> ROWS_BITS & ((1u << (RENEW_BITS - ROWS_BITS)) - 1);
}

/* A format and what its values are. */
typedef struct typed {
    const tsr_panel *a;
    layout l;
} typed;

/* Entries of the 8 rows from number r on: up to the last of the last row that has any. */
static void walk_rows(const typed *t, int64_t v, int64_t k, int r, tsr_visit *visit, void *context)
{
    const tsr_windows *w = &t->a->w;
    const unsigned char *data = block_data(t->a, k);
    const uint32_t *column = w->column + t->a->begin[k];
    uint32_t head = word_at(data + (size_t)(r / ROWS) * sizeof head);
    size_t at = (size_t)(data - (const unsigned char *)t->a->data) + t->l.head + places_before(head) * t->l.entry;
    for (int i = 0; i < ROWS; i++) {
        bool more = head >> i & 1;
        while (more) {
            uint32_t place = word_at((const unsigned char *)t->a->data + at + t->l.value);
            visit(context, v * w->height + r + i, column[place >> 16], (int64_t)(at / t->l.value));
            at += t->l.entry;
            more = !(place & TSR_PANEL_LAST);
        }
    }
}

static void walk(const void *format, tsr_visit *visit, void *context)
{
    const typed *t = format;
    for (int64_t v = 0; v < t->a->w.nwindows; v++)
        for (int64_t k = t->a->w.block[v]; k < t->a->w.block[v + 1]; k++)
            for (int r = 0; r < t->a->w.height; r += ROWS)
                walk_rows(t, v, k, r, visit, context);
}

tsr_status tsr_expand_panel(tsr_source *out, const tsr_panel *a, tsr_number number)
{
    typed t = {a, layout_of(a->w.height, number)};
    return tsr_expand(out, &a->w, walk, &t, a->data, number);
}

/* ---- invariants ---- */

#define REQUIRE(condition, broken) \
    do {                           \
        if (!(condition))          \
            return broken;         \
    } while (0)

/* An entry as it is found. */
static const char *check_entry(uint32_t place, uint32_t r, bool begin, uint32_t before, uint32_t slots)
{
    REQUIRE((place & (TSR_PANEL_LAST - 1)) == r, "entries know their row");
    REQUIRE(begin || place >> 16 > before, "slots ascend inside a row");
    REQUIRE(place >> 16 < slots, "slots lie inside the block");
    return NULL;
}

/* Entries of block k, which has `slots` vectors and `rows` rows; *n: how many. */
static const char *check_entries(const typed *t, int64_t k, int64_t *n, uint32_t slots, uint32_t rows)
{
    const unsigned char *data = block_data(t->a, k), *entry = data + t->l.head;
    int64_t places = ((t->a->first[k + 1] - t->a->first[k]) * TSR_PANEL_UNIT - (int64_t)t->l.head) / (int64_t)t->l.entry, e = 0;
    uint64_t used = 0;
    uint32_t word = 0, slot = 0;
    *n = 0;
    for (uint32_t r = 0; r < (uint32_t)t->a->w.height; r++) {
        if (r % ROWS == 0) {
            word = word_at(data + r / ROWS * sizeof word);
            e += e % t->l.align;
            REQUIRE(places_before(word) == (uint64_t)e, "words count the places before");
            REQUIRE((word >> RENEW_BITS & ~word) == 0, "only rows with entries begin anew");
        }
        for (bool more = word >> r % ROWS & 1, begin = true; more; e++, ++*n, begin = false) {
            REQUIRE(e < places && r < rows, "entries lie inside the block");
            uint32_t place = word_at(entry + (size_t)e * t->l.entry + t->l.value);
            const char *broken = check_entry(place, r, begin, slot, slots);
            REQUIRE(!broken, broken);
            slot = place >> 16;
            used |= 1ull << slot;
            more = !(place & TSR_PANEL_LAST);
        }
    }
    REQUIRE(units(&t->l, *n) == t->a->first[k + 1] - t->a->first[k], "a block has the units of its entries");
    REQUIRE(used == (slots == 64 ? ~0ull : (1ull << slots) - 1), "every vector has an entry");
    return NULL;
}

/* Block k of window v holds n entries. */
static const char *check_extent(const typed *t, int64_t v, int64_t k, int64_t n)
{
    const tsr_windows *w = &t->a->w;
    int64_t from = t->a->begin[k] - w->vector[v], to = t->a->begin[k + 1] - w->vector[v];
    int64_t most = tsr_panel_most(w->height, w->width, t->l.value == sizeof(double) ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32);
    REQUIRE(from / w->width == (to - 1) / w->width, "a block lies inside a span");
    REQUIRE(n <= most || to - from == 1, "no block has too many entries");
    return NULL;
}

static const char *check_window(const typed *t, int64_t v)
{
    const tsr_windows *w = &t->a->w;
    int64_t first, last, sum = 0;
    tsr_window_rows(w, v, &first, &last);
    REQUIRE(w->block[v] <= w->block[v + 1] && t->a->begin[w->block[v]] == w->vector[v], "a window begins with a block");
    for (int64_t k = w->block[v]; k < w->block[v + 1]; k++) {
        REQUIRE(t->a->first[k + 1] - t->a->first[k] > units(&t->l, 0), "no block is empty");
        REQUIRE(t->a->begin[k] < t->a->begin[k + 1], "every block has a vector");
        int64_t n;
        const char *broken = check_entries(t, k, &n, (uint32_t)(t->a->begin[k + 1] - t->a->begin[k]), (uint32_t)(last - first));
        REQUIRE(!broken, broken);
        broken = check_extent(t, v, k, n);
        REQUIRE(!broken, broken);
        sum += n;
    }
    REQUIRE(sum == w->entry[v + 1] - w->entry[v], "entries of the blocks are those of the window");
    return NULL;
}

/* The windows but for their blocks, which are not those of tsr_windows. */
static const char *check_vectors(const tsr_windows *w)
{
    tsr_windows single = *w;
    single.width = 1;
    single.block = single.vector;
    single.nblocks = single.nvectors;
    return tsr_check_windows(&single);
}

const char *tsr_check_panel(const tsr_panel *a, tsr_number number)
{
    REQUIRE(a->w.height == 32 || a->w.height == 64, "panels have 32 or 64 rows");
    REQUIRE(has_width(a->w.width), "spans have 16, 24, 32, 48 or 64 columns");
    const char *broken = check_vectors(&a->w);
    REQUIRE(!broken, broken);
    REQUIRE(a->w.block && a->begin && a->first && a->data, "no array of the panel is NULL");
    REQUIRE(a->w.block[0] == 0 && a->first[0] == 0, "blocks and units begin at 0");
    REQUIRE(a->w.block[a->w.nwindows] == a->w.nblocks, "the last block offset is nblocks");
    REQUIRE(a->begin[a->w.nblocks] == a->w.nvectors && a->first[a->w.nblocks] == a->nunits, "the last offsets are nvectors and nunits");
    typed t = {a, layout_of(a->w.height, number)};
    int64_t largest = 0;
    for (int64_t v = 0; v < a->w.nwindows; v++) {
        broken = check_window(&t, v);
        REQUIRE(!broken, broken);
    }
    for (int64_t k = 0; k < a->w.nblocks; k++)
        largest = a->first[k + 1] - a->first[k] > largest ? a->first[k + 1] - a->first[k] : largest;
    REQUIRE(a->largest == largest, "the largest block is known");
    for (int k = 0; k < TSR_PANEL_UNIT; k++)
        REQUIRE(block_data(a, a->w.nblocks)[k] == 0, "a unit of zeros ends the data");
    return NULL;
}
