/* Least squares without negative weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "tools/tessera/train/fit/solve.h"

enum { MOST_SWEEPS = 20000, ROUNDS = 12 };

static double ratio_of(const double *w, const double *row, double y, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += w[k] * row[k];
    return sum / y;
}

/* What the square of r - 1 must be multiplied by to pull as 2 (r log r - r) does. */
static double importance_of(double r)
{
    r = fmax(r, 0.2);
    return fabs(r - 1) < 1e-6 ? 1 : log(r) / (r - 1);
}

/* Normal equations of the rows x / y, weighed by how far w is off there; columns are scaled to unit diagonal, since their units differ by
 * orders of magnitude. */
static void normal_equations(double *a, double *b, double *scale, const double *x, const double *y, const double *w, size_t count, int n)
{
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    memset(b, 0, (size_t)n * sizeof *b);
    for (size_t at = 0; at < count; at++) {
        const double *row = x + at * (size_t)n;
        double importance = w ? importance_of(ratio_of(w, row, y[at], n)) : 1;
        for (int k = 0; k < n; k++) {
            b[k] += importance * row[k] / y[at];
            for (int j = 0; j < n; j++)
                a[k * n + j] += importance * row[k] / y[at] * (row[j] / y[at]);
        }
    }
    for (int k = 0; k < n; k++)
        scale[k] = a[k * n + k] > 0 ? 1 / sqrt(a[k * n + k]) : 0;
    for (int k = 0; k < n; k++) {
        b[k] *= scale[k];
        for (int j = 0; j < n; j++)
            a[k * n + j] *= scale[k] * scale[j];
    }
}

static double sweep(double *w, const double *a, const double *b, int n)
{
    double largest = 0;
    for (int k = 0; k < n; k++) {
        double gradient = -b[k];
        for (int j = 0; j < n; j++)
            gradient += a[k * n + j] * w[j];
        double next = a[k * n + k] > 0 ? fmax(0, w[k] - gradient / a[k * n + k]) : 0;
        largest = fmax(largest, fabs(next - w[k]));
        w[k] = next;
    }
    return largest;
}

static void solve_round(double *w, const double *x, const double *y, const double *before, size_t count, int n)
{
    double a[TSR_MOST_UNKNOWNS * TSR_MOST_UNKNOWNS], b[TSR_MOST_UNKNOWNS], scale[TSR_MOST_UNKNOWNS];
    normal_equations(a, b, scale, x, y, before, count, n);
    memset(w, 0, (size_t)n * sizeof *w);
    for (int k = 0; k < MOST_SWEEPS; k++)
        if (sweep(w, a, b, n) < 1e-12)
            break;
    for (int k = 0; k < n; k++)
        w[k] *= scale[k];
}

void tsr_fit_nonnegative(double *w, const double *x, const double *y, size_t count, int n)
{
    double before[TSR_MOST_UNKNOWNS];
    solve_round(w, x, y, NULL, count, n);
    for (int k = 0; k < ROUNDS; k++) {
        memcpy(before, w, (size_t)n * sizeof *w);
        solve_round(w, x, y, before, count, n);
    }
}
