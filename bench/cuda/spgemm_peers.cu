// cuSPARSE's SpGEMM as its samples call it; buffers come from the stream's pool, which keeps what is freed.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/spgemm_peers.h"

#include <cuda_runtime.h>
#include <cusparse.h>

#include "bench/cuda/measure.h"

namespace {

cusparseHandle_t handle()
{
    static cusparseHandle_t made = [] {
        cusparseHandle_t h = nullptr;
        cusparseCreate(&h);
        return h;
    }();
    return made;
}

// Buffers of one product.
class Buffers {
  public:
    explicit Buffers(PeerMemory *memory) : counted(memory) {}
    ~Buffers()
    {
        while (!held.empty())
            drop(held.back().first);
    }
    bool take(void **p, size_t bytes)
    {
        *p = nullptr;
        if (cudaMallocAsync(p, bytes ? bytes : 1, nullptr) != cudaSuccess) {
            cudaGetLastError();
            return false;
        }
        counted->now += bytes;
        counted->most = counted->now > counted->most ? counted->now : counted->most;
        held.push_back({*p, bytes});
        return true;
    }
    void drop(void *p)
    {
        for (size_t k = 0; k < held.size(); k++)
            if (held[k].first == p) {
                cudaFreeAsync(p, nullptr);
                counted->now -= held[k].second;
                held.erase(held.begin() + long(k));
                return;
            }
    }
    // Somebody else frees it.
    void forget(void *p)
    {
        for (size_t k = 0; k < held.size(); k++)
            if (held[k].first == p)
                held.erase(held.begin() + long(k));
    }

  private:
    PeerMemory *counted;
    std::vector<std::pair<void *, size_t>> held;
};

cusparseSpMatDescr_t descriptor(const PeerMatrix &a, bool fp64)
{
    cusparseSpMatDescr_t d = nullptr;
    cusparseCreateCsr(&d, a.nrows, a.ncols, a.nvals, a.p, a.i, a.x, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                      fp64 ? CUDA_R_64F : CUDA_R_32F);
    return d;
}

// Descriptors of a product, and its calls.
struct Call {
    cusparseSpMatDescr_t a, b, c;
    cusparseSpGEMMDescr_t d = nullptr;
    cudaDataType type;
    cusparseSpGEMMAlg_t algorithm;
    double one64 = 1, zero64 = 0;
    float one32 = 1, zero32 = 0;
    Buffers buffers;

    Call(const PeerMatrix &x, const PeerMatrix &y, const PeerMatrix &z, bool fp64, cusparseSpGEMMAlg_t which, PeerMemory *memory)
        : a(descriptor(x, fp64)), b(descriptor(y, fp64)), c(descriptor(z, fp64)), type(fp64 ? CUDA_R_64F : CUDA_R_32F), algorithm(which),
          buffers(memory)
    {
        cusparseSpGEMM_createDescr(&d);
    }
    ~Call()
    {
        cusparseSpGEMM_destroyDescr(d);
        cusparseDestroySpMat(a);
        cusparseDestroySpMat(b);
        cusparseDestroySpMat(c);
    }
    const void *one() const { return type == CUDA_R_64F ? static_cast<const void *>(&one64) : &one32; }
    const void *zero() const { return type == CUDA_R_64F ? static_cast<const void *>(&zero64) : &zero32; }

    static constexpr cusparseOperation_t keep = CUSPARSE_OPERATION_NON_TRANSPOSE;
    cusparseStatus_t estimate_work(size_t *bytes, void *p) { return cusparseSpGEMM_workEstimation(handle(), keep, keep, one(), a, b, zero(), c, type, algorithm, d, bytes, p); }
    cusparseStatus_t compute(size_t *bytes, void *p) { return cusparseSpGEMM_compute(handle(), keep, keep, one(), a, b, zero(), c, type, algorithm, d, bytes, p); }
    cusparseStatus_t estimate_memory(size_t *third, void *p, size_t *second)
    {
        return cusparseSpGEMM_estimateMemory(handle(), keep, keep, one(), a, b, zero(), c, type, algorithm, d, 0.2f, third, p, second);
    }
    cusparseStatus_t copy() { return cusparseSpGEMM_copy(handle(), keep, keep, one(), a, b, zero(), c, type, algorithm, d); }

    // A first call asks how much, the second does it.
    template <class F> bool twice(const F &call, void **p = nullptr)
    {
        size_t bytes = 0;
        void *buffer = nullptr;
        bool ok = call(&bytes, nullptr) == CUSPARSE_STATUS_SUCCESS && buffers.take(&buffer, bytes) && call(&bytes, buffer) == CUSPARSE_STATUS_SUCCESS;
        if (p)
            *p = buffer;
        return ok;
    }
    bool set_size(PeerMatrix *out, bool fp64)
    {
        int64_t rows, cols;
        return cusparseSpMatGetSize(c, &rows, &cols, &out->nvals) == CUSPARSE_STATUS_SUCCESS &&
               buffers.take(reinterpret_cast<void **>(&out->i), size_t(out->nvals) * 4) &&
               buffers.take(&out->x, size_t(out->nvals) * (fp64 ? 8 : 4)) &&
               cusparseCsrSetPointers(c, out->p, out->i, out->x) == CUSPARSE_STATUS_SUCCESS;
    }
};

bool run(Call &call, PeerMatrix *c, bool fp64)
{
    auto work = [&](size_t *bytes, void *p) { return call.estimate_work(bytes, p); };
    auto compute = [&](size_t *bytes, void *p) { return call.compute(bytes, p); };
    if (!call.twice(work))
        return false;
    if (call.algorithm == CUSPARSE_SPGEMM_ALG1) {
        if (!call.twice(compute))
            return false;
    } else {
        size_t second = 0;
        void *third;
        if (!call.twice([&](size_t *bytes, void *p) { return call.estimate_memory(bytes, p, &second); }, &third))
            return false;
        call.buffers.drop(third);
        void *buffer;
        if (!call.buffers.take(&buffer, second) || call.compute(&second, buffer) != CUSPARSE_STATUS_SUCCESS)
            return false;
    }
    return call.set_size(c, fp64) && call.copy() == CUSPARSE_STATUS_SUCCESS;
}

} // namespace

const std::vector<std::string> &peer_algorithms()
{
    static const std::vector<std::string> names = {"ALG1", "ALG2", "ALG3"};
    return names;
}

bool peer_multiply(PeerMatrix *c, const std::string &algorithm, const PeerMatrix &a, const PeerMatrix &b, bool fp64, PeerMemory *memory)
{
    *c = {a.nrows, b.ncols, 0, nullptr, nullptr, nullptr};
    Buffers offsets(memory);
    if (!offsets.take(reinterpret_cast<void **>(&c->p), size_t(c->nrows + 1) * 4))
        return false;
    auto which = algorithm == "ALG1" ? CUSPARSE_SPGEMM_ALG1 : algorithm == "ALG2" ? CUSPARSE_SPGEMM_ALG2 : CUSPARSE_SPGEMM_ALG3;
    Call call(a, b, *c, fp64, which, memory);
    if (!run(call, c, fp64) || cudaDeviceSynchronize() != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    offsets.forget(c->p);
    call.buffers.forget(c->i);
    call.buffers.forget(c->x);
    return true;
}

void peer_free(PeerMatrix *c, PeerMemory *memory)
{
    cudaFreeAsync(c->p, nullptr);
    cudaFreeAsync(c->i, nullptr);
    cudaFreeAsync(c->x, nullptr);
    memory->now = 0;
    *c = {};
}

double peer_reuse_ms(const PeerMatrix &a, const PeerMatrix &b, bool fp64, double budget_ms, PeerMemory *memory)
{
    PeerMatrix c = {a.nrows, b.ncols, 0, nullptr, nullptr, nullptr};
    Buffers offsets(memory);
    if (!offsets.take(reinterpret_cast<void **>(&c.p), size_t(c.nrows + 1) * 4))
        return -1;
    Call call(a, b, c, fp64, CUSPARSE_SPGEMM_DEFAULT, memory);
    constexpr auto keep = Call::keep;
    auto alg = CUSPARSE_SPGEMM_DEFAULT;
    void *first = nullptr;
    bool ok = call.twice([&](size_t *bytes, void *p) {
        return cusparseSpGEMMreuse_workEstimation(handle(), keep, keep, call.a, call.b, call.c, alg, call.d, bytes, p);
    }, &first);
    size_t bytes[3] = {0, 0, 0};
    void *buffer[3] = {nullptr, nullptr, nullptr};
    auto nnz = [&] {
        return cusparseSpGEMMreuse_nnz(handle(), keep, keep, call.a, call.b, call.c, alg, call.d, &bytes[0], buffer[0], &bytes[1], buffer[1],
                                       &bytes[2], buffer[2]) == CUSPARSE_STATUS_SUCCESS;
    };
    ok = ok && nnz();
    for (int k = 0; k < 3 && ok; k++)
        ok = call.buffers.take(&buffer[k], bytes[k]);
    ok = ok && nnz();
    if (ok) {
        call.buffers.drop(first);
        call.buffers.drop(buffer[0]);
    }
    ok = ok && call.set_size(&c, fp64);
    ok = ok && call.twice([&](size_t *size, void *p) {
        return cusparseSpGEMMreuse_copy(handle(), keep, keep, call.a, call.b, call.c, alg, call.d, size, p);
    });
    double ms = -1;
    if (ok) {
        call.buffers.drop(buffer[1]);
        ms = median_ms([&] {
            return cusparseSpGEMMreuse_compute(handle(), keep, keep, call.one(), call.a, call.b, call.zero(), call.c, call.type, alg, call.d) ==
                   CUSPARSE_STATUS_SUCCESS;
        }, budget_ms);
    }
    cudaGetLastError();
    return ms;
}
