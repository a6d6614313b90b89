/* The dense side of a product: column tiles of B and C on their way across the bus.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_COLUMN_TILES_H
#define TSR_CUDA_COLUMN_TILES_H

#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spmm/product_plan.h"
#include "backends/cuda/transfer/host_copy.h"
#include "backends/cuda/arrays/arrays.h"

/* C = A B with A and its plan on the device; B and C are on the host.  Everything is done, or has failed and touches nothing
 * any more, when it returns. */
tsr_status tsr_cuda_multiply(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product, tsr_result *result);

/* ---- shared by column_tiles.c and column_tile.c ---- */

/* Two tiles at a time: one is computed and is downloaded while the next arrives. */
enum { TSR_CUDA_BUFFERS = 2 };

/* Device memory of one tile.  NULL where the product does not need it. */
typedef struct tsr_cuda_buffer {
    void *b, *b_by_col;           /* B by row, as kernels want it, and as it arrives when it is held by column */
    void *b_present, *b_present_by_col;
    void *c, *c_by_col;
    void *c_present, *c_present_by_col;
    void *done;                   /* event: the tile is computed */
} tsr_cuda_buffer;

typedef struct tsr_cuda_column_tiles {
    const tsr_product *product;
    tsr_result *result;
    tsr_cuda_sparse *a;
    tsr_cuda_plan *plan;
    size_t size;                  /* bytes of a value */
    bool reads_b, b_bitmap;       /* what of B is needed */
    bool present;                 /* presence of C comes from the kernel */
    bool b_direct, c_direct;      /* values of B and C are page-locked on the host */
    int64_t width, ntiles;       /* columns of every tile but the first and the last */
    int64_t shift;                /* more of the first */
    int nbuffers;
    tsr_cuda_buffer buffer[TSR_CUDA_BUFFERS];
    void *half, *partial;         /* B in 16 bits; partial sums */
    int *flag;                    /* device, two of them: B is out of range, or its range */
    size_t bytes;                 /* reserved */
    tsr_cuda_array *kept;         /* all of C; NULL: its tiles are not kept */
} tsr_cuda_column_tiles;

/* What there is to copy for a tile: at most two rectangles each way. */
int tsr_cuda_column_tile_inputs(tsr_cuda_rectangle r[2], const tsr_cuda_column_tiles *s, int64_t tile);
int tsr_cuda_column_tile_outputs(tsr_cuda_rectangle r[2], const tsr_cuda_column_tiles *s, int64_t tile);

/* Choose the width, allocate.  TSR_DECLINED: not even one column fits.  close also after a failure, when the streams have
 * settled. */
tsr_status tsr_cuda_column_tiles_open(tsr_cuda_column_tiles *s, tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product,
                                tsr_result *result);
void tsr_cuda_column_tiles_close(tsr_cuda_column_tiles *s);

/* Queue the computation of a tile when the event `arrived` has come (NULL: at once); what is queued on `down` afterwards sees its
 * result. */
tsr_status tsr_cuda_column_tile_compute(tsr_cuda_column_tiles *s, int64_t tile, void *arrived);

#endif
