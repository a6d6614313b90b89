/* One product by cuSPARSE, from the same operands as our backends: in host memory, the sparse one kept on the device.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer.h"

#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static cusparseHandle_t handle;

static const cusparseOperation_t keep = CUSPARSE_OPERATION_NON_TRANSPOSE;

typedef struct work {
    tsr_peer_work peer;
    const tsr_product *product;
    cudaDataType type;
    size_t size;                  /* of a value */
    int32_t *p, *i;               /* of A, or of the pattern */
    void *x, *a, *b, *c;          /* values of the sparse operand; dense ones; a dense result */
    cusparseSpMatDescr_t sparse;
    cusparseDnMatDescr_t dense_a, dense_b, dense_c;
    cusparseDnVecDescr_t in, out;
    int algorithm;                /* of the operation's own list */
    void *scratch;
    void *result;                 /* in host memory */
    size_t result_bytes;
} work;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- operations ---- */

static const void *scalar(const work *w, int value)
{
    static const float single[2] = {0, 1};
    static const double wide[2] = {0, 1};
    return w->type == CUDA_R_64F ? (const void *)&wide[value] : &single[value];
}

typedef struct algorithm {
    int id;
    const char *name;
} algorithm;

static const algorithm of_spmm[] = {{CUSPARSE_SPMM_CSR_ALG2, "CSR_ALG2"}, {CUSPARSE_SPMM_CSR_ALG1, "CSR_ALG1"},
                                    {CUSPARSE_SPMM_CSR_ALG3, "CSR_ALG3"}, {0, NULL}};
static const algorithm of_spmv[] = {{CUSPARSE_SPMV_CSR_ALG1, "CSR_ALG1"}, {CUSPARSE_SPMV_CSR_ALG2, "CSR_ALG2"}, {0, NULL}};
static const algorithm of_sddmm[] = {{CUSPARSE_SDDMM_ALG_DEFAULT, "ALG_DEFAULT"}, {0, NULL}};

static const algorithm *algorithms(const work *w)
{
    return w->product->op == TSR_OP_SPMM ? of_spmm : w->product->op == TSR_OP_SPMV ? of_spmv : of_sddmm;
}

static cusparseStatus_t ask_scratch(work *w, size_t *bytes)
{
    const void *one = scalar(w, 1), *zero = scalar(w, 0);
    switch (w->product->op) {
    case TSR_OP_SPMM:
        return cusparseSpMM_bufferSize(handle, keep, keep, one, w->sparse, w->dense_b, zero, w->dense_c, w->type,
                                       (cusparseSpMMAlg_t)w->algorithm, bytes);
    case TSR_OP_SPMV:
        return cusparseSpMV_bufferSize(handle, keep, one, w->sparse, w->in, zero, w->out, w->type, (cusparseSpMVAlg_t)w->algorithm, bytes);
    default:
        return cusparseSDDMM_bufferSize(handle, keep, keep, one, w->dense_a, w->dense_b, zero, w->sparse, w->type,
                                        (cusparseSDDMMAlg_t)w->algorithm, bytes);
    }
}

static cusparseStatus_t preprocess(work *w)
{
    const void *one = scalar(w, 1), *zero = scalar(w, 0);
    switch (w->product->op) {
    case TSR_OP_SPMM:
        return cusparseSpMM_preprocess(handle, keep, keep, one, w->sparse, w->dense_b, zero, w->dense_c, w->type,
                                       (cusparseSpMMAlg_t)w->algorithm, w->scratch);
    case TSR_OP_SPMV:
        return cusparseSpMV_preprocess(handle, keep, one, w->sparse, w->in, zero, w->out, w->type, (cusparseSpMVAlg_t)w->algorithm,
                                       w->scratch);
    default:
        return cusparseSDDMM_preprocess(handle, keep, keep, one, w->dense_a, w->dense_b, zero, w->sparse, w->type,
                                        (cusparseSDDMMAlg_t)w->algorithm, w->scratch);
    }
}

static cusparseStatus_t compute(work *w)
{
    const void *one = scalar(w, 1), *zero = scalar(w, 0);
    switch (w->product->op) {
    case TSR_OP_SPMM:
        return cusparseSpMM(handle, keep, keep, one, w->sparse, w->dense_b, zero, w->dense_c, w->type, (cusparseSpMMAlg_t)w->algorithm,
                            w->scratch);
    case TSR_OP_SPMV:
        return cusparseSpMV(handle, keep, one, w->sparse, w->in, zero, w->out, w->type, (cusparseSpMVAlg_t)w->algorithm, w->scratch);
    default:
        return cusparseSDDMM(handle, keep, keep, one, w->dense_a, w->dense_b, zero, w->sparse, w->type,
                             (cusparseSDDMMAlg_t)w->algorithm, w->scratch);
    }
}

/* ---- operands ---- */

static const tsr_view *sparse_of(const tsr_product *p)
{
    return p->op == TSR_OP_SDDMM ? &p->mask : &p->a;
}

static bool upload(void **device, const void *host, size_t bytes)
{
    return cudaMalloc(device, bytes + 1) == cudaSuccess && cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess;
}

static bool upload_narrow(int32_t **device, const int64_t *from, int64_t count)
{
    int32_t *narrow = malloc((size_t)count * sizeof *narrow + 1);
    for (int64_t k = 0; narrow && k < count; k++) {
        narrow[k] = (int32_t)from[k];
    }
    bool good = narrow && upload((void **)device, narrow, (size_t)count * sizeof *narrow);
    free(narrow);
    return good;
}

/* Of a pattern: ones. */
static bool upload_values(work *w, const tsr_view *v)
{
    if (v->x) {
        return upload(&w->x, v->x, (size_t)v->nvals * w->size);
    }
    char *ones = malloc((size_t)v->nvals * w->size + 1);
    for (int64_t k = 0; ones && k < v->nvals; k++) {
        if (w->type == CUDA_R_64F) {
            ((double *)ones)[k] = 1;
        } else {
            ((float *)ones)[k] = 1;
        }
    }
    bool good = ones && upload(&w->x, ones, (size_t)v->nvals * w->size);
    free(ones);
    return good;
}

static bool describe_sparse(work *w)
{
    const tsr_view *v = sparse_of(w->product);
    return cusparseCreateCsr(&w->sparse, v->nrows, v->ncols, v->nvals, w->p, w->i, w->x, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_BASE_ZERO, w->type) == CUSPARSE_STATUS_SUCCESS;
}

static bool describe_dense(work *w)
{
    const tsr_product *p = w->product;
    switch (p->op) {
    case TSR_OP_SPMM:
        return cusparseCreateDnMat(&w->dense_b, p->k, p->n, p->n, w->b, w->type, CUSPARSE_ORDER_ROW) == CUSPARSE_STATUS_SUCCESS &&
               cusparseCreateDnMat(&w->dense_c, p->m, p->n, p->n, w->c, w->type, CUSPARSE_ORDER_ROW) == CUSPARSE_STATUS_SUCCESS;
    case TSR_OP_SPMV:
        return cusparseCreateDnVec(&w->in, p->k, w->b, w->type) == CUSPARSE_STATUS_SUCCESS &&
               cusparseCreateDnVec(&w->out, p->m, w->c, w->type) == CUSPARSE_STATUS_SUCCESS;
    default:
        return cusparseCreateDnMat(&w->dense_a, p->m, p->k, p->k, w->a, w->type, CUSPARSE_ORDER_ROW) == CUSPARSE_STATUS_SUCCESS &&
               cusparseCreateDnMat(&w->dense_b, p->k, p->n, p->k, w->b, w->type, CUSPARSE_ORDER_COL) == CUSPARSE_STATUS_SUCCESS;
    }
}

static bool make_operands(work *w)
{
    const tsr_product *p = w->product;
    const tsr_view *v = sparse_of(p);
    w->result_bytes = (size_t)(p->op == TSR_OP_SDDMM ? v->nvals : p->m * p->n) * w->size;
    w->result = malloc(w->result_bytes + 1);
    bool good = w->result && upload_narrow(&w->p, v->p, v->nvec + 1) && upload_narrow(&w->i, v->i, v->nvals) && upload_values(w, v) &&
                upload(&w->b, p->b.x, (size_t)p->b.nvals * w->size);
    good = good && (p->op == TSR_OP_SDDMM ? upload(&w->a, p->a.x, (size_t)p->a.nvals * w->size)
                                          : cudaMalloc(&w->c, w->result_bytes + 1) == cudaSuccess);
    return good && describe_dense(w);
}

/* ---- the best of its algorithms ---- */

static void drop_preparation(work *w)
{
    if (w->sparse) {
        cusparseDestroySpMat(w->sparse);
    }
    cudaFree(w->scratch);
    w->sparse = NULL;
    w->scratch = NULL;
}

/* A description of its own for each algorithm: preprocessing leaves its results there. */
static bool prepare(work *w, int id, double *ms)
{
    size_t bytes = 0;
    drop_preparation(w);
    w->algorithm = id;
    double began = now_ms();
    bool good = describe_sparse(w) && ask_scratch(w, &bytes) == CUSPARSE_STATUS_SUCCESS &&
                cudaMalloc(&w->scratch, bytes + 16) == cudaSuccess && preprocess(w) == CUSPARSE_STATUS_SUCCESS &&
                cudaDeviceSynchronize() == cudaSuccess;
    *ms = now_ms() - began;
    return good;
}

/* Batches of about this long; the best of some counts. */
static const double batch_ms = 1;
enum { BATCHES = 3, MOST_IN_BATCH = 64 };

static bool time_batch(work *w, int count, double *ms)
{
    double began = now_ms();
    bool good = true;
    for (int k = 0; good && k < count; k++) {
        good = compute(w) == CUSPARSE_STATUS_SUCCESS;
    }
    good = cudaDeviceSynchronize() == cudaSuccess && good;
    *ms = (now_ms() - began) / count;
    return good;
}

static bool time_on_device(work *w, double *best)
{
    double ms;
    if (!time_batch(w, 1, &ms) || !time_batch(w, 1, best)) {
        return false;
    }
    int count = *best * MOST_IN_BATCH < batch_ms ? MOST_IN_BATCH : (int)(batch_ms / *best) + 1;
    for (int k = 0; k < BATCHES; k++) {
        if (!time_batch(w, count, &ms)) {
            return false;
        }
        *best = ms < *best ? ms : *best;
    }
    return true;
}

static bool choose_algorithm(work *w)
{
    const algorithm *best = NULL;
    double convert, ms;
    for (const algorithm *a = algorithms(w); a->name; a++) {
        if (prepare(w, a->id, &convert) && time_on_device(w, &ms) && (!best || ms < w->peer.device_ms)) {
            best = a;
            w->peer = (tsr_peer_work){convert, ms, a->name};
        }
        cudaGetLastError();
    }
    return best && prepare(w, best->id, &convert);
}

/* ---- the peer ---- */

static void close_work(tsr_peer_work *peer)
{
    work *w = (work *)peer;
    cusparseDnMatDescr_t matrices[] = {w->dense_a, w->dense_b, w->dense_c};
    cusparseDnVecDescr_t vectors[] = {w->in, w->out};
    void *const blocks[] = {w->p, w->i, w->x, w->a, w->b, w->c};
    drop_preparation(w);
    for (int k = 0; k < 3; k++) {
        if (matrices[k]) {
            cusparseDestroyDnMat(matrices[k]);
        }
    }
    for (int k = 0; k < 2; k++) {
        if (vectors[k]) {
            cusparseDestroyDnVec(vectors[k]);
        }
    }
    for (int k = 0; k < 6; k++) {
        cudaFree(blocks[k]);
    }
    cudaGetLastError();
    free(w->result);
    free(w);
}

static bool fits(const tsr_product *p)
{
    const tsr_view *v = sparse_of(p);
    bool operation = p->op == TSR_OP_SPMM || p->op == TSR_OP_SPMV || p->op == TSR_OP_SDDMM;
    bool type = p->semiring.type == TSR_FP32 || p->semiring.type == TSR_FP64;
    bool sums = p->semiring.add == TSR_ADD_PLUS && (p->semiring.mul == TSR_MUL_TIMES || (p->semiring.mul == TSR_MUL_SECOND && !v->x));
    return operation && type && sums && (p->op != TSR_OP_SDDMM || !v->x) && v->nvals > 0 && v->nvals <= INT32_MAX && v->nrows < INT32_MAX && v->ncols < INT32_MAX;
}

static tsr_peer_work *open_work(const tsr_product *p)
{
    work *w = fits(p) ? calloc(1, sizeof *w) : NULL;
    if (!w) {
        return NULL;
    }
    w->product = p;
    w->type = p->semiring.type == TSR_FP64 ? CUDA_R_64F : CUDA_R_32F;
    w->size = w->type == CUDA_R_64F ? sizeof(double) : sizeof(float);
    if (!make_operands(w) || !choose_algorithm(w)) {
        close_work(&w->peer);
        return NULL;
    }
    return &w->peer;
}

static bool run_work(tsr_peer_work *peer)
{
    work *w = (work *)peer;
    const tsr_product *p = w->product;
    bool sampled = p->op == TSR_OP_SDDMM;
    return (!sampled || cudaMemcpy(w->a, p->a.x, (size_t)p->a.nvals * w->size, cudaMemcpyHostToDevice) == cudaSuccess) &&
           cudaMemcpy(w->b, p->b.x, (size_t)p->b.nvals * w->size, cudaMemcpyHostToDevice) == cudaSuccess &&
           compute(w) == CUSPARSE_STATUS_SUCCESS &&
           cudaMemcpy(w->result, sampled ? w->x : w->c, w->result_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
}

/* Where an entry of the pattern is among its values; -1: nowhere. */
static int64_t place_of(const tsr_view *v, int64_t row, int64_t col)
{
    const int64_t *i = v->i;
    for (int64_t low = v->p[row], high = v->p[row + 1]; low < high;) {
        int64_t middle = low + (high - low) / 2;
        if (i[middle] == col) {
            return middle;
        }
        *(i[middle] < col ? &low : &high) = i[middle] < col ? middle + 1 : middle;
    }
    return -1;
}

static double value_of(tsr_peer_work *peer, int64_t row, int64_t col)
{
    const work *w = (work *)peer;
    const tsr_product *p = w->product;
    int64_t place = p->op == TSR_OP_SDDMM ? place_of(&p->mask, row, col) : row * p->n + col;
    if (place < 0) {
        return 0;
    }
    return w->type == CUDA_R_64F ? ((const double *)w->result)[place] : (double)((const float *)w->result)[place];
}

__attribute__((visibility("default"))) const tsr_peer *tsr_peer_get(void);

const tsr_peer *tsr_peer_get(void)
{
    static char version[48];
    static const tsr_peer all = {TSR_PEER_API_VERSION, version, open_work, run_work, value_of, close_work};
    int major, minor, patch;
    if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS || cusparseGetProperty(MAJOR_VERSION, &major) != CUSPARSE_STATUS_SUCCESS ||
        cusparseGetProperty(MINOR_VERSION, &minor) != CUSPARSE_STATUS_SUCCESS ||
        cusparseGetProperty(PATCH_LEVEL, &patch) != CUSPARSE_STATUS_SUCCESS) {
        return NULL;
    }
    snprintf(version, sizeof version, "%d.%d.%d", major, minor, patch);
    return &all;
}
