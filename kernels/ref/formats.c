/* What the reference executors of the block formats share: numbers, and a window's tile of C.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* sign, exponent of 5 bits, 10 bits; steps of 2^-24 below 2^-14. */
static double from_fp16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
}

/* The upper half of an FP32 number. */
static double from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f;
}

double tsr_ref_number(const void *x, tsr_number number, int64_t k)
{
    switch (number) {
    case TSR_NUMBER_FP32: return ((const float *)x)[k];
    case TSR_NUMBER_FP64: return ((const double *)x)[k];
    case TSR_NUMBER_FP16: return from_fp16(((const uint16_t *)x)[k]);
    default: return from_bf16(((const uint16_t *)x)[k]);
    }
}

bool tsr_ref_begin(tsr_ref_tile *tile, int height)
{
    size_t count = (size_t)height * (size_t)(tile->n > 0 ? tile->n : 1);
    tile->sum = calloc(count, sizeof *tile->sum);
    tile->size = calloc(count, sizeof *tile->size);
    if (tile->sum && tile->size)
        return true;
    tsr_ref_end(tile);
    return false;
}

void tsr_ref_add(tsr_ref_tile *tile, int64_t row, double a, uint32_t column)
{
    const double *b = tile->b + column * tile->ldb;
    double *sum = tile->sum + row * tile->n, *size = tile->size + row * tile->n;
    for (int64_t j = 0; j < tile->n; j++) {
        sum[j] += a * b[j];
        size[j] += fabs(a) * fabs(b[j]);
    }
}

static void write_row(const tsr_ref_tile *tile, int64_t row, const double *sum, const double *size)
{
    double *c = tile->c + row * tile->ldc;
    for (int64_t j = 0; j < tile->n; j++) {
        double old = tile->beta != 0 ? tile->beta * c[j] : 0;
        c[j] = tile->alpha * sum[j] + old;
        if (tile->magnitude)
            tile->magnitude[row * tile->ldc + j] = fabs(tile->alpha) * size[j] + fabs(old);
    }
}

void tsr_ref_write(tsr_ref_tile *tile, const tsr_windows *w, int64_t v)
{
    int64_t first = v * w->height, rows = w->nrows - first < w->height ? w->nrows - first : w->height;
    for (int64_t row = 0; row < rows; row++)
        write_row(tile, first + row, tile->sum + row * tile->n, tile->size + row * tile->n);
    memset(tile->sum, 0, (size_t)(rows * tile->n) * sizeof *tile->sum);
    memset(tile->size, 0, (size_t)(rows * tile->n) * sizeof *tile->size);
}

void tsr_ref_end(tsr_ref_tile *tile)
{
    free(tile->sum);
    free(tile->size);
    tile->sum = tile->size = NULL;
}
