/* Coefficients of the cost model of what the host computes; those of the GPU are the plug-in's (backends/cuda/price).  Times in ns of one thread; per byte, per entry or per multiply-add as named.
 * How they were measured: docs/routing.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_COST_H
#define TSR_COST_H

typedef struct tsr_cost_cpu {
    double start_ms;
    double spmm_entry, spmm_entry_narrow; /* narrow: a row of B shorter than 16 bytes of small values */
    double spmm_byte, spmm_scatter;       /* per byte of a row of B; more per entry when A is held by column */
    double bitmap_entry, bitmap_flop;     /* more when B is bitmap */
    double flip_byte, output_byte;
    double finish_byte, add_byte; /* C<M> accum= T through a third matrix; C += T in place */
    double spmv_entry, spmv_scatter, spmv_bitmap;
    double spmv_narrow;           /* less per entry by 32-bit indices, where 64-bit ones come from memory */
    double gemm_byte;             /* product of full matrices: per multiply-add and byte of a value */
    double sddmm_entry, sddmm_byte;
    double masked_step, masked_list, masked_entry, masked_column; /* A and B by row: per step, list, entry of the mask, column */
    double masked_dot_step, masked_dot_entry;    /* A by row, B by column, where counting products is enough */
    double masked_turn;                          /* … per entry of B by row, which becomes by column */
    double masked_fold_step, masked_fold_entry;  /* … and where their values are added */
    double masked_few_list, masked_few_far, masked_few_hit; /* … of few rows: per list, more for one that no cache holds, per product */
    double masked_pair, masked_block, masked_pair_row; /* … and where lists are short: per pair, further block, row */
    double masked_short_pair, masked_short_block, masked_short_found, masked_short_product; /* … and values are added: per pair, block, pair that
                                                                                             * has products, product */
    double cast_entry;
    double build_copy, build_narrow, build_flip, build_value, build_vector; /* copy: of indices alone */
} tsr_cost_cpu;

typedef struct tsr_cost_suitesparse {
    double start_ms;
    double spmm_entry, spmm_scatter, spmm_flop, spmm_flop_slow, spmm_flop_bool;
    double bitmap_gather, bitmap_scatter; /* factors on the flops when B is bitmap */
    double accum_byte, accum_narrow;                /* C += A*B in place, per byte and flop; per flop of 1 or 2 bytes */
    double accum_pattern, accum_pattern_cached;     /* factors without A's values; with B of no more bytes than */
    double accum_cache;
    double accum_turned_byte, accum_mixed_byte;     /* instead: B and C by column; one of them */
    double accum_scatter, accum_scatter_byte, accum_scatter_turned; /* per flop when A is held by column; C as well */
    double special_entry, special_byte;   /* any, pair, iso */
    double spmv_entry, spmv_slow, spmv_scatter, spmv_accum_scatter, spmv_bitmap;
    double frontier_edge, frontier_dot;   /* a sparse vector: one thread, per multiply-add; A by row, per entry of A */
    double frontier_flop;                 /* a sparse matrix, per multiply-add */
    double settle_place;                  /* an empty matrix becomes a bitmap */
    double gemm_flop;
    double sddmm_entry, sddmm_flop, sddmm_saxpy; /* per dot; per flop of all m*n*k when it takes none */
    double masked_step, masked_list, masked_row, masked_entry;
    double masked_near, masked_near_step, masked_near_list, masked_near_hit; /* … for rows of C up to so long; a product that the mask lets pass */
    double masked_dot_step, masked_dot_far, masked_dot_entry; /* far: more per step where lists are long … */
    double masked_short, masked_long;                         /* … all of it from the latter on, none up to the former */
    double masked_merge_step, masked_merge_fold;              /* the same where the steps of its merges are known: counts, sums */
    double masked_merge_value, masked_merge_turn, masked_merge_surprise; /* sums: a step, a turn to the other list, and more where none foresees it */
    double masked_merge_short, masked_surprise;                 /* counts: a step in short lists, and a pair whose lengths surprise */
    double cast_factor, dot_cast_factor, finish_factor;
} tsr_cost_suitesparse;

/* What every route on the CPU waits for: rows of B (entries of u, rows of Y) that the caches do not hold.  A share s of them beyond `cache`
 * bytes makes a product 1 + far * s times as long. */
typedef struct tsr_cost_memory {
    double line;                  /* bytes of B that one gather occupies at least */
    double spmm_cache, spmm_far;
    double spmv_cache, spmv_far;  /* entries of hubs stay: no lines are counted */
    double index_cache;           /* of indices that are read in their order … */
    double list_cache;            /* of lists that few rows of a mask meet, … */
    double list_apart;            /* … which are far from each other where they are further apart */
    double gather_cache;          /* … for which a product waits while no more than this is gathered from */
    double sddmm_far;             /* spmm_cache */
    double dots_cache, dots_far;  /* instead: ns more for each list that a dot product fetches from beyond it */
} tsr_cost_memory;

extern const tsr_cost_cpu tsr_cost_cpu_default;
extern const tsr_cost_memory tsr_cost_memory_default;
extern const tsr_cost_suitesparse tsr_cost_suitesparse_default;

#endif
