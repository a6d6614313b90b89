// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/peers.h"

#include <cusparse.h>

#include "bench/cuda/check.cuh"
#include "bench/cuda/measure.h"

namespace {

cusparseHandle_t handle()
{
    static cusparseHandle_t one = nullptr;
    if (!one && cusparseCreate(&one) != CUSPARSE_STATUS_SUCCESS) {
        std::fprintf(stderr, "cuSPARSE does not start\n");
        std::exit(1);
    }
    return one;
}

cudaDataType type_of(tsr_number number)
{
    switch (number) {
    case TSR_NUMBER_FP64: return CUDA_R_64F;
    case TSR_NUMBER_FP16: return CUDA_R_16F;
    case TSR_NUMBER_BF16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
    }
}

struct Scalars {
    double one64[2] = {1, 0}, zero64[2] = {0, 0}; // and imaginary parts
    float one32[2] = {1, 0}, zero32[2] = {0, 0};
    bool wide, complex = false;
    const void *alpha() const { return wide ? static_cast<const void *>(one64) : one32; }
    const void *beta() const { return wide ? static_cast<const void *>(zero64) : zero32; }
    cudaDataType compute() const { return complex ? (wide ? CUDA_C_64F : CUDA_C_32F) : wide ? CUDA_R_64F : CUDA_R_32F; }
};

// cuSPARSE wants row pointers and columns of one size here.
int32_t *narrow_pointers(const Csr &a)
{
    std::vector<int64_t> p(size_t(a.nrows) + 1);
    CHECK(cudaMemcpy(p.data(), a.p, p.size() * 8, cudaMemcpyDeviceToHost));
    std::vector<int32_t> q(p.begin(), p.end());
    int32_t *device = device_array<int32_t>(a.nrows + 1);
    CHECK(cudaMemcpy(device, q.data(), q.size() * 4, cudaMemcpyHostToDevice));
    return device;
}

cusparseSpMatDescr_t matrix_of(const Csr &a, int32_t *p, const void *x, cudaDataType type)
{
    cusparseSpMatDescr_t matrix = nullptr;
    cusparseCreateCsr(&matrix, a.nrows, a.ncols, a.nvals, p, a.i, const_cast<void *>(x), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_BASE_ZERO, type);
    return matrix;
}

// One product as cuSPARSE wants it, prepared by one of its algorithms; with a matrix of its own: preprocess leaves its results in it.
struct Prepared {
    const Scalars &s;
    cusparseSpMMAlg_t algorithm;
    cusparseSpMatDescr_t a = nullptr;
    cusparseDnMatDescr_t b = nullptr, c = nullptr;
    void *scratch = nullptr;
    bool good;
    static constexpr auto keep = CUSPARSE_OPERATION_NON_TRANSPOSE;

    Prepared(const Scalars &scalars, cusparseSpMMAlg_t id, const Csr &m, int32_t *p, const void *x, const void *dense, void *out, int64_t n,
             cudaDataType type)
        : s(scalars), algorithm(id), a(matrix_of(m, p, x, type))
    {
        size_t bytes = 0;
        cusparseCreateDnMat(&b, m.ncols, n, n, const_cast<void *>(dense), type, CUSPARSE_ORDER_ROW);
        cusparseCreateDnMat(&c, m.nrows, n, n, out, type, CUSPARSE_ORDER_ROW);
        good = cusparseSpMM_bufferSize(handle(), keep, keep, s.alpha(), a, b, s.beta(), c, s.compute(), id, &bytes) == CUSPARSE_STATUS_SUCCESS &&
               cudaMalloc(&scratch, bytes + 16) == cudaSuccess &&
               cusparseSpMM_preprocess(handle(), keep, keep, s.alpha(), a, b, s.beta(), c, s.compute(), id, scratch) == CUSPARSE_STATUS_SUCCESS;
    }
    Prepared(const Prepared &) = delete;
    ~Prepared()
    {
        cudaGetLastError();
        cudaFree(scratch);
        cusparseDestroySpMat(a);
        cusparseDestroyDnMat(b);
        cusparseDestroyDnMat(c);
    }
    double time(double budget_ms) const
    {
        return !good ? -1 : median_ms([&] {
            return cusparseSpMM(handle(), keep, keep, s.alpha(), a, b, s.beta(), c, s.compute(), algorithm, scratch) == CUSPARSE_STATUS_SUCCESS;
        }, budget_ms);
    }
};

PeerTime best_spmm(const Scalars &s, cudaDataType type, const Csr &a, const void *x, const void *b, void *c, int64_t n)
{
    struct Algorithm {
        cusparseSpMMAlg_t id;
        const char *name;
    } const algorithms[] = {{CUSPARSE_SPMM_CSR_ALG2, "CSR_ALG2"}, {CUSPARSE_SPMM_CSR_ALG1, "CSR_ALG1"},
                            {CUSPARSE_SPMM_CSR_ALG3, "CSR_ALG3"}, {CUSPARSE_SPMM_ALG_DEFAULT, "DEFAULT"}};
    int32_t *p = narrow_pointers(a);
    PeerTime best;
    const Algorithm *fastest = nullptr;
    for (const Algorithm &algorithm : algorithms) {
        double ms = Prepared(s, algorithm.id, a, p, x, b, c, n, type).time(0); // few runs: enough to choose
        if (ms > 0 && (!fastest || ms < best.ms)) {
            best = {ms, algorithm.name};
            fastest = &algorithm;
        }
    }
    if (fastest) {
        double ms = Prepared(s, fastest->id, a, p, x, b, c, n, type).time(80);
        best.ms = ms > 0 && ms < best.ms ? ms : best.ms;
    }
    cudaFree(p);
    return best;
}

} // namespace

PeerTime cusparse_spmm(const Csr &a, const void *x, const void *b, void *c, int64_t n, tsr_number number)
{
    Scalars s;
    s.wide = number == TSR_NUMBER_FP64;
    return best_spmm(s, type_of(number), a, x, b, c, n);
}

PeerTime cusparse_complex(const Csr &a, const void *x, const void *b, void *c, int64_t n, bool wide)
{
    Scalars s;
    s.wide = wide;
    s.complex = true;
    return best_spmm(s, s.compute(), a, x, b, c, n);
}

PeerTime cusparse_spmv(const Csr &a, const void *x, const void *v, void *y, tsr_number number)
{
    struct Algorithm {
        cusparseSpMVAlg_t id;
        const char *name;
    } const algorithms[] = {{CUSPARSE_SPMV_CSR_ALG1, "CSR_ALG1"}, {CUSPARSE_SPMV_CSR_ALG2, "CSR_ALG2"}};
    Scalars s;
    s.wide = number == TSR_NUMBER_FP64;
    cudaDataType type = type_of(number);
    int32_t *p = narrow_pointers(a);
    PeerTime best;
    for (const Algorithm &algorithm : algorithms) {
        cusparseSpMatDescr_t ma = matrix_of(a, p, x, type);
        cusparseDnVecDescr_t mv = nullptr, my = nullptr;
        cusparseCreateDnVec(&mv, a.ncols, const_cast<void *>(v), type);
        cusparseCreateDnVec(&my, a.nrows, y, type);
        const auto keep = CUSPARSE_OPERATION_NON_TRANSPOSE;
        size_t bytes = 0;
        void *scratch = nullptr;
        bool good = cusparseSpMV_bufferSize(handle(), keep, s.alpha(), ma, mv, s.beta(), my, s.compute(), algorithm.id, &bytes) ==
                        CUSPARSE_STATUS_SUCCESS &&
                    cudaMalloc(&scratch, bytes + 16) == cudaSuccess &&
                    cusparseSpMV_preprocess(handle(), keep, s.alpha(), ma, mv, s.beta(), my, s.compute(), algorithm.id, scratch) ==
                        CUSPARSE_STATUS_SUCCESS;
        double ms = -1;
        if (good)
            ms = median_ms([&] {
                return cusparseSpMV(handle(), keep, s.alpha(), ma, mv, s.beta(), my, s.compute(), algorithm.id, scratch) ==
                       CUSPARSE_STATUS_SUCCESS;
            }, 60);
        if (ms > 0 && (best.ms < 0 || ms < best.ms))
            best = {ms, algorithm.name};
        cudaGetLastError();
        cudaFree(scratch);
        cusparseDestroySpMat(ma);
        cusparseDestroyDnVec(mv);
        cusparseDestroyDnVec(my);
    }
    cudaFree(p);
    return best;
}

PeerTime cusparse_sddmm(const Csr &pattern, const void *a, const void *b, void *values, int64_t k, tsr_number number, double budget_ms)
{
    Scalars s;
    s.wide = number == TSR_NUMBER_FP64;
    cudaDataType type = type_of(number);
    int32_t *p = narrow_pointers(pattern);
    cusparseSpMatDescr_t mc = matrix_of(pattern, p, values, type);
    cusparseDnMatDescr_t ma = nullptr, mb = nullptr;
    cusparseCreateDnMat(&ma, pattern.nrows, k, k, const_cast<void *>(a), type, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&mb, k, pattern.ncols, k, const_cast<void *>(b), type, CUSPARSE_ORDER_COL);
    const auto keep = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto algorithm = CUSPARSE_SDDMM_ALG_DEFAULT;
    size_t bytes = 0;
    void *scratch = nullptr;
    PeerTime time;
    if (cusparseSDDMM_bufferSize(handle(), keep, keep, s.alpha(), ma, mb, s.beta(), mc, s.compute(), algorithm, &bytes) ==
            CUSPARSE_STATUS_SUCCESS &&
        cudaMalloc(&scratch, bytes + 16) == cudaSuccess &&
        cusparseSDDMM_preprocess(handle(), keep, keep, s.alpha(), ma, mb, s.beta(), mc, s.compute(), algorithm, scratch) ==
            CUSPARSE_STATUS_SUCCESS)
        time = {median_ms([&] {
            return cusparseSDDMM(handle(), keep, keep, s.alpha(), ma, mb, s.beta(), mc, s.compute(), algorithm, scratch) ==
                   CUSPARSE_STATUS_SUCCESS;
        }, budget_ms), "DEFAULT"};
    cudaGetLastError();
    cudaFree(scratch);
    cudaFree(p);
    cusparseDestroySpMat(mc);
    cusparseDestroyDnMat(ma);
    cusparseDestroyDnMat(mb);
    return time;
}
