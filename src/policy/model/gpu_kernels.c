/* The list of GPU kernels as tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/model/gpu_kernels.h"

#include <stdlib.h>
#include <string.h>

#define NAME(id, name, format, format_name, height, width, automatic) name,
#define FORMAT(id, name, format, format_name, height, width, automatic) format_name,
#define HEIGHT(id, name, format, format_name, height, width, automatic) height,

const char *const tsr_gpu_kernel_names[TSR_FORMS] = {TSR_GPU_FORM_LIST(NAME)};
const char *const tsr_gpu_format_names[TSR_FORMS] = {TSR_GPU_FORM_LIST(FORMAT)};

int tsr_gpu_kernel_height(tsr_gpu_kernel kernel)
{
    static const int heights[TSR_FORMS] = {TSR_GPU_FORM_LIST(HEIGHT)};
    return heights[kernel];
}

static bool has_windows(int kernel)
{
    return tsr_gpu_kernel_height((tsr_gpu_kernel)kernel) > 1;
}

int tsr_gpu_find_kernel(const char *name)
{
    for (int k = 0; k < TSR_FORMS; k++) {
        const size_t length = strlen(tsr_gpu_format_names[k]);
        const char *rest = name + length;
        if (strncmp(name, tsr_gpu_format_names[k], length) != 0 || (*rest && *rest != '-'))
            continue;
        if (!*rest || !has_windows(k) || atoi(rest + 1) == tsr_gpu_kernel_height((tsr_gpu_kernel)k))
            return k;
    }
    return -1;
}
