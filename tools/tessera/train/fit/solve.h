/* Small fits: a few unknowns, many samples.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SOLVE_H
#define TSR_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TSR_MOST_UNKNOWNS = 12 };

/* Solves a x = b for a symmetric, positive definite a [n x n]; x replaces b, a is destroyed.  False: not positive definite. */
bool tsr_solve(double *a, double *b, int n);

/* Logistic regression: w [n] such that P(label = 1) = tsr_logistic(w, x, n).  x [count x n] row-major; importance [count], NULL: all 1.
 * Newton's method (iteratively reweighted least squares) on the likelihood less ridge/2 |w|^2, ridge > 0: it always has one
 * maximum, also where a line separates the labels.  False: it did not settle in 100 steps, or a number is not finite; *w is then 0. */
bool tsr_fit_logistic(double *w, const double *x, const uint8_t *label, const double *importance, size_t count, int n, double ridge);

/* Least relative errors without negative weights: w [n] >= 0 least in sum r log r - r, r = x.w / y: half the square of r - 1 where that is
 * small, less where x.w is far too large.  By coordinate descent on squares, reweighted.
 * x [count x n] row-major, >= 0; y [count], > 0. */
void tsr_fit_nonnegative(double *w, const double *x, const double *y, size_t count, int n);

#endif
