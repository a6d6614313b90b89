/* Counts that tell how well a matrix suits Tensor Cores.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_INSPECT_H
#define TSR_INSPECT_H

#include "tools/mm.h"

enum { TSR_WINDOW_HEIGHTS = 4 };
extern const int tsr_window_heights[TSR_WINDOW_HEIGHTS]; /* 8, 16, 32, 64 */

typedef struct tsr_inspection {
    int64_t nrows, ncols, nvals;
    bool symmetric;     /* the pattern equals its transpose's */
    int64_t empty_rows;
    int64_t longest_row;
    double mean_row;
    int64_t vectors[TSR_WINDOW_HEIGHTS]; /* nonzero vectors of h x 1, for each height */
    int64_t tc_blocks;                   /* of 16 x 8, condensed columns */
    double mean_nnz_tc;                  /* nvals / tc_blocks; 0 without entries */
} tsr_inspection;

/* False: out of memory. */
bool tsr_inspect(tsr_inspection *out, const tsr_mm_csr *a);

#endif
