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
} one_case;

/* ---- objects (case_objects.c) ---- */

void case_begin(one_case *c);
void case_end(one_case *c);
int64_t case_size(const one_case *c);
int case_type(const one_case *c);

/* An object of this shape: often one that there is already, at most of that level; else a new one, held in a random way, which is
 * printed. */
case_object *case_matrix(one_case *c, int64_t nrows, int64_t ncols, int most_level);
case_object *case_vector(one_case *c, int64_t size, int most_level);

/* Whatever is unfinished of it. */
void case_finish(const case_object *o);

/* From now on after every write to an object while it is made. */
void case_finish_always(void);

/* As it is, but without vectors that have no entry. */
void case_drop_empties(case_object *o);

/* Any control, and the usual bitmap switch. */
void case_usual_settings(const case_object *o);

/* M has the control and hyper switch of C from now on, and C its usual bitmap switch. */
void case_share_settings(const case_object *C, const case_object *M);

/* ---- calls (case_calls.c) ---- */

/* One call; returns its output, or NULL: a scalar, which is printed.  *info: what the call returned. */
case_object *case_call(one_case *c, GrB_Info *info);

#endif
