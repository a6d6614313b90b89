/* Elementwise calls on values that a backend keeps: what the wrappers ask before anything is brought home.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_EWISE_H
#define TSR_GRAPHBLAS_EWISE_H

#include "src/graphblas/product.h"

/* ---- one elementwise call (step.c) ---- */

/* C<M> accum= op (x, y). */
typedef struct tsr_ewise_call {
    const char *name;
    GrB_Matrix C, M, A, B; /* A, B: x and y; NULL: the scalar in `step` */
    GrB_BinaryOp accum;
    GrB_Descriptor desc;
    tsr_ewise step; /* op, type, result, scalars, unite, select */
    bool vector;
    bool placed;           /* x is what `place` makes of A */
    tsr_place_rule place;
    bool flip;             /* A stands for its transpose, whatever the descriptor says beside that */
    bool assigns;   /* GrB_assign */
    bool full_only; /* what it means where only one operand is present no step can say */
    bool host;      /* the hooks have run, and it is computed on the host's arrays */
} tsr_ewise_call;

/* One operand as it was found. */
typedef struct tsr_inspected {
    const void *handle;
    tsr_device_array *value;  /* NULL: only the host has it, in */
    tsr_view view;     /* else without arrays */
    bool given;
    bool transposed;   /* its transpose is the operand */
    const tsr_place_rule *rule; /* the operand is what this makes of it; NULL: itself */
    void *made;        /* the value in the form that the step wants it in, if that is another one */
} tsr_inspected;

/* Deferred products may have to run first; what only a backend has is not brought home.  False: not a valid object of a built-in type. */
bool tsr_inspect_operand(tsr_inspected *seen, GrB_Matrix handle);

/* A call on its way. */
typedef struct tsr_ewise_plan {
    tsr_ewise_call call;
    tsr_modifiers mod;
    tsr_inspected x, y, c, m;
    int64_t nrows, ncols; /* of C */
    tsr_type type;
    bool by_col;
    bool full; /* every entry of the result is present */
    const tsr_backend *backend;
    const char *why; /* it was declined, for the trace */
    uint64_t key;
    int64_t moved;
} tsr_ewise_plan;

/* Matches without computing or moving anything.  promised: x is not call->A but will be a value of the step's type and of C's shape, held
 * like C, full or not; x.value is set before tsr_ewise_plan_compute.  False: declined; release in any case. */
bool tsr_ewise_plan_look(tsr_ewise_plan *s, const tsr_ewise_call *call, const bool *promised);

/* Is the result iso, as it would be with SuiteSparse?  Then *one is its value in C's type.  C is as before the call. */
bool tsr_ewise_plan_iso(uint64_t *one, const tsr_ewise_plan *s);
bool tsr_inspected_iso(const tsr_inspected *seen);
/* op (x, y) of one element, from the types of x and y to `type`. */
uint64_t tsr_ewise_one(const tsr_ewise *step, tsr_type type, tsr_type x_type, uint64_t x, tsr_type y_type, uint64_t y);

/* Brings what is not there, computes, and makes the result C.  TSR_OK: done.  Otherwise C is as it was. */
tsr_status tsr_ewise_plan_finish(tsr_ewise_plan *s);
void tsr_ewise_plan_release(tsr_ewise_plan *s);

/* The operand's value, brought if need be; and one of another type, made of it. */
tsr_status tsr_ewise_plan_bring(tsr_ewise_plan *s, tsr_inspected *seen);
tsr_status tsr_ewise_plan_cast(tsr_ewise_plan *s, tsr_inspected *seen, tsr_type type, void **kept);
void tsr_inspected_release(tsr_inspected *seen);

/* The promised x is there (the reference is taken over, also when it fails): as tsr_ewise_plan_finish. */
tsr_status tsr_ewise_plan_take(tsr_ewise_plan *s, tsr_device_array *value);

/* Does the call go to the backend of `there` (NULL: nothing is there)?  Sets s->backend. */
bool tsr_ewise_plan_pulls(tsr_ewise_plan *s, const tsr_backend *there, double elements);

/* Nothing is there: does the call go after its result, since such results are used there?  Sets s->backend. */
bool tsr_ewise_plan_follows(tsr_ewise_plan *s);

/* C = A B, full matrices of FP32 or FP64 (dense_product.c).  there: something of it has a value. */
bool tsr_try_dense(GrB_Info *info, const tsr_arguments *call, bool there);
/* The same on the GPU, which has nothing of it (tsr_engine_gpu_multiplies). */
bool tsr_dense_there(GrB_Info *info, const tsr_arguments *call);

/* ---- calls (step_calls.c): true = done, *info is the result of the call ---- */

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

typedef enum tsr_pairing { TSR_PAIR_MULT, TSR_PAIR_ADD } tsr_pairing;

GrB_BinaryOp tsr_operator_of_monoid(GrB_Monoid monoid);
GrB_BinaryOp tsr_operator_of_add(GrB_Semiring semiring);
GrB_BinaryOp tsr_operator_of_multiply(GrB_Semiring semiring);

/* Is C so large that a call may pay on the host (host_step.c)? */
bool tsr_host_wanted(GrB_Matrix C, bool vector);
/* May one with these operands (NULL: none, or a scalar) pay there?  Looked at before it is taken apart.  binary: has such an operator. */
bool tsr_host_considers(const tsr_output *out, GrB_Matrix A, GrB_Matrix B, bool binary);
/* Full and bitmap operands on the host, computed by the CPU kernels. */
bool tsr_ewise_on_host(GrB_Info *info, const tsr_ewise_call *call);

/* Is one of them, or C or M, with a backend, or might be?  Looked at before anything else. */
bool tsr_ewise_concerned(const tsr_output *out, GrB_Matrix A, GrB_Matrix B);
/* The backend of the first operand that has a value.  C counts where it is needed, or would have to be downloaded first. */
const tsr_backend *tsr_ewise_attracting(const tsr_ewise_call *call);

bool tsr_try_unary(GrB_Info *info, const tsr_output *out, GrB_UnaryOp op, GrB_Matrix A);
bool tsr_try_binary(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, tsr_argument x, tsr_argument y, tsr_pairing pairing);
bool tsr_try_union(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A, GrB_Scalar alpha, GrB_Matrix B, GrB_Scalar beta);
bool tsr_try_select(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);
bool tsr_try_index(GrB_Info *info, const tsr_output *out, GrB_IndexUnaryOp op, GrB_Matrix A, tsr_argument y);
bool tsr_try_transpose(GrB_Info *info, const tsr_output *out, GrB_Matrix A);
bool tsr_try_assign(GrB_Info *info, const tsr_output *out, tsr_argument x, const GrB_Index *rows, const GrB_Index *columns);
bool tsr_try_dup(GrB_Info *info, const char *name, GrB_Matrix *C, GrB_Matrix A, bool vector);
bool tsr_try_wait(GrB_Info *info, GrB_Matrix A);

/* C<M> accum= the sum of each row of A (row_sums.c). */
bool tsr_try_row_sums(GrB_Info *info, const tsr_output *out, GrB_BinaryOp op, GrB_Matrix A);

/* *one is a new vector with at most one entry, whose sum is that of A. */
bool tsr_try_reduce(GrB_Matrix *one, const char *name, GrB_Monoid monoid, GrB_Matrix A);

/* Answers from a value. */
bool tsr_try_nvals(GrB_Index *nvals, GrB_Matrix A);
bool tsr_try_nrows(GrB_Index *nrows, GrB_Matrix A);
bool tsr_try_ncols(GrB_Index *ncols, GrB_Matrix A);
bool tsr_try_type(GrB_Type *type, GrB_Matrix A);

/* Option set: what may hold A's sparsity, A being only with a backend, where it stays, or empty on the host. */
bool tsr_try_control(GrB_Info *info, GrB_Matrix A, bool vector, int field, int32_t control);

#endif
