/* Dense products of the emulated device, whose memory the host sees, one element after the other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/gemm.h"

static int64_t place(int64_t row, int64_t column, int64_t rows, int64_t columns, bool by_col)
{
    return by_col ? column * rows + row : row * columns + column;
}

static double element(const void *x, tsr_type type, int64_t at)
{
    return type == TSR_FP32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
}

static double sum(const tsr_dense_product *p, const void *a, const void *b, int64_t row, int64_t column)
{
    double total = 0;
    for (int64_t at = 0; at < p->k; at++)
        total += element(a, p->type, place(row, at, p->m, p->k, p->a_by_col)) * element(b, p->type, place(at, column, p->k, p->n, p->b_by_col));
    return total;
}

tsr_status tsr_cuda_gemm(const tsr_dense_product *p, const void *a, const void *b, void *c, void *stream)
{
    (void)stream; /* what is queued there is done already */
    if (p->type != TSR_FP32 && p->type != TSR_FP64)
        return TSR_DECLINED;
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t column = 0; column < p->n; column++) {
            int64_t at = place(row, column, p->m, p->n, p->c_by_col);
            if (p->type == TSR_FP32)
                ((float *)c)[at] = (float)sum(p, a, b, row, column);
            else
                ((double *)c)[at] = sum(p, a, b, row, column);
        }
    return TSR_OK;
}
