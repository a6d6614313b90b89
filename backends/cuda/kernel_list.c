/* All kernels of the plug-in, whichever room chooses among them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/compressed/compressed.h"
#include "backends/cuda/masked/attention.h"
#include "backends/cuda/masked/masked.h"
#include "backends/cuda/masked/stencil.h"
#include "backends/cuda/spgemm/sparse_product.h"
#include "backends/cuda/spmm/kernel_table.h"
#include "backends/cuda/spmm/few_push.h"
#include "backends/cuda/spmm/spmv_push.h"

TSR_PUBLIC bool tsr_backend_kernel(int k, tsr_kernel_row *row);

bool tsr_backend_kernel(int k, tsr_kernel_row *row)
{
    static const struct {
        const tsr_kernel_row *rows;
        int count;
    } rooms[] = {{&tsr_cuda_push_kernel, 1}, {&tsr_cuda_few_kernel, 1}, {tsr_cuda_masked_kernels, TSR_CUDA_MASKED_KERNELS}, {tsr_cuda_sddmm_kernels, TSR_CUDA_SDDMM_KERNELS},
                 {tsr_cuda_attention_kernels, TSR_CUDA_ATTENTION_KERNELS}, {tsr_cuda_spgemm_kernels, TSR_CUDA_SPGEMM_KERNELS}, {tsr_cuda_array_kernels, TSR_CUDA_ARRAY_KERNELS},
                 {tsr_cuda_compressed_kernels, TSR_CUDA_COMPRESSED_KERNELS}};
    if (k < TSR_FORMS) {
        *row = tsr_cuda_spmm_row(k);
        return true;
    }
    k -= TSR_FORMS;
    for (size_t room = 0; room < sizeof rooms / sizeof *rooms; k -= rooms[room++].count)
        if (k < rooms[room].count) {
            *row = rooms[room].rows[k];
            return true;
        }
    return false;
}
