// Matrices with rows in another order.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bench/cuda/matrices.h"

// Rows and columns get new numbers at random (of a square matrix, the same ones); "-shuffled" is added to the name.
void shuffle(Csr &a, uint64_t seed);

// The matrix with its rows in the order `which` (lpa, tca, loa, auto), a.row telling where they belong.  ms: making and applying it, and
// for auto the decision.  none, and auto where that does not pay: no arrays of its own (p is a.p).
Csr reordered(const Csr &a, const std::string &which, double *ms);
