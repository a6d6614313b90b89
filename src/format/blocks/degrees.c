/* How the entries of a matrix are spread over its rows and columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/degrees.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

/* counts: of each column, in either half of the sample. */
static void sort_columns(tsr_degrees *out, const uint32_t (*counts)[2], int64_t ncols)
{
    for (int64_t c = 0; c < ncols; c++) {
        int class = counts[c][0] ? 32 - __builtin_clz(counts[c][0]) : 0;
        out->columns[class]++;
        out->entries[class] += counts[c][1];
    }
}

tsr_status tsr_count_degrees(tsr_degrees *out, const tsr_source *in, int64_t most, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (in->ncols > (int64_t)1 << 32)
        return TSR_NOT_SUPPORTED;
    uint32_t(*counts)[2] = tsr_format_alloc(in->ncols, sizeof *counts);
    if (!counts)
        return TSR_OUT_OF_MEMORY;
    memset(counts, 0, (size_t)in->ncols * sizeof *counts);
    int64_t step = tsr_degree_step(in->nvals, most), sampled = (in->nvals + step - 1) / step;
#pragma omp parallel for num_threads(tsr_team(nthreads)) if (nthreads > 1)
    for (int64_t k = 0; k < sampled; k++) {
        int64_t at = tsr_degree_entry(k, step);
        if (at < in->nvals) {
#pragma omp atomic
            counts[in->i[at]][k % 2]++;
        }
    }
    for (int64_t r = 0; r < in->nrows; r++)
        if (in->p[r + 1] - in->p[r] > out->longest_row)
            out->longest_row = in->p[r + 1] - in->p[r];
    sort_columns(out, (const uint32_t(*)[2])counts, in->ncols);
    free(counts);
    return TSR_OK;
}
