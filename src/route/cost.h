/* Coefficients of the cost model.  Times in ns of one thread; per byte, per entry or per multiply-add as named.
 * Measured values and how they were taken: docs/routing.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_COST_H
#define TSR_COST_H

typedef struct tsr_cost_cpu {
    double start_ms;
    double spmm_entry, spmm_byte, spmm_scatter; /* scatter: factor on bytes when A is held by column */
    double flip_byte, output_byte, finish_byte;
    double spmv_entry32, spmv_entry64, spmv_scatter;
    double sddmm_entry, sddmm_byte;
    double masked_step, masked_entry;
    double cast_entry;
    double build_narrow, build_flip, build_value, build_vector;
} tsr_cost_cpu;

typedef struct tsr_cost_suitesparse {
    double start_ms;
    double spmm_entry, spmm_flop_plus, spmm_flop_other;
    double output_byte;
    double spmv_entry, spmv_scatter, spmv_row;
    double sddmm_entry, sddmm_flop;
    double masked_step, masked_entry;
} tsr_cost_suitesparse;

extern const tsr_cost_cpu tsr_cost_cpu_default;
extern const tsr_cost_suitesparse tsr_cost_suitesparse_default;

#endif
