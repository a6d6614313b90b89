/* The rows of products (kernels/product_kernels.h), and those of what is called otherwise.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/kernel_table.h"

#define BY_ISA(name) {name "_baseline", name "_avx2", name "_avx512"}
#define ONCE(name) {name, name, name}
#define ROW(name, compiled, op, takes, run, what) {name, compiled(name), what, op, tsr_cpu_##takes, tsr_cpu_##run},

static const tsr_cpu_kernel table[] = {TSR_PRODUCT_KERNELS(ROW)};

/* What tsr_backend_host and kernels/spgemm.h have. */
static const tsr_kernel_row others[] = {
    {"spmm", "spmm_half", "spmm_half", "plus_times of FP32 with a B of FP16 or BF16, all by row; natively", true},
    {"spmm", "spmm_complex", "spmm_complex", "plus_times of complex numbers; natively", true},
    {"spgemm", "spgemm", "spgemm", TSR_ANY_SEMIRING "A and B sparse, without a mask; natively plus_times of complex numbers, too", true},
    {"vxm", "push", "push", TSR_ANY_SEMIRING "few sparse vectors, A by row, any mask", true},
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
