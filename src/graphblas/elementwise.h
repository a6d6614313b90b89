/* Elementwise calls and reductions: what the wrappers ask, before their hooks or after them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_EWISE_H
#define TSR_GRAPHBLAS_EWISE_H

#include "src/graphblas/match/match.h"

/* True: done, *info is the result of the call. */

typedef struct tsr_output {
    const char *name;
    GrB_Matrix C, M;
    GrB_BinaryOp accum;
    GrB_Descriptor desc;
    bool vector;
    bool host; /* asked after the hooks, of what the host has */
} tsr_output;

/* An object, or a scalar of a built-in type. */
typedef struct tsr_argument {
    GrB_Matrix object;
    const void *scalar;
    tsr_type type;
    GrB_Scalar boxed; /* a scalar that is an object itself */
} tsr_argument;

#define TSR_OBJECT(handle) ((tsr_argument){.object = (GrB_Matrix) (handle)})
#define TSR_PLAIN(variable, its_type) ((tsr_argument){.scalar = &(variable), .type = (its_type)})
#define TSR_BOXED(handle) ((tsr_argument){.boxed = (handle)})
#define TSR_THUNK(handle) ((handle) ? TSR_BOXED(handle) : (tsr_argument){.scalar = &(const int64_t){0}, .type = TSR_INT64})

typedef enum tsr_pairing { TSR_PAIR_MULT, TSR_PAIR_ADD } tsr_pairing;

GrB_BinaryOp tsr_operator_of_monoid(GrB_Monoid monoid);
GrB_BinaryOp tsr_operator_of_add(GrB_Semiring semiring);
GrB_BinaryOp tsr_operator_of_multiply(GrB_Semiring semiring);

/* The scalar of an argument that is not an object, in `type`: its bytes.  False: it has none. */
bool tsr_argument_scalar(uint64_t *bytes, tsr_type type, const tsr_argument *argument);
/* What op makes of places and that scalar; false also where sums of them might overflow. */
bool tsr_argument_place(tsr_place_rule *rule, tsr_type *type, GrB_IndexUnaryOp op, const tsr_argument *argument);
tsr_arguments tsr_given_of(const tsr_output *out);
/* A matched call through the engine: calls of the real library from there do not come back. */
bool tsr_run_call(GrB_Info *info, tsr_call *call);

/* At least so many entries, or every call is taken? */
bool tsr_has_entries(GrB_Matrix A, double least);
/* Is C so large that a call may pay on the host? */
bool tsr_host_wanted(GrB_Matrix C, bool vector);
bool tsr_rows_wanted(GrB_Vector w); /* … that the rows of a matrix may pay */
/* Is one of them, or C or M, with a backend, or might be?  Looked at before anything else. */
bool tsr_ewise_concerned(const tsr_output *out, GrB_Matrix A, GrB_Matrix B);
bool tsr_try_unary(GrB_Info *info, const tsr_output *out, GrB_UnaryOp op, GrB_Matrix A);
bool tsr_try_binary(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, tsr_argument x, tsr_argument y, tsr_pairing pairing);
bool tsr_try_union(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Scalar alpha, GrB_Matrix B, GrB_Scalar beta);
bool tsr_try_select(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);
bool tsr_try_index(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);
bool tsr_try_transpose(GrB_Info *info, const tsr_output *out, GrB_Matrix A);
bool tsr_try_assign(GrB_Info *info, const tsr_output *out, tsr_argument x, const GrB_Index *rows, const GrB_Index *columns);
/* C<M> accum= u (from). */
bool tsr_try_gather(GrB_Info *info, const tsr_output *out, GrB_Matrix u, tsr_list from);
/* C<M>(to) accum= u. */
bool tsr_try_assign_to(GrB_Info *info, const tsr_output *out, GrB_Matrix u, tsr_list to);
bool tsr_try_dup(GrB_Info *info, const char *name, GrB_Matrix *C, GrB_Matrix A, bool vector);
bool tsr_try_wait(GrB_Info *info, GrB_Matrix A);

/* C<M> accum= the sum of each row of A. */
bool tsr_try_row_sums(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A);

/* *one is a new vector with at most one entry, whose sum is that of A. */
bool tsr_try_reduce(GrB_Matrix *one, const char *name, GrB_Monoid monoid, GrB_Matrix A);

/* Answers from a device array. */
bool tsr_try_nvals(GrB_Index *nvals, GrB_Matrix A);
bool tsr_try_nrows(GrB_Index *nrows, GrB_Matrix A);
bool tsr_try_ncols(GrB_Index *ncols, GrB_Matrix A);
bool tsr_try_type(GrB_Type *type, GrB_Matrix A);
/* Is there a device array of it, and the answer the real object's own, whoever has its contents: the name of its type; this setting? */
bool tsr_knows(GrB_Matrix A);
bool tsr_knows_setting(GrB_Matrix A, int field);

/* What extractTuples writes of a vector that is only with a backend and has every entry: it stays there.  places NULL allowed. */
bool tsr_try_tuples(GrB_Index *places, void *x, tsr_type type, GrB_Index *nvals, GrB_Matrix v);

/* Option set: what may hold A's sparsity, A being only with a backend, where it stays, or empty on the host. */
bool tsr_try_control(GrB_Info *info, GrB_Matrix A, bool vector, int field, int32_t control);

#endif
