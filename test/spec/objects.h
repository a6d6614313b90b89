/* Dense cells in and out of GraphBLAS objects, in any storage format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_OBJECTS_H
#define TSR_TEST_OBJECTS_H

#include "dense.h"

enum { VALUES_DYADIC, VALUES_RANDOM, VALUES_SPECIAL, VALUES_ISO };

/* Random contents: percent of cells there; values exact in sums (DYADIC, ISO), any (RANDOM), or with NaN, Inf, -0. */
void dense_random(dense *D, int type, int nrows, int ncols, int percent, int values);
/* A matrix of D's cells, by row or by column, in a random format unless `plain`. */
GrB_Matrix matrix_of(const dense *D, bool plain);
GrB_Vector vector_of(const dense *D); /* ncols = 1 */
void dense_of_matrix(dense *D, GrB_Matrix A, int type);
void dense_of_vector(dense *D, GrB_Vector v, int type);

#endif
