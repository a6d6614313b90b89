/* One call of GrB_mxm, GrB_mxv or GrB_vxm, and the product that it is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_CALL_H
#define TSR_GRAPHBLAS_CALL_H

#include "src/graphblas/handover/finish.h"
#include "src/graphblas/match/match.h"

/* One call of GrB_mxm, GrB_mxv or GrB_vxm.  Vectors are held as their matrix handles (the same opaque struct in
 * SuiteSparse); `vector` says that C, M and the dense operand are vectors. */
typedef struct tsr_call {
    const char *name;
    GrB_Matrix C, M, A, B;
    GrB_BinaryOp accum;
    GrB_Semiring semiring;
    GrB_Descriptor desc;
    bool vector;
    unsigned disable_bit; /* TSR_DISABLE_MXM … */
    bool flip;            /* vxm: A stands for the transposed matrix and mul is called with operands swapped */
} tsr_call;

/* A matched call: the product and how its result becomes C. */
typedef struct tsr_match {
    tsr_request request;
    tsr_modifiers mod;
    bool c_by_col;     /* orientation of C itself (request.product.c_by_col is that of the product, maybe transposed) */
    bool swapped;      /* the product computes C' */
    bool through_t;    /* C<M> accum= T must follow */
    bool add_c;        /* instead of that: C, which is full, is added to the product, should it be full as well */
    tsr_view c;        /* with add_c: C before the call */
    bool unmasked;     /* the mask says nothing: the call has none */
    bool iso;          /* what is handed over, T or C, is iso */
    uint64_t one;      /* with request.iso: the value of T, in the semiring's type */
    GrB_Type t_type;   /* handle of the semiring's type */
    const void *a_handle, *b_handle; /* the objects behind request.product.a and .b */
    tsr_device_array *a_value, *b_value;    /* what a backend has of them; references */
} tsr_match;

/* Rows or columns of a sparse matrix that may be brought as a bitmap, like a vector. */
#define TSR_NARROW 64

static inline bool tsr_match_narrow(double nrows, double ncols)
{
    return (nrows <= TSR_NARROW || ncols <= TSR_NARROW) && nrows * ncols <= 0x1p28;
}

/* ---- match_product.c ---- */

/* NULL: matched.  Otherwise why the call is forwarded (static text).  values: operands that a backend keeps are taken from there, and C,
 * which may be only there, is not looked at; else the host has everything. */
const char *tsr_match_call(tsr_match *match, const tsr_call *call, bool values);
/* Why it is forwarded, where the forms say so: of what is sparse on the host the kernels take few combinations.  NULL: they may take it.
 * Asked before arrays are looked at, which would sort them. */
const char *tsr_match_forms(const tsr_call *call);
void tsr_match_release(tsr_match *match); /* the references, also of a match that failed */

/* ---- finish_product.c ---- */

/* C = T's arrays directly, keeping C's own options (sparsity control, switches). conform: let SuiteSparse choose the format
 * that its rules ask for, which may allocate. */
GrB_Info tsr_finish_direct(const tsr_call *call, const tsr_match *match, tsr_handover *arrays, bool conform);

/* C<M> accum= T through the real library. */
GrB_Info tsr_finish_through_t(const tsr_call *call, const tsr_match *match, tsr_handover *arrays);

#endif
