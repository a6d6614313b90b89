// A CUDA call that fails ends the benchmark.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

inline void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}
#define CHECK(call) check((call), #call)

template <class T> T *device_array(int64_t n)
{
    void *p = nullptr;
    CHECK(cudaMalloc(&p, size_t(n > 0 ? n : 1) * sizeof(T)));
    return static_cast<T *>(p);
}
