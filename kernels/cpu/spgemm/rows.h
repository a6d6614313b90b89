/* Inside of SpGEMM: a product by row, what one thread works with, and the loops over one row of C.
 *
 * A row is computed in one pass, without counting before: an index that is new in the row is appended to the thread's output, and its place
 * there is noted; one that was met before is found by that note.  Notes differ:
 *     dense    an array over all columns.  A place before the row's first one is old, so nothing is ever cleared.
 *     hash     a table of at least twice the row's products, cleared before the row
 *     window   values and marks over the columns the row can reach; gathered in order afterwards, so the row comes sorted.  What a
 *              complemented mask hides is taken out before
 *     wide     the same over many columns for each product: groups of 64 have marks of their own
 *     copy     one entry of A: the row is a row of B
 *     known    the indices are known: values over all columns, then those of the row
 * The first three take no branch that depends on what is found.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPGEMM_ROWS_H
#define TSR_CPU_SPGEMM_ROWS_H

#include "kernels/cpu/common/template.h"
#include "kernels/spgemm.h"
#include "src/base/types.h"

#define TSR_SG_MARKS 256 /* columns of a window that are looked at in one go, at most */
#define TSR_SG_TERMS 512 /* products of one row of B made in one go … */
#define TSR_SG_TERM_BYTES (TSR_SG_TERMS * 16) /* … of the largest type */

/* How the product of a (A's value) and the entries of a row of B is come by. */
typedef enum tsr_sg_source {
    TSR_SG_ONE,      /* PAIR: 1 */
    TSR_SG_A,        /* FIRST: a */
    TSR_SG_B,        /* SECOND: b, in place */
    TSR_SG_MULTIPLY, /* by `multiply`, into the terms of the thread */
    TSR_SG_I, TSR_SG_K, TSR_SG_J
} tsr_sg_source;

/* z[t] = a (x) b[t * step], t in [0, n) */
typedef void (*tsr_sg_multiply)(void *z, const void *a, const void *b, int64_t step, int64_t n);

/* The product after normalisation, read by all threads. */
typedef struct tsr_sg_job {
    int64_t m, n, k, nvec;     /* nvec: stored rows of A, hence of C */
    tsr_semiring semiring;
    tsr_sg_source source;
    tsr_sg_multiply multiply;
    int64_t offset, term_step; /* positional; 0 where all products of an entry of A are one */
    bool valued;               /* C has values */
    size_t size;               /* of one */
    tsr_offsets a_p, b_p;
    const int64_t *a_h, *b_h;
    const void *a_i, *b_i, *a_x, *b_x;
    bool a_wide, b_wide, b_sorted;
    int64_t a_step, b_step, b_nvec;
    bool fetch;                /* B is large: ask for its rows ahead */
    bool masked, complement;   /* masked: by a compressed mask */
    bool sieved;               /* … by a bitmap or full one: what it hides is dropped from a row that is done */
    const int8_t *m_b;         /* of a bitmap */
    int64_t m_ld;
    tsr_offsets m_p;
    const int64_t *m_h;
    const void *m_i, *m_x;
    bool m_wide;
    size_t m_size;             /* of a value of the mask; 0: structural */
    int64_t m_step, m_nvec;
} tsr_sg_job;

/* What one thread has.  Its output: i[0..used), x[0..used), with room for `capacity`. */
typedef struct tsr_sg_thread {
    int64_t *i;
    void *x;
    int64_t used, capacity;
    int64_t expected;       /* the capacity to begin with */
    int64_t touched;        /* entries whose pages were asked for */
    const tsr_spgemm_memory *memory; /* of the output */
    int64_t waiting, latest; /* chunks in the output, from the first to the last; waiting -1: none */
    uint32_t *place;        /* dense: of each column, counted from `base`, from 1 */
    int64_t base;
    uint64_t *table;        /* hash: index << 32 | place, 0: free */
    int64_t table_room;
    int table_shift;        /* of this row: 64 - log2 of its size */
    void *window;           /* START of the monoid, between rows */
    uint8_t *mark, *group;  /* of each column and of each 64 columns of the window: is there an entry?  0, between rows */
    int64_t window_room;    /* columns */
    int unasked, wide_rows; /* rows that are not asked how wide they are; as many as were not before */
    int64_t lo, span;       /* of this row: columns [lo, lo + span) */
    int64_t hidden, hidden_end; /* entries of the mask whose columns the window leaves out of this row; equal between rows */
    const uint32_t *known;  /* known: indices [used, capacity) of the row, whose values go to x */
    uint8_t *pass;          /* masked: does the mask let the column pass?  As for an empty mask, between rows */
    uint64_t *keys;         /* to sort a row: 4 for each of its entries */
    int64_t keys_room;      /* entries */
    uint64_t *bits, *groups; /* of each column, of each 64 columns: is there an entry?  0, between rows */
    void *terms;            /* TSR_SG_TERMS values */
    int64_t *positions;
} tsr_sg_thread;

/* One row of C from A's entries [e, hi); `row`: its index.  Appends to the output, which has room for all products (at most n). */
typedef void (*tsr_sg_row)(const tsr_sg_job *job, tsr_sg_thread *t, int64_t row, int64_t e, int64_t hi);

typedef struct tsr_sg_loops {
    tsr_sg_row dense, hash, window, wide, masked, known, copy; /* copy, known NULL: not offered */
    void (*start)(void *x, int64_t n);            /* x[0..n) = START: what a window holds before anything is added */
} tsr_sg_loops;

/* loops.c.  False: none for this semiring.  C without values: any semiring. */
bool tsr_sg_find_loops(tsr_sg_loops *loops, const tsr_sg_job *job);
/* terms.c: the multiply of a type; NULL: there is none. */
tsr_sg_multiply tsr_sg_find_multiply(tsr_type type, tsr_mul mul);

static inline int64_t tsr_sg_index(const void *i, bool wide, int64_t e)
{
    return wide ? ((const int64_t *)i)[e] : (int64_t)((const uint32_t *)i)[e];
}

/* Does entry e of the mask count, or the value at place e? */
static inline bool tsr_sg_mask_is_true(const tsr_sg_job *job, int64_t e)
{
    const int64_t at = e * job->m_step;
    switch (job->m_size) {
    case 0: return true;
    case 1: return ((const uint8_t *)job->m_x)[at] != 0;
    case 2: return ((const uint16_t *)job->m_x)[at] != 0;
    case 4: return ((const uint32_t *)job->m_x)[at] != 0;
    default: return ((const uint64_t *)job->m_x)[at] != 0;
    }
}

/* First k in [0, n) with h[k] >= name. */
static inline int64_t tsr_sg_search(const int64_t *h, int64_t n, int64_t name)
{
    int64_t lo = 0;
    while (n > 0) {
        const int64_t half = n / 2, next = lo + half;
        lo = h[next] < name ? next + 1 : lo;
        n = h[next] < name ? n - half - 1 : half;
    }
    return lo;
}

/* Entries [*lo, *hi) of row k of B. */
static inline void tsr_sg_row_of_b(const tsr_sg_job *job, int64_t k, int64_t *lo, int64_t *hi)
{
    if (job->b_h) {
        const int64_t v = tsr_sg_search(job->b_h, job->b_nvec, k);
        const bool found = v < job->b_nvec && job->b_h[v] == k;
        *lo = found ? tsr_offset_at(job->b_p, v) : 0;
        *hi = found ? tsr_offset_at(job->b_p, v + 1) : 0;
        return;
    }
    *lo = tsr_offset_at(job->b_p, k);
    *hi = tsr_offset_at(job->b_p, k + 1);
}

/* B's row of the entry eight places on, and the offsets of one twice as far. */
static inline void tsr_sg_fetch_ahead(const tsr_sg_job *job, int64_t e)
{
    enum { AHEAD = 8 };
    const int64_t last = tsr_offset_at(job->a_p, job->nvec);
    if (e + 2 * AHEAD < last)
        tsr_offset_fetch(job->b_p, tsr_sg_index(job->a_i, job->a_wide, e + 2 * AHEAD));
    if (e + AHEAD >= last)
        return;
    const int64_t lo = tsr_offset_at(job->b_p, tsr_sg_index(job->a_i, job->a_wide, e + AHEAD));
    const size_t width = job->b_wide ? 8 : 4;
    __builtin_prefetch((const char *)job->b_i + (size_t)lo * width);
    __builtin_prefetch((const char *)job->b_i + (size_t)lo * width + 64);
    if (job->b_x && job->b_step) {
        __builtin_prefetch((const char *)job->b_x + (size_t)lo * job->size);
        __builtin_prefetch((const char *)job->b_x + (size_t)lo * job->size + 64);
    }
}

#endif
