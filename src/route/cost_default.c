/* Default coefficients: an x86-64 server core of 2021 with AVX2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/route/cost.h"

const tsr_cost_cpu tsr_cost_cpu_default = {
    .start_ms = 0.01,
    .spmm_entry = 2.0, .spmm_byte = 0.05, .spmm_scatter = 2.0,
    .flip_byte = 0.4, .output_byte = 0.15, .finish_byte = 0.6,
    .spmv_entry32 = 1.0, .spmv_entry64 = 1.6, .spmv_scatter = 3.0,
    .sddmm_entry = 4.0, .sddmm_byte = 0.06,
    .masked_step = 0.8, .masked_entry = 3.0,
    .cast_entry = 1.0,
    .build_narrow = 2.0, .build_flip = 12.0, .build_value = 2.0, .build_vector = 2.0,
};

const tsr_cost_suitesparse tsr_cost_suitesparse_default = {
    .start_ms = 0.003,
    .spmm_entry = 4.0, .spmm_flop_plus = 0.9, .spmm_flop_other = 2.0,
    .output_byte = 0.5,
    .spmv_entry = 1.6, .spmv_scatter = 4.0, .spmv_row = 1.0,
    .sddmm_entry = 10.0, .sddmm_flop = 0.9,
    .masked_step = 5.0, .masked_entry = 20.0,
};
