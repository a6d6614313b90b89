// Masked products of sparse matrices: what the plan (masked_plan.cu) says to the kernels (masked_dot.cu, masked_fold.cu).
//
// Entry (i, j) of the mask needs the intersection of row i of A and row j of B'.  Both lists are first cut to the columns where
// they overlap.  The shorter one (the walker) is then walked, and each of its columns is looked up in the longer one (the owner).
// Entries with the same owner form a group; a block puts the owner's list into shared memory once, and walks all of the group:
//   bitmap  a bit per column of A, for groups with much work;
//   table   a hash table, for groups with some work, and where the bits do not fit;
//   warp    a hash table that a warp has for itself, for short lists;
//   search  no group: binary search in the owner's list, two lanes an entry.
// Where lists are long for the number of columns (a small dense graph) and only counts are wanted, there are no groups at all: every list
// is stored as bits.  A result is the population count of two of them, or, where the mask is dense, too, tiles of results are computed by
// one-bit matrix instructions (masked_tiles.cu).
// Cutting and choosing the shorter list by entry does for graphs in any order of vertices what relabelling by degree does, and
// every entry still gets its own sum: nothing is added by atomics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

enum masked_form { MASKED_BITMAP, MASKED_TABLE, MASKED_LARGE_TABLE, MASKED_WARP, MASKED_FORMS, MASKED_SEARCH = MASKED_FORMS };

/* An entry of a group. */
struct alignas(16) masked_record {
    uint64_t walker; /* place of its first column in the list's matrix */
    uint32_t length;
    uint32_t entry; /* of the mask, from the first of the plan */
};

/* Records first, first + stride, ... of one owner: count of them, the longest walkers first. */
struct alignas(16) masked_task {
    int64_t list; /* the owner's */
    int64_t first;
    uint32_t list_length, count, stride;
    uint32_t owner_is_b : 1, long_walkers : 1;
};

/* An entry without a group: both lists, cut to where they overlap. */
struct alignas(16) masked_pair {
    int64_t walker, owner; /* places of their first columns in their matrices */
    uint32_t walked, owned;
    uint32_t entry;
    uint32_t owner_is_b;
};

constexpr uint32_t quad_columns = 128; /* of a 16-byte word of bits */

/* Lists as bits. */
struct masked_bits {
    const uint4 *a, *b;           /* `quads` words for every row of A and of B' */
    const uint2 *a_span, *b_span; /* of each row: the first of them with a column, and past the last */
    const uint32_t *row;          /* of each entry; NULL: results are computed by tiles */
    uint32_t quads, a_rows, b_rows;
};

constexpr int masked_tile_side = 128;

/* A side's rows are stored up to the end of its last tile. */
static inline int64_t tile_rows(int64_t nrows)
{
    return (nrows + masked_tile_side - 1) / masked_tile_side * masked_tile_side;
}

/* A and B' are the same lists. */
static inline bool same_lists(const tsr_cuda_masked *q) { return q->a->p == q->b->p && q->a->i == q->b->i; }

/* Columns and rows of the operands as the kernels see them. */
struct masked_lists {
    const int64_t *ap, *bp, *mp;
    const uint32_t *ai, *bi, *mi;
    int64_t nrows; /* of the mask */
    int64_t begin, end;
    /* A and B' are the same lists, so that entries (i, j) and (j, i) are equal: one is computed where the mask has both */
    bool mirrored;
};

constexpr uint32_t table_empty = ~0u;

/* What fits into a hash table: lists of at most half its slots. */
constexpr uint32_t small_slots = 2048, warp_slots = 512;
constexpr int small_threads = 128, warp_threads = 256;

static inline uint32_t large_slots(bool positions) { return positions ? 16384 : 32768; }

/* Shared memory of a block; a bitmap with positions has a 16-bit number beside each word. */
static inline size_t bitmap_bytes(int64_t ncols, bool positions)
{
    return size_t(ncols + 31) / 32 * (positions ? 6 : 4);
}

static inline masked_lists lists_of(const tsr_cuda_masked *q)
{
    return { q->a->p, q->b->p, q->mask->p, q->a->i, q->b->i, q->mask->i, q->mask->nrows, q->begin, q->end, false };
}

/* The row that holds entry e. */
static __device__ __forceinline__ int64_t row_with(const int64_t *p, int64_t nrows, int64_t e)
{
    int64_t low = 0, high = nrows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (__ldg(p + middle + 1) <= e)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first place in the ascending i[low .. high) whose column is >= key. */
static __device__ __forceinline__ int64_t lower_place(const uint32_t *i, int64_t low, int64_t high, uint32_t key)
{
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (__ldg(i + middle) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
