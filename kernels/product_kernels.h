/* The CPU's kernels for products: a row each, in the order in which they are asked; the first that takes a product computes it.
 * backends/cpu/kernel_table.c makes the table of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PRODUCT_KERNELS_H
#define TSR_PRODUCT_KERNELS_H

#include "tessera/backend.h"

#define TSR_ANY_SEMIRING "any type and semiring; "

/* X (name in traces, compiled BY_ISA or ONCE, operation, takes, run, what it takes in words).  tsr_cpu_<takes> looks at formats, orientations
 * and the semiring of a product of that operation; tsr_cpu_<run> has the semantics of kernels/kernels.h, and the file that it is in lists
 * what it declines (TSR_DECLINED). */
#define TSR_PRODUCT_KERNELS(X) \
    X("gemm", BY_ISA, TSR_OP_SPMM, gemm_takes, gemm, "plus_times of FP32 and FP64; A and B full") \
    X("spmm_copies", ONCE, TSR_OP_SPMM, spmm_copies_takes, spmm_copies, TSR_ANY_SEMIRING "B full, of equal columns") \
    X("spmm_csr", BY_ISA, TSR_OP_SPMM, rows_times_dense, spmm, TSR_ANY_SEMIRING "A by row, B full or bitmap") \
    X("spmm_csc", BY_ISA, TSR_OP_SPMM, columns_times_dense, spmm, TSR_ANY_SEMIRING "A by column, B full or bitmap") \
    X("spmv_counts", ONCE, TSR_OP_SPMV, spmv_counts_takes, spmv_counts, "pair, any monoid; A by row, B full") \
    X("spmv_csr", BY_ISA, TSR_OP_SPMV, rows_times_vector, spmv, TSR_ANY_SEMIRING "A by row") \
    X("spmv_csc", ONCE, TSR_OP_SPMV, columns_times_vector, spmv, TSR_ANY_SEMIRING "A by column") \
    X("sddmm_csr", BY_ISA, TSR_OP_SDDMM, samples_rows, sddmm, TSR_ANY_SEMIRING "mask by row") \
    X("sddmm_csc", BY_ISA, TSR_OP_SDDMM, samples_columns, sddmm, TSR_ANY_SEMIRING "mask by column") \
    X("masked_dot_csr", ONCE, TSR_OP_MASKED_DOT, dots_by_row, masked_dot, TSR_ANY_SEMIRING "mask by row") \
    X("masked_dot_csc", ONCE, TSR_OP_MASKED_DOT, dots_by_column, masked_dot, TSR_ANY_SEMIRING "mask by column")

#define TSR_DECLARE_KERNEL(name, compiled, op, takes, run, what) \
    bool tsr_cpu_##takes(const tsr_product *product); \
    tsr_status tsr_cpu_##run(const tsr_product *product, tsr_result *result);
TSR_PRODUCT_KERNELS(TSR_DECLARE_KERNEL)
#undef TSR_DECLARE_KERNEL

#endif
