/* Which products a kernel takes, where formats and orientations decide.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

static bool is_sparse_times_dense(const tsr_product *p)
{
    return tsr_is_compressed(&p->a) && !tsr_is_compressed(&p->b);
}

bool tsr_cpu_rows_times_dense(const tsr_product *p)
{
    return is_sparse_times_dense(p) && !p->a.by_col;
}

bool tsr_cpu_columns_times_dense(const tsr_product *p)
{
    return is_sparse_times_dense(p) && p->a.by_col;
}

bool tsr_cpu_rows_times_vector(const tsr_product *p)
{
    return tsr_cpu_rows_times_dense(p) && p->n == 1;
}

bool tsr_cpu_columns_times_vector(const tsr_product *p)
{
    return tsr_cpu_columns_times_dense(p) && p->n == 1;
}

static bool is_sampled(const tsr_product *p)
{
    return p->a.format == TSR_FULL && p->b.format == TSR_FULL && tsr_is_compressed(&p->mask);
}

bool tsr_cpu_samples_rows(const tsr_product *p)
{
    return is_sampled(p) && !p->mask.by_col;
}

bool tsr_cpu_samples_columns(const tsr_product *p)
{
    return is_sampled(p) && p->mask.by_col;
}

static bool is_all_sparse(const tsr_product *p)
{
    return tsr_is_compressed(&p->a) && tsr_is_compressed(&p->b) && tsr_is_compressed(&p->mask);
}

bool tsr_cpu_dots_by_row(const tsr_product *p)
{
    return is_all_sparse(p) && !p->mask.by_col;
}

bool tsr_cpu_dots_by_column(const tsr_product *p)
{
    return is_all_sparse(p) && p->mask.by_col;
}
