/* SpGEMM: the entries of one row by index.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/spgemm/driver.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/common/sort_keys.h"
#include "src/base/split.h"

#define SIGN 0x80000000u

enum {
    RANKED = 32,          /* entries that are sorted by rank, at most; whole groups of 16 */
    WORD = 6, GROUP = 12, /* columns of a word and of a word of words, as powers of two */
    MOST_GROUPS = 128     /* from the least to the greatest column: more words, and notes, are not found in the cache any more */
};

/* Ascending?  The least and the greatest. */
static bool find_range(const int64_t *i, int64_t n, int64_t *least, int64_t *most)
{
    bool ascends = true;
    *least = *most = n > 0 ? i[0] : 0;
    for (int64_t a = 1; a < n; a++) {
        ascends &= i[a - 1] < i[a];
        *least = i[a] < *least ? i[a] : *least;
        *most = i[a] > *most ? i[a] : *most;
    }
    return ascends;
}

static bool have_keys(tsr_sg_thread *t, int64_t n)
{
    if (t->keys_room >= n)
        return true;
    free(t->keys);
    t->keys_room = 2 * n;
    t->keys = malloc((size_t)t->keys_room * 4 * sizeof *t->keys); /* two lists, and values of up to 16 bytes */
    t->keys_room = t->keys ? t->keys_room : 0;
    return t->keys;
}

static void move(void *x, int64_t to, const void *from, int64_t at, size_t size)
{
    if (size == 1)
        ((char *)x)[to] = ((const char *)from)[at];
    else if (size)
        tsr_move_value(x, to, from, at, size);
}

/* ---- by digits ---- */

static void by_digits(tsr_sg_thread *t, size_t size, int64_t start, int64_t most)
{
    int64_t *i = t->i + start;
    const int64_t n = t->used - start;
    for (int64_t a = 0; a < n; a++)
        t->keys[a] = (uint64_t)i[a] << 32 | (uint64_t)a;
    const uint64_t *key = tsr_sort_keys(t->keys, t->keys + n, n, (uint64_t)most);
    char *x = (char *)t->x + (size_t)start * size;
    void *values = t->keys + 2 * n;
    if (size)
        memcpy(values, x, (size_t)n * size);
    for (int64_t a = 0; a < n; a++) {
        i[a] = (int64_t)(key[a] >> 32);
        move(x, a, values, (uint32_t)key[a], size);
    }
}

/* ---- few entries: each is compared with all others, which no branch depends on ---- */

static inline void keep(void *to, const void *from, int64_t at, size_t size)
{
    if (size == sizeof(uint64_t))
        ((uint64_t *)to)[at] = ((const volatile uint64_t *)from)[at];
    else
        move(to, at, from, at, size);
}

typedef int32_t lanes __attribute__((vector_size(16), may_alias));

/* rank[a]: how many of n columns, whose bits are ordered as signed numbers, are less than that of a.  Arrays have whole groups of 16. */
static void find_ranks(int32_t *rank, const int32_t *column, int64_t n)
{
    for (int64_t first = 0; first < n; first += 16) {
        const lanes *mine = (const lanes *)(column + first);
        lanes sum[4] = {{0}};
        for (int64_t b = 0; b < n; b++) {
            const lanes other = {column[b], column[b], column[b], column[b]};
            for (int k = 0; k < 4; k++)
                sum[k] -= other < mine[k];
        }
        for (int k = 0; k < 4; k++)
            ((lanes *)(rank + first))[k] = sum[k];
    }
}

/* What was written just now is read as it was written: whole vectors would wait for the stores of all their parts. */
static inline __attribute__((always_inline)) void by_rank(tsr_sg_thread *t, size_t size, int64_t start)
{
    int32_t *column = (int32_t *)(t->keys + 2 * RANKED), *rank = column + RANKED; /* behind values of up to 16 bytes */
    const int64_t n = t->used - start, whole = (n + 15) & ~(int64_t)15;
    volatile int64_t *i = t->i + start;
    char *x = (char *)t->x + (size_t)start * size;
    for (int64_t a = 0; a < n; a++) {
        column[a] = (int32_t)((uint32_t)i[a] ^ SIGN);
        keep(t->keys, x, a, size);
    }
    for (int64_t a = n; a < whole; a++)
        column[a] = 0;
    find_ranks(rank, column, n);
    for (int64_t a = 0; a < n; a++) {
        i[rank[a]] = (int64_t)((uint32_t)column[a] ^ SIGN);
        move(x, rank[a], t->keys, a, size);
    }
}

/* ---- by a bit for each column, and notes that say where its entry is ---- */

static bool have_bits(tsr_sg_thread *t, int64_t ncols)
{
    const size_t words = (size_t)(ncols >> WORD) + 1, groups = (size_t)(ncols >> GROUP) + 1;
    if (!t->bits)
        t->bits = calloc(words + groups, sizeof *t->bits);
    t->groups = t->bits ? t->bits + words : NULL;
    return t->bits;
}

static void set_bits(tsr_sg_thread *t, int64_t start)
{
    for (int64_t a = start; a < t->used; a++) {
        const int64_t j = t->i[a];
        t->bits[j >> WORD] |= (uint64_t)1 << (j & 63);
        t->groups[j >> GROUP] |= (uint64_t)1 << (j >> WORD & 63);
    }
}

/* Inlined for each size. */
static inline __attribute__((always_inline)) void take_bits(tsr_sg_thread *t, size_t size, int64_t start, int64_t least, int64_t most)
{
    const int64_t first = t->base - 1 - start; /* of a note: in the row, from 0 */
    char *x = (char *)t->x + (size_t)start * size;
    int64_t *i = t->i + start, count = 0;
    for (int64_t group = least >> GROUP; group <= most >> GROUP; group++) {
        for (uint64_t words = t->groups[group]; words; words &= words - 1) {
            const int64_t word = group << (GROUP - WORD) | __builtin_ctzll(words);
            for (uint64_t columns = t->bits[word]; columns; columns &= columns - 1) {
                const int64_t j = word << WORD | __builtin_ctzll(columns);
                move(x, count, t->keys, first + (int64_t)t->place[j], size);
                i[count++] = j;
            }
            t->bits[word] = 0;
        }
        t->groups[group] = 0;
    }
}

static void by_bits(tsr_sg_thread *t, size_t size, int64_t start, int64_t least, int64_t most)
{
    const int64_t n = t->used - start;
    if (size)
        memcpy(t->keys, (char *)t->x + (size_t)start * size, (size_t)n * size);
    set_bits(t, start);
    switch (size) {
    case 8: take_bits(t, 8, start, least, most); break;
    case 4: take_bits(t, 4, start, least, most); break;
    default: take_bits(t, size, start, least, most);
    }
}

bool tsr_sg_sort(tsr_sg_thread *t, size_t size, int64_t start, int64_t noted_columns)
{
    int64_t least, most;
    const int64_t n = t->used - start;
    if (find_range(t->i + start, n, &least, &most))
        return true;
    if (!have_keys(t, n > RANKED ? n : RANKED))
        return false;
    if (n <= RANKED && size == sizeof(uint64_t))
        by_rank(t, sizeof(uint64_t), start);
    else if (n <= RANKED)
        by_rank(t, size, start);
    else if (noted_columns && n > TSR_SORT_FEW && (most - least) >> GROUP < MOST_GROUPS && have_bits(t, noted_columns))
        by_bits(t, size, start, least, most);
    else
        by_digits(t, size, start, most);
    return true;
}
