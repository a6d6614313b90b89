// Tiles of C = A B, 128 x 128 places: the blocks that strips of A and of B' have, walks over those that two strips have in common, and a block of
// threads that shares a tile.  Tiles of bits (spgemm_tiles.cu) find C's structure, tiles of values (spgemm_value_tiles.cu) its sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_common.cuh"

namespace spgemm_tile {

constexpr int side = TSR_SPGEMM_TILE_SIDE, depth = TSR_SPGEMM_TILE_DEPTH, row_words = depth / 32, tile_words = side * row_words;
constexpr int threads = 256, warp_rows = 64, warp_cols = 32, row_tiles = warp_rows / 16, col_tiles = warp_cols / 8;
constexpr int side_words = side / 32; // of the bits of a row of a tile of C

// ---- Operands ----

/* One operand in strips: A, or B turned. */
struct strips_of {
    const int64_t *p;
    const uint32_t *i;
    int64_t rows;
    bool turned;
    uint32_t words;       // of 32 blocks, for a strip
    uint32_t reach_words; // A: the same; B: of 32 strips
    uint32_t *has;        // [strips * words] bits: which blocks
    uint32_t *rank;       // … how many the strip has in the words before
    const int64_t *first; // [strips] tiles of the strips before
    uint32_t *bits;       // [tiles * tile_words]
};

struct place_of_entry {
    uint32_t line, column; // of A, or of B'
};

__device__ __forceinline__ place_of_entry place_in(const strips_of &s, int64_t row, uint32_t index)
{
    return s.turned ? place_of_entry { index, uint32_t(row) } : place_of_entry { uint32_t(row), index };
}

/* The tile of bits of an entry, when tiles have numbers. */
__device__ __forceinline__ uint64_t tile_of(const strips_of &s, place_of_entry at)
{
    const uint32_t strip = at.line / side, block = at.column / depth;
    const uint64_t word = uint64_t(strip) * s.words + block / 32;
    return uint64_t(s.first[strip]) + s.rank[word] + uint32_t(__popc(s.has[word] & ((1u << block % 32) - 1)));
}

// ---- Tiles of C ----

struct tile_side {
    const uint32_t *has, *rank, *bits;
    const int64_t *first;
};

struct tile_args {
    tile_side a, b;
    uint32_t words;
    const uint2 *tiles;
    uint32_t *before; // [tiles * side] entries of a row: in this tile; then, in those before
    const int64_t *p; // of C
    uint32_t *i;
    void *x;          // NULL: no values
    int64_t m;
};

/* The blocks that two strips have in common, one after the other. */
struct tile_walk {
    const uint32_t *a_has, *b_has, *a_rank, *b_rank;
    uint64_t a_first, b_first;
    uint32_t words, next_word = 0, common = 0, a_word = 0, b_word = 0;

    __device__ __forceinline__ tile_walk(const tile_args &q, uint2 tile) : words(q.words)
    {
        a_has = q.a.has + uint64_t(tile.x) * words, a_rank = q.a.rank + uint64_t(tile.x) * words;
        b_has = q.b.has + uint64_t(tile.y) * words, b_rank = q.b.rank + uint64_t(tile.y) * words;
        a_first = uint64_t(q.a.first[tile.x]), b_first = uint64_t(q.b.first[tile.y]);
    }
    /* False: no more. */
    __device__ __forceinline__ bool next(uint64_t *a, uint64_t *b)
    {
        while (!common && next_word < words) {
            a_word = __ldg(a_has + next_word), b_word = __ldg(b_has + next_word);
            common = a_word & b_word;
            next_word++;
        }
        if (!common)
            return false;
        uint32_t below = (common & (0u - common)) - 1;
        *a = a_first + __ldg(a_rank + next_word - 1) + uint32_t(__popc(a_word & below));
        *b = b_first + __ldg(b_rank + next_word - 1) + uint32_t(__popc(b_word & below));
        common &= common - 1;
        return true;
    }
};

// ---- A block of threads for a tile ----

__device__ __forceinline__ int first_row_of_warp() { return int(threadIdx.x / 32) / (side / warp_cols) * warp_rows; }
__device__ __forceinline__ int first_col_of_warp() { return int(threadIdx.x / 32) % (side / warp_cols) * warp_cols; }

// ---- From the host's side ----

inline uint32_t pieces(int64_t n, int64_t each) { return uint32_t((n + each - 1) / each); }

inline unsigned blocks_for(uint64_t n, uint64_t each) { return unsigned((n + each - 1) / each); }

inline strips_of strips_operand(const spgemm_tiles *w, const tsr_cuda_spgemm *q, bool turned)
{
    const tsr_cuda_csr *s = turned ? q->b : q->a;
    const uint64_t from = turned ? w->a_strips : 0;
    return { s->p, s->i, s->nrows, turned, w->words, turned ? pieces(w->b_strips, 32) : w->words, w->has + from * w->words, w->rank + from * w->words,
        w->first + from, w->bits };
}

inline tile_args args_of(const spgemm_tiles *w, int64_t m)
{
    const uint64_t words = uint64_t(w->a_strips) * w->words;
    return { { w->has, w->rank, w->bits, w->first }, { w->has + words, w->rank + words, w->bits, w->first + w->a_strips }, w->words, w->tiles,
        w->before, nullptr, nullptr, nullptr, m };
}

} // namespace spgemm_tile
