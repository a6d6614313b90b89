/* Cholesky.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/train/fit/solve.h"

#include <math.h>

/* a = l l', l in the lower triangle. */
static bool factor(double *a, int n)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0 && isfinite(sum)))
                return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

bool tsr_solve(double *a, double *b, int n)
{
    if (!factor(a, n))
        return false;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return true;
}
