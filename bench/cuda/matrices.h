// The generated matrices of the GPU benchmark: graphs and meshes with the densities of well-known data sets.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// CSR on the device; rows sorted, no duplicates, values uniform in [-1, 1).
struct Csr {
    std::string name;
    int64_t nrows = 0, ncols = 0, nvals = 0;
    int64_t *p = nullptr;
    uint32_t *i = nullptr;
    float *x = nullptr;
};

const std::vector<std::string> &generated_names();

// `shrink` divides the number of rows and entries (about); 1 = the full size.  Exits with a message when memory runs out.
Csr generate(const std::string &name, int shrink);

// From host arrays; values replaced by uniform ones when `values` is null.
Csr upload(const std::string &name, int64_t nrows, int64_t ncols, const std::vector<int64_t> &p, const std::vector<uint32_t> &i,
           const std::vector<float> &x);
void release(Csr &matrix);
