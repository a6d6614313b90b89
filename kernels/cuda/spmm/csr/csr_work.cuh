// The work lists of the CUDA-core kernels, made by csr_work.cu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"

/* Item t covers entries [entry of t, entry of t + 1).  partial < 0: all of rows [row of t, row of t + 1) (csr_skipped: which
 * somebody else computes); otherwise a part of one long row, whose sum is partial sum number `partial`.  The list ends with one
 * more item: {nvals, nrows, -1}. */
struct alignas(16) csr_item {
    int64_t entry;
    uint32_t row;
    int32_t partial;
};

constexpr int32_t csr_skipped = -2;

/* A row whose partial sums are those from `first` up to the next split row's.  One more at the end: {npartials, 0}. */
struct csr_split {
    int64_t first;
    int64_t row;
};

/* Rows in one item of SpMM at most. */
constexpr int spmm_item_rows = 32;

/* SpMV: of entries [32 k, 32 k + 32).  Bit j: the j-th of them is the last one of its row; row: that of the first of them, counting
 * rows with entries only. */
struct csr_ends {
    uint32_t bits, row;
};
