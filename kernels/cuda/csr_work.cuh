// The work lists of the CUDA-core kernels, made by csr_work.cu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/cuda_kernels.h"

/* SpMM and SpMV: item t covers entries [entry of t, entry of t + 1).  partial < 0: all of rows [row of t, row of t + 1);
 * otherwise a part of one long row, whose sum is partial sum number `partial`.  csr_skipped: rows that somebody else computes.
 * Segments: item t is a part of a long row; it ends where the next one of the row begins, or with the row.
 * The list ends with one more item: {nvals, nrows, -1}. */
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

/* Rows in one item at most. */
constexpr int spmm_item_rows = 32;

/* Rows of SpMV by length: class c has rows of at most the c-th length that are in no earlier class; longer ones are segments. */
constexpr int spmv_classes = 7;
#define SPMV_CLASS_LENGTHS { 4, 8, 12, 32, 96, 192, 8192 }
