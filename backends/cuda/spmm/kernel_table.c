/* The table of kernels: a row of src/policy/model/gpu_kernels.h each, with the functions of its format (formats/).
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/kernel_table.h"

#include <math.h>

/* ---- The table ---- */

#define ROW(id, name, format_id, format_name, height, its_width, automatic) \
    [TSR_GPU_##id] = {.form = TSR_GPU_##id, .format = &tsr_cuda_format_##format_id, .width = its_width},

static const tsr_cuda_kernel table[TSR_FORMS] = {TSR_GPU_FORM_LIST(ROW)};

const tsr_cuda_kernel *tsr_cuda_kernel_of(int form)
{
    return &table[form];
}

static const char *takes(int form)
{
    if (form == TSR_GPU_CSR)
        return "any type and semiring; plus_times of complex numbers; B full or bitmap, of any width";
    return table[form].format->semirings & TSR_CUDA_PATHS ? "plus_times, plus_second, min and max over plus and times; 4 and 8 bytes; B full"
                                                          : "plus_times, plus_second; FP32 and FP64; B full";
}

tsr_kernel_row tsr_cuda_spmm_row(int form)
{
    return (tsr_kernel_row){"spmm", tsr_gpu_kernel_names[form], tsr_gpu_format_names[form], takes(form),
                            (TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(form)) != 0};
}

/* ---- What a row means for a product ---- */

const char *tsr_cuda_trace_name(const tsr_cuda_kernel *kernel, unsigned semirings, tsr_cuda_math math, bool narrow)
{
    if (narrow)
        return kernel->format->narrow_name;
    return semirings == TSR_CUDA_SUMS ? kernel->format->names[math] : tsr_gpu_format_names[kernel->form];
}

/* Finite, also after rounding, and 2^127 where FP32 is split or rounded to TF32. */
double tsr_cuda_limit(const tsr_cuda_kernel *kernel, tsr_cuda_math math)
{
    static const double limits[TSR_CUDA_MATH_COUNT] = {
        [TSR_CUDA_EXACT] = 0x1p127, [TSR_CUDA_TF32] = 0x1p127, [TSR_CUDA_FP16] = TSR_CUDA_FP16_LIMIT, [TSR_CUDA_BF16] = 0x1.ffp127,
        [TSR_CUDA_FP64] = INFINITY,
    };
    return kernel->format->any_b && !tsr_cuda_is_half(math) ? 0 : limits[math];
}

int tsr_cuda_block_width(const tsr_cuda_kernel *kernel, tsr_number number)
{
    return kernel->format->width16 && tsr_number_size(number) == 2 ? kernel->format->width16 : kernel->width;
}

tsr_number tsr_cuda_stored_number(const tsr_cuda_kernel *kernel, tsr_cuda_math math)
{
    return kernel->format->full_values && math != TSR_CUDA_FP64 ? TSR_NUMBER_FP32 : tsr_cuda_number(math);
}
