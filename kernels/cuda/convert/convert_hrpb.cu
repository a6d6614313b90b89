// HRPB on the device, bitwise that of src/format.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/convert/convert_values.cuh"

namespace tsr_convert {
namespace {

struct bricks {
    int64_t *brick;        // as in tsr_hrpb
    uint32_t *block_brick;
    uint8_t *position;
    uint64_t *pattern;
    uint32_t *brick_entry;
    const int64_t *block;
};

__global__ void __launch_bounds__(threads) sum_bricks(groups g, int64_t *brick)
{
    int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (v <= g.nwindows)
        brick[v] = g.brick[g.first[v]];
}

__global__ void __launch_bounds__(threads) list_bricks(groups g, bricks b)
{
    int64_t k = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
    if (k >= g.ngroups)
        return;
    int64_t v = g.window[k], first = g.first[v], at = g.brick[k], within = k - first;
    uint32_t entry = static_cast<uint32_t>(g.entry[k] - g.entry[first]);
    if (within % 4 == 0)
        b.block_brick[b.block[v] + within / 4] = static_cast<uint32_t>(at - g.brick[first]);
    for (int w = 0; w < g.words; w++) {
        uint64_t pattern = g.mask[k * g.words + w];
        if (!pattern)
            continue;
        b.position[at] = static_cast<uint8_t>(within % 4 * g.words + w);
        b.pattern[at] = pattern;
        b.brick_entry[at] = entry;
        entry += static_cast<uint32_t>(__popcll(pattern));
        at++;
    }
}

tsr_status get_bricks(tsr_hrpb *out, const groups &g, void *stream)
{
    tsr_status status = tsr_cuda_to_host(&out->nbricks, g.brick + g.ngroups, sizeof out->nbricks, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    if (status == TSR_OK)
        status = get_array(&out->brick, out->w.nwindows + 1, stream);
    if (status == TSR_OK)
        status = get_array(&out->block_brick, out->w.nblocks, stream);
    if (status == TSR_OK)
        status = get_array(&out->position, out->nbricks, stream);
    if (status == TSR_OK)
        status = get_array(&out->pattern, out->nbricks, stream);
    return status == TSR_OK ? get_array(&out->brick_entry, out->nbricks, stream) : status;
}

tsr_status fill_bricks(const tsr_hrpb *out, const groups &g, void *stream)
{
    bricks b = {out->brick, out->block_brick, out->position, out->pattern, out->brick_entry, out->w.block};
    TSR_LAUNCH(sum_bricks, blocks_for(g.nwindows + 1, threads), threads, 0, stream, g, out->brick);
    if (g.ngroups)
        TSR_LAUNCH(list_bricks, blocks_for(g.ngroups, threads), threads, 0, stream, g, b);
    return launch_status();
}

tsr_status fill_brick_columns(const groups &g, void *scratch, void *stream)
{
    switch (g.height) {
    case 16: return fill_groups<uint16_t, 4>(g, scratch, stream);
    case 32: return fill_groups<uint32_t, 4>(g, scratch, stream);
    default: return fill_groups<uint64_t, 4>(g, scratch, stream);
    }
}

tsr_status fill_hrpb(tsr_hrpb *out, const vectors &v, const tsr_source *in, void *stream)
{
    groups g = groups_of(out->w, v, 4);
    placing p = placing_of(in);
    Arena arena(stream);
    char *scratch;
    arena.want(&g.mask, g.ngroups * g.words);
    arena.want(&g.entry, g.ngroups + 1);
    arena.want(&g.window, g.ngroups);
    arena.want(&g.brick, g.ngroups + 1);
    arena.want(&scratch, static_cast<int64_t>(tsr_cuda_scan_bytes(g.ngroups)));
    tsr_status status = arena.get();
    if (status == TSR_OK && in->x)
        status = get_values(&out->value, in->nvals, in->number, stream);
    p.value = out->value;
    if (status == TSR_OK)
        status = fill_brick_columns(g, scratch, stream);
    if (status == TSR_OK && in->x)
        status = queue_values<4, false>(g, p, in->number, stream);
    if (status == TSR_OK)
        status = get_bricks(out, g, stream);
    return status == TSR_OK ? fill_bricks(out, g, stream) : status;
}

} // namespace
} // namespace tsr_convert

using namespace tsr_convert;

extern "C" tsr_status tsr_cuda_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, void *stream)
{
    *out = {};
    if (height != 16 && height != 32 && height != 64)
        return TSR_INVALID_VALUE;
    vectors v;
    tsr_status status = make_vectors(&out->w, &v, in, height, 16, 4, stream);
    if (status == TSR_OK)
        status = fill_hrpb(out, v, in, stream);
    tsr_cuda_free(v.group, stream);
    tsr_cuda_free(v.rows, stream);
    status = finish(status, stream);
    if (status != TSR_OK)
        tsr_cuda_free_hrpb(out, stream);
    return status;
}

extern "C" void tsr_cuda_free_hrpb(tsr_hrpb *a, void *stream)
{
    free_windows(&a->w, stream);
    tsr_cuda_free(a->brick, stream);
    tsr_cuda_free(a->block_brick, stream);
    tsr_cuda_free(a->position, stream);
    tsr_cuda_free(a->pattern, stream);
    tsr_cuda_free(a->brick_entry, stream);
    tsr_cuda_free(a->value, stream);
    *a = {};
}
