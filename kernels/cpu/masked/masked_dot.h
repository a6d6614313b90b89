/* Inside of the masked dot product: the job after normalisation, and what its parts offer each other.
 *
 * A masked dot product always becomes "M by row": for every entry (r, c) of the mask M that passes, the vector A_r (a
 * row of A) meets the vector B_c (a column of B) over the inner dimension.  A mask by column is taken as its transpose.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_H
#define TSR_CPU_MASKED_DOT_H

#include "kernels/kernels.h"
#include "src/base/types.h"

/* Entries of one vector looked at in one go; hits of a chunk fit into the buffers of a scratch. */
#define TSR_MD_CHUNK 512

/* Steps for which another thread is worth its start (and, on a busy machine, waiting for it). */
#define TSR_MD_THREAD_WORK 65536

/* Compressed vectors of one matrix.  h = NULL: vector v is the v-th. */
typedef struct tsr_md_vectors {
    tsr_offsets p;
    const int64_t *h;
    const void *i;
    const void *x; /* NULL: no values */
    int64_t nvec, nvals;
    bool wide;     /* int64_t indices, otherwise uint32_t */
    bool iso, sorted;
} tsr_md_vectors;

/* How one result comes from its products. */
typedef enum tsr_md_kind {
    TSR_MD_COUNT,  /* PLUS of equal products: their number is enough */
    TSR_MD_EXISTS, /* other monoids over equal products: one is enough */
    TSR_MD_FOLD    /* the products are added one by one, the inner index ascending */
} tsr_md_kind;

/* acc (+)= walked[place[t]] (x) other[index[t]] for t in [0, n); `first`: acc holds nothing yet.  A step is 0 when
 * there is one value for all. */
typedef void (*tsr_md_fold)(void *acc, bool first, const void *walked, int64_t walked_step, const void *other,
                            int64_t other_step, const uint32_t *place, const int64_t *index, int64_t n);

/* The same towards many results: x[target[t]] (+)= a (x) b[place[t]]; present[] tells whether x holds something, and is
 * set. */
typedef void (*tsr_md_spread)(void *x, int8_t *present, const void *a, const void *b, int64_t b_step,
                              const uint32_t *place, const int64_t *target, int64_t n);

typedef struct tsr_md_job {
    tsr_md_vectors a, b, m; /* rows of A, columns of B (rows in the spread form), rows of M */
    bool narrow_offsets;    /* of all three: they have one width */
    int64_t k;              /* inner dimension */
    int64_t mrows, mcols;
    tsr_semiring semiring;
    size_t size;            /* bytes of one value */
    tsr_md_kind kind;
    _Alignas(8) unsigned char product[8]; /* COUNT and EXISTS: the one product, in the type of the semiring */
    const void *mask_x;     /* NULL: structural */
    size_t mask_size;
    bool mask_iso;
    bool mirrored;          /* M and the product are symmetric as far as a sample tells: compute half, copy half */
    void *x;
    int8_t *present;
    int nthreads;
} tsr_md_job;

/* Typed parts (masked_dot_fold.c).  `walked_is_a` says which operand of mul the walked vector is. */
tsr_md_fold tsr_md_fold_of(tsr_semiring semiring, bool walked_is_a);
tsr_md_spread tsr_md_spread_of(tsr_semiring semiring);
/* x[e] = the sum (or whatever the monoid makes) of `count` >= 1 products that all equal *product. */
void tsr_md_finish(const tsr_md_job *job, int64_t e, int64_t count);
/* x and present of the entries [e, e + n) of the mask, whose numbers of products are counts[]. */
void tsr_md_finish_counts(const tsr_md_job *job, int64_t e, const uint32_t *counts, int64_t n);
/* The same of one entry; it stays as it is where there is no product or the mask does not let it pass. */
void tsr_md_finish_count(const tsr_md_job *job, int64_t e, int64_t count);
/* *product = a[0] (x) b[0]; an operand that mul ignores may be NULL. */
void tsr_md_one_product(void *product, tsr_semiring semiring, const void *a, const void *b);

/* Searches (masked_dot_walk.c).  mark: one byte, 0 or 1, for every value an index can take. */
/* Places (relative to begin) and indices of the entries that are marked; n <= TSR_MD_CHUNK. */
int64_t tsr_md_find(const uint8_t *mark, const void *index, bool wide, int64_t begin, int64_t n, uint32_t *place,
                    int64_t *found);
/* First place in the ascending index[begin..end) whose index is >= key. */
int64_t tsr_md_lower_bound(const void *index, bool wide, int64_t begin, int64_t end, int64_t key);
/* The same at or after `from`, by doubling steps. */
int64_t tsr_md_gallop(const void *index, bool wide, int64_t from, int64_t end, int64_t key);
/* A mark array pays as long as it is not far larger than the operands. */
bool tsr_md_may_mark(const tsr_md_job *job);
/* mark[] = value at the indices of a stored vector. */
void tsr_md_set_marks(uint8_t *mark, const tsr_md_vectors *v, int64_t vector, uint8_t value);

static inline int64_t tsr_md_index(const void *index, bool wide, int64_t e)
{
    return wide ? ((const int64_t *)index)[e] : (int64_t)((const uint32_t *)index)[e];
}

/* Where stored vector k begins; k = nvec: where the last one ends. */
static inline int64_t tsr_md_start(const tsr_md_vectors *v, int64_t k)
{
    return tsr_offset_at(v->p, k);
}

/* Entries of stored vector k. */
static inline int64_t tsr_md_entries(const tsr_md_vectors *v, int64_t k)
{
    return tsr_offsets_length(v->p, k);
}

/* Stored position of vector `name`, or -1. */
static inline int64_t tsr_md_vector(const tsr_md_vectors *v, int64_t name)
{
    if (!v->h)
        return name;
    int64_t at = tsr_md_lower_bound(v->h, true, 0, v->nvec, name);
    return at < v->nvec && v->h[at] == name ? at : -1;
}

/* Does entry e of the mask let its result pass?  The bits are tested, so -0.0 passes, as in SuiteSparse. */
static inline bool tsr_md_passes(const tsr_md_job *job, int64_t e)
{
    int64_t at = job->mask_iso ? 0 : e;
    if (!job->mask_x)
        return true;
    switch (job->mask_size) {
    case 1: return ((const uint8_t *)job->mask_x)[at] != 0;
    case 2: return ((const uint16_t *)job->mask_x)[at] != 0;
    case 4: return ((const uint32_t *)job->mask_x)[at] != 0;
    default: return ((const uint64_t *)job->mask_x)[at] != 0;
    }
}

/* Work in equal portions (masked_dot_tasks.c): vectors v with entries from q at v to q at v + 1 that cost c[v+1] - c[v]. */
typedef struct tsr_md_tasks {
    tsr_offsets q;
    int64_t *c; /* nvec + 1, owned; of one task NULL */
    int64_t nvec;
    int64_t ntasks;
    bool whole; /* no vector is cut, however heavy */
} tsr_md_tasks;

typedef struct tsr_md_position {
    int64_t vector, entry;
} tsr_md_position;

/* c[v+1] holds the cost of vector v; becomes the running sum. */
void tsr_md_tasks_finish(tsr_md_tasks *tasks, int nthreads);
/* Threads that the tasks are worth. */
int tsr_md_tasks_threads(const tsr_md_tasks *tasks, int nthreads);
/* Where task t begins; that of ntasks is the end.  Vectors are cut only when they are heavy. */
tsr_md_position tsr_md_task_begin(const tsr_md_tasks *tasks, int64_t t);

/* The forms.  All fill x and present completely. */
bool tsr_md_bits_pay(const tsr_md_job *job); /* small dense vectors of which only the number of products counts */
tsr_status tsr_md_bits(const tsr_md_job *job);
bool tsr_md_lists_pay(const tsr_md_job *job); /* pairs of short lists, of which only the number of products counts */
tsr_status tsr_md_lists(const tsr_md_job *job);
bool tsr_md_rows_pay(const tsr_md_job *job); /* sorted vectors of which only the number of products counts */
tsr_status tsr_md_rows(tsr_md_job *job);
tsr_status tsr_md_values(tsr_md_job *job); /* whatever the others do not take */
tsr_status tsr_md_spread_rows(tsr_md_job *job);

#endif
