/* Sparse times sparse by tiles on Tensor Cores: by which instructions, and when that is expected to be faster than row by row.  Pure functions of counts
 * and of what is known of values.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_TILE_PRICE_H
#define TSR_CUDA_TILE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/spgemm.h"

#define TSR_SPGEMM_TILE_SIDE 128  /* rows of A and rows of B' (columns of B) of a strip */
#define TSR_SPGEMM_TILE_DEPTH 256 /* columns of A of a block */

/* What is known about the values of an operand. */
typedef struct tsr_spgemm_tile_facts {
    double most, least; /* the largest size, perhaps Inf or NaN, and the least but 0 (0: all are) */
    bool small;         /* all are integers of 8 bits, and none is -0 */
} tsr_spgemm_tile_facts;

/* An absent entry is 0 there: so no operand may be infinite, nor a sum become so.  Parts of FP32, and products of the smaller ones, must be normal numbers.
 * k: products of an entry of C, at most. */
static inline tsr_spgemm_tile_sums tsr_spgemm_tile_sums_of(tsr_type type, tsr_precision precision, int64_t k, const tsr_spgemm_tile_facts *a,
                                                           const tsr_spgemm_tile_facts *b)
{
    const double terms = (double)k * 2, least = a->least * b->least;
    const bool wraps = type != TSR_INT64 && type != TSR_UINT64 && type != TSR_FP32 && type != TSR_FP64;
    if (a->small && b->small && (wraps || a->most * b->most * (double)k <= 2147483647.0))
        return TSR_SPGEMM_TILE_INT8;
    if (type == TSR_FP64 && a->most <= 1e307 / terms && b->most <= 1e307 && a->most * (b->most * terms) <= 1e307)
        return TSR_SPGEMM_TILE_FP64;
    if (type != TSR_FP32 || !(a->most <= 1e37 && b->most <= 1e37 && a->most * b->most * terms <= 1e37))
        return TSR_SPGEMM_TILE_NONE;
    if (precision != TSR_PRECISION_EXACT)
        return TSR_SPGEMM_TILE_TF32;
    return least == 0 || (a->least >= 1e-27 && b->least >= 1e-27 && least >= 1e-27) ? TSR_SPGEMM_TILE_SPLIT : TSR_SPGEMM_TILE_NONE;
}

/* What is known about a product.  A strip of A or of B' has some of the blocks; a tile of C is there where its two strips have one in common. */
typedef struct tsr_spgemm_tile_counts {
    double products, entries; /* pairs A(i,k), B(k,j); of C, about */
    double operands;          /* entries of A and B */
    double words;             /* compared to find tiles of C: pairs of strips times words of 32 blocks */
    double tiles, steps;      /* of C; blocks in common, of all tiles.  Not looked at by may_pay */
} tsr_spgemm_tile_counts;

/* ns of an H200, all of it: of the kernels that go row by row, at their best … */
#define TSR_SPGEMM_ROWS_START 150000.0
#define TSR_SPGEMM_ROWS_ENTRY {0.045, 0.021, 0.021, 0.021, 0.027}
#define TSR_SPGEMM_ROWS_PRODUCT {0.0017, 0.0018, 0.00195, 0.00195, 0.0026}
/* … and of tiles: an entry is marked and set; to count and to write, a tile and a step of bits is computed twice, of values once. */
#define TSR_SPGEMM_TILES_START {200000.0, 260000.0, 260000.0, 260000.0, 260000.0}
#define TSR_SPGEMM_TILES_OPERAND 0.03
#define TSR_SPGEMM_TILES_WORD 0.005
#define TSR_SPGEMM_TILES_TILE 55.0
#define TSR_SPGEMM_TILES_STEP {5.0, 12.0, 66.0, 140.0, 178.0}
#define TSR_SPGEMM_TILES_ENTRY 0.01
#define TSR_SPGEMM_TILES_MARGIN 0.95
#define TSR_SPGEMM_TILES_AT_ONCE 132.0

static inline double tsr_spgemm_rows_ns(const tsr_spgemm_tile_counts *c, tsr_spgemm_tile_sums sums)
{
    static const double product[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_ROWS_PRODUCT, entry[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_ROWS_ENTRY;
    return TSR_SPGEMM_ROWS_START + c->products * product[sums] + c->entries * entry[sums];
}

/* Before a tile is computed. */
static inline double tsr_spgemm_tiles_least_ns(const tsr_spgemm_tile_counts *c, tsr_spgemm_tile_sums sums)
{
    static const double start[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_TILES_START;
    return start[sums] + c->operands * TSR_SPGEMM_TILES_OPERAND + c->words * TSR_SPGEMM_TILES_WORD + c->entries * TSR_SPGEMM_TILES_ENTRY;
}

/* Is it worth while to look which tiles there are, and at values (sums: NONE)?  That is lost where they do not pay: never where most products have an
 * entry of their own, nor where little can be gained. */
static inline bool tsr_spgemm_tiles_may_pay(const tsr_spgemm_tile_counts *c, tsr_spgemm_tile_sums sums)
{
    const bool counts = sums == TSR_SPGEMM_TILE_COUNTS;
    const tsr_spgemm_tile_sums best = counts ? sums : TSR_SPGEMM_TILE_INT8;
    return c->products >= (counts ? 8 : 6) * c->entries && tsr_spgemm_tiles_least_ns(c, best) < 0.5 * tsr_spgemm_rows_ns(c, best);
}

/* The same, when it is known how many products a step of theirs has, about. */
static inline bool tsr_spgemm_steps_may_pay(double products, tsr_spgemm_tile_sums sums)
{
    static const double product[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_ROWS_PRODUCT, step[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_TILES_STEP;
    return sums != TSR_SPGEMM_TILE_NONE && products * product[sums] >= step[sums];
}

/* Tiles run side by side, a few at a time; those of values are long. */
static inline double tsr_spgemm_tile_steps(const tsr_spgemm_tile_counts *c, tsr_spgemm_tile_sums sums)
{
    const double turns = sums == TSR_SPGEMM_TILE_COUNTS || c->tiles == 0 ? 0 : (double)(int64_t)(c->tiles / TSR_SPGEMM_TILES_AT_ONCE + 1);
    return turns == 0 ? c->steps : c->steps / c->tiles * turns * TSR_SPGEMM_TILES_AT_ONCE;
}

static inline bool tsr_spgemm_tiles_pay(const tsr_spgemm_tile_counts *c, tsr_spgemm_tile_sums sums)
{
    static const double step[TSR_SPGEMM_TILE_NONE] = TSR_SPGEMM_TILES_STEP;
    const double ns = tsr_spgemm_tiles_least_ns(c, sums) + c->tiles * TSR_SPGEMM_TILES_TILE + tsr_spgemm_tile_steps(c, sums) * step[sums];
    return ns < TSR_SPGEMM_TILES_MARGIN * tsr_spgemm_rows_ns(c, sums);
}

#endif
