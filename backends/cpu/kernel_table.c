/* The rows of products, in the order in which they are asked, and those of what is called otherwise.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/kernel_table.h"

/* ---- What they take ---- */

static bool is_sparse_times_dense(const tsr_product *p)
{
    return tsr_is_compressed(&p->a) && !tsr_is_compressed(&p->b);
}

static bool rows_times_dense(const tsr_product *p)
{
    return is_sparse_times_dense(p) && !p->a.by_col;
}

static bool columns_times_dense(const tsr_product *p)
{
    return is_sparse_times_dense(p) && p->a.by_col;
}

static bool rows_times_vector(const tsr_product *p)
{
    return rows_times_dense(p) && p->n == 1;
}

static bool columns_times_vector(const tsr_product *p)
{
    return columns_times_dense(p) && p->n == 1;
}

static bool is_sampled(const tsr_product *p)
{
    return p->a.format == TSR_FULL && p->b.format == TSR_FULL && tsr_is_compressed(&p->mask);
}

static bool sampled_by_row(const tsr_product *p)
{
    return is_sampled(p) && !p->mask.by_col;
}

static bool sampled_by_column(const tsr_product *p)
{
    return is_sampled(p) && p->mask.by_col;
}

static bool is_all_sparse(const tsr_product *p)
{
    return tsr_is_compressed(&p->a) && tsr_is_compressed(&p->b) && tsr_is_compressed(&p->mask);
}

static bool dots_by_row(const tsr_product *p)
{
    return is_all_sparse(p) && !p->mask.by_col;
}

static bool dots_by_column(const tsr_product *p)
{
    return is_all_sparse(p) && p->mask.by_col;
}

/* ---- The table ---- */

#define BY_ISA(name) name, {name "_baseline", name "_avx2", name "_avx512"}
#define FOR_ALL(name) name, {name, name, name}

#define ANY "any type and semiring; "

static const tsr_cpu_kernel table[] = {
    {BY_ISA("gemm"), "plus_times of FP32 and FP64; A and B full", TSR_OP_SPMM, tsr_cpu_gemm_takes, tsr_cpu_gemm},
    {FOR_ALL("spmm_copies"), ANY "B full, of equal columns", TSR_OP_SPMM, tsr_cpu_spmm_copies_takes, tsr_cpu_spmm_copies},
    {BY_ISA("spmm_csr"), ANY "A by row, B full or bitmap", TSR_OP_SPMM, rows_times_dense, tsr_cpu_spmm},
    {BY_ISA("spmm_csc"), ANY "A by column, B full or bitmap", TSR_OP_SPMM, columns_times_dense, tsr_cpu_spmm},
    {BY_ISA("spmv_csr"), ANY "A by row", TSR_OP_SPMV, rows_times_vector, tsr_cpu_spmv},
    {FOR_ALL("spmv_csc"), ANY "A by column", TSR_OP_SPMV, columns_times_vector, tsr_cpu_spmv},
    {BY_ISA("sddmm_csr"), ANY "mask by row", TSR_OP_SDDMM, sampled_by_row, tsr_cpu_sddmm},
    {BY_ISA("sddmm_csc"), ANY "mask by column", TSR_OP_SDDMM, sampled_by_column, tsr_cpu_sddmm},
    {FOR_ALL("masked_dot_csr"), ANY "mask by row", TSR_OP_MASKED_DOT, dots_by_row, tsr_cpu_masked_dot},
    {FOR_ALL("masked_dot_csc"), ANY "mask by column", TSR_OP_MASKED_DOT, dots_by_column, tsr_cpu_masked_dot},
};

/* What tsr_backend_host and kernels/spgemm.h have. */
static const tsr_kernel_row others[] = {
    {"spmm", "spmm_half", "spmm_half", "plus_times of FP32 with a B of FP16 or BF16, all by row; natively", true},
    {"spgemm", "spgemm", "spgemm", ANY "A and B sparse, without a mask", true},
    {"vxm", "push", "push", ANY "few sparse vectors, A by row, any mask", true},
    {"vxm", "pull", "pull", "any type and monoid; few full or bitmap vectors, A by column, only their values count", true},
    {"elementwise", "few", "few", "any type and operator; few sparse vectors", true},
    {"elementwise", "step", "step", "any type and operator; full and bitmap", true},
    {"elementwise", "entries", "entries", "any type and operator; entries of sparse matrices of one pattern", true},
    {"elementwise", "softmax", "softmax", "FP32 and FP64; rows of a sparse matrix", true},
    {"attention", "attention", "attention", "FP32, FP16 and BF16; pattern by row", true},
    {"reduce", "reduce", "reduce", "any type and monoid; rows and columns of full and bitmap", true},
    {"select", "select", "select", "any type; by value, index or position", true},
    {"extract", "extract", "extract", "any type; sparse rows and columns by ranges and lists", true},
    {"extract", "gather", "gather", "any type; elements of full vectors by a list", true},
};

bool tsr_cpu_kernel_row(int k, tsr_kernel_row *row)
{
    static const char *const operations[TSR_OP_COUNT] = {"spmm", "spmv", "sddmm", "masked_dot"};
    const int products = sizeof table / sizeof *table, all = products + (int)(sizeof others / sizeof *others);
    if (k < products)
        *row = (tsr_kernel_row){operations[table[k].op], table[k].name, table[k].name, table[k].what, true};
    else if (k < all)
        *row = others[k - products];
    return k < all;
}

const tsr_cpu_kernel *tsr_cpu_kernel_for(const tsr_product *product)
{
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (table[k].op == product->op && table[k].takes(product))
            return &table[k];
    return NULL;
}

tsr_status tsr_cpu_execute(const tsr_product *product, tsr_result *result)
{
    const tsr_cpu_kernel *kernel = tsr_cpu_kernel_for(product);
    return kernel ? kernel->run(product, result) : TSR_DECLINED;
}
