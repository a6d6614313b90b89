/* cuBLAS is loaded when the first dense product comes: neither building nor loading the plug-in needs it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/gemm.h"

#include <dlfcn.h>
#include <limits.h>

/* Of cublas_v2.h, which need not be there. */
typedef enum blas_transpose { BLAS_N, BLAS_T } blas_transpose;
enum { BLAS_SUCCESS = 0, BLAS_ALLOC_FAILED = 3, BLAS_PEDANTIC_MATH = 2 };
typedef int (*create_function)(void **handle);
typedef int (*destroy_function)(void *handle);
typedef int (*set_stream_function)(void *handle, void *stream);
typedef int (*set_math_function)(void *handle, int mode);
typedef int (*gemm32_function)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const float *alpha, const float *a,
                               int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
typedef int (*gemm64_function)(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const double *alpha, const double *a,
                               int lda, const double *b, int ldb, const double *beta, double *c, int ldc);

/* dlsym gives an object pointer where a function pointer is meant. */
typedef union symbol {
    void *address;
    create_function create;
    destroy_function destroy;
    set_stream_function set_stream;
    set_math_function set_math;
    gemm32_function gemm32;
    gemm64_function gemm64;
} symbol;

/* Guarded by tsr_cuda_all.busy. */
static struct {
    bool tried;
    void *handle; /* NULL: there is no cuBLAS */
    symbol gemm32, gemm64;
} blas;

static void *open_library(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    void *library = NULL;
    for (int k = 0; k < 2 && !library; k++)
        library = dlopen(names[k], RTLD_LAZY | RTLD_LOCAL);
    return library;
}

/* No TF32, and no other algorithm from one call to the next. */
static void *new_handle(void *library, void *stream)
{
    symbol create = {dlsym(library, "cublasCreate_v2")}, destroy = {dlsym(library, "cublasDestroy_v2")};
    symbol set_stream = {dlsym(library, "cublasSetStream_v2")}, set_math = {dlsym(library, "cublasSetMathMode")};
    void *handle = NULL;
    if (!create.address || !destroy.address || !set_stream.address || !set_math.address || create.create(&handle) != BLAS_SUCCESS)
        return NULL;
    if (set_stream.set_stream(handle, stream) == BLAS_SUCCESS && set_math.set_math(handle, BLAS_PEDANTIC_MATH) == BLAS_SUCCESS)
        return handle;
    destroy.destroy(handle);
    return NULL;
}

static void load(void *stream)
{
    void *library = open_library();
    blas.tried = true;
    if (!library)
        return;
    blas.gemm32.address = dlsym(library, "cublasSgemm_v2");
    blas.gemm64.address = dlsym(library, "cublasDgemm_v2");
    if (blas.gemm32.address && blas.gemm64.address)
        blas.handle = new_handle(library, stream);
}

/* cuBLAS thinks by column. */
typedef struct operand {
    const void *x;
    int transpose, ld;
} operand;

static operand operand_of(const void *x, bool as_it_is, int64_t rows, int64_t cols)
{
    return (operand){x, as_it_is ? BLAS_N : BLAS_T, (int)(as_it_is ? rows : cols)};
}

static tsr_status status_of(int blas_status)
{
    return blas_status == BLAS_SUCCESS ? TSR_OK : blas_status == BLAS_ALLOC_FAILED ? TSR_OUT_OF_MEMORY : TSR_INTERNAL_ERROR;
}

static tsr_status multiply(tsr_type type, operand a, operand b, void *c, int m, int n, int k)
{
    static const float one32 = 1, zero32 = 0;
    static const double one64 = 1, zero64 = 0;
    if (type == TSR_FP32)
        return status_of(blas.gemm32.gemm32(blas.handle, a.transpose, b.transpose, m, n, k, &one32, a.x, a.ld, b.x, b.ld, &zero32, c, m));
    return status_of(blas.gemm64.gemm64(blas.handle, a.transpose, b.transpose, m, n, k, &one64, a.x, a.ld, b.x, b.ld, &zero64, c, m));
}

tsr_status tsr_cuda_gemm(const tsr_dense_product *p, const void *a, const void *b, void *c, void *stream)
{
    if ((p->type != TSR_FP32 && p->type != TSR_FP64) || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return TSR_DECLINED;
    if (!blas.tried)
        load(stream);
    if (!blas.handle)
        return TSR_DECLINED;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    if (p->c_by_col)
        return multiply(p->type, operand_of(a, p->a_by_col, p->m, p->k), operand_of(b, p->b_by_col, p->k, p->n), c, m, n, k);
    return multiply(p->type, operand_of(b, !p->b_by_col, p->n, p->k), operand_of(a, !p->a_by_col, p->k, p->m), c, n, m, k);
}
