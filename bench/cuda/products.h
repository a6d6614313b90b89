// The products of the SpGEMM benchmark.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "bench/cuda/matrices.h"

// A x B; where b has no arrays, it is a.
struct Product {
    std::string name;
    Csr a, b;
    const Csr &right() const { return b.p ? b : a; }
};

// Generated ones: rmat16, rmat18, ms64, ms4096, er, ms4096er, mesh2d, mesh27, fem3, amg-AP, amg-RAP, mcl.
const std::vector<std::string> &generated_products();
// These, and dense-N: 4096 rows of which N places in 100 have an entry; blocks-N: 64 such blocks of 512 on the diagonal.
// Exits with a message where there is no recipe.
Product generate_product(const std::string &name);
// A A, or A A' where A is not square.
Product product_of_file(const std::string &path);
void release(Product &product);
