/* Counts that tell how well a matrix suits Tensor Cores.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_INSPECT_H
#define TSR_INSPECT_H

#include "src/format/blocks/degrees.h"
#include "src/format/blocks/formats.h"
#include "src/mtx/mm.h"

/* Windows are judged one by one at this height, for a B of this many columns. */
enum { TSR_INSPECT_HEIGHT = 8, TSR_INSPECT_WIDTH = 128 };
/* Classes of rows by their number of entries: 0, 1, 2-3, 4-7, … */
enum { TSR_DEGREE_CLASSES = 62 };

typedef enum tsr_window_route { TSR_WINDOW_EMPTY, TSR_WINDOW_CUDA_CORES, TSR_WINDOW_TENSOR_CORES, TSR_WINDOW_ROUTES } tsr_window_route;

/* One row window. */
typedef struct tsr_window {
    int64_t nvals, vectors; /* entries; nonzero vectors (columns used) */
} tsr_window;

/* Row orders that a representation could have beside the rows' own (docs/row-order.md). */
enum { TSR_INSPECT_ORDERS = 3 };
extern const char *const tsr_inspect_order_names[TSR_INSPECT_ORDERS]; /* "lpa", "tca", "loa" */

typedef struct tsr_inspection {
    int64_t nrows, ncols, nvals;
    bool symmetric; /* the pattern equals its transpose's */
    int64_t empty_rows;
    int64_t longest_row;
    double mean_row;
    int64_t degrees[TSR_DEGREE_CLASSES]; /* rows of each class */
    tsr_statistics statistics;
    tsr_degrees spread; /* over columns: of a sample of TSR_DEGREE_SAMPLE entries */
    int64_t ordered_vectors[TSR_INSPECT_ORDERS][5]; /* nonzero vectors after reordering; heights as in statistics.vectors */
    int64_t nwindows;
    tsr_window *windows; /* [nlisted] of TSR_INSPECT_HEIGHT rows; by malloc */
    int64_t nlisted;     /* nwindows, or those that have stored rows */
    int64_t routes[TSR_WINDOW_ROUTES]; /* windows by route */
    int64_t nsampled[2];               /* windows of 8 and of 16 rows in a sample of the rows, the one that the plug-in counts */
    tsr_window_count *sampled[2];      /* by malloc */
} tsr_inspection;

/* Is the pattern of b that of a transposed?  Both have all rows.  Columns ascend in every row of both; next [b->nrows] is overwritten. */
bool tsr_is_transpose(const tsr_mm_csr *a, const tsr_mm_csr *b, int64_t *next);

/* Memory and time follow the stored rows and the entries.  Row orders leave out rows that are not stored.
 * TSR_OUT_OF_MEMORY; TSR_NOT_SUPPORTED: 2^32 rows or columns that are stored.  On failure *out is empty. */
tsr_status tsr_inspect(tsr_inspection *out, const tsr_mm_csr *a, int nthreads);
/* The same, telling the watcher which share is done. */
tsr_status tsr_inspect_reporting(tsr_inspection *out, const tsr_mm_csr *a, int nthreads, tsr_mm_progress progress, void *watcher);
void tsr_inspection_free(tsr_inspection *inspection);

/* Who computes a window best, exact FP32, by the model of the build (docs/routing.md). */
tsr_window_route tsr_route_window(double nvals, double vectors);

/* 1 - entries / (height * nonzero vectors); 0 for an empty window. */
double tsr_window_sparsity(double nvals, double vectors);

#endif
