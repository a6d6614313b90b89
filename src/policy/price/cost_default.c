/* Default coefficients: an x86-64 server core of 2021 with AVX2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/cost.h"

const tsr_cost_cpu tsr_cost_cpu_default = {
    .start_ms = 0.01,
    .spmm_entry = 2.0, .spmm_entry_narrow = 6.0, .spmm_byte = 0.04, .spmm_scatter = 6.0,
    .bitmap_entry = 8.0, .bitmap_flop = 0.9,
    .flip_byte = 0.4, .output_byte = 0.1,
    .finish_byte = 2.1, .add_byte = 0.4,
    .spmv_entry = 1.25, .spmv_scatter = 3.0, .spmv_bitmap = 0.8, .spmv_narrow = 0.6,
    .gemm_byte = 0.012,
    .sddmm_entry = 14.0, .sddmm_byte = 0.035,
    .masked_step = 0.8, .masked_list = 6.0, .masked_entry = 25.0, .masked_column = 0.4,
    .masked_dot_step = 0.45, .masked_dot_entry = 13.0, .masked_turn = 6.0, .masked_fold_step = 1.6, .masked_fold_entry = 30.0,
    .masked_few_list = 15.0, .masked_few_far = 40.0, .masked_few_hit = 2.0,
    .masked_pair = 3.5, .masked_block = 2.5, .masked_pair_row = 2.0,
    .masked_short_pair = 16.0, .masked_short_block = 3.0, .masked_short_found = 14.0, .masked_short_product = 3.0,
    .cast_entry = 1.5,
    .build_copy = 2.5, .build_narrow = 8.0, .build_flip = 16.0, .build_value = 4.0, .build_vector = 2.0,
};

/* SuiteSparse and our kernels alike on R-MAT 14 to 20, FP32, N = 1, 8, 32 and 128: 1 to 2 threads of a Xeon with 2 MB of L2 cache a core; 16
 * threads of such a one take 3.5 to 3.7 ns a multiply-add on R-MAT 20 at N = 32 and 128, against 1.3 where B is cached. */
const tsr_cost_memory tsr_cost_memory_default = {
    .line = 64, .spmm_cache = 8 << 20, .spmm_far = 2.2, .spmv_cache = 512 << 10, .spmv_far = 1.9, .sddmm_far = 1.7,
    .index_cache = 32 << 20, .gather_cache = 2 << 20, .list_cache = 4 << 20, .list_apart = 1024,
    .dots_cache = 32 << 20, .dots_far = 70,
};

const tsr_cost_suitesparse tsr_cost_suitesparse_default = {
    .start_ms = 0.003,
    .spmm_entry = 0.3, .spmm_scatter = 2.5, .spmm_flop = 1.05, .spmm_flop_slow = 2.5, .spmm_flop_bool = 0.1,
    .bitmap_gather = 2.0, .bitmap_scatter = 1.25,
    .accum_byte = 0.11, .accum_narrow = 0.12, .accum_pattern = 0.85, .accum_pattern_cached = 0.55, .accum_cache = 1 << 20,
    .accum_turned_byte = 0.15, .accum_mixed_byte = 0.28,
    .accum_scatter = 0.5, .accum_scatter_byte = 0.12, .accum_scatter_turned = 0.8,
    .special_entry = 0.1, .special_byte = 0.06,
    .spmv_entry = 1.25, .spmv_slow = 2.7, .spmv_scatter = 3.2, .spmv_accum_scatter = 1.9, .spmv_bitmap = 0.8,
    .frontier_edge = 20.0, .frontier_dot = 8.0, .frontier_flop = 20.0, .settle_place = 2.0,
    .gemm_flop = 1.0,
    .sddmm_entry = 3.2, .sddmm_flop = 0.69, .sddmm_saxpy = 14.0,
    .masked_step = 3.0, .masked_list = 6.0, .masked_row = 7.0, .masked_entry = 1.0,
    .masked_near = 16384.0, .masked_near_step = 1.8, .masked_near_list = 4.0, .masked_near_hit = 35.0,
    .masked_dot_step = 3.5, .masked_dot_far = 6.0, .masked_dot_entry = 5.0, .masked_short = 12.0, .masked_long = 40.0,
    .masked_merge_step = 2.0, .masked_merge_fold = 2.2, .masked_merge_short = 1.0, .masked_surprise = 8.5,
    .masked_merge_value = 0.7, .masked_merge_turn = 2.7, .masked_merge_surprise = 7.0,
    .cast_factor = 4.0, .dot_cast_factor = 1.1, .finish_factor = 0.65,
};
