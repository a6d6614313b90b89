/* The CPU backend: the vtable over kernels/cpu.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/cpu.h"

#include "backends/cpu/kernel_table.h"
#include "kernels/build.h"
#include "kernels/complex.h"
#include "kernels/function_product.h"
#include "kernels/kronecker.h"
#include "kernels/selection.h"
#include "kernels/sparse_vectors.h"
#include "kernels/spgemm.h"

static bool supports(const tsr_product *product)
{
    return tsr_monoid_fits(product->semiring) && tsr_values_fit(product) && tsr_cpu_kernel_for(product);
}

static const char *kernel_name(const tsr_product *product)
{
    const tsr_cpu_kernel *kernel = tsr_cpu_kernel_for(product);
    return kernel ? kernel->names[tsr_cpu_isa()] : "none";
}

static bool joins(const tsr_product *product)
{
    return tsr_cpu_spmm_joins(product) || tsr_cpu_spmv_joins(product);
}

const tsr_backend *tsr_backend_cpu(void)
{
    static const tsr_selection_kernels selection = {
        .select_count = tsr_cpu_select_count, .select_fill = tsr_cpu_select_fill, .select_end = tsr_cpu_select_end,
        .extract_begin = tsr_cpu_extract_begin, .extract_count = tsr_cpu_extract_count, .extract_fill = tsr_cpu_extract_fill,
        .extract_end = tsr_cpu_extract_end, .indices_fit = tsr_indices_fit, .indices_differ = tsr_indices_differ, .gather = tsr_cpu_gather,
        .scatter = tsr_cpu_scatter};
    static const tsr_build_kernels build = {
        .unsorted = tsr_tuples_unsorted, .sort = tsr_cpu_build_sort, .fill = tsr_cpu_build_fill, .end = tsr_cpu_build_end};
    static const tsr_few_kernels few = {
        .push_work = tsr_push_work, .push_is_joint = tsr_push_is_joint, .push = tsr_cpu_push, .pull = tsr_cpu_pull, .pull_listed = tsr_cpu_pull_listed,
        .step_takes = tsr_few_step_takes, .step_work = tsr_few_step_work,
        .step = tsr_cpu_few_step, .merge = tsr_cpu_few_merge, .scatter = tsr_cpu_few_scatter, .step_has_runs = tsr_step_has_runs, .step_updates = tsr_few_step_updates,
        .update = tsr_cpu_few_update, .release = tsr_few_release};
    static const tsr_spgemm_kernels spgemm = {
        .count = tsr_cpu_spgemm_count, .fill = tsr_cpu_spgemm_fill, .take = tsr_cpu_spgemm_take, .free = tsr_cpu_spgemm_free,
        .again = tsr_cpu_spgemm_again};
    static const tsr_backend_host host = {.add_to = tsr_cpu_add_to, .ewise = tsr_cpu_ewise, .sums = tsr_cpu_sums, .list_sums = tsr_cpu_list_sums,
                                          .softmax_rows = tsr_cpu_softmax_rows, .spmm_half = tsr_cpu_spmm_half, .spmm_complex = tsr_cpu_spmm_complex, .attention = tsr_cpu_attention,
                                          .attention_backward = tsr_cpu_attention_backward, .function_product_takes = tsr_cpu_function_product_takes,
                                          .function_product = tsr_cpu_function_product, .kronecker = tsr_cpu_kronecker, .few = &few, .selection = &selection,
                                          .build = &build, .spgemm = &spgemm};
    static const tsr_backend backend = {.api_version = TSR_BACKEND_API_VERSION, .name = "cpu", .supports = supports,
                                        .execute = tsr_cpu_execute, .kernel_name = kernel_name, .host = &host, .joins = joins};
    return &backend;
}
