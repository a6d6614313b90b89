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
    uint32_t *row = nullptr; // rows are held in another order: the row of C of each; null: their own
};

// Those of "all".  Of mixed density, by name only: periphery (dense communities, sparse periphery), mesh-tail (FEM mesh, power-law tail).
const std::vector<std::string> &generated_names();

// `shrink` divides the number of rows and entries (about); 1 = the full size.  Exits with a message when memory runs out.
Csr generate(const std::string &name, int shrink);

// Keys row << 32 | column on the device, ~0: none.  Sorted without duplicates and ~0; *kept: how many are left.  Returns keys.
uint64_t *unique_keys(uint64_t *keys, int64_t count, int64_t *kept);
// n x n, n rounded up to a multiple of 16, from such keys, which are freed.
Csr csr_of(const std::string &name, int64_t n, uint64_t *keys, int64_t count);

// From host arrays; values replaced by uniform ones when `values` is null.
Csr upload(const std::string &name, int64_t nrows, int64_t ncols, const std::vector<int64_t> &p, const std::vector<uint32_t> &i,
           const std::vector<float> &x);
void release(Csr &matrix);
// p, i and x only.
void release_arrays(Csr &matrix);
