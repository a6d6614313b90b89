/* SpMM of few columns as so many products by one vector: B and C by column, A by row.
 * Declined: as tsr_cpu_spmv.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "kernels/cpu/common/arrays.h"

enum { MOST_COLUMNS = 2 };

bool tsr_cpu_spmm_columns_takes(const tsr_product *p)
{
    return tsr_cpu_rows_times_dense(p) && p->b.by_col && p->c_by_col && p->n > 1 && p->n <= MOST_COLUMNS;
}

static tsr_product product_of_column(const tsr_product *p, int64_t j)
{
    const size_t size = tsr_type_size(p->semiring.type);
    tsr_product one = *p;
    one.op = TSR_OP_SPMV;
    one.n = one.b.ncols = one.b.nvec = 1;
    one.b.x = p->b.x && !p->b.iso ? (const char *)p->b.x + (size_t)(j * p->b.ld) * size : p->b.x;
    one.b.b = p->b.b ? p->b.b + j * p->b.ld : NULL;
    return one;
}

tsr_status tsr_cpu_spmm_columns(const tsr_product *p, tsr_result *result)
{
    const size_t column = (size_t)p->m * tsr_type_size(p->semiring.type);
    tsr_status status = tsr_cpu_spmm_columns_takes(p) ? TSR_OK : TSR_DECLINED;
    int64_t nvals = 0;
    for (int64_t j = 0; j < p->n && status == TSR_OK; j++) {
        const tsr_product one = product_of_column(p, j);
        tsr_result y = {.x = (char *)result->x + (size_t)j * column, .b = result->b ? result->b + j * p->m : NULL, .c = result->c, .c_iso = result->c_iso};
        if (result->c && !result->c_iso)
            y.c = (const char *)result->c + (size_t)j * column;
        status = tsr_cpu_spmv(&one, &y);
        nvals += y.nvals;
    }
    result->nvals = nvals;
    return status;
}
