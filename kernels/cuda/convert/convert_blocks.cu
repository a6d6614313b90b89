// The block formats on the device but HRPB (convert_hrpb.cu) and panels, bitwise those of src/format.
//
// All of them come from a window's vectors, each with the set of its rows (convert_vectors.cu), by groups of vectors.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert_values.cuh"

namespace tsr_convert {
namespace {

/* ---- Stencils ---- */

/* A warp turns the rows of a block's vectors, one for each lane, into slots of its rows. */
__global__ void __launch_bounds__(threads) turn_vectors(tsr_windows w, const uint32_t *rows, uint32_t *slots)
{
    const int64_t block = (blockIdx.x * int64_t(threads) + threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (block >= w.nblocks)
        return;
    const int64_t v = find_range(w.block, w.nwindows, block), vector = w.vector[v] + (block - w.block[v]) * w.width + lane;
    const uint32_t mine = vector < w.vector[v + 1] ? rows[vector] : 0;
    uint32_t turned = 0;
#pragma unroll
    for (int r = 0; r < 32; r++) {
        const uint32_t row = __ballot_sync(0xffffffffu, static_cast<int>(mine >> r & 1));
        turned = lane == r ? row : turned;
    }
    slots[block * 32 + lane] = turned;
}

tsr_status fill_stencil(tsr_stencil *out, const vectors &v, void *stream)
{
    tsr_status status = get_array(&out->slots, out->w.nblocks * TSR_STENCIL_HEIGHT, stream);
    if (status != TSR_OK || out->w.nblocks == 0)
        return status;
    TSR_LAUNCH(turn_vectors, blocks_for(out->w.nblocks, threads / 32), threads, 0, stream, out->w, static_cast<const uint32_t *>(v.rows),
               out->slots);
    return launch_status();
}

/* ---- BMat and ME-TCF ---- */

/* mask: NULL, then it is scratch. */
template <class Rows>
tsr_status fill_blocks(const tsr_windows &w, const vectors &v, placing p, uint64_t *mask, tsr_number number, void *stream)
{
    groups g = groups_of(w, v, 8);
    Arena arena(stream);
    char *scratch;
    g.mask = mask;
    if (!mask)
        arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.entry, g.ngroups + 1);
    arena.want(&g.window, g.ngroups);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(g.ngroups)));
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = fill_groups<Rows, 8>(g, scratch, stream);
    if (status == TSR_OK && (p.x || p.local))
        status = queue_values<8, false>(g, p, number, stream);
    return status;
}

tsr_status fill_bmat(tsr_bmat *out, const vectors &v, const tsr_source *in, void *stream)
{
    placing p = placing_of(in);
    tsr_status status = get_array(&out->mask, out->w.nblocks * (out->w.height / 8), stream);
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    if (status != TSR_OK)
        return status;
    return out->w.height == 8 ? fill_blocks<uint8_t>(out->w, v, p, out->mask, in->number, stream)
                              : fill_blocks<uint16_t>(out->w, v, p, out->mask, in->number, stream);
}

tsr_status fill_me_tcf(tsr_me_tcf *out, const vectors &v, const tsr_source *in, void *stream)
{
    placing p = placing_of(in);
    tsr_status status = get_array(&out->block_entry, out->w.nblocks, stream);
    if (status == TSR_OK)
        status = get_array(&out->local, in->nvals, stream);
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    p.local = out->local;
    p.block_entry = out->block_entry;
    return status != TSR_OK ? status : fill_blocks<uint16_t>(out->w, v, p, nullptr, in->number, stream);
}

/* ---- ME-BCRS ---- */

uint64_t bits_of(double value, tsr_number number)
{
    uint64_t bits = 0;
    float single = static_cast<float>(value);
    __half half = __double2half(value);
    __nv_bfloat16 brain = __double2bfloat16(value);
    bool nan = value != value;
    const uint16_t canonical = 0x7fff;
    switch (number) {
    case TSR_NUMBER_FP64: memcpy(&bits, &value, sizeof value); break;
    case TSR_NUMBER_FP32: memcpy(&bits, &single, sizeof single); break;
    case TSR_NUMBER_FP16: memcpy(&bits, nan ? static_cast<const void *>(&canonical) : &half, sizeof half); break;
    default: memcpy(&bits, nan ? static_cast<const void *>(&canonical) : &brain, sizeof brain);
    }
    return bits;
}

template <int Width> tsr_status fill_me_bcrs(tsr_me_bcrs *out, const vectors &v, const tsr_source *in, double iso, void *stream)
{
    groups g = groups_of(out->w, v, Width);
    placing p = placing_of(in);
    Arena arena(stream);
    arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.window, g.ngroups);
    tsr_status status = arena.get();
    if (status == TSR_OK)
        status = get_values(&out->value, 8 * out->w.nvectors, in->number, stream);
    p.value = out->value;
    p.iso = bits_of(iso, in->number);
    if (status == TSR_OK)
        status = fill_groups<uint8_t, Width>(g, nullptr, stream);
    return status == TSR_OK ? queue_values<Width, true>(g, p, in->number, stream) : status;
}
} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_make_bmat(tsr_bmat *out, const tsr_source *in, int height, void *stream)
{
    *out = {};
    if (height != 8 && height != 16)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, height, 8, 0, stream);
    if (status == TSR_OK)
        status = fill_bmat(out, v, in, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_bmat(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, void *stream)
{
    *out = {};
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, 16, 8, 0, stream);
    if (status == TSR_OK)
        status = fill_me_tcf(out, v, in, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_me_tcf(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, void *stream)
{
    *out = {};
    if (width != 8 && width != 16)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, 8, width, 0, stream);
    if (status == TSR_OK)
        status = width == 8 ? fill_me_bcrs<8>(out, v, in, iso, stream) : fill_me_bcrs<16>(out, v, in, iso, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_me_bcrs(out, stream);
    return status;
}

extern "C" tsr_status tsr_cuda_make_stencil(tsr_stencil *out, const tsr_source *in, void *stream)
{
    *out = {};
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, TSR_STENCIL_HEIGHT, TSR_STENCIL_WIDTH, 0, stream);
    if (status == TSR_OK)
        status = fill_stencil(out, v, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_stencil(out, stream);
    return status;
}

extern "C" void tsr_cuda_free_bmat(tsr_bmat *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->mask, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_me_tcf(tsr_me_tcf *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->block_entry, stream);
    tsr_cuda_free(a->local, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_me_bcrs(tsr_me_bcrs *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}

extern "C" void tsr_cuda_free_stencil(tsr_stencil *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->slots, stream);
    *a = {};
}
