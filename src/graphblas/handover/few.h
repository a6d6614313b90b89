/* Sparse vectors, and matrices of few rows, as kernels take them: inspected without sorting them, taken out of their object and put
 * back in a fraction of a microsecond.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HANDOVER_FEW_H
#define TSR_HANDOVER_FEW_H

#include "src/engine/sparse/few.h"
#include "src/graphblas/handover/finish.h"
#include "src/graphblas/handover/through.h"

/* One operand.  A vector is one vector by column, of a matrix rows are meant. */
typedef struct tsr_few_operand {
    GrB_Matrix handle;
    tsr_view view;
    int64_t ends[2];  /* a vector's view.p */
    tsr_copies copies; /* of what it holds in 32 bits, which is read in 64 here: tsr_few_drop_copies */
    int32_t sparsity; /* GxB_SPARSE … */
    bool sorts;       /* sparse, and reading its arrays may sort them: they were not */
} tsr_few_operand;

/* Shape, type and form; the arrays of what is not sparse, and of what was handed over by us.  False: not valid, hypersparse, of another type
 * than the built-in ones, more than TSR_FEW rows, or held by column. */
bool tsr_few_inspect(tsr_few_operand *operand, GrB_Matrix handle, bool vector);

/* As if it had no entries, also if hypersparse: nothing of it is finished. */
bool tsr_few_inspect_emptied(tsr_few_operand *operand, GrB_Matrix handle, bool vector);

/* The arrays of one that `sorts`: SuiteSparse sorts them if they are not. */
bool tsr_few_inspect_sorted(tsr_few_operand *operand);

/* Its view is not used any more. */
void tsr_few_drop_copies(tsr_few_operand *operand);

/* The right operand of a product, as it holds its offsets and indices; false: not sparse, of another type than the built-in ones, or offsets and
 * indices of different sizes. */
bool tsr_few_inspect_matrix(tsr_push *push, GrB_Matrix A);

/* ---- C ---- */

typedef struct tsr_few_target {
    GrB_Matrix handle;
    bool vector, taken;
    int64_t vlen;
    int32_t from; /* the form in which SuiteSparse computes such results, GxB_SPARSE or GxB_BITMAP */
    int64_t dead; /* entries of its result that it deletes only when the form is chosen */
    tsr_handover arrays;
    tsr_handover dense; /* room for every place of one vector; x NULL: none */
    tsr_settings settings;
} tsr_few_target;

/* C, which keeps its arrays until it gets others. */
tsr_few_target tsr_few_target_of(const tsr_few_operand *C);

/* The arrays of a sparse C leave it, in whatever order they are, and are the operand's.  False: nothing has changed. */
bool tsr_few_take(tsr_few_target *target, tsr_few_operand *C);
bool tsr_few_put_back(tsr_few_target *target);

/* How SuiteSparse computes u A', u one sparse vector and A held by row (GB_AxB_meta, GB_AxB_dot2_control): dots of what a plain sparse mask lists,
 * dots into a bitmap, lists of A' u, or those of A u' transposed afterwards. */
typedef enum tsr_dots { TSR_DOTS_LISTED, TSR_DOTS_BITMAP, TSR_DOTS_LISTS, TSR_DOTS_TRANSPOSED } tsr_dots;
tsr_dots tsr_dots_of(const tsr_push *pull);

/* The form in which such a result of so many entries is there before C's settings count. */
int32_t tsr_dots_form(tsr_dots dots, int64_t entries, int64_t length);

/* Is C, which gets a single vector, held place by place where one place in TSR_PUSH_MANY has an entry? */
bool tsr_few_many_by_place(const tsr_few_target *target);

/* Room for a value of every place of one vector, which becomes C's if the result is by_place there.  NULL: no memory, or C is not held so. */
void *tsr_few_room(tsr_few_target *target, tsr_type type);

/* C = the vectors, of `type`, in C's own arrays if they are large enough.  one: the value of all of them; NULL: each has its own.  False: no
 * memory, and nothing has changed. */
bool tsr_few_give(GrB_Info *info, tsr_few_target *target, const tsr_few *few, tsr_type type, const void *one);

/* The same as T of C<M> accum= T, in the form target->from; C is as it was where *info is an error. */
bool tsr_few_put(GrB_Info *info, const tsr_few_target *target, const tsr_few *few, tsr_type type, const void *one, const tsr_through *to,
                 const tsr_modifiers *mod);

#endif
