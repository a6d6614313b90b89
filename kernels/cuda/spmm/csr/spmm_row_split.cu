// SpMM by whole rows (row splitting of Yang, Buluç and Owens, "Design principles for sparse matrix multiplication on the GPU", 2018): a warp
// computes 32 columns of a row of C.  Its lanes load 32 entries of A's row together and hand them round one by one, so that the loads of B
// are whole lines.  Nothing is balanced: csr cuts long rows and shares warps among short ones, this one needs no list of work.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

namespace {

constexpr int warps = 4; // of a block of threads
constexpr unsigned all = 0xffffffffu;

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ double widen(double x) { return x; }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class Sum> struct row_job {
    int64_t nrows, tiles, n, ldb, ldc;
    const int64_t *p;
    const uint32_t *i;
    const void *x, *b; // x: NULL: every value is iso
    Sum *c;
    Sum iso, alpha, beta;
};

/* The lane's column of one row: entries in order, like one thread would add them. */
template <class Element, class Sum> __device__ __forceinline__ Sum row_sum(const row_job<Sum> &q, int64_t row, int64_t column)
{
    const int lane = threadIdx.x % 32;
    const Element *x = static_cast<const Element *>(q.x), *b = static_cast<const Element *>(q.b) + column;
    const int64_t end = q.p[row + 1];
    Sum sum = 0;
    for (int64_t first = q.p[row]; first < end; first += 32) {
        const int count = static_cast<int>(min(end - first, static_cast<int64_t>(32)));
        const uint32_t mine = lane < count ? q.i[first + lane] : 0;
        const Sum value = x && lane < count ? Sum(widen(x[first + lane])) : q.iso;
        for (int k = 0; k < count; k++) {
            const int64_t at = __shfl_sync(all, mine, k);
            const Sum a = __shfl_sync(all, value, k);
            if (column < q.n)
                sum += a * Sum(widen(b[at * q.ldb]));
        }
    }
    return sum;
}

template <class Element, class Sum> __global__ void __launch_bounds__(32 * warps) split_rows(row_job<Sum> q)
{
    const int64_t task = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32, row = task / q.tiles;
    const int64_t column = task % q.tiles * 32 + threadIdx.x % 32;
    if (row >= q.nrows)
        return;
    const Sum sum = row_sum<Element, Sum>(q, row, column);
    if (column >= q.n)
        return;
    Sum *c = q.c + row * q.ldc + column;
    *c = q.beta != 0 ? q.alpha * sum + q.beta * *c : q.alpha * sum;
}

template <class Element, class Sum> tsr_status launch(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *p)
{
    row_job<Sum> q = {a->nrows, (p->n + 31) / 32, p->n, p->ldb, p->ldc, a->p, a->i, a->x, p->b, static_cast<Sum *>(p->c), 0,
                      Sum(p->alpha), Sum(p->beta)};
    memcpy(&q.iso, &p->iso, sizeof q.iso);
    const int64_t blocks = (q.nrows * q.tiles + warps - 1) / warps;
    if (blocks > INT32_MAX)
        return TSR_DECLINED;
    auto kernel = split_rows<Element, Sum>;
    if (blocks > 0)
        TSR_LAUNCH(kernel, static_cast<unsigned>(blocks), 32 * warps, 0, p->stream, q);
    return launch_status();
}

} // namespace

extern "C" tsr_cuda_csr_kernel tsr_cuda_spmm_row_split;

extern "C" tsr_status tsr_cuda_spmm_row_split(const tsr_cuda_csr *a, const tsr_cuda_csr_spmm *p)
{
    if (p->semiring.add != TSR_ADD_PLUS || p->semiring.mul != TSR_MUL_TIMES || p->b_present || p->c_present)
        return TSR_DECLINED;
    if (p->half)
        return p->number == TSR_NUMBER_FP16 ? launch<__half, float>(a, p) : launch<__nv_bfloat16, float>(a, p);
    switch (p->semiring.type) {
    case TSR_FP32: return launch<float, float>(a, p);
    case TSR_FP64: return launch<double, double>(a, p);
    default: return TSR_DECLINED;
    }
}
