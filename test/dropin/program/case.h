/* Random cases: a few calls over objects held in every way there is, made for one case.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_CASE_H
#define TSR_TEST_CASE_H

#include "program.h"

/* An object of a case.  level: 0 = small values; sums of products raise it, and floats of a high level are not summed. */
typedef struct case_object {
    union {
        GrB_Matrix m;
        GrB_Vector v;
    };
    bool vector;
    int name; /* A, B … in what is printed */
    int type;
    int64_t nrows, ncols; /* vector: ncols = 1 */
    int level;
    bool iso;     /* as it was made */
    bool sparse;  /* has entries in lists, as it was made */
    bool written; /* was an output */
    bool empties; /* its list may name vectors without entries */
} case_object;

enum { CASE_OBJECTS = 24, CASE_SIZES = 3, ANY_LEVEL = 99 };

typedef struct one_case {
    case_object objects[CASE_OBJECTS];
    int count;
    int64_t sizes[CASE_SIZES];
    int type;     /* of most objects */
    bool special; /* NaN and infinities may be among the values */
    int again;    /* percent of the arguments that are an object there is already */
} one_case;

/* ---- objects (case_objects.c) ---- */

void case_begin(one_case *c);
void case_end(one_case *c);
int64_t case_size(const one_case *c);

/* From now on cases are odd: diagonals, permutations, and as many entries as those have, elsewhere; no values but 0, -0, NaN or infinities; sizes
 * of 0 and 2^60; objects that are packed, serialized, told other settings between calls. */
void case_be_odd(void);
bool case_is_odd(void);

/* Rows times columns, or INT64_MAX. */
int64_t case_cells(int64_t nrows, int64_t ncols);
bool case_is_huge(const case_object *o); /* only lists of vectors can hold it */
int case_type(const one_case *c);

/* A bitmap of this shape would take more memory than a case may. */
bool case_needs_lists(int64_t nrows, int64_t ncols);

/* An object of this shape: often one that there is already, at most of that level; else a new one, held in a random way, which is
 * printed. */
case_object *case_matrix(one_case *c, int64_t nrows, int64_t ncols, int most_level);
case_object *case_vector(one_case *c, int64_t size, int most_level);

/* A copy of it, which is printed; NULL: there is no room for more. */
case_object *case_copy(one_case *c, const case_object *of, GrB_Info *info);

/* Whatever is unfinished of it. */
void case_finish(const case_object *o);

/* From now on after every write to an object while it is made, and after each of several of one call: then it may be held otherwise. */
void case_finish_always(void);
void case_wrote(const case_object *o);

/* As it is, but without vectors that have no entry. */
void case_drop_empties(case_object *o);

/* Any control, and the usual bitmap switch. */
void case_usual_settings(const case_object *o);

/* M has the control and hyper switch of C from now on, and C its usual bitmap switch. */
void case_share_settings(const case_object *C, const case_object *M);

/* ---- what every call has (case_output.c) ---- */

typedef struct case_output {
    case_object *C, *M;
    GrB_BinaryOp accum;
    int accum_op;
    bool replace, comp, structural, t0, t1;
} case_output;

void case_draw_flags(case_output *o);

/* A binary operator but ANY, for single values. */
int case_operator(void);

/* C, M and the accumulator; now and then C has a wrong shape, for the error.  most_level: of a C that is summed with. */
bool case_draw_output(case_output *o, one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level);
void case_care_for_mask(case_output *o);
GrB_Descriptor case_descriptor(const case_output *o);
GrB_Matrix case_matrix_of(const case_object *o); /* NULL allowed */
GrB_Vector case_vector_of(const case_object *o);

/* A matrix, or with `vector` a vector of nrows. */
case_object *case_shaped(one_case *c, bool vector, int64_t nrows, int64_t ncols, int most_level);

/* An operand of m x n, by the descriptor's transpose. */
case_object *case_turned(one_case *c, bool vector, bool transposed, int64_t m, int64_t n);

/* Before the call.  7.4.0 gives a C that is empty, or replaced, the settings of a mask by structure or of one value (of its bitmap switch,
 * the usual one) where T is dense; ours keeps its own. */
void case_keep_settings(const case_output *o);

/* 7.4.0 sorts the indices of a jumbled operand, but not its values, where a T that shares them is sorted. */
void case_sort(const case_object *A);

/* 7.4.0 gives op (A, B) of full matrices the usual settings, whatever C's were, and writes it into the one value of a full iso C. */
void case_usual_output(const case_output *o);

/* Everywhere, in what only lists can hold, takes longer than a case may. */
bool case_assigns_too_much(const case_output *o, int64_t places);

/* One to reduce with.  Returned: the highest level of what may be; sums of floats whose order cannot be seen; < 0: of nothing. */
int case_draw_monoid(const one_case *c, int type, int *mon);

/* The type of a selection by value: 9.4.5 compares what it has not written where lists of another type are selected from. */
int case_type_to_select(const case_object *A, int type);

/* After the call. */
void case_written(const case_output *o, int level);
int case_highest(int a, int b);
int case_level_of(int op, int a, int b); /* of op of such values */

/* ---- calls (case_calls.c, case_steps.c, case_changes.c) ---- */

/* One call; returns its output, or NULL: a scalar, which is printed.  *info: what the call returned. */
case_object *case_call(one_case *c, GrB_Info *info);

case_object *case_union(one_case *c, GrB_Info *info);
case_object *case_kronecker(one_case *c, GrB_Info *info);
case_object *case_apply_index(one_case *c, GrB_Info *info);   /* GrB_IndexUnaryOp */
case_object *case_apply_scalar(one_case *c, GrB_Info *info);  /* a GrB_Scalar beside A, before or behind */
case_object *case_select_scalar(one_case *c, GrB_Info *info);
case_object *case_assign_scalar(one_case *c, GrB_Info *info);
case_object *case_reduce_scalar(one_case *c, GrB_Info *info); /* into a GrB_Scalar, which is printed */
case_object *case_change(one_case *c, GrB_Info *info);        /* dup, resize, clear, setElement, removeElement */
case_object *case_move(one_case *c, GrB_Info *info);          /* pack, export, serialize, options, wait: odd cases only */

#endif
