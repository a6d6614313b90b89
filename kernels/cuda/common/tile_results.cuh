// A warp's results of matrix instructions, to the rows of a tile in shared memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef TSR_TILE_RESULTS_CUH
#define TSR_TILE_RESULTS_CUH

#include "kernels/cuda/common/device.cuh"

/* d: of R x C results of 16 x 8 from `row` and `col` on; rows of the tile are `pitch` of them apart. */
template <class T, class D, int R, int C> static __device__ __forceinline__ void store_results(T *results, int pitch, const D (&d)[R][C][4], int row, int col)
{
    const int g = int(threadIdx.x % 32 / 4), t = int(threadIdx.x % 4);
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int c = 0; c < C; c++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                results[(row + 16 * r + g + k / 2 * 8) * pitch + col + 8 * c + 2 * t + k % 2] = T(d[r][c][k]);
}

#endif
