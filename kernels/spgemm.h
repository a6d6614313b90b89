/* The contract of the SpGEMM kernels: C = A (+).(.) B, all three sparse, with or without a mask (reference, CPU, CUDA).
 *
 * Operands are compressed (sparse or hypersparse), sorted or jumbled, by row or by column, with 32- or 64-bit indices; offsets have 64 bits.
 * The structure of C is that of SuiteSparse: C(i,j) is there if at least one A(i,k), B(k,j) pair is and the mask lets (i,j) pass.  Sums that
 * cancel to zero and NaN stay entries.  Values follow the rules of kernels/kernels.h; they are the same every time for the same input,
 * and do not depend on nthreads.
 *
 * A kernel works by row.  A product whose C is wanted by column is C' = B' A' (tsr_spgemm_by_row); an operand that is then held by column is
 * flipped first, by the kernel or by who calls it.
 *
 * The vectors of C are those of A: all of them, or those with the names h where A is hypersparse; some may be empty (tsr_compact_vectors).
 * Indices ascend in each vector if `sorted` was wanted.
 *
 * Two steps, so that nobody allocates for somebody else:
 *     count   offsets p and nvals are known then; all that was found out is kept in the work
 *     fill    writes i and x into memory of that size, once or, with other values in the same patterns, several times
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SPGEMM_H
#define TSR_SPGEMM_H

#include "tessera/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Positional multiplies: the product of A(i,k) and B(k,j) is one of i, k, j, plus `offset` (0, or 1 for FIRSTI1 and the like).  Then no value is
 * read, semiring.mul is not looked at, and semiring.type is TSR_INT32 or TSR_INT64.
 * FIRSTI: I.  FIRSTJ and SECONDI: K.  SECONDJ: J. */
typedef enum tsr_position { TSR_POSITION_NONE, TSR_POSITION_I, TSR_POSITION_K, TSR_POSITION_J } tsr_position;

typedef struct tsr_spgemm {
    tsr_semiring semiring;
    tsr_position position;
    int64_t offset;
    int64_t m, n, k;      /* A: m x k, B: k x n */
    tsr_view a, b;        /* of type semiring.type; iso, or pattern (x NULL) where values are not read */
    bool pattern;         /* only the structure of C is wanted: values are neither read nor written (an iso result) */
    bool masked;
    bool mask_structural, mask_complement;
    tsr_view mask;        /* m x n, of any type; compressed, of any orientation, or bitmap or full.  Not complemented: C is a subset of it */
    bool c_by_col;
    bool sorted;          /* indices must ascend */
    bool narrow;          /* C that is taken has indices of 32 bits */
    int nthreads;
    size_t memory;        /* most bytes of scratch to aim at beside operands and C; 0: the kernel's own rule */
} tsr_spgemm;

/* Where C goes; every array is the caller's. */
typedef struct tsr_spgemm_c {
    int64_t *p;           /* nvec + 1 */
    int64_t *h;           /* nvec, where A (by row) is hypersparse; else not looked at */
    void *i;              /* nvals indices of index_size bytes */
    void *x;              /* nvals values of semiring.type; not looked at when `pattern` */
    uint8_t index_size;   /* 4 or 8 */
} tsr_spgemm_c;

/* What `count` finds out. */
typedef struct tsr_spgemm_size {
    int64_t nvec, nvals;
    bool hyper;           /* the vectors have names */
    double work;          /* products formed: pairs A(i,k), B(k,j) */
} tsr_spgemm_size;

static inline bool tsr_spgemm_reads_a(const tsr_spgemm *s)
{
    return !s->pattern && !s->position && tsr_mul_reads_a(s->semiring.mul);
}

static inline bool tsr_spgemm_reads_b(const tsr_spgemm *s)
{
    return !s->pattern && !s->position && tsr_mul_reads_b(s->semiring.mul);
}

/* The same product with C by row. */
static inline tsr_spgemm tsr_spgemm_by_row(const tsr_spgemm *s)
{
    tsr_spgemm t = *s;
    if (!s->c_by_col)
        return t;
    t.semiring.mul = tsr_mul_swapped(s->semiring.mul);
    t.position = s->position == TSR_POSITION_I ? TSR_POSITION_J : s->position == TSR_POSITION_J ? TSR_POSITION_I : s->position;
    t.m = s->n;
    t.n = s->m;
    t.a = tsr_view_transposed(s->b);
    t.b = tsr_view_transposed(s->a);
    t.mask = tsr_view_transposed(s->mask);
    t.c_by_col = false;
    return t;
}

/* The oracle: loops over all places of a row, one thread, sorted, every case.  Operands need not be flipped.  size->work is not set. */
tsr_status tsr_ref_spgemm_count(const tsr_spgemm *product, tsr_spgemm_size *size, int64_t *p);
tsr_status tsr_ref_spgemm_fill(const tsr_spgemm *product, const tsr_spgemm_c *c);
/* Floats in long double, in the order of C's entries: c->x has long doubles. */
tsr_status tsr_ref_spgemm_exact(const tsr_spgemm *product, const tsr_spgemm_c *c);
/* For ANY: are these the entries of C (in any order), each with the value of one of its products?  false also when out of memory. */
bool tsr_ref_spgemm_matches_any(const tsr_spgemm *product, const tsr_spgemm_c *c, int64_t nvec);

/* How many products each entry of C has, by tiles of bits as kernels/cuda/spgemm/spgemm_tiles.cu: A and B by row, without a mask.  p: [m + 1]; i and
 * count NULL: only p.  Of the operands the patterns are looked at; indices need not ascend. */
tsr_status tsr_ref_spgemm_tiles(const tsr_spgemm *product, int64_t *p, uint32_t *i, uint32_t *count);

/* What is added up for a place of C by tiles. */
typedef enum tsr_spgemm_tile_sums {
    TSR_SPGEMM_TILE_COUNTS, /* one bit: every product is one number */
    TSR_SPGEMM_TILE_INT8,   /* integers of 8 bits, whatever their type */
    TSR_SPGEMM_TILE_TF32,   /* FP32 rounded to it, where that is allowed */
    TSR_SPGEMM_TILE_SPLIT,  /* FP32, three parts of an operand */
    TSR_SPGEMM_TILE_FP64,
    TSR_SPGEMM_TILE_NONE    /* nothing, or it is not known yet */
} tsr_spgemm_tile_sums;

/* Sums of products (PLUS; TIMES, FIRST, SECOND) into x, of the type, by tiles of values as kernels/cuda/spgemm/spgemm_value_tiles.cu: p and i as
 * tsr_ref_spgemm_tiles found them; not counts. */
tsr_status tsr_ref_spgemm_value_tiles(const tsr_spgemm *product, tsr_spgemm_tile_sums sums, const int64_t *p, const uint32_t *i, void *x);

/* Memory that the kernel writes C's entries into: as realloc and free, on any thread. */
typedef struct tsr_spgemm_memory {
    void *(*resize)(const void *context, void *block, size_t bytes);
    void (*release)(const void *context, void *block);
    const void *context;
} tsr_spgemm_memory;

/* The CPU's.  count computes all of C, in as many pieces as there are threads, in `memory` (NULL: the C library's).  TSR_OK; or
 * TSR_OUT_OF_MEMORY, TSR_DECLINED (more than 2^32 - 1 columns; 2^27 under a compressed mask; a bitmap or full mask not held as C is), with
 * *work = NULL.  Operands must stay until `free`.
 * fill: C in the caller's arrays.  take: C's i (64-bit indices, unless `narrow`) and x in blocks of `memory`, which are the caller's then; c->p and c->h are
 * his from the beginning; hardly anything is moved with one thread.  It fails for want of memory only, and may be called again. */
typedef struct tsr_spgemm_work tsr_spgemm_work;
tsr_status tsr_cpu_spgemm_count(tsr_spgemm_work **work, const tsr_spgemm *product, const tsr_spgemm_memory *memory, tsr_spgemm_size *size);
tsr_status tsr_cpu_spgemm_fill(tsr_spgemm_work *work, const tsr_spgemm_c *c);
tsr_status tsr_cpu_spgemm_take(tsr_spgemm_work *work, tsr_spgemm_c *c);
void tsr_cpu_spgemm_free(tsr_spgemm_work *work);

/* C whose offsets p and indices i are known, ascending in each vector as `fill` had them for the same patterns: its values, into x[0..p[nvec]).
 * No mask.  The bits are those of `fill`.  TSR_DECLINED: ANY, whose first product is not known here, a pattern, or what count declines. */
tsr_status tsr_cpu_spgemm_again(const tsr_spgemm *product, const int64_t *p, const uint32_t *i, void *x);

/* The CPU backend's (tsr_backend_host). */
typedef struct tsr_spgemm_kernels {
    tsr_status (*count)(tsr_spgemm_work **work, const tsr_spgemm *product, const tsr_spgemm_memory *memory, tsr_spgemm_size *size);
    tsr_status (*fill)(tsr_spgemm_work *work, const tsr_spgemm_c *c);
    tsr_status (*take)(tsr_spgemm_work *work, tsr_spgemm_c *c);
    void (*free)(tsr_spgemm_work *work);
    tsr_status (*again)(const tsr_spgemm *product, const int64_t *p, const uint32_t *i, void *x);
} tsr_spgemm_kernels;

#ifdef __cplusplus
}
#endif

#endif
