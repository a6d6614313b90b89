/* Work on a few sparse vectors, at the price of their entries: products with a matrix (push), and elementwise operations and
 * assignments.  What they need beside their operands is kept by each thread and never cleared: nothing is allocated, sorted or set to
 * zero whose length is that of a vector.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SPARSE_VECTORS_H
#define TSR_SPARSE_VECTORS_H

#include "kernels/kernels.h"

/* Vectors that one call may have: those of one sparse vector, or of a matrix with few rows. */
#define TSR_FEW 64

/* ---- results ---- */

#define TSR_PUSH_MANY 25 /* SuiteSparse holds a vector place by place that has one entry or more in so many places, unless it is told otherwise */

/* The entries of each vector, in any order, in memory of the thread that computed them: until its next call, or tsr_few_release. */
typedef struct tsr_few_vector {
    const int64_t *i;
    const void *x;  /* NULL: a pattern */
    bool by_place;  /* the value of i[t] is x[i[t]], not x[t] */
    int64_t count;
    bool sorted;    /* indices ascend */
    void *owned;    /* a block that tsr_few_release frees; NULL: kept by the thread */
} tsr_few_vector;

typedef struct tsr_few {
    int64_t nvec, nvals;
    bool sorted;
    tsr_few_vector vectors[TSR_FEW]; /* the first nvec */
} tsr_few;

/* No entries yet. */
static inline void tsr_few_begin(tsr_few *few, int64_t nvec)
{
    few->nvec = nvec;
    few->nvals = 0;
    few->sorted = true;
    for (int64_t r = 0; r < nvec && r < TSR_FEW; r++)
        few->vectors[r] = (tsr_few_vector){0};
}

void tsr_few_release(tsr_few *few);

/* What this thread keeps is given back when a thread ends, and by this. */
void tsr_few_forget(void);

/* ---- T = U A ---- */

/* What the product of U(r,k) and A(k,j) is made of. */
typedef enum tsr_factor { TSR_FACTOR_VALUES, TSR_FACTOR_MIDDLE, TSR_FACTOR_OUTPUT, TSR_FACTOR_VECTOR } tsr_factor;

typedef struct tsr_push_semiring {
    tsr_reduce_op add;
    tsr_factor factor;   /* mul of their values, or k, j, r + offset */
    tsr_ewise_op mul;    /* binary */
    int64_t offset;      /* 0 or 1 */
    bool swapped;        /* mul (A(k,j), U(r,k)) instead of mul (U(r,k), A(k,j)) */
    tsr_type type;       /* of U and A, where they are read */
    tsr_type result;     /* of products and sums: BOOL where mul compares, INT32 or INT64 of positions, else `type` */
} tsr_push_semiring;

/* Does mul look at its first (second) operand; the product at U's values, at A's? */
static inline bool tsr_push_reads(const tsr_push_semiring *s, bool second)
{
    return s->factor == TSR_FACTOR_VALUES && s->mul != TSR_EWISE_PAIR && s->mul != (second ? TSR_EWISE_FIRST : TSR_EWISE_SECOND);
}
static inline bool tsr_push_reads_u(const tsr_push_semiring *s) { return tsr_push_reads(s, s->swapped); }
static inline bool tsr_push_reads_a(const tsr_push_semiring *s) { return tsr_push_reads(s, !s->swapped); }

/* T<M> = U A: row r of T is the sum over k of U(r,k) A(k,:), and has the entries that the mask lets pass. */
typedef struct tsr_push {
    tsr_push_semiring semiring;
    bool pattern;           /* values are of no interest */
    tsr_view u;             /* sparse, at most TSR_FEW vectors of length k, jumbled or not; x of semiring.type or iso; of a pattern also dense */
    tsr_view a;             /* sparse, k vectors of length n; likewise; its p is not looked at */
    const void *starts;     /* a's offsets, integers of a.index_size bytes each */
    const tsr_view *mask;   /* NULL: none; else sparse (jumbled or not), bitmap or full, vectors as T's */
    bool mask_structural, mask_complement;
    int nthreads;           /* at most */
    bool many_by_place;     /* of a single vector's sums: more than one place in 25 may come by_place, in any order */
    void *sums;             /* of a single vector: room for a value of every place, which sums are made in; NULL: none.  A result is by_place there, or is not */
} tsr_push;

/* Integer n of a list of unsigned ones of 32 bits, or of those of 64. */
static inline __attribute__((always_inline)) int64_t tsr_push_at(const void *list, int64_t n, bool narrow)
{
    return narrow ? (int64_t)((const uint32_t *)list)[n] : ((const int64_t *)list)[n];
}

static inline bool tsr_push_is_narrow(const tsr_push *p) { return p->a.index_size == 4; }

/* Entries of vector k of A: from its start on up to that of the next. */
static inline int64_t tsr_push_start(const tsr_push *p, int64_t k) { return tsr_push_at(p->starts, k, tsr_push_is_narrow(p)); }

/* Multiply-adds, counted until `most` are passed, of a dense u estimated.  The offsets that it reads are in the cache afterwards. */
int64_t tsr_push_work(const tsr_push *push, int64_t most);

/* With so many multiply-adds: are all vectors pushed together, by all threads?  Otherwise each by one thread. */
bool tsr_push_is_joint(const tsr_push *push, int64_t work);

/* TSR_DECLINED: a type, operator or format from elsewhere, or a dense u with little work; TSR_OUT_OF_MEMORY: nothing is held. */
tsr_status tsr_cpu_push(const tsr_push *push, int64_t work, tsr_few *result);
tsr_status tsr_ref_push(const tsr_push *push, int64_t work, tsr_few *result); /* sorted */

/* ---- T<M> = U A' with A held by row and U a bitmap: every place that the mask lets pass is a dot (pull) ---- */

/* Vectors that one pull may have. */
#define TSR_PULL_MOST 8

/* As tsr_push, but u is a bitmap or full and vector j of `a` is column j of the product's right operand: n vectors of length k.  Entry j of
 * vector r of the result is at [r n + j] of b and x, of semiring.result.  Products are U's values, every one counts.  Returns nvals, or a negative
 * number where it declines. */
int64_t tsr_cpu_pull(const tsr_push *pull, int64_t work, int8_t *b, void *x); /* work: multiply-adds, about */
int64_t tsr_ref_pull(const tsr_push *pull, int8_t *b, void *x); /* u of any form */

/* The same of one sparse vector, jumbled or not, and any products and sums, or the pattern: a list, in the order of the mask's where that is sparse and
 * not complemented.  entries: of A in rows that the mask lets pass, about.  TSR_DECLINED: a type, operator or format from elsewhere;
 * TSR_OUT_OF_MEMORY: nothing is held. */
tsr_status tsr_cpu_pull_listed(const tsr_push *pull, int64_t entries, tsr_few *result);

/* ---- C<M> accum= op (x, y) ---- */

/* Of few vectors held the same way.  x, y and c are of step.type, step.type and step.result (their iso value is one for all), each sparse,
 * bitmap or full. */
typedef struct tsr_few_step {
    tsr_ewise step;        /* operators, types, scalars, and what it says of mask and accum; pointers and count are not looked at */
    tsr_view x, y, mask, c;
    bool has_x, has_y, has_mask; /* x, y: otherwise the scalar stands everywhere */
    bool has_c;            /* C has entries that count */
    bool pattern;          /* values are of no interest: all of T have one, and those of C that stay */
    int64_t nvec, vlen;
    int nthreads;          /* at most */
} tsr_few_step;

/* Is T, the masked op (x, y), found by walking over entries of a sparse operand or over a bitmap's bytes once?  And can C be held as it is? */
bool tsr_few_step_takes(const tsr_few_step *step);

/* Entries to walk over, for prices; no arrays are looked at. */
int64_t tsr_few_step_work(const tsr_few_step *step);

/* T.  TSR_OUT_OF_MEMORY: nothing is held. */
tsr_status tsr_cpu_few_step(const tsr_few_step *step, tsr_few *t);

/* C sparse: all entries of C<M> accum= T go to (*c).  Of t, which ends, nothing may be used afterwards. */
tsr_status tsr_cpu_few_merge(const tsr_few_step *step, tsr_few *t, tsr_few *c);

/* C bitmap or full (b NULL): in its place.  Returns how many entries there are more; false: a full C would lose some, nothing has
 * changed. */
bool tsr_cpu_few_scatter(const tsr_few_step *step, const tsr_few *t, int8_t *b, void *x, int64_t *more);

/* Is T found by walking over one list, so that C, bitmap or full, can take it place by place as it is made? */
bool tsr_few_step_updates(const tsr_few_step *step);

/* Such a C, in its place (b NULL: full).  Returns how many entries there are more. */
int64_t tsr_cpu_few_update(const tsr_few_step *step, int8_t *b, void *x);

/* Is T found by walking over one list, by all threads? */
bool tsr_step_has_runs(const tsr_few_step *step);

/* The CPU backend's (tsr_backend_host). */
typedef struct tsr_few_kernels {
    int64_t (*push_work)(const tsr_push *push, int64_t most);
    bool (*push_is_joint)(const tsr_push *push, int64_t work);
    tsr_status (*push)(const tsr_push *push, int64_t work, tsr_few *result);
    int64_t (*pull)(const tsr_push *pull, int64_t work, int8_t *b, void *x);
    tsr_status (*pull_listed)(const tsr_push *pull, int64_t entries, tsr_few *result);
    bool (*step_takes)(const tsr_few_step *step);
    int64_t (*step_work)(const tsr_few_step *step);
    tsr_status (*step)(const tsr_few_step *step, tsr_few *t);
    tsr_status (*merge)(const tsr_few_step *step, tsr_few *t, tsr_few *c);
    bool (*scatter)(const tsr_few_step *step, const tsr_few *t, int8_t *b, void *x, int64_t *more);
    bool (*step_has_runs)(const tsr_few_step *step);
    bool (*step_updates)(const tsr_few_step *step);
    int64_t (*update)(const tsr_few_step *step, int8_t *b, void *x);
    void (*release)(tsr_few *few);
} tsr_few_kernels;

#endif
