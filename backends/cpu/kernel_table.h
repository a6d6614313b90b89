/* The table of the CPU backend's kernels: the first row that takes a product computes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_KERNEL_TABLE_H
#define TSR_CPU_KERNEL_TABLE_H

#include "kernels/kernels.h"
#include "tessera/kernel_row.h"

#define TSR_ISA_COUNT 3

typedef struct tsr_cpu_kernel {
    const char *name, *names[TSR_ISA_COUNT];   /* …, for the trace */
    const char *what;                          /* it takes, in words */
    tsr_op op;
    bool (*takes)(const tsr_product *product); /* looks at formats and orientations of a product of that operation */
    tsr_status (*run)(const tsr_product *product, tsr_result *result);
} tsr_cpu_kernel;

/* As tsr_backend_kernel_fn: these, and what is not called by `execute`. */
bool tsr_cpu_kernel_row(int k, tsr_kernel_row *row);

/* NULL: none takes it. */
const tsr_cpu_kernel *tsr_cpu_kernel_for(const tsr_product *product);

/* `execute` of the backend: by that kernel; TSR_DECLINED: there is none. */
tsr_status tsr_cpu_execute(const tsr_product *product, tsr_result *result);

#endif
