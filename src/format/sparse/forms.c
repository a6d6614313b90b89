/* Coordinates and blocks into rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/base/split.h"
#include "src/format/sparse/format.h"

static int64_t index_at(const void *indices, size_t size, int64_t k)
{
    return size == 4 ? (int64_t)((const uint32_t *)indices)[k] : ((const int64_t *)indices)[k];
}

static void set_index(void *indices, size_t size, int64_t k, int64_t value)
{
    if (size == 4)
        ((uint32_t *)indices)[k] = (uint32_t)value;
    else
        ((int64_t *)indices)[k] = value;
}

/* ---- coordinates ---- */

void tsr_rows_of_coordinates(int64_t *p, const tsr_coordinate_list *in, int64_t nrows)
{
    memset(p, 0, (size_t)(nrows + 1) * sizeof *p);
    for (int64_t e = 0; e < in->nvals; e++)
        p[index_at(in->rows, in->index_size, e) + 1]++;
    for (int64_t row = 0; row < nrows; row++)
        p[row + 1] += p[row];
}

void tsr_sort_coordinates(void *i, void *x, int64_t *next, const tsr_coordinate_list *in)
{
    for (int64_t e = 0; e < in->nvals; e++) {
        const int64_t to = next[index_at(in->rows, in->index_size, e)]++;
        set_index(i, in->index_size, to, index_at(in->columns, in->index_size, e));
        if (x)
            memcpy((char *)x + (size_t)to * in->value_size, (const char *)in->x + (size_t)e * in->value_size, in->value_size);
    }
}

/* ---- blocks ---- */

void tsr_rows_of_blocks(int64_t *p, const tsr_block_list *in)
{
    p[0] = 0;
    for (int64_t r = 0; r < in->nrows; r++) {
        const int64_t *block = &in->p[r / in->height];
        p[r + 1] = p[r] + (block[1] - block[0]) * in->width;
    }
}

/* Row r of block number b: its columns and values go to place `to` on. */
static void expand_row(void *i, void *x, int64_t to, const tsr_block_list *in, int64_t b, int64_t r)
{
    const int64_t first = index_at(in->columns, in->index_size, b) * in->width, in_block = r % in->height;
    for (int64_t c = 0; c < in->width; c++) {
        const int64_t place = b * in->height * in->width + (in->by_col ? c * in->height + in_block : in_block * in->width + c);
        set_index(i, in->index_size, to + c, first + c);
        if (x)
            memcpy((char *)x + (size_t)(to + c) * in->value_size, (const char *)in->x + (size_t)place * in->value_size, in->value_size);
    }
}

void tsr_expand_blocks(void *i, void *x, const int64_t *p, const tsr_block_list *in, int nthreads)
{
    #pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(dynamic, 64) if (p[in->nrows] > 100000)
    for (int64_t r = 0; r < in->nrows; r++)
        for (int64_t b = in->p[r / in->height]; b < in->p[r / in->height + 1]; b++)
            expand_row(i, x, p[r] + (b - in->p[r / in->height]) * in->width, in, b, r);
}
