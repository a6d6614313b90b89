/* Row orders of the device against those of src/format, bit by bit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/common/cuda_kernels.h"
#include "src/format/blocks/tc_blocks.h"
#include "src/format/order/row_order.h"
#include "test/cuda/emulator.h"
#include "test/cuda/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    uint64_t seed, state;
    tsr_source a, device; /* the same on the host and on the device */
    int failures;
} sample;

static const tsr_reorder orders[] = {TSR_REORDER_LPA, TSR_REORDER_TCA, TSR_REORDER_LOA};
#define ORDERS (sizeof orders / sizeof *orders)

static uint64_t next(sample *t) { return seeds_next(&t->state); }
static int64_t below(sample *t, int64_t bound) { return (int64_t)(next(t) % (uint64_t)bound); }

static void *alloc(int64_t count, size_t size)
{
    void *p = calloc((size_t)count + 1, size);
    if (!p)
        abort();
    return p;
}

static void expect(sample *t, bool good, const char *what)
{
    if (good)
        return;
    printf("test_order --seed=%llu: %s (%lld x %lld, %lld entries)\n", (unsigned long long)t->seed, what, (long long)t->a.nrows,
           (long long)t->a.ncols, (long long)t->a.nvals);
    t->failures++;
}

/* ---- matrices ---- */

/* Columns of a row: ascending, some of its community's, some anywhere; now and then very many. */
static int64_t draw_row(sample *t, uint32_t *out, int64_t row, int64_t ncols)
{
    int64_t kind = below(t, 10), want = kind == 0 ? 0 : kind == 1 ? ncols : 1 + below(t, 60), k = 0;
    int64_t community = (int64_t)((uint64_t)row * 0x9e3779b97f4a7c15u >> 60) * ncols / 16;
    for (int64_t c = 0; c < ncols; c++) {
        bool near = c >= community && c < community + 80;
        if (below(t, near ? 160 : 4 * ncols) < want)
            out[k++] = (uint32_t)c;
    }
    return k;
}

static tsr_source draw_matrix(sample *t)
{
    static const int64_t few[] = {0, 1, 15, 16, 17, 33};
    int64_t nrows = below(t, 3) ? 1 + below(t, t->seed % 20 ? 300 : 1300) : few[below(t, 6)];
    int64_t ncols = below(t, 4) ? 1 + below(t, 1000) : few[below(t, 6)];
    if (t->seed % 50 == 25)
        nrows = 4500, ncols = 100; /* more than one chunk */
    if (t->seed % 50 == 0)
        ncols = 6000; /* a row may be longer than min-hashes look at */
    int64_t *p = alloc(nrows + 1, sizeof *p);
    uint32_t *i = alloc(nrows * ncols, sizeof *i);
    for (int64_t r = 0; r < nrows; r++)
        p[r + 1] = p[r] + draw_row(t, i + p[r], r, ncols);
    static const tsr_number numbers[] = {TSR_NUMBER_FP32, TSR_NUMBER_FP64, TSR_NUMBER_FP16};
    tsr_source a = {nrows, ncols, p[nrows], p, i, NULL, numbers[below(t, 3)]};
    unsigned char *x = below(t, 4) ? alloc(a.nvals, 8) : NULL;
    for (int64_t k = 0; x && k < 8 * a.nvals; k++)
        x[k] = (unsigned char)next(t);
    a.x = x;
    return a;
}

static void *upload(const void *host, size_t bytes)
{
    void *p = NULL;
    if (tsr_cuda_malloc(&p, bytes ? bytes : 1, NULL) != TSR_OK || tsr_cuda_to_device(p, host, bytes, NULL) != TSR_OK)
        abort();
    return p;
}

static void *download(const void *device, size_t bytes)
{
    void *p = alloc((int64_t)bytes, 1);
    if (tsr_cuda_to_host(p, device, bytes, NULL) != TSR_OK || tsr_cuda_wait(NULL) != TSR_OK)
        abort();
    return p;
}

/* ---- checks ---- */

static void compare_array(sample *t, const void *host, const void *device, size_t bytes, const char *what)
{
    void *got = download(device, bytes);
    expect(t, memcmp(host, got, bytes) == 0, what);
    free(got);
}

static void check_rows(sample *t, const uint32_t *rows, const uint32_t *device_rows, int64_t n)
{
    tsr_source host = {0}, got = {0};
    expect(t, tsr_take_rows(&host, &t->a, rows, n, 1) == TSR_OK, "rows on the host");
    expect(t, tsr_cuda_take_rows(&got, &t->device, device_rows, n, NULL) == TSR_OK, "rows on the device");
    expect(t, got.nrows == n && got.ncols == host.ncols && got.nvals == host.nvals && got.number == host.number, "shape of the rows");
    if (t->failures == 0) {
        compare_array(t, host.p, got.p, sizeof *host.p * (size_t)(n + 1), "offsets");
        compare_array(t, host.i, got.i, sizeof *host.i * (size_t)host.nvals, "columns");
        expect(t, !host.x == !got.x, "values");
        if (host.x)
            compare_array(t, host.x, got.x, tsr_number_size(host.number) * (size_t)host.nvals, "values");
    }
    tsr_free_source(&host);
    tsr_cuda_free_source(&got, NULL);
}

static void check_sample(sample *t, const uint32_t *order, const uint32_t *device_order)
{
    double host[5], got[5];
    expect(t, tsr_sample_vectors(host, &t->a, order, 1) == TSR_OK, "sample on the host");
    expect(t, tsr_cuda_sample_vectors(got, &t->device, device_order, NULL) == TSR_OK, "sample on the device");
    expect(t, memcmp(host, got, sizeof host) == 0, "vectors of the sample");
}

/* Windows of the sampled rows: as many entries and vectors as src/format says. */
static void check_sampled_windows(sample *t, const uint32_t *device_order, int height)
{
    tsr_source rows = {0}, host = {0};
    tsr_windows w = {0};
    uint32_t *place = NULL;
    expect(t, tsr_cuda_sample_rows(&rows, &t->device, device_order, NULL) == TSR_OK, "rows of the sample");
    expect(t, rows.nrows == tsr_order_sampled(t->a.nrows) && !rows.x, "shape of the sample");
    host = rows;
    host.p = download(rows.p, sizeof *rows.p * (size_t)(rows.nrows + 1));
    host.i = download(rows.i, sizeof *rows.i * (size_t)rows.nvals);
    tsr_window_count *got = alloc(rows.nrows / height + 1, sizeof *got);
    expect(t, tsr_make_windows(&w, &place, &host, height, 8, 1) == TSR_OK, "windows on the host");
    expect(t, tsr_cuda_count_windows(got, &rows, height, NULL) == TSR_OK, "windows on the device");
    for (int64_t v = 0; v < w.nwindows && t->failures == 0; v++)
        expect(t, got[v].nvals == w.entry[v + 1] - w.entry[v] && got[v].vectors == w.vector[v + 1] - w.vector[v], "a window");
    free(got);
    free(place);
    tsr_free_windows(&w);
    free((void *)(uintptr_t)host.p);
    free((void *)(uintptr_t)host.i);
    tsr_cuda_free_source(&rows, NULL);
}

static void check_order(sample *t, tsr_reorder which)
{
    size_t bytes = sizeof(uint32_t) * (size_t)t->a.nrows;
    uint32_t *host = alloc(t->a.nrows, sizeof *host), *device = upload(host, bytes);
    expect(t, tsr_make_order(host, &t->a, which, 1) == TSR_OK, "order on the host");
    expect(t, tsr_cuda_make_order(device, &t->device, which, NULL) == TSR_OK, "order on the device");
    compare_array(t, host, device, bytes, which == TSR_REORDER_LPA ? "lpa" : which == TSR_REORDER_TCA ? "tca" : "loa");
    if (t->failures == 0) {
        check_rows(t, host, device, t->a.nrows);
        check_sample(t, host, device);
        check_sampled_windows(t, device, 8 << t->seed % 4);
    }
    tsr_cuda_free(device, NULL);
    free(host);
}

/* The k-th allocation fails, for every k: a status, and nothing is left behind. */
static void check_memory(sample *t)
{
    if (!tsr_emulate_fail_malloc || t->seed % 10 != 0)
        return;
    size_t bytes = sizeof(uint32_t) * (size_t)t->a.nrows;
    double vectors[5];
    uint32_t *order = NULL;
    tsr_window_count *windows = alloc(t->a.nrows / 16 + 1, sizeof *windows);
    if (tsr_cuda_malloc((void **)&order, bytes + 1, NULL) != TSR_OK)
        abort();
    for (size_t o = 0; o < ORDERS; o++)
        for (long k = 1, live = tsr_emulate_live_blocks();; k++) {
            long before = tsr_emulate_mallocs();
            tsr_emulate_fail_malloc(k);
            tsr_status made = tsr_cuda_make_order(order, &t->device, orders[o], NULL);
            tsr_status counted = made == TSR_OK ? tsr_cuda_sample_vectors(vectors, &t->device, order, NULL) : made;
            if (counted == TSR_OK)
                counted = tsr_cuda_count_windows(windows, &t->device, 16, NULL);
            tsr_emulate_fail_malloc(0);
            expect(t, tsr_emulate_live_blocks() == live, "memory is left");
            if (tsr_emulate_mallocs() - before < k)
                break;
            expect(t, counted == TSR_OUT_OF_MEMORY, "a failed allocation");
        }
    tsr_cuda_free(order, NULL);
    free(windows);
}

static int run(uint64_t seed)
{
    sample t = {.seed = seed, .state = seed};
    t.a = draw_matrix(&t);
    t.device = t.a;
    t.device.p = upload(t.a.p, sizeof *t.a.p * (size_t)(t.a.nrows + 1));
    t.device.i = upload(t.a.i, sizeof *t.a.i * (size_t)t.a.nvals);
    t.device.x = t.a.x ? upload(t.a.x, tsr_number_size(t.a.number) * (size_t)t.a.nvals) : NULL;
    check_sample(&t, NULL, NULL);
    for (size_t o = 0; o < ORDERS; o++)
        check_order(&t, orders[o]);
    check_memory(&t);
    tsr_cuda_free_source(&t.device, NULL);
    tsr_free_source(&t.a);
    return t.failures != 0;
}

int main(int argc, char **argv)
{
    return run_seeds(argc, argv, "test_order", 100, run);
}
