/* A float product of two small matrices in long double, and how large what was added up is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_EXACT_PRODUCT_H
#define TEST_EXACT_PRODUCT_H

#include <stdbool.h>

#include <GraphBLAS.h>

enum { EXACT_MOST = 64 }; /* rows, columns */

typedef struct exact_product {
    bool there[EXACT_MOST][EXACT_MOST];
    long double value[EXACT_MOST][EXACT_MOST], size[EXACT_MOST][EXACT_MOST]; /* size: of the sum of magnitudes; of the value for other monoids */
} exact_product;

/* `semiring`: its name, "plus_times_fp64" and the like; operands are cast to its type first.  False: no float semiring, or not one of plus, min, max over
 * times, plus, first, second, or pair. */
bool exact_multiply(exact_product *out, const char *semiring, GrB_Matrix A, bool transpose_a, GrB_Matrix B, bool transpose_b);

#endif
