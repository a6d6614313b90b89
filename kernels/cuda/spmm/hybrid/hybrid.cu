// Both kinds of cores in one product (HC-SpMM, HPCA 2025, section IV): each row window goes where it is computed faster.
//
// The Tensor-Core half is an ordinary block format of a matrix that has the entries of dense windows only, with work for these windows
// only; the csr half is the whole matrix with work for the other rows only.  They write different rows of C, and run on two streams.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert.cuh"

#include <cstring>

namespace {

using tsr_convert::blocks_for;
using tsr_convert::free_windows;
using tsr_convert::get_array;
using tsr_convert::make_vectors;

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) choose_windows(tsr_windows w, tsr_cuda_split_rule rule, uint8_t *chosen)
{
    int64_t v = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (v >= w.nwindows)
        return;
    double entries = double(w.entry[v + 1] - w.entry[v]), vectors = double(w.vector[v + 1] - w.vector[v]);
    double intensity = log2(entries / vectors), size = log2(vectors), row = log2(entries / w.height);
    double terms[TSR_CUDA_SPLIT_TERMS] = { 1, intensity, size, intensity * size, size * size, intensity * intensity, fmax(0., 2 - row),
        fmax(0., row - 2), fmax(0., row - 5) };
    double sum = 0;
    for (int k = 0; k < TSR_CUDA_SPLIT_TERMS; k++)
        sum += rule.w[k] * terms[k];
    chosen[v] = entries > 0 && sum > 0;
}

/* One more for the total. */
__global__ void __launch_bounds__(threads) count_entries(tsr_windows w, const uint8_t *chosen, int64_t *windows, int64_t *entries)
{
    int64_t v = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (v >= w.nwindows)
        return;
    windows[v] = chosen[v];
    entries[v] = chosen[v] ? w.entry[v + 1] - w.entry[v] : 0;
}

/* Offsets of the rows in the part: those of windows that are not chosen are empty. */
__global__ void __launch_bounds__(threads)
    write_offsets(tsr_windows w, const uint8_t *chosen, const int64_t *before, const int64_t *p, int64_t *out)
{
    int64_t row = int64_t(blockIdx.x) * threads + threadIdx.x;
    if (row > w.nrows)
        return;
    int64_t v = row / w.height;
    out[row] = row == w.nrows ? before[w.nwindows] : before[v] + (chosen[v] ? p[row] - w.entry[v] : 0);
}

/* A block per window: its entries lie together in both. */
template <class T>
__global__ void __launch_bounds__(threads)
    copy_entries(tsr_windows w, const uint8_t *chosen, const int64_t *before, const T *from, T *to)
{
    for (int64_t v = blockIdx.x; v < w.nwindows; v += gridDim.x)
        if (chosen[v])
            for (int64_t k = threadIdx.x; k < w.entry[v + 1] - w.entry[v]; k += threads)
                to[before[v] + k] = from[w.entry[v] + k];
}

/* The entries of chosen windows as a matrix of their own, arrays in one allocation. */
struct part {
    tsr_source source;
    uint8_t *chosen;
    int64_t nwindows;
};

template <class T>
void copy_array(const tsr_windows &w, const part &part, const int64_t *before, const void *from, const void *to, void *stream)
{
    unsigned blocks = unsigned(w.nwindows < 65535 ? w.nwindows : 65535);
    TSR_LAUNCH(copy_entries<T>, blocks, threads, 0, stream, w, part.chosen, before, static_cast<const T *>(from),
        static_cast<T *>(const_cast<void *>(to)));
}

void copy_values(const tsr_windows &w, const part &part, const int64_t *before, const void *x, void *stream)
{
    switch (tsr_number_size(part.source.number)) {
    case 2: copy_array<uint16_t>(w, part, before, x, part.source.x, stream); break;
    case 4: copy_array<uint32_t>(w, part, before, x, part.source.x, stream); break;
    default: copy_array<uint64_t>(w, part, before, x, part.source.x, stream); break;
    }
}

/* *nwindows, *nvals: what is chosen. */
tsr_status count_part(part *part, const tsr_windows &w, int64_t *windows, int64_t *entries, void *scratch, void *stream)
{
    TSR_LAUNCH(count_entries, blocks_for(w.nwindows, threads), threads, 0, stream, w, part->chosen, windows, entries);
    tsr_status status = tsr_cuda_scan(windows, w.nwindows, 2, scratch, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&part->nwindows, windows + w.nwindows, sizeof part->nwindows, stream);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&part->source.nvals, entries + w.nwindows, sizeof part->source.nvals, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    return status == TSR_OK ? waited : status;
}

void free_part(part *part, void *stream)
{
    void *const all[] = { part->chosen, const_cast<int64_t *>(part->source.p), const_cast<uint32_t *>(part->source.i),
        const_cast<void *>(part->source.x) };
    for (void *p : all)
        tsr_cuda_free(p, stream);
    *part = {};
}

tsr_status get_part(part *part, const tsr_source *in, void *stream)
{
    int64_t nvals = part->source.nvals;
    uint32_t *i = nullptr;
    char *x = nullptr;
    int64_t *p = nullptr;
    tsr_status status = get_array(&p, in->nrows + 1, stream);
    part->source.p = p;
    if (status == TSR_OK)
        status = get_array(&i, nvals, stream);
    part->source.i = i;
    if (status == TSR_OK && in->x)
        status = get_array(&x, nvals * int64_t(tsr_number_size(in->number)), stream);
    part->source.x = x;
    return status;
}

tsr_status fill_part(part *part, const tsr_windows &w, const tsr_source *in, const tsr_cuda_split_rule *rule, void *stream)
{
    Arena arena(stream);
    int64_t *windows, *entries;
    char *scratch;
    arena.want(&windows, 2 * (w.nwindows + 1));
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(w.nwindows)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = get_array(&part->chosen, w.nwindows, stream);
    if (status != TSR_OK)
        return status;
    entries = windows + w.nwindows + 1;
    TSR_LAUNCH(choose_windows, blocks_for(w.nwindows, threads), threads, 0, stream, w, *rule, part->chosen);
    status = count_part(part, w, windows, entries, scratch, stream);
    if (status == TSR_OK && part->nwindows == 0)
        status = TSR_DECLINED;
    if (status == TSR_OK)
        status = get_part(part, in, stream);
    if (status != TSR_OK)
        return status;
    TSR_LAUNCH(write_offsets, blocks_for(in->nrows + 1, threads), threads, 0, stream, w, part->chosen, entries, in->p,
        const_cast<int64_t *>(part->source.p));
    copy_array<uint32_t>(w, *part, entries, in->i, part->source.i, stream);
    if (in->x)
        copy_values(w, *part, entries, in->x, stream);
    return launch_status();
}

/* On failure nothing is left allocated. */
tsr_status make_part(part *part, const tsr_source *in, int height, const tsr_cuda_split_rule *rule, void *stream)
{
    tsr_windows w = {};
    tsr_convert::vectors vectors = {};
    *part = {};
    part->source = { in->nrows, in->ncols, 0, nullptr, nullptr, nullptr, in->number };
    tsr_status status = make_vectors(&w, &vectors, in, height, 8, 0, stream);
    if (status != TSR_OK)
        return status;
    tsr_cuda_free(vectors.rows, stream);
    status = fill_part(part, w, in, rule, stream);
    free_windows(&w, stream);
    if (status != TSR_OK)
        free_part(part, stream);
    return status;
}

/* ---- the halves ---- */

tsr_status make_format(tsr_cuda_hybrid *out, const tsr_source *in, int height, double iso, void *stream)
{
    int width = tsr_number_size(in->number) == 2 ? 16 : 8;
    switch (out->half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_make_me_bcrs(&out->as.me_bcrs, in, width, iso, stream);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_make_hrpb(&out->as.hrpb, in, height, stream);
    default: return tsr_cuda_make_bmat(&out->as.bmat, in, height, stream);
    }
}

tsr_status make_tensor_half(tsr_cuda_hybrid *out, const tsr_source *in, int height, double iso, const tsr_cuda_device *device, void *stream)
{
    int64_t longest = 0, most = 64;
    tsr_status status = make_format(out, in, height, iso, stream);
    if (status == TSR_OK)
        status = tsr_cuda_longest_window(&longest, &out->as.w, stream);
    if (out->half == TSR_CUDA_HALF_ME_BCRS)
        most = tsr_cuda_me_bcrs_most(&out->as.w, device);
    if (out->half == TSR_CUDA_HALF_HRPB)
        most = tsr_cuda_hrpb_most(&out->as.w, longest, device);
    const uint64_t *mask = out->half == TSR_CUDA_HALF_BMAT ? out->as.bmat.mask : nullptr;
    return status == TSR_OK ? tsr_cuda_make_work_part(&out->work, &out->as.w, mask, most, stream) : status;
}

tsr_status make_streams(tsr_cuda_hybrid *out)
{
    cudaEvent_t begun, done;
    tsr_status status = tsr_cuda_stream_new(&out->side);
    if (status != TSR_OK)
        return status;
    if (cudaEventCreateWithFlags(&begun, cudaEventDisableTiming) != cudaSuccess)
        return TSR_INTERNAL_ERROR;
    out->begun = begun;
    if (cudaEventCreateWithFlags(&done, cudaEventDisableTiming) != cudaSuccess)
        return TSR_INTERNAL_ERROR;
    out->done = done;
    return TSR_OK;
}

tsr_status make_halves(tsr_cuda_hybrid *out, const part &part, int height, double iso, const tsr_cuda_device *device, void *stream)
{
    tsr_status status = make_tensor_half(out, &part.source, height, iso, device, stream);
    if (status == TSR_OK)
        status = tsr_cuda_csr_work_part(&out->csr, part.chosen, height, device, stream);
    return status == TSR_OK ? make_streams(out) : status;
}

tsr_cuda_csr_spmm csr_product(const tsr_cuda_spmm *q, void *partial, void *stream)
{
    tsr_cuda_csr_spmm p = {};
    p.semiring = { q->math == TSR_CUDA_FP64 ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES };
    p.half = q->math == TSR_CUDA_FP16 || q->math == TSR_CUDA_BF16;
    p.number = tsr_cuda_number(q->math);
    p.n = q->n, p.b = q->b, p.ldb = q->ldb, p.c = q->c, p.ldc = q->ldc;
    p.alpha = q->alpha, p.beta = q->beta;
    float single = float(q->iso);
    if (q->math == TSR_CUDA_FP64)
        memcpy(&p.iso, &q->iso, sizeof q->iso);
    else
        memcpy(&p.iso, &single, sizeof single);
    p.partial = partial, p.device = q->device, p.stream = stream;
    return p;
}

size_t tensor_partial_bytes(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    return (tsr_cuda_partial_bytes(&a->work, a->as.w.height, product) + 255) / 256 * 256;
}

tsr_status run_tensor_half(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: return tsr_cuda_spmm_me_bcrs(&a->as.me_bcrs, &a->work, product);
    case TSR_CUDA_HALF_HRPB: return tsr_cuda_spmm_hrpb(&a->as.hrpb, &a->work, product);
    default: return tsr_cuda_spmm_bmat(&a->as.bmat, &a->work, product);
    }
}

tsr_status run_csr_half(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    char *partial = static_cast<char *>(product->partial);
    tsr_cuda_csr_spmm csr = csr_product(product, partial ? partial + tensor_partial_bytes(a, product) : nullptr, a->side);
    return tsr_cuda_spmm_csr(&a->csr, &csr);
}

/* `stream` goes on when `earlier` is as far as now. */
tsr_status follow(void *event, void *earlier, void *stream)
{
    cudaError_t error = cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(earlier));
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), 0);
    return error == cudaSuccess ? TSR_OK : TSR_INTERNAL_ERROR;
}

} // namespace

extern "C" tsr_status tsr_cuda_make_hybrid(tsr_cuda_hybrid *out, const tsr_source *in, tsr_cuda_half half, int height, double iso,
    const tsr_cuda_split_rule *rule, const tsr_cuda_device *device, void *stream)
{
    part part;
    memset(out, 0, sizeof *out);
    out->half = half;
    if (in->nrows == 0 || in->nvals == 0)
        return TSR_DECLINED;
    tsr_status status = make_part(&part, in, height, rule, stream);
    if (status != TSR_OK)
        return status;
    out->nwindows = part.nwindows;
    out->csr.nrows = in->nrows, out->csr.ncols = in->ncols, out->csr.nvals = in->nvals;
    out->csr.p = const_cast<int64_t *>(in->p), out->csr.i = const_cast<uint32_t *>(in->i), out->csr.x = const_cast<void *>(in->x);
    status = make_halves(out, part, height, iso, device, stream);
    tsr_status waited = tsr_cuda_wait(stream);
    free_part(&part, stream);
    status = status == TSR_OK ? waited : status;
    if (status != TSR_OK)
        tsr_cuda_free_hybrid(out, stream);
    return status;
}

extern "C" void tsr_cuda_free_hybrid(tsr_cuda_hybrid *a, void *stream)
{
    switch (a->half) {
    case TSR_CUDA_HALF_ME_BCRS: tsr_cuda_free_me_bcrs(&a->as.me_bcrs, stream); break;
    case TSR_CUDA_HALF_HRPB: tsr_cuda_free_hrpb(&a->as.hrpb, stream); break;
    case TSR_CUDA_HALF_BMAT: tsr_cuda_free_bmat(&a->as.bmat, stream); break;
    }
    tsr_cuda_free_work(&a->work, stream);
    tsr_cuda_csr_work_free(&a->csr, stream);
    for (void *event : { a->begun, a->done })
        if (event)
            cudaEventDestroy(static_cast<cudaEvent_t>(event));
    tsr_cuda_stream_free(a->side);
    memset(a, 0, sizeof *a);
}

extern "C" size_t tsr_cuda_hybrid_partial_bytes(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    tsr_cuda_csr_spmm csr = csr_product(product, nullptr, nullptr);
    return tensor_partial_bytes(a, product) + tsr_cuda_csr_partial_bytes(&a->csr, &csr);
}

/* What was begun on the side is waited for also when the other half fails. */
extern "C" tsr_status tsr_cuda_spmm_hybrid(const tsr_cuda_hybrid *a, const tsr_cuda_spmm *product)
{
    if (product->n == 1 || product->row)
        return TSR_DECLINED;
    if (a->nwindows == a->as.w.nwindows)
        return run_tensor_half(a, product);
    tsr_status status = follow(a->begun, product->stream, a->side);
    if (status != TSR_OK)
        return status;
    status = run_csr_half(a, product);
    tsr_status tensor = status == TSR_OK ? run_tensor_half(a, product) : TSR_OK;
    tsr_status joined = follow(a->done, a->side, product->stream);
    return status != TSR_OK ? status : tensor != TSR_OK ? tensor : joined;
}
