// cuSPARSE beside our kernels.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bench/cuda/matrices.h"
#include "src/format/blocks/formats.h"

struct PeerTime {
    double ms = -1;         // of the best algorithm
    const char *best = "";  // its name
};

// C = A B, row-major, n columns, values x and b stored as `number` (FP16 and BF16: FP32 arithmetic); the best of CSR_ALG1, 2, 3 and the
// default, each with preprocess.  The result of the best is left in c.
PeerTime cusparse_spmm(const Csr &a, const void *x, const void *b, void *c, int64_t n, tsr_number number);

// The same of complex numbers, of FP64 or FP32.
PeerTime cusparse_complex(const Csr &a, const void *x, const void *b, void *c, int64_t n, bool wide);

// The entries of S of A B, A nrows x k row-major, B by column (k x ncols, every column contiguous); FP32 or FP64, with preprocess.
PeerTime cusparse_sddmm(const Csr &s, const void *a, const void *b, void *values, int64_t k, tsr_number number, double budget_ms);

// y = A v; FP32 or FP64; the best of both CSR algorithms, with preprocess.
PeerTime cusparse_spmv(const Csr &a, const void *x, const void *v, void *y, tsr_number number);
