/* SpGEMM by tiles of values, walked as the CUDA kernel does: strips of 128 rows of A and of B', blocks of 256 columns in which absent entries are 0, in slices
 * of 128 bytes of a line; slices without an entry on one side are left out.  Each place of C that has an entry gets its sum, slice by slice.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/value.h"
#include "kernels/spgemm.h"
#include "src/base/types.h"

enum { SIDE = 128, DEPTH = 256, LINE_BYTES = 128, PARTS = 3, AT_ONCE = 16 };

/* A, or B turned: lines of whole blocks.  What it has in a line is there as a double, 0 where there is no entry. */
typedef struct lines {
    int64_t count, columns, slices; /* of all lines */
    double *x;
    bool *has; /* [strips * slices] */
} lines;

static int64_t pieces(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}

static double number_at(const tsr_view *v, tsr_type type, bool is_one, int64_t e)
{
    if (is_one)
        return 1;
    const tsr_value value = tsr_value_load(type, v->x, v->iso ? 0 : e);
    return tsr_type_is_float(type) ? (double)value.real : (double)(int64_t)value.bits;
}

static bool make_lines(lines *s, const tsr_spgemm *product, bool turned, int64_t slice_columns)
{
    const tsr_view *v = turned ? &product->b : &product->a;
    const bool is_one = product->semiring.mul == (turned ? TSR_MUL_FIRST : TSR_MUL_SECOND);
    *s = (lines){.count = pieces(turned ? v->ncols : v->nrows, SIDE) * SIDE, .columns = pieces(turned ? v->nrows : v->ncols, DEPTH) * DEPTH};
    s->slices = s->columns / slice_columns;
    s->x = calloc((size_t)(s->count * s->columns + 1), sizeof *s->x);
    s->has = calloc((size_t)(s->count / SIDE * s->slices + 1), sizeof *s->has);
    for (int64_t k = 0; s->x && s->has && k < v->nvec; k++)
        for (int64_t e = tsr_view_start(v, k); e < tsr_view_start(v, k + 1); e++) {
            const int64_t row = v->format == TSR_HYPERSPARSE ? v->h[k] : k, index = index_at(v, e);
            const int64_t line = turned ? index : row, column = turned ? row : index;
            s->x[line * s->columns + column] = number_at(v, product->semiring.type, is_one, e);
            s->has[line / SIDE * s->slices + column / slice_columns] = true;
        }
    return s->x && s->has;
}

static void free_lines(lines *s)
{
    free(s->x);
    free(s->has);
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* To so many bits less; here halves go away from 0. */
static float rounded(double x, int less)
{
    return float_of((bits_of((float)x) + (UINT32_C(1) << (less - 1))) >> less << less);
}

/* The sum of the instruction, which cuts off. */
static float toward_zero(double x)
{
    const float f = (float)x;
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0) : f;
}

/* The largest first. */
static void split(float (*part)[PARTS], const double *x)
{
    for (int k = 0; k < AT_ONCE; k++) {
        double rest = x[k];
        for (int n = 0; n < PARTS; n++) {
            part[k][n] = rounded(rest, 16);
            rest -= (double)part[k][n];
        }
    }
}

/* Of AT_ONCE columns: the smallest products first; three are left out. */
static float split_sum(const double *a, const double *b)
{
    static const int pairs[][2] = {{0, 2}, {2, 0}, {1, 1}, {0, 1}, {1, 0}, {0, 0}};
    float sum = 0, x[AT_ONCE][PARTS], y[AT_ONCE][PARTS];
    split(x, a);
    split(y, b);
    for (size_t n = 0; n < sizeof pairs / sizeof *pairs; n++) {
        double more = 0;
        for (int k = 0; k < AT_ONCE; k++)
            more += (double)x[k][pairs[n][0]] * (double)y[k][pairs[n][1]];
        sum = toward_zero((double)sum + more);
    }
    return sum;
}

static double add_slice(tsr_spgemm_tile_sums sums, double sum, const double *a, const double *b, int columns)
{
    for (int k = 0; sums == TSR_SPGEMM_TILE_SPLIT && k < columns; k += AT_ONCE)
        sum = (double)((float)sum + split_sum(a + k, b + k));
    for (int k = 0; sums != TSR_SPGEMM_TILE_SPLIT && k < columns; k++)
        if (sums == TSR_SPGEMM_TILE_FP64)
            sum = fma(a[k], b[k], sum);
        else if (sums == TSR_SPGEMM_TILE_TF32)
            sum = (double)toward_zero(sum + (double)rounded(a[k], 13) * (double)rounded(b[k], 13));
        else
            sum += a[k] * b[k]; /* integers below 2^53: 127^2 each */
    return sum;
}

static void store(tsr_type type, void *x, int64_t e, double sum)
{
    const tsr_value value = {.bits = tsr_type_is_float(type) ? 0 : (uint64_t)(int64_t)sum, .real = (long double)sum};
    tsr_value_store(type, x, e, value);
}

tsr_status tsr_ref_spgemm_value_tiles(const tsr_spgemm *product, tsr_spgemm_tile_sums sums, const int64_t *p, const uint32_t *i, void *x)
{
    const int element = sums == TSR_SPGEMM_TILE_INT8 ? 1 : sums == TSR_SPGEMM_TILE_FP64 ? 8 : 4, columns = LINE_BYTES / element;
    lines a = {0}, b = {0};
    const bool ready = make_lines(&a, product, false, columns) && make_lines(&b, product, true, columns);
    for (int64_t row = 0; ready && row < product->m; row++)
        for (int64_t e = p[row]; e < p[row + 1]; e++) {
            double sum = 0;
            for (int64_t slice = 0; slice < a.slices; slice++)
                if (a.has[row / SIDE * a.slices + slice] && b.has[i[e] / SIDE * b.slices + slice])
                    sum = add_slice(sums, sum, a.x + row * a.columns + slice * columns, b.x + (int64_t)i[e] * b.columns + slice * columns, columns);
            store(product->semiring.type, x, e, sum);
        }
    free_lines(&a);
    free_lines(&b);
    return ready ? TSR_OK : TSR_OUT_OF_MEMORY;
}
