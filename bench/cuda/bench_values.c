/* What values on the device cost (tessera/values.h): steps and reductions against the memory's bandwidth, the host's side of short steps,
 * a product that moves nothing.
 *   bench_values [log2 of the elements [log2 of the rows of the R-MAT graph]]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/arrays/arrays.h"

const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
int tsr_backend_score(const tsr_backend_options *options);

enum { REPEATS = 20, ROUNDS = 5, SKIPPED = 77, DEGREE = 16 };

static const tsr_backend *gpu;
static const tsr_backend_arrays *arrays;
static const tsr_backend_contents *contents;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        printf("%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void *checked(void *p)
{
    if (!p) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return p;
}

static void wait(void)
{
    must(tsr_cuda_wait(tsr_cuda->compute), "wait");
}

/* Ones; every third is absent from a bitmap. */
static void *make_value(tsr_type type, int64_t count, bool bitmap)
{
    static const double one = 1;
    static const float one32 = 1;
    static const int64_t integer = 1;
    void *value;
    int64_t moved;
    int8_t *b = bitmap ? checked(malloc((size_t)count)) : NULL;
    tsr_view v = {.format = bitmap ? TSR_BITMAP : TSR_FULL, .type = type, .by_col = true, .iso = true, .nrows = count, .ncols = 1, .nvec = 1,
                  .vlen = count, .ld = count, .nvals = count, .b = b,
                  .x = type == TSR_FP64 ? (const void *)&one : type == TSR_FP32 ? (const void *)&one32 : &integer};
    for (int64_t k = 0; k < count && bitmap; k++)
        b[k] = k % 3 != 0;
    v.nvals = bitmap ? count - (count + 2) / 3 : count;
    must(contents->upload(&v, 8, &value, &moved), "upload");
    free(b);
    return value;
}

/* Best of some rounds, us for one. */
static double time_step(const tsr_ewise *s)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        void *z;
        double start = now_us();
        for (int k = 0; k < REPEATS; k++) {
            must(arrays->step(s, &z), "step");
            contents->drop(z);
        }
        wait();
        double us = (now_us() - start) / REPEATS;
        best = us < best ? us : best;
    }
    return best;
}

static double time_copy(int64_t bytes)
{
    enum { PITCH = 1 << 20 };
    void *from, *to;
    double best = 1e30;
    must(tsr_cuda_new(&from, (size_t)bytes), "new");
    must(tsr_cuda_new(&to, (size_t)bytes), "new");
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_us();
        for (int k = 0; k < REPEATS; k++)
            must(tsr_cuda_rows_on_device(to, PITCH, from, PITCH, PITCH, (size_t)bytes / PITCH, tsr_cuda->compute), "copy");
        wait();
        double us = (now_us() - start) / REPEATS;
        best = us < best ? us : best;
    }
    tsr_cuda_delete(from);
    tsr_cuda_delete(to);
    return best;
}

static void print_step(const char *name, const tsr_ewise *s, double bytes_per_element)
{
    double us = time_step(s);
    printf("%-36s %9.1f us %7.0f GB/s\n", name, us, bytes_per_element * (double)s->count / us * 1e-3);
}

static void measure_steps(int64_t count)
{
    static const struct {
        tsr_type type;
        const char *name;
        double size;
    } types[] = {{TSR_FP32, "fp32", 4}, {TSR_FP64, "fp64", 8}, {TSR_INT8, "int8", 1}, {TSR_INT64, "int64", 8}};
    printf("copy of fp32 %32.1f us %7.0f GB/s\n", time_copy(4 * count), 8e-3 * (double)count / time_copy(4 * count));
    for (int k = 0; k < 4; k++) {
        char name[64];
        void *x = make_value(types[k].type, count, false), *b = make_value(types[k].type, count, true), *mask = make_value(TSR_BOOL, count, true);
        void *c = make_value(types[k].type, count, true);
        double size = types[k].size;
        tsr_ewise s = {.op = TSR_EWISE_PLUS, .type = types[k].type, .result = types[k].type, .count = count, .x = {.value = x},
                      .y = {.value = x}};
        s.op = TSR_EWISE_ABS;
        snprintf(name, sizeof name, "%s: abs (x)", types[k].name);
        print_step(name, &s, 2 * size);
        s.op = TSR_EWISE_DIV;
        s.y.value = b;
        snprintf(name, sizeof name, "%s: x / y, y a bitmap", types[k].name);
        print_step(name, &s, 3 * size + 2);
        s.op = TSR_EWISE_PLUS;
        s.mask = mask;
        s.mask_type = TSR_BOOL;
        s.c = c;
        s.accumulates = true;
        s.accum = TSR_EWISE_MIN;
        snprintf(name, sizeof name, "%s: C<M> min= x + y, bitmaps but x", types[k].name);
        print_step(name, &s, 4 * size + 5);
        contents->drop(c);
        contents->drop(x);
        contents->drop(b);
        contents->drop(mask);
    }
}

static void measure_reductions(int64_t count)
{
    static const tsr_type types[] = {TSR_FP32, TSR_FP64, TSR_INT64};
    for (int k = 0; k < 3; k++) {
        void *x = make_value(types[k], count, false);
        double best = 1e30, bytes = (double)count * (double)tsr_type_size(types[k]);
        for (int round = 0; round < REPEATS; round++) {
            uint64_t scalar;
            bool any;
            double start = now_us();
            must(arrays->reduce(x, types[k], TSR_REDUCE_PLUS, &scalar, &any), "reduce");
            double us = now_us() - start;
            best = us < best ? us : best;
        }
        printf("sum of type %d, with its download    %9.1f us %7.0f GB/s\n", (int)types[k], best, bytes / best * 1e-3);
        contents->drop(x);
    }
}

/* Six steps as PageRank has them, each a value of the last. */
static void measure_fusion(void)
{
    enum { COUNT = 1 << 20, STEPS = 6 };
    double best = 1e30, best_queued = 1e30;
    void *first = make_value(TSR_FP32, COUNT, false);
    for (int round = 0; round < 50; round++) {
        void *x = first, *z;
        double start = now_us();
        for (int k = 0; k < STEPS; k++) {
            tsr_ewise s = {.op = k % 2 ? TSR_EWISE_PLUS : TSR_EWISE_TIMES, .type = TSR_FP32, .result = TSR_FP32, .count = COUNT,
                          .x = {.value = x}, .y = {.value = first}};
            must(arrays->step(&s, &z), "step");
            if (x != first)
                contents->drop(x);
            x = z;
        }
        double queued = (now_us() - start) / STEPS;
        wait();
        double us = (now_us() - start) / STEPS;
        contents->drop(x);
        best_queued = queued < best_queued ? queued : best_queued;
        best = us < best ? us : best;
    }
    printf("six steps of 2^20 fp32: %.2f us each to queue, %.2f us each until done\n", best_queued, best);
    contents->drop(first);
}

/* ---- an R-MAT graph (a 0.57, b 0.19, c 0.19), by row, without duplicates ---- */

static int by_number(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static uint64_t draw_edge(uint64_t *state, int scale)
{
    uint64_t row = 0, column = 0;
    for (int k = 0; k < scale; k++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint64_t percent = (*state >> 33) % 100;
        row = row << 1 | (percent >= 76);
        column = column << 1 | ((percent >= 57 && percent < 76) || percent >= 95);
    }
    return row << 32 | column;
}

static void make_graph(tsr_view *a, int scale)
{
    int64_t n = INT64_C(1) << scale, drawn = n * DEGREE, kept = 0;
    uint64_t *edges = checked(malloc((size_t)drawn * sizeof *edges)), state = 1;
    int64_t *offsets = checked(calloc((size_t)n + 1, sizeof *offsets));
    for (int64_t k = 0; k < drawn; k++)
        edges[k] = draw_edge(&state, scale);
    qsort(edges, (size_t)drawn, sizeof *edges, by_number);
    uint32_t *columns = checked(malloc((size_t)drawn * sizeof *columns));
    float *x = checked(malloc((size_t)drawn * sizeof *x));
    for (int64_t k = 0; k < drawn; k++)
        if (k == 0 || edges[k] != edges[k - 1]) {
            offsets[(edges[k] >> 32) + 1]++;
            x[kept] = 1;
            columns[kept++] = (uint32_t)edges[k];
        }
    for (int64_t row = 0; row < n; row++)
        offsets[row + 1] += offsets[row];
    free(edges);
    *a = (tsr_view){.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 4, .nrows = n, .ncols = n, .nvec = n, .vlen = n, .nvals = kept,
                    .p = offsets, .i = columns, .x = x};
}

/* w = A u with A, u and w there; presence of w by the rows of A. */
static void measure_product(int scale)
{
    void *slot = NULL, *u;
    tsr_view a;
    make_graph(&a, scale);
    u = make_value(TSR_FP32, a.ncols, false);
    tsr_product p = {.op = TSR_OP_SPMV, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_SECOND}, .m = a.nrows, .n = 1, .k = a.ncols, .a = a,
                     .c_by_col = true, .nthreads = 8, .a_slot = &slot, .b_value = u};
    p.b = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .by_col = true, .nrows = a.ncols, .ncols = 1, .nvec = 1, .vlen = a.ncols,
                     .ld = a.ncols, .nvals = a.ncols};
    float *x = checked(malloc((size_t)a.nrows * sizeof *x));
    int8_t *b = checked(malloc((size_t)a.nrows));
    double best = 1e30, best_queued = 1e30;
    int64_t moved = 0;
    for (int round = 0; round < 50; round++) {
        double start = now_us();
        tsr_result r = {.x = x, .b = b, .may_stay = true};
        must(gpu->execute(&p, &r), "execute");
        double queued = now_us() - start;
        wait();
        double us = now_us() - start;
        contents->drop(r.stays);
        moved = r.bytes_moved;
        best_queued = queued < best_queued ? queued : best_queued;
        best = us < best ? us : best;
    }
    printf("mxv, R-MAT %d, %lld entries: %.2f us to queue, %.2f us until done, %lld bytes moved\n", scale, (long long)a.nvals, best_queued,
           best, (long long)moved);
    contents->drop(u);
    if (slot)
        gpu->release(slot);
    free(x);
    free(b);
    free((void *)(uintptr_t)a.p);
    free((void *)(uintptr_t)a.i);
    free((void *)(uintptr_t)a.x);
}

int main(int argc, char **argv)
{
    int64_t count = INT64_C(1) << (argc > 1 ? atoi(argv[1]) : 26);
    const tsr_backend_options options = {0};
    if (tsr_backend_score(&options) <= 0 || !(gpu = tsr_backend_init(&options))) {
        fprintf(stderr, "no device\n");
        return SKIPPED;
    }
    arrays = gpu->arrays;
    contents = gpu->contents;
    measure_fusion();
    measure_product(argc > 2 ? atoi(argv[2]) : 20);
    measure_reductions(count);
    measure_steps(count);
    return 0;
}
