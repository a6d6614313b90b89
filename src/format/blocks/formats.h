/* The block formats of the Tensor-Core kernels: arrays and their meaning.  The same structs hold host arrays (src/format,
 * kernels/ref) and device arrays (kernels/cuda); whoever made one frees it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_BLOCKS_FORMATS_H
#define TSR_FORMAT_BLOCKS_FORMATS_H

#include "src/base/number.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a representation is made from: CSR, columns strictly ascending in every row, offsets from p[0] = 0. */
typedef struct tsr_source {
    int64_t nrows, ncols, nvals;
    const int64_t *p;  /* [nrows+1] */
    const uint32_t *i; /* [nvals] */
    const void *x;     /* [nvals] as `number`; NULL: pattern or iso, the values are not stored */
    tsr_number number;
} tsr_source;

/* Everywhere below: arrays exist (are not NULL) also when they have no element, but a value array of a pattern is NULL. */

/* Row windows.  Rows are cut into windows of `height` consecutive rows (the last may be shorter).  The nonzero vectors
 * of a window are the columns in which one of its rows has an entry, ascending.  They are cut into blocks of `width`
 * consecutive nonzero vectors; the last block of a window may have fewer.  A window without entries has no block.
 * A vector's place in its block is its slot.  Blocks are numbered through the whole matrix.
 * Limits: ncols <= 2^32, fewer than 2^31 entries in one window. */
typedef struct tsr_windows {
    int32_t height, width;
    int64_t nrows, ncols, nvals;
    int64_t nwindows, nvectors, nblocks;
    int64_t *entry;   /* [nwindows+1] entries before the window */
    int64_t *vector;  /* [nwindows+1] nonzero vectors before the window */
    int64_t *block;   /* [nwindows+1] blocks before the window */
    uint32_t *column; /* [nvectors] */
} tsr_windows;

/* ME-TCF of DTC-SpMM (ASPLOS 2024, section 4.1): 16 x 8 blocks, an 8-bit position for every entry.
 * Entries of a block are ordered by position. */
typedef struct tsr_me_tcf {
    tsr_windows w;         /* height 16, width 8 */
    uint32_t *block_entry; /* [nblocks] entries of the window before the block; 0 for a window's first block */
    uint8_t *local;        /* [nvals] row in window * 8 + slot */
    void *value;           /* [nvals]; NULL: pattern */
} tsr_me_tcf;

/* ME-BCRS of FlashSparse (PPoPP 2025, section 3.3): 8-row windows, blocks dense and zero filled, the last block of a window
 * not padded.  The block of window v that starts at its vector s and has r vectors holds 8 x r values, row-major, from
 * value[8 * (w.vector[v] + s)].  Rows past the end of the matrix are there, filled with zeros.  An entry whose value is zero
 * cannot be told from a missing one; w.nvals counts it. */
typedef struct tsr_me_bcrs {
    tsr_windows w; /* height 8, width 8 or 16 */
    void *value;   /* [8 * nvectors]; never NULL (a pattern stores ones) */
} tsr_me_bcrs;

/* BMat of Voltrix (USENIX ATC 2025): blocks as bit masks.  Word j of a block covers its rows 8j to 8j+7: bit r*8 + slot, r = row
 * in the word.  Block k has words [k * height/8, (k+1) * height/8).  Entries of a block are ordered by row, then slot: by
 * word, then bit.  There are no offsets inside a window: they are sums of population counts. */
typedef struct tsr_bmat {
    tsr_windows w;  /* height 8 or 16, width 8 */
    uint64_t *mask; /* [nblocks * height/8] */
    void *value;    /* [nvals]; NULL: pattern */
} tsr_bmat;

/* HRPB of cuTeSpMM: row panels of height 16q, blocks of 16 active columns, bricks of 16 x 4 with 64-bit patterns.
 * Brick column = slot / 4, brick row = row in window / 16; inside the brick r = row in window % 16, c = slot % 4.  The nonempty
 * bricks of a block are ordered by position = brick column * q + brick row; the entries of a brick by bit. */
typedef struct tsr_hrpb {
    tsr_windows w;         /* height 16, 32 or 64; width 16 */
    int64_t nbricks;
    int64_t *brick;        /* [nwindows+1] bricks before the window */
    uint32_t *block_brick; /* [nblocks] bricks of the window before the block */
    uint8_t *position;     /* [nbricks] */
    uint64_t *pattern;     /* [nbricks] bit r*4 + c, never 0 */
    uint32_t *brick_entry; /* [nbricks] entries of the window before the brick */
    void *value;           /* [nvals]; NULL: pattern */
} tsr_hrpb;

/* Panels, a format of our own: blocks as lists of entries, for kernels that bring a block's rows of B to many rows of A at once.
 * Blocks are bounded in entries, too: the vectors of a window are cut into spans of `width` (the last may have fewer), and a span with
 * more than tsr_panel_most entries is halved - at multiples of width/2, then width/4 ..., rounded down - until no part has more; parts
 * without a vector are no blocks.  w.block and w.nblocks count these blocks.
 * Block k has vectors [begin[k], begin[k+1]); a slot is a vector's place in its block.  Its data are the 16-byte units
 * [first[k], first[k+1]):
 *   - height/8 words of 32 bits, one for every 8 rows: bit r set = row r of the 8 has entries in the block; bits 8 to 23: how many
 *     places for entries come before these rows; bit 24 + r set = the row's entries (of the whole matrix, up to those of this block)
 *     have passed a multiple of TSR_PANEL_RENEW, where a kernel begins a new sum lest rounding errors grow;
 *   - its entries, ordered by row, then slot, those of every 8 rows from an even place on (FP32): the value, and 32 bits slot << 16 |
 *     row in window, plus TSR_PANEL_LAST for a row's last entry in the block.  8 bytes with FP32; 16 with FP64 (the last 4 are zero);
 *   - zeros: in the gaps, and up to the units of its entries and, with FP32, one more for every 8 rows.
 * A unit of zeros follows the last block. */
typedef struct tsr_panel {
    tsr_windows w;   /* height 32 or 64, width 16, 24, 32, 48 or 64 */
    int64_t nunits;  /* first[nblocks] */
    int64_t largest; /* units of the largest block */
    int64_t *begin;  /* [nblocks+1] */
    int64_t *first;  /* [nblocks+1] */
    void *data;      /* 16 * (nunits + 1) bytes; never NULL (a pattern stores its one value); numbers FP32 and FP64 only */
} tsr_panel;
#define TSR_PANEL_UNIT 16
#define TSR_PANEL_LAST 64
#define TSR_PANEL_RENEW 192
/* Most entries of a block: some KB, such that several blocks of threads fit a multiprocessor.  One vector never has more. */
static inline int tsr_panel_most(int height, int width, tsr_number number)
{
    int bytes = width <= 24 ? 3520 : width == 48 ? 3840 : 72 * height;
    return bytes / (2 * (int)tsr_number_size(number));
}

/* Rows of a window that serve a matrix best (for FP32; measured on an H200): 64 where that spares a fifth of the rows of B, and where there
 * are enough windows.  vectors: nonzero vectors at heights 8, 16, 32, 64, 128. */
static inline int tsr_panel_height(int64_t nrows, const int64_t vectors[5])
{
    return nrows >= 1 << 15 && (double)vectors[2] >= 1.18 * (double)vectors[3] ? 64 : 32;
}
static inline int tsr_panel_width(int height)
{
    return height == 64 ? 48 : 24;
}

/* The pattern of a mask for SDDMM, a format of our own: blocks as bits, a word for every row.  No values, and no places of entries: those
 * of a row come in the order of the vectors, as in CSR.  8 bytes per nonzero vector where blocks are full. */
typedef struct tsr_stencil {
    tsr_windows w;   /* height 32, width 32 */
    uint32_t *slots; /* [32 * nblocks] word 32 k + r: row r of block k's window; bit s: it has an entry in slot s */
} tsr_stencil;
#define TSR_STENCIL_HEIGHT 32
#define TSR_STENCIL_WIDTH 32

/* Work of bounded size.  Item t computes blocks [block[t], block[t+1]) of window[t]; items ascend, every window has at
 * least one (an empty window's has no blocks: its rows of C are still written).  A window of nb > `most` blocks is split evenly
 * into q = ceil(nb / most) items, item j covers its blocks [nb*j/q, nb*(j+1)/q); each writes a partial sum, numbered in the order
 * of the items, and the partial sums of a window are added in order.  `most` >= 1. */
typedef struct tsr_work {
    int64_t nitems, nsplit, npartials;
    int64_t *window;        /* [nitems] */
    int64_t *block;         /* [nitems+1] first block, in the numbering of the whole matrix; the last is nblocks */
    int64_t *entry;         /* [nitems] entries of the whole matrix before the item; BMat only, else NULL */
    int64_t *partial;       /* [nitems] number of the partial sum it writes, -1: it writes C itself */
    int64_t *split_window;  /* [nsplit] windows that are split, ascending */
    int64_t *split_partial; /* [nsplit+1] first partial sum of each; the last is npartials */
} tsr_work;

/* What the formats cost and promise for one matrix; index h: heights 8, 16, 32, 64, 128.  Ratios are 0 for a matrix
 * without entries. */
typedef struct tsr_statistics {
    int64_t vectors[5];         /* nonzero h x 1 vectors */
    int64_t blocks_16x8;        /* TC blocks of ME-TCF and BMat at height 16 */
    int64_t blocks_8x8;         /* of BMat at height 8 and ME-BCRS at width 8 */
    int64_t bricks_16x4;        /* of HRPB at height 16 */
    double mean_nnz_tc;         /* entries per 16 x 8 block (DTC-SpMM) */
    double alpha;               /* entries per brick / 64: the synergy of cuTeSpMM */
    double intensity;           /* multiply-adds per B element fetched = nvals / vectors at height 16 */
    /* All arrays of the representation with FP32 values (CSR: 64-bit offsets; ME-BCRS: width 8; HRPB: height 16) */
    int64_t bytes_csr, bytes_me_tcf, bytes_me_bcrs, bytes_bmat_8, bytes_bmat_16, bytes_hrpb;
} tsr_statistics;

/* One row window, counted. */
typedef struct tsr_window_count {
    uint32_t nvals, vectors; /* entries; nonzero vectors */
} tsr_window_count;

#ifdef __cplusplus
}
#endif

#endif
