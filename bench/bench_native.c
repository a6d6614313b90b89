/* SpMM through the native interface with B as FP32, FP16 and BF16 numbers, in turns: `bench_native N THREADS TURNS FILE.mtx[.gz]…`, or rmatK for an
 * R-MAT graph of 2^K vertices, 16 edges each, uniformK for one whose edges are anywhere.  Prints a JSON object a matrix: medians of the turns, ms of
 * processor time (of one thread) or wall clock, and the largest difference from FP32's result over its largest magnitude.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/mtx/mm.h"
#include "tessera/tessera.h"

enum { MOST_TURNS = 64, TYPES = 3 };
static const tsr_type types[TYPES] = {TSR_FP32, TSR_FP16, TSR_BF16};
static const char *const names[TYPES] = {"fp32", "fp16", "bf16"};

static void must(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench_native: %s: %s\n", what, tsr_last_error());
        exit(1);
    }
}

static double clock_ms(int threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* ---- matrices ---- */

/* Where of 100 the upper right, the lower left and the lower right quarter begin. */
typedef struct quarters {
    uint64_t right, lower, both;
} quarters;

static tsr_mm make_graph(int scale, quarters q)
{
    const int64_t n = INT64_C(1) << scale, edges = 16 * n;
    tsr_mm m = {.nrows = n, .ncols = n, .nvals = edges, .field = TSR_MM_PATTERN};
    uint64_t state = 1;
    m.row = calloc((size_t)edges, sizeof *m.row);
    m.col = calloc((size_t)edges, sizeof *m.col);
    must(m.row && m.col, "memory");
    for (int64_t e = 0; e < edges; e++) {
        for (int bit = 0; bit < scale; bit++) {
            const uint64_t draw = next(&state) % 100;
            m.row[e] = 2 * m.row[e] + (draw >= q.lower);
            m.col[e] = 2 * m.col[e] + ((draw >= q.right && draw < q.lower) || draw >= q.both);
        }
    }
    return m;
}

static tsr_mm_csr matrix_of(const char *name)
{
    char error[256] = "";
    tsr_mm m = {0};
    tsr_mm_csr csr;
    if (strncmp(name, "rmat", 4) == 0) {
        m = make_graph(atoi(name + 4), (quarters){57, 76, 95}); /* .57 .19 .19 .05 */
    } else if (strncmp(name, "uniform", 7) == 0) {
        m = make_graph(atoi(name + 7), (quarters){25, 50, 75});
    } else if (!tsr_mm_read(&m, name, error, sizeof error)) {
        fprintf(stderr, "bench_native: %s\n", error);
        exit(1);
    }
    must(tsr_mm_to_csr(&csr, &m, error, sizeof error), error);
    tsr_mm_free(&m);
    return csr;
}

static tsr_sparse *sparse_of(const tsr_mm_csr *csr)
{
    tsr_sparse *a;
    uint32_t *p = malloc((size_t)(csr->nrows + 1) * sizeof *p), *i = malloc((size_t)(csr->nvals + 1) * sizeof *i);
    float *x = malloc((size_t)(csr->nvals + 1) * sizeof *x);
    must(p && i && x, "memory");
    for (int64_t r = 0; r <= csr->nrows; r++) {
        p[r] = (uint32_t)csr->p[r];
    }
    for (int64_t e = 0; e < csr->nvals; e++) {
        i[e] = (uint32_t)csr->i[e];
        x[e] = (float)(1 + e % 7) / 8;
    }
    const tsr_arrays arrays = {.index_type = TSR_INDEX_32, .offsets = p, .indices = i, .type = TSR_FP32, .values = x};
    must(tsr_sparse_create_csr(&a, csr->nrows, csr->ncols, &arrays, TSR_COPY) == TSR_OK, "tsr_sparse_create_csr");
    free(p);
    free(i);
    free(x);
    return a;
}

/* ---- one type of B ---- */

typedef struct product {
    tsr_dense b, c;
    tsr_plan *plan;
    double ms[MOST_TURNS];
} product;

/* Multiples of 1/64 between -2 and 2: every type holds them exactly. */
static void store(void *to, tsr_type type, const float *values, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
        if (type == TSR_FP32) {
            ((float *)to)[k] = values[k];
        } else {
            ((uint16_t *)to)[k] = (uint16_t)(type == TSR_BF16 ? bits >> 16 : size ? sign | ((size >> 13) - 0x1c000) : sign);
        }
    }
}

static product open_product(tsr_sparse *a, int type, const float *values, int64_t m, int64_t k, int64_t n)
{
    product p = {.b = {.type = types[type], .nrows = k, .ncols = n, .ld = n}, .c = {.type = TSR_FP32, .nrows = m, .ncols = n, .ld = n}};
    p.b.data = malloc((size_t)(k * n) * sizeof(float));
    p.c.data = aligned_alloc(64, ((size_t)(m * n) * sizeof(float) + 63) / 64 * 64);
    must(p.b.data && p.c.data, "memory");
    store(p.b.data, types[type], values, k * n);
    must(tsr_plan_create(&p.plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP32), a, &p.b, &p.c, 0) == TSR_OK, "tsr_plan_create");
    return p;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double difference(const product *p, const product *exact, int64_t count)
{
    double most = 0, largest = 0;
    for (int64_t k = 0; k < count; k++) {
        most = fmax(most, fabs((double)((float *)p->c.data)[k] - (double)((float *)exact->c.data)[k]));
        largest = fmax(largest, fabs((double)((float *)exact->c.data)[k]));
    }
    return largest > 0 ? most / largest : 0;
}

static void measure(const char *name, int64_t n, int threads, int turns)
{
    tsr_mm_csr csr = matrix_of(name);
    tsr_sparse *a = sparse_of(&csr);
    product p[TYPES];
    float *values = malloc((size_t)(csr.ncols * n + 1) * sizeof *values);
    uint64_t state = 7;
    must(values != NULL, "memory");
    for (int64_t k = 0; k < csr.ncols * n; k++) {
        values[k] = (float)(next(&state) % 257) / 64 - 2;
    }
    for (int t = 0; t < TYPES; t++) {
        p[t] = open_product(a, t, values, csr.nrows, csr.ncols, n);
    }
    for (int turn = -1; turn < turns; turn++) {
        for (int t = 0; t < TYPES; t++) {
            const double began = clock_ms(threads);
            must(tsr_execute(p[t].plan, 1, a, &p[t].b, 0, &p[t].c, NULL) == TSR_OK, "tsr_execute");
            p[t].ms[turn < 0 ? 0 : turn] = clock_ms(threads) - began;
        }
    }
    const char *base = strrchr(name, '/');
    printf("{\"what\": \"half\", \"matrix\": \"%s\", \"nrows\": %lld, \"entries\": %lld, \"n\": %lld, \"threads\": %d, \"turns\": %d", base ? base + 1 : name,
           (long long)csr.nrows, (long long)csr.nvals, (long long)n, threads, turns);
    for (int t = 0; t < TYPES; t++) {
        qsort(p[t].ms, (size_t)turns, sizeof *p[t].ms, ascending);
        printf(", \"%s_ms\": %.3f", names[t], p[t].ms[turns / 2]);
    }
    for (int t = 1; t < TYPES; t++) {
        printf(", \"%s_ratio\": %.2f, \"%s_difference\": %.2g", names[t], p[0].ms[turns / 2] / p[t].ms[turns / 2], names[t],
               difference(&p[t], &p[0], csr.nrows * n));
    }
    printf("}\n");
    for (int t = 0; t < TYPES; t++) {
        tsr_plan_destroy(p[t].plan);
        free(p[t].b.data);
        free(p[t].c.data);
    }
    free(values);
    tsr_sparse_destroy(a);
    tsr_mm_csr_free(&csr);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 4 ? atoll(argv[1]) : 0;
    const int threads = argc > 4 ? atoi(argv[2]) : 0, turns = argc > 4 ? atoi(argv[3]) : 0;
    if (n < 1 || threads < 1 || turns < 1 || turns > MOST_TURNS) {
        fprintf(stderr, "usage: bench_native N THREADS TURNS FILE.mtx[.gz]|rmatK|uniformK...\n");
        return 2;
    }
    must(tsr_set_option("mode", "cpu") == TSR_OK && tsr_set_threads(threads) == TSR_OK, "settings");
    for (int k = 4; k < argc; k++) {
        measure(argv[k], n, threads, turns);
        fflush(stdout);
    }
    return 0;
}
