// Matrices with rows in another order.  SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/orders.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"
#include "kernels/cuda/common/cuda_kernels.h"
#include "src/format/order/row_order.h"

namespace {

void must(tsr_status status, const char *what)
{
    if (status == TSR_OK)
        return;
    std::fprintf(stderr, "%s: status %d\n", what, int(status));
    std::exit(1);
}

tsr_source source_of(const Csr &a)
{
    tsr_source s = {};
    s.nrows = a.nrows, s.ncols = a.ncols, s.nvals = a.nvals;
    s.p = a.p, s.i = a.i, s.x = a.x, s.number = TSR_NUMBER_FP32;
    return s;
}

// The arrays of `s` become those of a.
void adopt(Csr &a, const tsr_source &s)
{
    a.p = const_cast<int64_t *>(s.p);
    a.i = const_cast<uint32_t *>(s.i);
    a.x = static_cast<float *>(const_cast<void *>(s.x));
}

Csr taken(const Csr &a, const uint32_t *rows)
{
    Csr out = a;
    tsr_source from = source_of(a), to;
    must(tsr_cuda_take_rows(&to, &from, rows, a.nrows, nullptr), "tsr_cuda_take_rows");
    adopt(out, to);
    return out;
}

uint32_t *uploaded(const std::vector<uint32_t> &list)
{
    auto *p = device_array<uint32_t>(int64_t(list.size()));
    CHECK(cudaMemcpy(p, list.data(), list.size() * sizeof list[0], cudaMemcpyHostToDevice));
    return p;
}

std::vector<uint32_t> random_list(int64_t n, uint64_t seed)
{
    std::vector<uint32_t> list(static_cast<size_t>(n));
    std::iota(list.begin(), list.end(), 0u);
    std::shuffle(list.begin(), list.end(), std::mt19937_64(seed));
    return list;
}

__global__ void rename(uint32_t *i, const uint32_t *name, int64_t nvals)
{
    for (int64_t e = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; e < nvals; e += int64_t(gridDim.x) * blockDim.x)
        i[e] = name[i[e]];
}

// Columns ascend again: the other orientation, twice.
void sort_rows(Csr &a)
{
    tsr_cuda_csr in = {}, other, out;
    in.nrows = a.nrows, in.ncols = a.ncols, in.nvals = a.nvals;
    in.p = a.p, in.i = a.i, in.x = a.x;
    must(tsr_cuda_flip(&other, &in, 4, nullptr), "tsr_cuda_flip");
    must(tsr_cuda_flip(&out, &other, 4, nullptr), "tsr_cuda_flip");
    for (void *p : {static_cast<void *>(other.p), static_cast<void *>(other.i), other.x})
        cudaFree(p);
    release_arrays(a);
    a.p = out.p, a.i = out.i, a.x = static_cast<float *>(out.x);
}

bool pays(const tsr_source &s, const uint32_t *order)
{
    double own[5], ordered[5];
    if (s.nvals < TSR_ORDER_LEAST_ENTRIES)
        return false;
    must(tsr_cuda_sample_vectors(own, &s, nullptr, nullptr), "tsr_cuda_sample_vectors");
    must(tsr_cuda_sample_vectors(ordered, &s, order, nullptr), "tsr_cuda_sample_vectors");
    return tsr_order_pays(own, ordered);
}

} // namespace

void shuffle(Csr &a, uint64_t seed)
{
    std::vector<uint32_t> rows = random_list(a.nrows, seed), name = random_list(a.ncols, seed + 1);
    if (a.nrows == a.ncols)
        for (size_t k = 0; k < rows.size(); k++)
            name[rows[k]] = uint32_t(k);
    uint32_t *device_rows = uploaded(rows), *device_name = uploaded(name);
    Csr out = taken(a, device_rows);
    rename<<<1024, 256>>>(out.i, device_name, out.nvals);
    CHECK(cudaGetLastError());
    sort_rows(out);
    release(a);
    a = out;
    a.name += "-shuffled";
    CHECK(cudaFree(device_rows));
    CHECK(cudaFree(device_name));
}

Csr reordered(const Csr &a, const std::string &which, double *ms)
{
    *ms = 0;
    if (which == "none")
        return a;
    tsr_source s = source_of(a);
    auto *order = device_array<uint32_t>(a.nrows);
    Csr out = a;
    bool good = true;
    *ms = median_wall_ms([&] {
        if (out.p != a.p)
            release_arrays(out);
        out = a;
        must(tsr_cuda_make_order(order, &s, which == "tca" ? TSR_REORDER_TCA : which == "loa" ? TSR_REORDER_LOA : TSR_REORDER_LPA, nullptr),
             "tsr_cuda_make_order");
        good = which != "auto" || pays(s, order);
        if (good)
            out = taken(a, order);
        return tsr_cuda_wait(nullptr) == TSR_OK;
    }, 3);
    if (good)
        out.row = order;
    else
        CHECK(cudaFree(order));
    return out;
}
