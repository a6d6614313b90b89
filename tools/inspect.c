/* Row windows, nonzero vectors and TC blocks of a matrix, counted by marks per column.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/inspect.h"

#include <stdlib.h>
#include <string.h>

const int tsr_window_heights[TSR_WINDOW_HEIGHTS] = {8, 16, 32, 64};

static void count_degrees(tsr_inspection *out, const tsr_mm_csr *a)
{
    for (int64_t row = 0; row < a->nrows; row++) {
        int64_t degree = a->p[row + 1] - a->p[row];
        out->empty_rows += degree == 0;
        out->longest_row = degree > out->longest_row ? degree : out->longest_row;
    }
    out->mean_row = a->nrows > 0 ? (double)a->nvals / (double)a->nrows : 0;
}

/* Distinct columns of rows [first, last); mark[c] == stamp: seen in this window. */
static int64_t distinct_columns(const tsr_mm_csr *a, int64_t first, int64_t last, int64_t *mark, int64_t stamp)
{
    int64_t count = 0;
    for (int64_t k = a->p[first]; k < a->p[last]; k++) {
        count += mark[a->i[k]] != stamp;
        mark[a->i[k]] = stamp;
    }
    return count;
}

/* Nonzero vectors for windows of `height` rows; *blocks: of `height` x 8. */
static int64_t count_vectors(const tsr_mm_csr *a, int height, int64_t *mark, int64_t *blocks)
{
    int64_t vectors = 0, stamp = 0;
    memset(mark, 0, (size_t)a->ncols * sizeof *mark);
    *blocks = 0;
    for (int64_t row = 0; row < a->nrows; row += height) {
        int64_t last = row + height < a->nrows ? row + height : a->nrows;
        int64_t here = distinct_columns(a, row, last, mark, ++stamp);
        vectors += here;
        *blocks += (here + 7) / 8;
    }
    return vectors;
}

/* Columns of A ascend in every row, so one pass in row order meets the entries of each row of A' in order too: next[r]
 * is the place in row r that must hold the next entry of column r. */
static bool is_symmetric(const tsr_mm_csr *a, int64_t *next)
{
    if (a->nrows != a->ncols) {
        return false;
    }
    memcpy(next, a->p, (size_t)a->nrows * sizeof *next);
    for (int64_t row = 0; row < a->nrows; row++) {
        for (int64_t k = a->p[row]; k < a->p[row + 1]; k++) {
            int64_t col = a->i[k];
            if (next[col] == a->p[col + 1] || a->i[next[col]++] != row) {
                return false;
            }
        }
    }
    return true;
}

bool tsr_inspect(tsr_inspection *out, const tsr_mm_csr *a)
{
    int64_t longest = a->ncols > a->nrows ? a->ncols : a->nrows;
    int64_t *mark = malloc((size_t)(longest + 1) * sizeof *mark);
    if (!mark) {
        return false;
    }
    *out = (tsr_inspection){.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals};
    count_degrees(out, a);
    out->symmetric = is_symmetric(a, mark);
    for (int k = 0; k < TSR_WINDOW_HEIGHTS; k++) {
        int64_t blocks;
        out->vectors[k] = count_vectors(a, tsr_window_heights[k], mark, &blocks);
        if (tsr_window_heights[k] == 16) {
            out->tc_blocks = blocks;
        }
    }
    out->mean_nnz_tc = out->tc_blocks > 0 ? (double)a->nvals / (double)out->tc_blocks : 0;
    free(mark);
    return true;
}
