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
struct tsr_result;

/* A value is `count` elements of one type, one after the other (vector-major, no padding), with a byte 0/1 of presence for each unless
 * all are present.  It never changes: what is computed is another value.  What it stands for (rows, columns, by row or by column) its
 * user knows.  In the interface it is a void pointer. */

/* Operators of SuiteSparse, section "operators" of its user guide; results bit for bit those of the C functions in GB_math.h and the
 * header's definitions (integer division by zero, wrap-around, MIN and MAX ignore NaN as fmin and fmax do). */
typedef enum tsr_step_op {
    /* z = op (x) */
    TSR_STEP_IDENTITY, TSR_STEP_AINV, TSR_STEP_MINV, TSR_STEP_ABS, TSR_STEP_LNOT, TSR_STEP_ONE, TSR_STEP_SQRT,
    /* z = op (x, y) */
    TSR_STEP_FIRST, TSR_STEP_SECOND, TSR_STEP_PAIR, TSR_STEP_PLUS, TSR_STEP_MINUS, TSR_STEP_RMINUS, TSR_STEP_TIMES, TSR_STEP_DIV,
    TSR_STEP_RDIV, TSR_STEP_MIN, TSR_STEP_MAX, TSR_STEP_ISEQ, TSR_STEP_ISNE, TSR_STEP_ISGT, TSR_STEP_ISLT, TSR_STEP_ISGE,
    TSR_STEP_ISLE, TSR_STEP_LOR, TSR_STEP_LAND, TSR_STEP_LXOR,
    /* z = op (x, y), z of type BOOL */
    TSR_STEP_EQ, TSR_STEP_NE, TSR_STEP_GT, TSR_STEP_LT, TSR_STEP_GE, TSR_STEP_LE
} tsr_step_op;
#define TSR_STEP_COUNT (TSR_STEP_LE + 1)

static inline bool tsr_step_is_unary(tsr_step_op op) { return op <= TSR_STEP_SQRT; }
static inline bool tsr_step_compares(tsr_step_op op) { return op >= TSR_STEP_EQ; }

/* A value, or one scalar that stands at every place. */
typedef struct tsr_operand {
    void *value;       /* NULL: the scalar */
    uint64_t scalar;   /* its bytes, of the operand's type, first in memory */
} tsr_operand;

/* One elementwise step: C<M> accum= op (x, y), as GrB_apply, eWiseMult, eWiseAdd, select (by value) and assign to GrB_ALL do it.
 * x and y are of `type`; z, and c if it is looked at, of `result` (BOOL for comparisons unless `select`, else `type`): no typecasts. */
typedef struct tsr_step {
    tsr_step_op op;
    tsr_type type, result;
    int64_t count;
    tsr_operand x, y;      /* y: not of unary operators */
    bool unite;            /* eWiseAdd: where only one of x and y is present z is that one (type == result); else z needs both */
    bool select;           /* op compares: z = x where op (x, y) holds, nothing elsewhere (type == result) */
    bool accumulates;      /* accum is used */
    tsr_step_op accum;     /* a binary one of `result` that does not compare, or does on BOOL */
    void *c;               /* C before: needed with accum, or with a mask unless `replace`; NULL otherwise (then, nothing is present) */
    void *mask;            /* NULL: none; else a value of mask_type */
    tsr_type mask_type;
    bool mask_structural, mask_complement, replace;
} tsr_step;

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
    tsr_step_op keep;          /* compares */
} tsr_places;

/* Functions of a backend that keeps values.  Any thread may call any of them at any time.  Status as for execute: TSR_DECLINED (this
 * one not here), TSR_OUT_OF_MEMORY (nothing has changed; with less kept it might do), TSR_INTERNAL_ERROR (the device is not usable any
 * more).  What is computed may still be under way when they return; whoever looks waits for it. */
typedef struct tsr_backend_values {
    /* A matrix that the host holds (full, bitmap: any leading dimension; sparse: becomes a bitmap; iso or not) becomes a value of its type. */
    tsr_status (*bring)(const struct tsr_view *view, int nthreads, void **value, int64_t *bytes_moved);
    tsr_status (*step)(const tsr_step *step, void **value);
    /* Over the entries present, into *scalar (of `type`); *any: is there one?  Sums of FP32 and FP64 do not depend on the run. */
    tsr_status (*reduce)(void *value, tsr_type type, tsr_reduce_op op, void *scalar, bool *any);
    tsr_status (*multiply)(const tsr_dense_product *product, void **value);
    tsr_status (*sums)(const tsr_sums *sums, void **value); /* exactness as for reduce */
    /* The elements in another type: floats to integers saturate, NaN gives 0, to BOOL all but 0 is true. */
    tsr_status (*cast)(void *value, tsr_type from, tsr_type to, void **result);
    tsr_status (*turn)(void *value, int64_t vectors, int64_t length, void **result); /* the transpose: length vectors */
    tsr_status (*places)(const tsr_places *places, void **value);
    tsr_status (*count)(void *value, int64_t *nvals); /* entries present */
    tsr_status (*wait)(void *value);                  /* until it is computed */
    /* To the host: x and b (NULL: only when all are present); nvals and bytes_moved are set.  The value stays. */
    tsr_status (*fetch)(void *value, struct tsr_result *result, int nthreads);
    void (*forget)(void *value); /* once */
} tsr_backend_values;

#ifdef __cplusplus
}
#endif

#endif
