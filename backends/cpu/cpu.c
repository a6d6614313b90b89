/* The CPU backend: the vtable over kernels/cpu.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/cpu.h"
#include "kernels/kernels.h"

#define ISA_COUNT 3

static bool formats_fit(const tsr_product *product)
{
    const tsr_view *a = &product->a, *b = &product->b;
    switch (product->op) {
    case TSR_OP_SPMM: return (tsr_is_compressed(a) && !tsr_is_compressed(b)) || tsr_cpu_gemm_takes(product);
    case TSR_OP_SPMV: return tsr_is_compressed(a) && !tsr_is_compressed(b) && product->n == 1;
    case TSR_OP_SDDMM: return a->format == TSR_FULL && b->format == TSR_FULL && tsr_is_compressed(&product->mask);
    case TSR_OP_MASKED_DOT: return tsr_is_compressed(a) && tsr_is_compressed(b) && tsr_is_compressed(&product->mask);
    }
    return false;
}

static bool supports(const tsr_product *product)
{
    return tsr_monoid_fits(product->semiring) && formats_fit(product) && tsr_values_fit(product);
}

static tsr_status execute(const tsr_product *product, tsr_result *result)
{
    switch (product->op) {
    case TSR_OP_SPMM: return tsr_cpu_spmm(product, result);
    case TSR_OP_SPMV: return tsr_cpu_spmv(product, result);
    case TSR_OP_SDDMM: return tsr_cpu_sddmm(product, result);
    case TSR_OP_MASKED_DOT: return tsr_cpu_masked_dot(product, result);
    }
    return TSR_DECLINED;
}

static const char *kernel_name(const tsr_product *product)
{
    static const char *const names[TSR_OP_COUNT][2][ISA_COUNT] = {
        { { "spmm_csr_baseline", "spmm_csr_avx2", "spmm_csr_avx512" },
          { "spmm_csc_baseline", "spmm_csc_avx2", "spmm_csc_avx512" } },
        { { "spmv_csr", "spmv_csr", "spmv_csr" }, { "spmv_csc", "spmv_csc", "spmv_csc" } },
        { { "sddmm_csr_baseline", "sddmm_csr_avx2", "sddmm_csr_avx512" },
          { "sddmm_csc_baseline", "sddmm_csc_avx2", "sddmm_csc_avx512" } },
        { { "masked_dot_csr", "masked_dot_csr", "masked_dot_csr" },
          { "masked_dot_csc", "masked_dot_csc", "masked_dot_csc" } },
    };
    static const char *const dense[ISA_COUNT] = { "gemm_baseline", "gemm_avx2", "gemm_avx512" };
    bool masked = tsr_is_masked(product->op);
    if (tsr_is_dense_product(product))
        return dense[tsr_cpu_isa()];
    bool by_col = masked ? product->mask.by_col : product->a.by_col;
    return names[product->op][by_col][tsr_cpu_isa()];
}

const tsr_backend *tsr_backend_cpu(void)
{
    static const tsr_backend backend = { .api_version = TSR_BACKEND_API_VERSION, .name = "cpu", .supports = supports,
        .execute = execute, .kernel_name = kernel_name };
    return &backend;
}
