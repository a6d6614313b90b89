/* SpMM of complex numbers: what is compiled once, and once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMM_COMPLEX_H
#define TSR_CPU_SPMM_COMPLEX_H

#include "kernels/complex.h"
#include "kernels/cpu/common/template.h"

/* Rows [begin, end) of C. */
typedef struct tsr_complex_job {
    const tsr_complex_spmm *product;
    int64_t begin, end;
} tsr_complex_job;

typedef struct tsr_complex_table {
    void (*fc32)(const tsr_complex_job *job);
    void (*fc64)(const tsr_complex_job *job);
} tsr_complex_table;

TSR_DECLARE_ISA(extern const tsr_complex_table, tsr_complex_table);

#endif
