/* Full and bitmap matrices and vectors that live in a backend's own memory, and what is done with them there, so that a pipeline of
 * products and elementwise steps moves nothing between two of them.
 * Plain C data only: no GraphBLAS handle, no CUDA type.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_VALUES_H
#define TESSERA_VALUES_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tsr_view;

/* A value is `count` elements of one type, one after the other (vector-major, no padding), with a byte 0/1 of presence for each unless
 * all are present.  It never changes but where a step may yield C: what is computed is another value.  What it stands for (rows, columns, by row or by column) its
 * user knows.  In the interface it is a void pointer. */

/* Operators of SuiteSparse, section "operators" of its user guide; results bit for bit those of the C functions in GB_math.h and the
 * header's definitions (integer division by zero, wrap-around, MIN and MAX ignore NaN as fmin and fmax do). */
typedef enum tsr_ewise_op {
    /* z = op (x) */
    TSR_EWISE_IDENTITY, TSR_EWISE_AINV, TSR_EWISE_MINV, TSR_EWISE_ABS, TSR_EWISE_LNOT, TSR_EWISE_ONE, TSR_EWISE_SQRT,
    /* z = op (x, y) */
    TSR_EWISE_FIRST, TSR_EWISE_SECOND, TSR_EWISE_PAIR, TSR_EWISE_PLUS, TSR_EWISE_MINUS, TSR_EWISE_RMINUS, TSR_EWISE_TIMES, TSR_EWISE_DIV,
    TSR_EWISE_RDIV, TSR_EWISE_MIN, TSR_EWISE_MAX, TSR_EWISE_ISEQ, TSR_EWISE_ISNE, TSR_EWISE_ISGT, TSR_EWISE_ISLT, TSR_EWISE_ISGE,
    TSR_EWISE_ISLE, TSR_EWISE_LOR, TSR_EWISE_LAND, TSR_EWISE_LXOR,
    /* z = op (x, y), z of type BOOL */
    TSR_EWISE_EQ, TSR_EWISE_NE, TSR_EWISE_GT, TSR_EWISE_LT, TSR_EWISE_GE, TSR_EWISE_LE
} tsr_ewise_op;
#define TSR_EWISE_COUNT (TSR_EWISE_LE + 1)

static inline bool tsr_ewise_is_unary(tsr_ewise_op op) { return op <= TSR_EWISE_SQRT; }
static inline bool tsr_ewise_compares(tsr_ewise_op op) { return op >= TSR_EWISE_EQ; }

/* A value, or one scalar that stands at every place. */
typedef struct tsr_operand {
    void *value;       /* NULL: the scalar */
    uint64_t scalar;   /* its bytes, of the operand's type, first in memory */
} tsr_operand;

/* One elementwise step: C<M> accum= op (x, y), as GrB_apply, eWiseMult, eWiseAdd, select (by value) and assign to GrB_ALL do it.
 * x and y are of `type`; z, and c if it is looked at, of `result` (BOOL for comparisons unless `select`, else `type`): no typecasts. */
typedef struct tsr_ewise {
    tsr_ewise_op op;
    tsr_type type, result;
    int64_t count;
    tsr_operand x, y;      /* y: not of unary operators */
    bool unite;            /* eWiseAdd: where only one of x and y is present z is that one (type == result); else z needs both */
    bool select;           /* op compares: z = x where op (x, y) holds, nothing elsewhere (type == result) */
    bool accumulates;      /* accum is used */
    tsr_ewise_op accum;     /* a binary one of `result` that does not compare, or does on BOOL */
    void *c;               /* C before: needed with accum, or with a mask unless `replace`; NULL otherwise (then, nothing is present) */
    void *mask;            /* NULL: none; else a value of mask_type */
    tsr_type mask_type;
    bool mask_structural, mask_complement, replace;
    bool yields_c;         /* nobody else looks at C, whose value may become the result, with a reference more */
} tsr_ewise;

typedef enum tsr_reduce_op {
    TSR_REDUCE_PLUS, TSR_REDUCE_TIMES, TSR_REDUCE_MIN, TSR_REDUCE_MAX, TSR_REDUCE_LOR, TSR_REDUCE_LAND, TSR_REDUCE_LXOR, TSR_REDUCE_EQ,
    TSR_REDUCE_ANY
} tsr_reduce_op;
#define TSR_REDUCE_COUNT (TSR_REDUCE_ANY + 1)

/* C = A B, all of them full; FP32 and FP64, sums at least as good as those of a loop in the type. */
typedef struct tsr_dense_product {
    tsr_type type;
    int64_t m, n, k;
    void *a, *b;                        /* values */
    bool a_by_col, b_by_col, c_by_col;  /* how they are held */
} tsr_dense_product;

/* The entries of each vector joined: one element a vector, present unless none of its entries is. */
typedef struct tsr_sums {
    void *value;
    tsr_type type;
    tsr_reduce_op op;          /* logical ones: of BOOL only */
    int64_t vectors, length;   /* vectors * length elements */
    bool across;               /* false: vector v is elements v * length and on; true: v, v + vectors, v + 2 vectors, ... */
} tsr_sums;

/* What elements become by where they are.  Element k of vector v (k < length) has the index by_vector * v + by_place * k + offset, modulo
 * 2^64. */
typedef struct tsr_places {
    void *value;
    int64_t vectors, length;
    int by_vector, by_place;   /* -1, 0, 1 */
    int64_t offset;
    bool select;               /* elements stay where keep (index, 0) holds; false: each becomes its index, INT64 */
    tsr_ewise_op keep;          /* compares */
} tsr_places;

/* list[k], in any order; without a list first + k * step; k = 0 … count - 1. */
typedef struct tsr_indices {
    const uint64_t *list;
    int64_t first, step, count;
} tsr_indices;

static inline int64_t tsr_index_at(const tsr_indices *s, int64_t k)
{
    return s->list ? (int64_t)s->list[k] : s->first + k * s->step;
}

/* Where contents go on the host.  Every array is the caller's; those that their form does not have are not looked at. */
typedef struct tsr_download {
    int nthreads;
    void *x;            /* values: of every element, every entry of the mask, or every entry; not of a pattern.  NULL, sparse: not wanted */
    int8_t *b;          /* dense, masked: presence; NULL: only when all are present */
    int64_t *p;         /* sparse, as the rest: nvec + 1 offsets; NULL: values only, i is not looked at */
    const int64_t *h;   /* names of the vectors that are wanted, ascending, which are all that have entries; NULL: every one */
    int64_t nvec;
    void *i;            /* indices of index_size bytes; dense, without x: the elements, UINT32 and all present, as numbers of 8 bytes */
    uint8_t index_size; /* 4 or 8 */
    int64_t nvals, bytes_moved; /* set */
} tsr_download;

/* What a backend keeps in its own memory, whatever its form: a value, the result of a masked product, a sparse C.  Any thread may call any
 * function, here and below, at any time.  Status as for execute: TSR_DECLINED (this one not here), TSR_OUT_OF_MEMORY (nothing has changed; with
 * less kept it might do), TSR_INTERNAL_ERROR (the device is not usable any more).  What is computed may still be under way when they return;
 * whoever looks waits for it. */
typedef struct tsr_backend_contents {
    /* A matrix that the host holds (full, bitmap: any leading dimension; sparse: becomes a bitmap; iso or not) becomes a value of its type. */
    tsr_status (*upload)(const struct tsr_view *view, int nthreads, void **value, int64_t *bytes_moved);
    tsr_status (*download)(void *contents, tsr_download *to); /* the contents stay, as often as wanted */
    void (*drop)(void *contents); /* once */
} tsr_backend_contents;

/* What a backend does with values. */
typedef struct tsr_backend_arrays {
    tsr_status (*step)(const tsr_ewise *step, void **value);
    /* Over the entries present, into *scalar (of `type`); *any: is there one?  Sums of FP32 and FP64 do not depend on the run. */
    tsr_status (*reduce)(void *value, tsr_type type, tsr_reduce_op op, void *scalar, bool *any);
    tsr_status (*multiply)(const tsr_dense_product *product, void **value);
    tsr_status (*sums)(const tsr_sums *sums, void **value); /* exactness as for reduce */
    /* The elements in another type: floats to integers saturate, NaN gives 0, to BOOL all but 0 is true. */
    tsr_status (*cast)(void *value, tsr_type from, tsr_type to, void **result);
    tsr_status (*turn)(void *value, int64_t vectors, int64_t length, void **result); /* the transpose: length vectors */
    tsr_status (*places)(const tsr_places *places, void **value);
    /* Element k of the result is the one at from[k], a place of the value.  The list is the host's and not read any more afterwards;
     * *bytes_moved: what it took to bring it. */
    tsr_status (*gather)(void *value, const tsr_indices *from, int nthreads, void **result, int64_t *bytes_moved);
    /* `count` elements, of which those at to[k] are the k-th of the value, if that is present, and others are not.  Likewise.
     * TSR_DECLINED: two that are present have the same place. */
    tsr_status (*scatter)(void *value, const tsr_indices *to, int64_t count, int nthreads, void **result, int64_t *bytes_moved);
    tsr_status (*count)(void *value, int64_t *nvals); /* entries present */
    tsr_status (*wait)(void *value);                  /* until it is computed */
} tsr_backend_arrays;

#ifdef __cplusplus
}
#endif

#endif
