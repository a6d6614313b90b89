/* Products through the CUDA plug-in with operands in host memory: what the way across the bus costs.
 *   bench_plugin [log2 of the rows [entries per row]]
 * For each case: the first call (A goes to the device), then the median of some more, and the share of the bus's 55 GB/s each
 * way that the dense operands got.  Sizes of chunks and of rows of panels are tried on the first case, of rows that the device
 * copies by itself on the second.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/device/context.h"

const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
int tsr_backend_score(const tsr_backend_options *options);

enum { REPEATS = 7, MOST_COLUMNS = 128, SKIPPED = 77 };

static const tsr_backend *gpu;
static int64_t rows, degree;
static int64_t *offsets, *columns;
static void *values, *dense, *result;
static int8_t *present;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *allocate(size_t bytes)
{
    void *block = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); /* as the drop-in door aligns results */
    if (!block) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return block;
}

/* In each of `degree` stretches of columns one at random: ascending, distinct, without locality. */
static void make_matrix(void)
{
    offsets = allocate((size_t)(rows + 1) * sizeof *offsets);
    columns = allocate((size_t)(rows * degree) * sizeof *columns);
    values = allocate((size_t)(rows * degree) * sizeof(double));
    dense = allocate((size_t)(rows * MOST_COLUMNS) * sizeof(float));
    result = allocate((size_t)(rows * MOST_COLUMNS) * sizeof(float));
    present = allocate((size_t)(rows * MOST_COLUMNS));
    int64_t stretch = rows / degree;
#pragma omp parallel for
    for (int64_t row = 0; row < rows; row++) {
        uint64_t state = (uint64_t)row * 0x9e3779b97f4a7c15u + 1;
        for (int64_t e = 0; e < degree; e++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            columns[row * degree + e] = e * stretch + (int64_t)((state >> 33) % (uint64_t)stretch);
        }
        offsets[row] = row * degree;
        memset((float *)dense + row * MOST_COLUMNS, 0, MOST_COLUMNS * sizeof(float));
        memset((float *)result + row * MOST_COLUMNS, 0, MOST_COLUMNS * sizeof(float));
        memset(present + row * MOST_COLUMNS, 0, MOST_COLUMNS);
        memset((double *)values + row * degree, 0, (size_t)degree * sizeof(double));
    }
    offsets[rows] = rows * degree;
}

typedef struct bench_case {
    const char *name;
    tsr_type type;
    int64_t n;
    bool a_by_col, b_by_col, c_by_col, wants_present, pin_b, pin_c;
    tsr_precision precision;
    const char *kernel;
} bench_case;

static tsr_product product_of(const bench_case *c, void **slot)
{
    tsr_product p = {.op = c->n == 1 ? TSR_OP_SPMV : TSR_OP_SPMM, .semiring = {c->type, TSR_ADD_PLUS, TSR_MUL_TIMES},
                     .m = rows, .n = c->n, .k = rows, .c_by_col = c->c_by_col, .nthreads = omp_get_max_threads(),
                     .a_slot = slot, .precision = c->precision, .kernel = c->kernel};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = c->type, .by_col = c->a_by_col, .index_size = 8, .nrows = rows, .ncols = rows,
                     .nvec = rows, .vlen = rows, .nvals = rows * degree, .p = offsets, .i = columns, .x = values};
    p.b = (tsr_view){.format = TSR_FULL, .type = c->type, .by_col = c->b_by_col, .nrows = rows, .ncols = c->n,
                     .nvec = c->b_by_col ? c->n : rows, .vlen = c->b_by_col ? rows : c->n, .ld = c->b_by_col ? rows : c->n,
                     .nvals = rows * c->n, .x = dense};
    return p;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* Pages are locked outside of the time. */
static void pin(const bench_case *c, size_t bytes)
{
    double start = now_ms();
    if ((c->pin_b && !gpu->pin(dense, bytes)) || (c->pin_c && !gpu->pin(result, bytes)))
        printf("%s: cannot be pinned\n", c->name);
    else if (c->pin_b || c->pin_c)
        printf("%s: pinned in %.1f ms\n", c->name, now_ms() - start);
}

static void unpin(void)
{
    gpu->unpin(dense);
    gpu->unpin(result);
}

static void measure(const bench_case *c)
{
    void *slot = NULL;
    tsr_product p = product_of(c, &slot);
    tsr_result r = {.x = result, .b = c->wants_present ? present : NULL};
    double ms[REPEATS], first = 0;
    pin(c, (size_t)(rows * c->n) * tsr_type_size(c->type));
    for (int k = -1; k < REPEATS; k++) {
        double start = now_ms();
        tsr_status status = gpu->execute(&p, &r);
        *(k < 0 ? &first : &ms[k]) = now_ms() - start;
        if (status != TSR_OK) {
            printf("%-34s status %d\n", c->name, (int)status);
            break;
        }
    }
    unpin();
    qsort(ms, REPEATS, sizeof *ms, by_value);
    double bytes = (double)(rows * c->n) * (double)tsr_type_size(c->type), bound = bytes / 55e6;
    double median = ms[REPEATS / 2];
    printf("%-24s n %3lld %2d threads, %2d x %4lldK, rows %3lld, %3lld: ", c->name, (long long)c->n, omp_get_max_threads(), tsr_cuda_all.ring,
           (long long)tsr_cuda_all.chunk >> 10, (long long)tsr_cuda_all.row, (long long)tsr_cuda_all.direct_row);
    printf("first %8.2f ms, then %8.3f (best %8.3f), %5.1f %% of the bus, %s\n", first, median, ms[0], 100 * bound / median,
           r.kernel);
    fflush(stdout);
    if (slot)
        gpu->release(slot);
}

static void try_chunks(const bench_case *c)
{
    static const int64_t chunks[] = {4096, 2048, 1024}; /* largest first: staging memory is made once */
    int64_t chunk = tsr_cuda_all.chunk;
    for (int k = 0; k < 3; k++) {
        tsr_cuda_all.chunk = chunks[k] << 10;
        measure(c);
    }
    tsr_cuda_all.chunk = chunk;
}

static void try_rows(const bench_case *c, int64_t *row)
{
    int64_t before = *row;
    for (*row = 128; *row <= 512; *row += *row == 256 ? 256 : 64)
        measure(c);
    *row = before;
}

int main(int argc, char **argv)
{
    rows = INT64_C(1) << (argc > 1 ? atoi(argv[1]) : 20);
    degree = argc > 2 ? atoi(argv[2]) : 30;
    const tsr_backend_options options = {0};
    if (tsr_backend_score(&options) <= 0 || !(gpu = tsr_backend_init(&options))) {
        fprintf(stderr, "no device\n");
        return SKIPPED;
    }
    make_matrix();
    const bench_case cases[] = {
        {"fp32", TSR_FP32, .n = 128},
        {"fp32, pinned", TSR_FP32, .n = 128, .pin_b = true, .pin_c = true},
        {"fp32, C pinned", TSR_FP32, .n = 128, .pin_c = true},
        {"fp32, B pinned", TSR_FP32, .n = 128, .pin_b = true},
        {"fp32, presence wanted", TSR_FP32, .n = 128, .wants_present = true},
        {"presence, pinned", TSR_FP32, .n = 128, .wants_present = true, .pin_b = true, .pin_c = true},
        {"fp32, all by column", TSR_FP32, .n = 128, .a_by_col = true, .b_by_col = true, .c_by_col = true},
        {"by column, pinned", TSR_FP32, .n = 128, .a_by_col = true, .b_by_col = true, .c_by_col = true, .pin_b = true, .pin_c = true},
        {"B by column, pinned", TSR_FP32, .n = 128, .b_by_col = true, .pin_b = true, .pin_c = true},
        {"fp32, tf32 bmat", TSR_FP32, .n = 128, .precision = TSR_PRECISION_TF32, .kernel = "bmat"},
        {"fp64", TSR_FP64, .n = 64},
        {"fp64, pinned", TSR_FP64, .n = 64, .pin_b = true, .pin_c = true},
        {"fp32, narrow", TSR_FP32, .n = 32},
        {"narrow, pinned", TSR_FP32, .n = 32, .pin_b = true, .pin_c = true},
        {"fp32, vector", TSR_FP32, .n = 1},
        {"vector, pinned", TSR_FP32, .n = 1, .pin_b = true, .pin_c = true},
        {"fp64, vector", TSR_FP64, .n = 1},
    };
    try_chunks(&cases[0]);
    try_rows(&cases[0], &tsr_cuda_all.row);
    try_rows(&cases[1], &tsr_cuda_all.direct_row);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        measure(&cases[k]);
    return 0;
}
