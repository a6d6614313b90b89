/* Converters between layouts: plain arrays in, plain arrays out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_H
#define TSR_FORMAT_H

#include "src/base/types.h"

/* An owned compressed matrix: what a representation holds.  Freed with tsr_compressed_free. */
typedef struct tsr_compressed {
    tsr_view view; /* SPARSE (never hypersparse), sorted, its arrays owned by this struct */
    size_t bytes;
} tsr_compressed;

/* Flags of tsr_compress */
enum {
    TSR_COMPRESS_PATTERN = 1, /* no values: view.x = NULL */
    TSR_COMPRESS_FLIP = 2     /* store the other orientation (by row <-> by column) */
};

/* Copy a sparse or hypersparse view (its offsets of either width) into 32-bit indices (64-bit if nrows or ncols > 2^32-1), sorted, in the same or the
 * other orientation, values typecast to `type` (iso stays iso: one value).  The matrix is the same one: nrows, ncols
 * unchanged.  On any failure *out is empty: TSR_INVALID_VALUE for bitmap and full views; TSR_OUT_OF_MEMORY, also for
 * vector pointers far larger than the matrix (more than 2^32 vectors, nearly all of them empty). */
tsr_status tsr_compress(tsr_compressed *out, const tsr_view *in, tsr_type type, unsigned flags, int nthreads);
void tsr_compressed_free(tsr_compressed *c);

/* Entries in any order.  x: of value_size bytes each; NULL: none. */
typedef struct tsr_coordinate_list {
    size_t index_size, value_size;
    int64_t nvals;
    const void *rows, *columns, *x;
} tsr_coordinate_list;

/* Coordinates in range -> rows: offsets p[nrows+1]; then indices of index_size and values, entries of a row in the order given.  next: a copy
 * of p, used up. */
void tsr_rows_of_coordinates(int64_t *p, const tsr_coordinate_list *in, int64_t nrows);
void tsr_sort_coordinates(void *i, void *x, int64_t *next, const tsr_coordinate_list *in);

/* Blocks of height x width: rows of blocks p (nrows / height + 1), columns of blocks, values block after block. */
typedef struct tsr_block_list {
    size_t index_size, value_size;
    int64_t nrows, height, width;
    bool by_col; /* inside a block */
    const int64_t *p;
    const void *columns, *x;
} tsr_block_list;

/* Blocks -> rows: offsets p[nrows+1]; then indices of index_size and values (none if x is NULL). */
void tsr_rows_of_blocks(int64_t *p, const tsr_block_list *in);
void tsr_expand_blocks(void *i, void *x, const int64_t *p, const tsr_block_list *in, int nthreads);

/* Masked result (x, b per mask entry) -> compressed arrays in the mask's orientation: keep the entries with b = 1.
 * p[nvec+1] is written by tsr_compact_count (returns the number kept); i (of 32 bits if narrow, else 64) and x by tsr_compact_fill, which
 * moves values of element_size bytes from mask_x, one per mask entry (none if x or mask_x is NULL). Mask may be
 * sparse or hypersparse (p is per stored vector). */
int64_t tsr_compact_count(int64_t *p, const tsr_view *mask, const int8_t *b, int nthreads);
void tsr_compact_fill(void *i, bool narrow, void *x, const int64_t *p, const tsr_view *mask, const int8_t *b, const void *mask_x,
                      size_t element_size, int nthreads);

/* The same where few are kept, all vectors at once: i and x, and in h which stored vector of the mask each entry is of, ascending.  False: there
 * are not `kept` of them; nothing is said then. */
bool tsr_compact_few(int64_t *h, void *i, bool narrow, void *x, int64_t kept, const tsr_view *mask, const int8_t *b, const void *mask_x,
                     size_t element_size, int nthreads);

/* Two ascending lists are met by comparing blocks of eight indices: how many pairs of blocks at most; 0 if one is empty. */
static inline int64_t tsr_list_blocks(int64_t left, int64_t right)
{
    return left > 0 && right > 0 ? (left + 7) / 8 + (right + 7) / 8 - 1 : 0;
}

/* On average up to so many, lists are compared as they lie; beyond, marking one takes less (kernels/cpu/masked). */
#define TSR_SHORT_LIST_BLOCKS 1.5
#define TSR_SHORT_FOLD_BLOCKS 4.5 /* … where values are added */

static inline double tsr_short_list_blocks(bool counts)
{
    return counts ? TSR_SHORT_LIST_BLOCKS : TSR_SHORT_FOLD_BLOCKS;
}

/* A list so many times as long as the row that it meets is searched for the row's indices, unless it is marked and meets many rows. */
#define TSR_SEARCHED_LIST 64

/* Is the list so much longer than the row that it is sooner marked itself?  (kernels/cpu/masked/masked_dot_columns.c) */
static inline bool tsr_is_far_longer(int64_t list, int64_t row)
{
    return list > 4 * row + 128;
}

/* Vectors without entries leave p [nvec+1] and h, in place; returns how many stay. */
int64_t tsr_compact_vectors(int64_t *p, int64_t *h, int64_t nvec);

/* Vectors that have entries, of compressed arrays; counting may stop at `enough`. */
int64_t tsr_nonempty_vectors(const int64_t *p, int64_t nvec, int64_t enough, int nthreads);

/* The vectors that have entries, as a hypersparse matrix lists them: to_h, one for each, and to_p, one more. */
void tsr_list_vectors(int64_t *to_p, int64_t *to_h, const int64_t *p, int64_t nvec, int nthreads);

/* Indices or offsets of 4 or 8 bytes. */
typedef struct tsr_index_list {
    const void *i;
    size_t size;
} tsr_index_list;

/* Are they the same numbers, whatever their widths? */
bool tsr_same_indices(tsr_index_list a, tsr_index_list b, int64_t count, int nthreads);

/* A bitmap (b NULL: everything is present) of nvec vectors of vlen > 0 places to compressed arrays: p [nvec+1], i and x with room for all
 * that is present.  element_size 0: no value is moved. */
void tsr_compact_bitmap(int64_t *p, int64_t *i, void *x, const int8_t *b, const void *from, size_t element_size, int64_t nvec,
                        int64_t vlen, int nthreads);

/* Back: lists of nvec stored vectors (h NULL: of all) of vlen places to a bitmap with that many places in all.  element_size 0: no value is
 * moved.  x of what is not present is not written. */
void tsr_spread_lists(int8_t *b, void *x, const int64_t *p, const int64_t *h, const void *i, bool narrow, const void *from,
                      size_t element_size, int64_t nvec, int64_t places, int64_t vlen, int nthreads);

/* flags[r] = 1 for every row r of a sparse view that has an entry; returns how many. */
int64_t tsr_nonempty_rows(int8_t *flags, const tsr_view *a, int nthreads);

/* Has every stored vector of a compressed view an entry? */
bool tsr_no_vector_empty(const tsr_view *a, int nthreads);

/* Are there more than `spare` entries among the first 65,536 of a view by column whose rows came before?  False if memory is short. */
bool tsr_share_rows(const tsr_view *a, int64_t spare);

#endif
