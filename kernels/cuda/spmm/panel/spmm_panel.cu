// SpMM over panels: which kernel.
//
// variant: 0 = the kernel's own choice, 1 = sums never begin anew (to measure what that costs).
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/panel/spmm_panel.cuh"

/* The start of an item and its partial sum cost about as much as 4 blocks.  Windows of a small matrix are cut such that items fill whole
 * waves of the device; with many waves an item may take an eighth of the whole time. */
extern "C" int64_t tsr_cuda_panel_most(const tsr_windows *w, const tsr_cuda_device *device)
{
    constexpr int least = 8, overhead = 4;
    const int64_t slots = static_cast<int64_t>(device->sms) * (w->height == 64 ? 4 : 7);
    if (w->nblocks == 0)
        return 1;
    int64_t best = 0, best_time = 0;
    for (int64_t pieces = 1; pieces <= 64; pieces++) {
        int64_t most = (w->nblocks + w->nwindows * pieces - 1) / (w->nwindows * pieces);
        int64_t time = (w->nwindows * pieces + slots - 1) / slots * (most + overhead);
        if (pieces == 1 || time < best_time) {
            best = most;
            best_time = time;
        }
    }
    const int64_t share = w->nblocks / slots / 8;
    best = best > share ? best : share;
    return best > least ? best : least;
}

namespace {

/* size: of an element of B. */
bool make_job(panel_job *j, const tsr_panel *a, const tsr_work *work, const tsr_cuda_spmm *p, size_t size)
{
    const uint64_t row_bytes = static_cast<uint64_t>(p->ldb) * size;
    if (p->device->major < 9 || row_bytes > 0xffffffff || p->variant < 0 || p->variant > 1 || work->nitems > 0x7fffffff)
        return false;
    *j = {};
    j->p = *p;
    j->nrows = a->w.nrows;
    j->nvectors = a->w.nvectors;
    j->column = a->w.column;
    j->begin = a->begin;
    j->first = a->first;
    j->data = static_cast<const unsigned char *>(a->data);
    j->item_window = work->window;
    j->item_block = work->block;
    j->item_partial = work->partial;
    j->items = static_cast<uint32_t>(work->nitems);
    j->row_bytes = static_cast<uint32_t>(row_bytes);
    j->room = static_cast<uint32_t>(a->largest) * TSR_PANEL_UNIT;
    j->renews = p->variant == 0;
    j->tile_major = tensor_tile_major(p, a->w.ncols, static_cast<int64_t>(512 / size), size);
    return true;
}

tsr_status run_math(tsr_cuda_math math, const panel_job &j, const tsr_windows &w)
{
    switch (math) {
    case TSR_CUDA_FP16: return tsr_panel_fp16(j, w);
    case TSR_CUDA_BF16: return tsr_panel_bf16(j, w);
    case TSR_CUDA_FP64: return tsr_panel_fp64(j, w);
    default: return tsr_panel_fp32(j, w);
    }
}

} // namespace

extern "C" tsr_status tsr_cuda_spmm_panel(const tsr_panel *a, const tsr_work *work, const tsr_cuda_spmm *p)
{
    panel_job j;
    if (!tensor_takes(p, false) || !make_job(&j, a, work, p, tsr_number_size(tsr_cuda_number(p->math))))
        return TSR_DECLINED;
    if (work->nitems == 0)
        return TSR_OK;
    tsr_status status = run_math(p->math, j, a->w);
    return status == TSR_OK ? tsr_cuda_add_partials(&a->w, work, p) : status;
}

static size_t panel_type_size(tsr_type type)
{
    switch (type) {
    case TSR_INT32:
    case TSR_UINT32:
    case TSR_FP32: return 4;
    case TSR_INT64:
    case TSR_UINT64:
    case TSR_FP64: return 8;
    default: return 0;
    }
}

extern "C" size_t tsr_cuda_panel_partial_bytes(const tsr_panel *a, const tsr_work *work, const tsr_cuda_csr_spmm *product)
{
    return static_cast<size_t>(work->npartials * a->w.height * product->n) * panel_type_size(product->semiring.type);
}

extern "C" tsr_status tsr_cuda_spmm_panel_semiring(const tsr_panel *a, const tsr_work *work, const int64_t *offsets,
                                                   const uint32_t *row, const tsr_cuda_csr_spmm *product)
{
    const size_t size = panel_type_size(product->semiring.type);
    const bool aligned = reinterpret_cast<uintptr_t>(product->b) % 16 == 0 && size && product->ldb * size % 16 == 0;
    if (!aligned || product->b_present || product->half || product->n < 1)
        return TSR_DECLINED;
    tsr_cuda_spmm p = {};
    p.n = product->n;
    p.b = product->b;
    p.ldb = product->ldb;
    p.c = product->c;
    p.ldc = product->ldc;
    p.row = row;
    p.alpha = 1;
    p.partial = product->partial;
    p.device = product->device;
    p.stream = product->stream;
    panel_job j;
    if (!make_job(&j, a, work, &p, size))
        return TSR_DECLINED;
    j.offsets = offsets;
    return work->nitems ? tsr_panel_typed(product->semiring, j, a->w, *work) : TSR_OK;
}
