/* C<M> accum= A (+).(x) B written from the definitions of the GraphBLAS C API (2.0, sections 2.3, 3.5, 3.8 and 4.3.1),
 * on a dense array of cells that are there or not.  Slow and plain on purpose.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_DENSE_H
#define TSR_TEST_DENSE_H

#include "../dropin/program/program.h"

enum { DENSE_MAX = 24 };

typedef struct cell {
    bool there;
    int64_t i;     /* integer types and bool; UINT64: its bits */
    long double f; /* FP32, FP64: not rounded after an operation */
} cell;

typedef struct dense {
    int type, nrows, ncols;
    cell at[DENSE_MAX][DENSE_MAX];
} dense;

typedef struct product_case {
    int mon, op, type; /* the semiring */
    int accum, accum_type; /* accum < 0: none */
    bool comp, structural, replace, t0, t1;
    bool unrounded; /* keep the result in floating point as exact as it can be */
    const dense *A, *B, *M; /* M may be NULL */
} product_case;

/* x of type `from` as `to`; `rounded`: to the precision of `to`. */
cell cell_cast(cell x, int from, int to, bool rounded);
/* Built-in binary operator (OP_ numbers of program.h). */
cell cell_op(int op, int type, cell x, cell y);
/* The same value?  Of floats: after rounding; NaN equals NaN. */
bool cell_equal(int type, cell x, cell y);
/* C on input: its old contents. */
void dense_multiply(dense *C, const product_case *p);

#endif
