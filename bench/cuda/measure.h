// Times, bounds and errors on the device.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "bench/cuda/matrices.h"
#include "src/format/blocks/formats.h"

// Median milliseconds of `run` by events, after warm-up; -1 when it fails.  At most `budget_ms` are spent, at least 3 runs.
double median_ms(const std::function<bool()> &run, double budget_ms = 250);

// The same for work that ends on the host (conversions): wall clock.
double median_wall_ms(const std::function<bool()> &run, int repeats);

// Milliseconds to touch every B row that A's entries name, in A's order, and nothing else (g1 of a row of n floats).
double gather_ms(const Csr &a, int64_t n);

// Milliseconds to read A, B and write C once at the bandwidth of a large copy of this device.
double compulsory_ms(const Csr &a, int64_t n, int element_size);

// C = A B in FP64 from FP32 operands.
void reference(double *c, const Csr &a, const float *b, int64_t n);

// || out - exact || / || exact ||; out is FP32 (FP64 when is_double).
double relative_error(const void *out, bool is_double, const double *exact, int64_t count);
// The same bytes?
bool same_bits(const void *a, const void *b, size_t bytes);

// Uniform in [-1, 1).
void fill_uniform(float *x, int64_t n, uint64_t seed);
void to_number(void *out, tsr_number number, const float *x, int64_t n);
void poison(void *p, size_t bytes);
