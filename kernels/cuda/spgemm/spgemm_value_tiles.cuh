// Sums of tiles of C by matrix instructions, where products differ (spgemm_value_tiles.cu).  Which tiles there are and which of their places have an
// entry is known from tiles of bits (spgemm_tiles.cu).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/spgemm/spgemm_tile_walk.cuh"

/* Is it a sum of products, of reals or integers? */
bool spgemm_value_tiles_fit(const tsr_cuda_spgemm *product);
/* By which instructions, from the values of both operands; at best, from a few of them.  Both wait for the stream.  TSR_DECLINED: by none. */
tsr_status spgemm_value_tiles_choose(tsr_spgemm_tile_sums *sums, const tsr_cuda_spgemm *product);
tsr_status spgemm_value_tiles_at_best(tsr_spgemm_tile_sums *sums, const tsr_cuda_spgemm *product);
/* Bytes of a tile of an operand. */
size_t spgemm_value_tile_bytes(tsr_spgemm_tile_sums sums);
/* `count` tiles of the operands, whose bits are there: empty ones, and which of their slices have an entry. */
tsr_status spgemm_value_tiles_start(const spgemm_tiles *tiles, int64_t count, void *stream);
/* As spgemm_tiles_fill. */
tsr_status spgemm_value_tiles_fill(const spgemm_tiles *tiles, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c, bool again);
