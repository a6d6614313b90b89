/* Sparse times sparse by tiles of bits: when that is expected to be faster than row by row.  Pure functions of counts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TILE_PRICE_H
#define TSR_CUDA_TILE_PRICE_H

#include <stdbool.h>

#define TSR_SPGEMM_TILE_SIDE 128  /* rows of A and rows of B' (columns of B) of a strip */
#define TSR_SPGEMM_TILE_DEPTH 256 /* columns of A of a block */

/* What is known about a product.  A strip of A or of B' has some of the blocks; a tile of C is there where its two strips have one in common. */
typedef struct tsr_spgemm_tile_counts {
    double products, entries; /* pairs A(i,k), B(k,j); of C, about */
    double operands;          /* entries of A and B */
    double words;             /* compared to find tiles of C: pairs of strips times words of 32 blocks */
    double tiles, steps;      /* of C; blocks in common, of all tiles.  Not looked at by may_pay */
} tsr_spgemm_tile_counts;

/* ns of an H200, all of it: of the kernels that go row by row, at their best … */
#define TSR_SPGEMM_ROWS_START 150000.0
#define TSR_SPGEMM_ROWS_PRODUCT 0.0017
#define TSR_SPGEMM_ROWS_ENTRY 0.045
/* … and of tiles: an entry is marked and set; a tile and a step are computed twice, to count and to write. */
#define TSR_SPGEMM_TILES_START 200000.0
#define TSR_SPGEMM_TILES_OPERAND 0.03
#define TSR_SPGEMM_TILES_WORD 0.005
#define TSR_SPGEMM_TILES_TILE 55.0
#define TSR_SPGEMM_TILES_STEP 5.0
#define TSR_SPGEMM_TILES_ENTRY 0.01
#define TSR_SPGEMM_TILES_MARGIN 0.95

static inline double tsr_spgemm_rows_ns(const tsr_spgemm_tile_counts *c)
{
    return TSR_SPGEMM_ROWS_START + c->products * TSR_SPGEMM_ROWS_PRODUCT + c->entries * TSR_SPGEMM_ROWS_ENTRY;
}

/* Before a tile is computed. */
static inline double tsr_spgemm_tiles_least_ns(const tsr_spgemm_tile_counts *c)
{
    return TSR_SPGEMM_TILES_START + c->operands * TSR_SPGEMM_TILES_OPERAND + c->words * TSR_SPGEMM_TILES_WORD + c->entries * TSR_SPGEMM_TILES_ENTRY;
}

/* Is it worth while to look which tiles there are?  That is lost where they do not pay: never where most products have an entry of their own, nor where
 * little can be gained. */
static inline bool tsr_spgemm_tiles_may_pay(const tsr_spgemm_tile_counts *c)
{
    return c->products >= 8 * c->entries && tsr_spgemm_tiles_least_ns(c) < 0.5 * tsr_spgemm_rows_ns(c);
}

static inline bool tsr_spgemm_tiles_pay(const tsr_spgemm_tile_counts *c)
{
    const double ns = tsr_spgemm_tiles_least_ns(c) + c->tiles * TSR_SPGEMM_TILES_TILE + c->steps * TSR_SPGEMM_TILES_STEP;
    return ns < TSR_SPGEMM_TILES_MARGIN * tsr_spgemm_rows_ns(c);
}

#endif
