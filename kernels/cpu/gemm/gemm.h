/* The inner loops of a product of full matrices, as their driver sees them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_GEMM_H
#define TSR_CPU_GEMM_H

#include "kernels/cpu/common/template.h"

/* A strip of A or B: `width` rows of A (columns of B), element (w, l) at from[w * across + l * along]. */
typedef struct tsr_gemm_strip {
    const void *from;
    int64_t across, along;
    int64_t width, depth;
} tsr_gemm_strip;

/* rows x columns of C, element (i, j) at c[i * down + j * across]. */
typedef struct tsr_gemm_tile {
    const void *a, *b; /* packed strips */
    int64_t depth;
    void *c;
    int64_t down, across;
    int64_t rows, columns;
    bool add; /* to what C holds */
} tsr_gemm_tile;

/* One type and instruction set.  A packed strip holds its elements of l = 0, then of l = 1, …, always `rows` (A) or `columns` (B) of
 * them; those beyond `width` are zero, and what they make is not stored. */
typedef struct tsr_gemm_kernel {
    int64_t rows, columns; /* of a tile */
    void (*pack_a)(void *to, const tsr_gemm_strip *strip);
    void (*pack_b)(void *to, const tsr_gemm_strip *strip);
    void (*multiply)(const tsr_gemm_tile *tile);
} tsr_gemm_kernel;

/* FP32, FP64. */
typedef struct tsr_gemm_table {
    tsr_gemm_kernel fp32, fp64;
} tsr_gemm_table;

TSR_DECLARE_ISA(extern const tsr_gemm_table, tsr_gemm_table);

#endif
