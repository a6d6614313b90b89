/* What handles of the real library stand for: operators, descriptors, objects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MATCH_H
#define TSR_MATCH_H

#include "src/engine/sparse/few.h"
#include "src/graphblas/intercept/held_arrays.h"
#include "src/graphblas/match/operators.h"

/* Taken apart by operators, which is remembered; false: none, or an operator or type that no kernel knows. */
bool tsr_match_semiring(tsr_semiring *out, GrB_Semiring semiring);

/* The same of every built-in semiring of real types, for products of few sparse vectors; swapped: mul gets its operands exchanged. */
bool tsr_match_push_semiring(tsr_push_semiring *out, GrB_Semiring semiring, bool swapped);

/* Of products of a matrix and a vector, which are the place of the vector's entry, plus *offset: the same semiring with such places as
 * the vector's values, second operands. */
bool tsr_match_positions(tsr_semiring *out, int64_t *offset, GrB_Semiring semiring);

/* Is it the built-in PLUS of this type (not bool)? */
bool tsr_match_plus(GrB_BinaryOp op, tsr_type type);

/* Is it the operator of the semiring's monoid? */
bool tsr_match_monoid(GrB_BinaryOp op, tsr_semiring semiring);

/* A binary operator that may be used as accum without an error: not positional, all of its types built in and real. */
bool tsr_match_accum(GrB_BinaryOp accum);

/* What a descriptor (NULL allowed) says, and the threads allowed.  NULL: fine; else why not. */
const char *tsr_match_descriptor(tsr_modifiers *mod, GrB_Descriptor desc);

/* Look at an object's arrays without changing its content (finishes pending work, as the product itself would). */
bool tsr_match_contents(tsr_view *view, GrB_Matrix handle, tsr_copies *copies);
bool tsr_match_held(tsr_view *view, GrB_Matrix handle, tsr_copies *copies); /* offsets (p) as they are held */
bool tsr_match_view(tsr_view *view, GrB_Matrix handle); /* without offsets and vectors (p, h) if it does not hold them in 64 bits */

/* Offsets and indices as they are held are in `held` only: the view has neither p nor h. */
bool tsr_match_arrays(tsr_view *view, tsr_held_arrays *held, GrB_Matrix handle);

/* The type of a matrix or vector; false: not a built-in real type, or not a valid object. */
bool tsr_match_object_type(tsr_type *type, GrB_Matrix handle);

/* Would a look at it see a full matrix or a bitmap?  Sorts nothing, and finishes pending tuples only. */
bool tsr_match_dense(GrB_Matrix handle);

/* How it is held now: GxB_SPARSE and so on; 0: no valid object, or NULL. */
int32_t tsr_match_sparsity(GrB_Matrix handle);
bool tsr_match_held_sparse(GrB_Matrix handle); /* sparse or hypersparse */

/* As it was made: neither entries nor any that are pending or deleted, which an attempt to count them would finish. */
bool tsr_match_new(GrB_Matrix handle, bool vector);

/* ---- index lists (match_list.c) ---- */

/* An index list of a call, with its length as it is given: GrB_ALL and GxB_RANGE, _STRIDE, _BACKWARDS included. */
typedef struct tsr_list {
    const GrB_Index *list;
    GrB_Index count;
} tsr_list;

bool tsr_is_all(const GrB_Index *indices); /* GrB_ALL */

/* GrB_ALL are `all` indices.  False: not a list that is dealt with here. */
bool tsr_match_list(tsr_indices *indices, tsr_list list, int64_t all);

/* ---- operators of elementwise operations (match_step.c) ---- */

/* False: not built in, or none that a step knows. */
bool tsr_match_unary(tsr_ewise_op *op, tsr_type *type, GrB_UnaryOp handle);
bool tsr_match_binary(tsr_ewise_op *op, tsr_type *type, GrB_BinaryOp handle);
/* Is it the power of floats? */
bool tsr_match_power(tsr_type *type, GrB_BinaryOp handle);
bool tsr_match_select(tsr_ewise_op *op, tsr_type *type, GrB_IndexUnaryOp handle);
GrB_IndexUnaryOp tsr_match_old_select(GxB_SelectOp op); /* the operator by place that selects the same; NULL: there is none */
bool tsr_match_place(tsr_place_rule *rule, tsr_type *type, GrB_IndexUnaryOp handle); /* all but y, which is of the type */
bool tsr_match_reduce(tsr_reduce_op *op, tsr_type *type, GrB_BinaryOp handle); /* of a monoid */

#endif
