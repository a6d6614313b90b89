// SDDMM beside cuSPARSE.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bench/cuda/matrices.h"
#include "kernels/cuda/common/cuda_kernels.h"

// The entries of `pattern` of X Y' with rows of k uniform numbers, by the kernels csr (exact and fp64) and stencil (every arithmetic, with
// the time to make the stencil), against FP64; one JSON record a line.  maths: of exact, tf32, fp16, bf16, fp64.
void bench_sddmm(const Csr &pattern, int64_t k, const std::vector<std::string> &maths, const tsr_cuda_device &device, bool peers,
                 double budget_ms, FILE *json);
