/* Softmax of every row of values held by row: between SDDMM and SpMM in attention.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"

#include <math.h>

enum { GRAIN_ROWS = 256 };

struct rows {
    void *y;
    const void *x;
    const int64_t *p;
};

/* fmax passes over NaN, the sum does not. */
#define SOFTMAX_ROWS(type, largest, exponential)                                     \
    static void softmax_##type(void *context, int64_t first, int64_t last)           \
    {                                                                                \
        const struct rows *s = context;                                              \
        for (int64_t row = first; row < last; row++) {                               \
            const type *x = s->x;                                                    \
            type *y = s->y, most = -INFINITY;                                        \
            double sum = 0;                                                          \
            for (int64_t e = s->p[row]; e < s->p[row + 1]; e++)                      \
                most = largest(most, x[e]);                                          \
            for (int64_t e = s->p[row]; e < s->p[row + 1]; e++)                      \
                sum += y[e] = exponential(x[e] - most);                              \
            for (int64_t e = s->p[row]; e < s->p[row + 1]; e++)                      \
                y[e] = (type)(y[e] / sum);                                           \
        }                                                                            \
    }
SOFTMAX_ROWS(float, fmaxf, expf)
SOFTMAX_ROWS(double, fmax, exp)

void tsr_cpu_softmax_rows(void *y, const void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads)
{
    struct rows s = { y, x, p };
    tsr_for_ranges(nrows, GRAIN_ROWS, nthreads, type == TSR_FP32 ? softmax_float : softmax_double, &s);
}
