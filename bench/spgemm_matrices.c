/* Operands of the SpGEMM benchmark.
 * SPDX-License-Identifier: Apache-2.0 */
#include "spgemm_matrices.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/mtx/mm.h"

#define TRY(call) \
    do { \
        GrB_Info info_ = (call); \
        if (info_ != GrB_SUCCESS) return info_; \
    } while (0)

/* ---- numbers ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Uniform in [0, 1): sample i, slot k. */
static double u(uint64_t i, uint64_t k)
{
    return (double)(mix(mix(mix(12345) + i) + k) >> 11) * 0x1p-53;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static uint64_t shuffled(uint64_t x, uint64_t s)
{
    uint64_t m = (uint64_t)(0.618 * (double)s) | 1;
    while (gcd(m, s) != 1)
        m++;
    return (x * m + 12345) % s;
}

/* ---- triples ---- */

typedef struct triples {
    GrB_Index *i, *j;
    GrB_Index count, room;
} triples;

static void put(triples *t, uint64_t i, uint64_t j)
{
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 1 << 20;
        t->i = realloc(t->i, t->room * sizeof *t->i);
        t->j = realloc(t->j, t->room * sizeof *t->j);
        if (!t->i || !t->j)
            abort();
    }
    t->i[t->count] = i;
    t->j[t->count++] = j;
}

static GrB_Info build(GrB_Matrix *A, triples *t, GrB_Index m, GrB_Index n)
{
    double *x = malloc((t->count + 1) * sizeof *x);
    if (!x)
        return GrB_OUT_OF_MEMORY;
    for (GrB_Index e = 0; e < t->count; e++)
        x[e] = (double)(1 + (t->i[e] * 31 + t->j[e] * 17) % 64) / 64;
    TRY(GrB_Matrix_new(A, GrB_FP64, m, n));
    TRY(GrB_Matrix_build_FP64(*A, t->i, t->j, x, t->count, GrB_FIRST_FP64));
    free(x);
    free(t->i);
    free(t->j);
    *t = (triples){0};
    return GrB_Matrix_wait(*A, GrB_MATERIALIZE);
}

static GrB_Info rmat(GrB_Matrix *A, int scale, uint64_t samples, bool both)
{
    triples t = {0};
    const uint64_t n = (uint64_t)1 << scale;
    for (uint64_t s = 0; s < samples; s++) {
        uint64_t i = 0, j = 0;
        for (int level = 0; level < scale; level++) {
            const double r = u(s, (uint64_t)level);
            i = 2 * i + (r >= .76);
            j = 2 * j + ((r >= .57 && r < .76) || r >= .95);
        }
        i = shuffled(i, n);
        j = shuffled(j, n);
        if (i == j)
            continue;
        put(&t, i, j);
        if (both)
            put(&t, j, i);
    }
    return build(A, &t, n, n);
}

static GrB_Info er(GrB_Matrix *A)
{
    triples t = {0};
    const uint64_t n = 1000000;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < 16; k++)
            put(&t, i, (uint64_t)(u(i, k) * (double)n));
    return build(A, &t, n, n);
}

/* Points of a grid, each with those at most `reach` away in every dimension (all: corners too), in dense blocks of b x b. */
static GrB_Info grid(GrB_Matrix *A, int64_t nx, int64_t ny, int64_t nz, bool all, int64_t b)
{
    triples t = {0};
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++)
                for (int64_t d = 0; d < 27; d++) {
                    const int64_t dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1, X = x + dx, Y = y + dy, Z = z + dz;
                    if ((!all && llabs(dx) + llabs(dy) + llabs(dz) > 1) || X < 0 || Y < 0 || Z < 0 || X >= nx || Y >= ny || Z >= nz)
                        continue;
                    for (int64_t q = 0; q < b * b; q++)
                        put(&t, (uint64_t)(((z * ny + y) * nx + x) * b + q / b), (uint64_t)(((Z * ny + Y) * nx + X) * b + q % b));
                }
    return build(A, &t, (GrB_Index)(nx * ny * nz * b), (GrB_Index)(nx * ny * nz * b));
}

/* Trilinear interpolation from the even points of an n^3 grid. */
static GrB_Info interpolation(GrB_Matrix *P, int64_t n)
{
    triples t = {0};
    const int64_t c = n / 2;
    for (int64_t p = 0; p < n * n * n; p++)
        for (int64_t corner = 0; corner < 8; corner++) {
            const int64_t at[] = {p % n, p / n % n, p / n / n};
            int64_t q = 0, ok = 1;
            for (int d = 2; d >= 0; d--) {
                const int64_t far = corner >> d & 1, coarse = at[d] / 2 + far;
                ok &= (!far || (at[d] & 1)) && coarse < c;
                q = q * c + coarse;
            }
            if (ok)
                put(&t, (uint64_t)p, (uint64_t)q);
        }
    return build(P, &t, (GrB_Index)(n * n * n), (GrB_Index)(c * c * c));
}

static GrB_Info mcl(GrB_Matrix *A)
{
    triples t = {0};
    const uint64_t n = 131072;
    for (uint64_t i = 0; i < n; i++)
        put(&t, i, i);
    for (uint64_t s = 0; s < 3276800; s++) {
        const uint64_t g = (uint64_t)(u(s, 0) * (double)n) / 512;
        const uint64_t i = 512 * g + shuffled((uint64_t)(512 * pow(u(s, 1), 1.2)), 512);
        const bool inside = u(s, 2) < .9;
        const uint64_t j = inside ? 512 * g + shuffled((uint64_t)(512 * pow(u(s, 3), 1.2)), 512) : (uint64_t)(u(s, 3) * (double)n);
        put(&t, i, j);
        put(&t, j, i);
    }
    return build(A, &t, n, n);
}

/* Rows of random vertices of B that have entries. */
static GrB_Info rows_of(GrB_Matrix *A, GrB_Matrix B, GrB_Index rows)
{
    GrB_Index n, nvals;
    GrB_Vector degree;
    TRY(GrB_Matrix_nrows(&n, B));
    TRY(GrB_Vector_new(&degree, GrB_FP64, n));
    TRY(GrB_Matrix_reduce_Monoid(degree, NULL, NULL, GrB_PLUS_MONOID_FP64, B, NULL));
    TRY(GrB_Vector_nvals(&nvals, degree));
    GrB_Index *list = malloc((nvals + 1) * sizeof *list), *picked = malloc(rows * sizeof *picked);
    if (!list || !picked)
        return GrB_OUT_OF_MEMORY;
    TRY(GrB_Vector_extractTuples_FP64(list, NULL, &nvals, degree));
    for (GrB_Index r = 0; r < rows; r++)
        picked[r] = list[(GrB_Index)(u(r, 77) * (double)nvals)];
    TRY(GrB_Matrix_new(A, GrB_FP64, rows, n));
    TRY(GrB_Matrix_extract(*A, NULL, NULL, B, picked, rows, GrB_ALL, n, NULL));
    free(list);
    free(picked);
    GrB_Vector_free(&degree);
    return GrB_Matrix_wait(*A, GrB_MATERIALIZE);
}

static GrB_Info amg(GrB_Matrix *A, GrB_Matrix *B, bool last)
{
    GrB_Matrix fine, P, AP, R;
    TRY(grid(&fine, 100, 100, 100, false, 1));
    TRY(interpolation(&P, 100));
    *A = fine;
    *B = P;
    if (!last)
        return GrB_SUCCESS;
    TRY(GrB_Matrix_new(&AP, GrB_FP64, 1000000, 125000));
    TRY(GrB_Matrix_new(&R, GrB_FP64, 125000, 1000000));
    TRY(GrB_mxm(AP, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, fine, P, NULL));
    TRY(GrB_transpose(R, NULL, NULL, P, NULL));
    TRY(GrB_Matrix_wait(AP, GrB_MATERIALIZE));
    TRY(GrB_Matrix_wait(R, GrB_MATERIALIZE));
    GrB_Matrix_free(&fine);
    GrB_Matrix_free(&P);
    *A = R;
    *B = AP;
    return GrB_SUCCESS;
}

static GrB_Info from_file(GrB_Matrix *A, GrB_Matrix *B, const char *name)
{
    char path[1024], error[256];
    tsr_mm m;
    triples t = {0};
    const char *colon = strrchr(name, ':');
    snprintf(path, sizeof path, "%.*s", (int)(colon ? colon - name : (ptrdiff_t)strlen(name)), name);
    if (!tsr_mm_read(&m, path, error, sizeof error)) {
        fprintf(stderr, "%s\n", error);
        return GrB_INVALID_VALUE;
    }
    for (int64_t e = 0; e < m.nvals; e++)
        put(&t, (uint64_t)m.row[e], (uint64_t)m.col[e]);
    TRY(build(A, &t, (GrB_Index)m.nrows, (GrB_Index)m.ncols));
    *B = *A;
    if (colon) {
        TRY(GrB_Matrix_new(B, GrB_FP64, (GrB_Index)m.ncols, (GrB_Index)m.nrows));
        TRY(GrB_transpose(*B, NULL, NULL, *A, NULL));
        TRY(GrB_Matrix_wait(*B, GrB_MATERIALIZE));
    }
    tsr_mm_free(&m);
    return GrB_SUCCESS;
}

GrB_Info bench_operands(GrB_Matrix *A, GrB_Matrix *B, const char *name)
{
    GrB_Info info = GrB_SUCCESS;
    *A = *B = NULL;
    if (strncmp(name, "amg-", 4) == 0)
        return amg(A, B, strcmp(name, "amg-RAP") == 0);
    if (strncmp(name, "ms", 2) == 0) {
        info = strcmp(name, "ms4096er") == 0 ? er(B) : rmat(B, 18, 1 << 21, false);
        return info == GrB_SUCCESS ? rows_of(A, *B, (GrB_Index)atoi(name + 2)) : info;
    }
    if (strcmp(name, "rmat16") == 0) info = rmat(A, 16, 1 << 19, true);
    else if (strcmp(name, "rmat18") == 0) info = rmat(A, 18, 1 << 21, false);
    else if (strcmp(name, "er") == 0) info = er(A);
    else if (strcmp(name, "mesh2d") == 0) info = grid(A, 1024, 1024, 1, false, 1);
    else if (strcmp(name, "mesh27") == 0) info = grid(A, 64, 64, 64, true, 1);
    else if (strcmp(name, "fem3") == 0) info = grid(A, 32, 32, 32, true, 3);
    else if (strcmp(name, "mcl") == 0) info = mcl(A);
    else return from_file(A, B, name);
    *B = *A;
    return info;
}
