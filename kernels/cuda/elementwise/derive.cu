// Typecasts, transposes and what depends on places, of arrays whose elements may be absent.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/elementwise/derive.h"
#include "kernels/cuda/common/semiring.cuh"

#include <algorithm>

namespace {

constexpr int threads = 256, blocks_per_sm = 32;

unsigned blocks_for(int64_t count, int64_t per_block, const tsr_cuda_device *device)
{
    return unsigned(std::min((count + per_block - 1) / per_block, int64_t(device->sms) * blocks_per_sm));
}

// ---- Typecasts ----

template <class T> struct range {
    static constexpr T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
};

/* What does not fit saturates; the bounds of 64-bit types round up to a power of two, hence >=. */
template <class T> __device__ __forceinline__ T saturated(double x)
{
    constexpr T least = range<T>::least, most = range<T>::most;
    return x != x ? T(0) : x <= double(least) ? least : x >= double(most) ? most : T(x);
}

template <class T, class S> __device__ __forceinline__ T cast_to(S x)
{
    if constexpr (std::is_same_v<T, bool>)
        return x != S(0);
    else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<T>)
        return saturated<T>(double(x));
    else
        return T(x);
}

/* A thread takes four elements. */
template <class T, class S> __global__ void __launch_bounds__(threads) cast_elements(T *z, const S *x, int64_t count)
{
    int64_t stride = int64_t(gridDim.x) * threads * 4;
    for (int64_t at = (int64_t(blockIdx.x) * threads + threadIdx.x) * 4; at < count; at += stride) {
        if (at + 4 <= count) {
            S in[4];
            T out[4];
            load_vector(in, x + at);
#pragma unroll
            for (int k = 0; k < 4; k++)
                out[k] = cast_to<T>(in[k]);
            store_vector(z + at, out);
        } else {
            for (int64_t k = at; k < count; k++)
                z[k] = cast_to<T>(x[k]);
        }
    }
}

template <class T, class S> tsr_status cast(void *z, const void *x, int64_t count, const tsr_cuda_device *device, void *stream)
{
    auto kernel = cast_elements<T, S>;
    TSR_LAUNCH(kernel, blocks_for(count, 4 * threads, device), threads, 0, stream, static_cast<T *>(z), static_cast<const S *>(x), count);
    return launch_status();
}

template <class S> tsr_status cast_from(void *z, tsr_type to, const void *x, int64_t count, const tsr_cuda_device *device, void *stream)
{
    switch (to) {
    case TSR_BOOL: return cast<bool, S>(z, x, count, device, stream);
    case TSR_INT8: return cast<int8_t, S>(z, x, count, device, stream);
    case TSR_INT16: return cast<int16_t, S>(z, x, count, device, stream);
    case TSR_INT32: return cast<int32_t, S>(z, x, count, device, stream);
    case TSR_INT64: return cast<int64_t, S>(z, x, count, device, stream);
    case TSR_UINT8: return cast<uint8_t, S>(z, x, count, device, stream);
    case TSR_UINT16: return cast<uint16_t, S>(z, x, count, device, stream);
    case TSR_UINT32: return cast<uint32_t, S>(z, x, count, device, stream);
    case TSR_UINT64: return cast<uint64_t, S>(z, x, count, device, stream);
    case TSR_FP32: return cast<float, S>(z, x, count, device, stream);
    case TSR_FP64: return cast<double, S>(z, x, count, device, stream);
    }
    return TSR_DECLINED;
}

// ---- Transposes ----

constexpr int side = 32;

/* A column more, so that a column of the tile lies in all banks. */
template <class U> struct tile {
    U x[side][side + 1];
    int8_t present[side][side + 1];
};

/* A block turns tile after tile. */
template <class U>
__global__ void __launch_bounds__(threads) turn_tiles(U *z, int8_t *z_present, tsr_elements e, int64_t vectors, int64_t length)
{
    tile<U> &t = *reinterpret_cast<tile<U> *>(dynamic_shared());
    const U *x = static_cast<const U *>(e.x);
    int lane = int(threadIdx.x) % side, warp = int(threadIdx.x) / side;
    int64_t across = (length + side - 1) / side, tiles = (vectors + side - 1) / side * across;
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        int64_t vector = number / across * side, place = number % across * side;
        for (int r = warp; r < side; r += threads / side)
            if (vector + r < vectors && place + lane < length) {
                int64_t at = (vector + r) * length + place + lane;
                t.x[r][lane] = x[at];
                t.present[r][lane] = e.present ? e.present[at] : 1;
            }
        __syncthreads();
        for (int r = warp; r < side; r += threads / side)
            if (place + r < length && vector + lane < vectors) {
                int64_t at = (place + r) * vectors + vector + lane;
                z[at] = t.x[lane][r];
                if (z_present)
                    z_present[at] = t.present[lane][r];
            }
        __syncthreads();
    }
}

template <class U>
tsr_status turn(void *z, int8_t *z_present, const tsr_elements *e, int64_t vectors, int64_t length, const tsr_cuda_device *device, void *stream)
{
    auto kernel = turn_tiles<U>;
    int64_t tiles = (vectors + side - 1) / side * ((length + side - 1) / side);
    TSR_LAUNCH(kernel, blocks_for(tiles, 1, device), threads, sizeof(tile<U>), stream, static_cast<U *>(z), z_present, *e, vectors, length);
    return launch_status();
}

// ---- Places ----

struct place_args {
    tsr_elements e;
    void *z;
    int8_t *z_present;
    int64_t count, length, by_vector, by_place, offset;
    tsr_ewise_op keep;
};

/* Division of 64 bits is long. */
__device__ __forceinline__ int64_t index_of(const place_args &q, int64_t at)
{
    int64_t vector = at >> 32 || q.length >> 32 ? at / q.length : int64_t(uint32_t(at) / uint32_t(q.length));
    int64_t place = at - vector * q.length;
    return int64_t(uint64_t(q.by_vector * vector + q.by_place * place) + uint64_t(q.offset));
}

__device__ __forceinline__ bool keeps(tsr_ewise_op keep, int64_t index)
{
    switch (keep) {
    case TSR_EWISE_EQ: return index == 0;
    case TSR_EWISE_NE: return index != 0;
    case TSR_EWISE_GT: return index > 0;
    case TSR_EWISE_LT: return index < 0;
    case TSR_EWISE_GE: return index >= 0;
    default: return index <= 0;
    }
}

__global__ void __launch_bounds__(threads) give_indices(place_args q)
{
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < q.count; at += int64_t(gridDim.x) * threads) {
        bool present = !q.e.present || q.e.present[at];
        static_cast<int64_t *>(q.z)[at] = present ? index_of(q, at) : 0;
        if (q.z_present)
            q.z_present[at] = present;
    }
}

template <class U> __global__ void __launch_bounds__(threads) select_places(place_args q)
{
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < q.count; at += int64_t(gridDim.x) * threads) {
        bool stays = (!q.e.present || q.e.present[at]) && keeps(q.keep, index_of(q, at));
        static_cast<U *>(q.z)[at] = stays ? static_cast<const U *>(q.e.x)[at] : U(0);
        q.z_present[at] = stays;
    }
}

// ---- Gathering and scattering ----

struct listed_args {
    tsr_elements e;
    void *z;
    int8_t *z_present;
    const uint32_t *list;
    int64_t first, step, count;
};

__device__ __forceinline__ int64_t place_of(const listed_args &q, int64_t k)
{
    return q.list ? int64_t(q.list[k]) : q.first + k * q.step;
}

template <class U> __global__ void __launch_bounds__(threads) gather_elements(listed_args q)
{
    for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < q.count; at += int64_t(gridDim.x) * threads) {
        int64_t from = place_of(q, at);
        bool present = !q.e.present || q.e.present[from];
        static_cast<U *>(q.z)[at] = present ? static_cast<const U *>(q.e.x)[from] : U(0);
        if (q.z_present)
            q.z_present[at] = present;
    }
}

template <class U> __global__ void __launch_bounds__(threads) scatter_elements(listed_args q)
{
    for (int64_t k = int64_t(blockIdx.x) * threads + threadIdx.x; k < q.count; k += int64_t(gridDim.x) * threads)
        if (!q.e.present || q.e.present[k]) {
            int64_t to = place_of(q, k);
            static_cast<U *>(q.z)[to] = static_cast<const U *>(q.e.x)[k];
            q.z_present[to] = 1;
        }
}

template <class Kernel, class Args> tsr_status launch(Kernel kernel, const Args &q, const tsr_cuda_device *device, void *stream)
{
    TSR_LAUNCH(kernel, blocks_for(q.count, threads, device), threads, 0, stream, q);
    return launch_status();
}

} // namespace

extern "C" tsr_status tsr_cuda_cast(void *z, int8_t *z_present, tsr_type to, const tsr_elements *e, tsr_type from, int64_t count,
    const tsr_cuda_device *device, void *stream)
{
    if (count == 0)
        return TSR_OK;
    if (z_present && e->present) {
        tsr_status status = cast<int8_t, int8_t>(z_present, e->present, count, device, stream);
        if (status != TSR_OK)
            return status;
    }
    switch (from) {
    case TSR_INT8: return cast_from<int8_t>(z, to, e->x, count, device, stream);
    case TSR_INT16: return cast_from<int16_t>(z, to, e->x, count, device, stream);
    case TSR_INT32: return cast_from<int32_t>(z, to, e->x, count, device, stream);
    case TSR_INT64: return cast_from<int64_t>(z, to, e->x, count, device, stream);
    case TSR_BOOL:
    case TSR_UINT8: return cast_from<uint8_t>(z, to, e->x, count, device, stream);
    case TSR_UINT16: return cast_from<uint16_t>(z, to, e->x, count, device, stream);
    case TSR_UINT32: return cast_from<uint32_t>(z, to, e->x, count, device, stream);
    case TSR_UINT64: return cast_from<uint64_t>(z, to, e->x, count, device, stream);
    case TSR_FP32: return cast_from<float>(z, to, e->x, count, device, stream);
    case TSR_FP64: return cast_from<double>(z, to, e->x, count, device, stream);
    }
    return TSR_DECLINED;
}

extern "C" tsr_status tsr_cuda_turn(void *z, int8_t *z_present, const tsr_elements *e, int size, int64_t vectors, int64_t length,
    const tsr_cuda_device *device, void *stream)
{
    if (vectors == 0 || length == 0)
        return TSR_OK;
    switch (size) {
    case 1: return turn<uint8_t>(z, z_present, e, vectors, length, device, stream);
    case 2: return turn<uint16_t>(z, z_present, e, vectors, length, device, stream);
    case 4: return turn<uint32_t>(z, z_present, e, vectors, length, device, stream);
    default: return turn<uint64_t>(z, z_present, e, vectors, length, device, stream);
    }
}

extern "C" tsr_status tsr_cuda_places(const tsr_places *p, const tsr_elements *e, int size, void *z, int8_t *z_present,
    const tsr_cuda_device *device, void *stream)
{
    const place_args q = {*e, z, z_present, p->vectors * p->length, p->length, p->by_vector, p->by_place, p->offset, p->keep};
    if (q.count == 0)
        return TSR_OK;
    if (!p->select)
        return launch(give_indices, q, device, stream);
    switch (size) {
    case 1: return launch(select_places<uint8_t>, q, device, stream);
    case 2: return launch(select_places<uint16_t>, q, device, stream);
    case 4: return launch(select_places<uint32_t>, q, device, stream);
    default: return launch(select_places<uint64_t>, q, device, stream);
    }
}

extern "C" tsr_status tsr_cuda_gather_elements(const tsr_indices *from, const uint32_t *list, const tsr_elements *e, int size, void *z,
    int8_t *z_present, const tsr_cuda_device *device, void *stream)
{
    const listed_args q = {*e, z, z_present, list, from->first, from->step, from->count};
    if (q.count == 0)
        return TSR_OK;
    switch (size) {
    case 1: return launch(gather_elements<uint8_t>, q, device, stream);
    case 2: return launch(gather_elements<uint16_t>, q, device, stream);
    case 4: return launch(gather_elements<uint32_t>, q, device, stream);
    default: return launch(gather_elements<uint64_t>, q, device, stream);
    }
}

extern "C" tsr_status tsr_cuda_scatter_elements(const tsr_indices *to, const uint32_t *list, const tsr_elements *e, int size, void *z,
    int8_t *z_present, const tsr_cuda_device *device, void *stream)
{
    const listed_args q = {*e, z, z_present, list, to->first, to->step, to->count};
    if (q.count == 0)
        return TSR_OK;
    switch (size) {
    case 1: return launch(scatter_elements<uint8_t>, q, device, stream);
    case 2: return launch(scatter_elements<uint16_t>, q, device, stream);
    case 4: return launch(scatter_elements<uint32_t>, q, device, stream);
    default: return launch(scatter_elements<uint64_t>, q, device, stream);
    }
}
