/* SpMM with a B of 16-bit numbers: what is compiled once, and once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMM_HALF_H
#define TSR_CPU_SPMM_HALF_H

#include "kernels/cpu/common/template.h"

/* Columns [first, first + columns) of the rows [begin, end) of C. */
typedef struct tsr_half_job {
    const tsr_half_spmm *product;
    int64_t begin, end, first, columns;
} tsr_half_job;

typedef struct tsr_half_table {
    int64_t columns; /* most of one job */
    void (*fp16)(const tsr_half_job *job);
    void (*bf16)(const tsr_half_job *job);
} tsr_half_table;

TSR_DECLARE_ISA(extern const tsr_half_table, tsr_half_table);

#endif
