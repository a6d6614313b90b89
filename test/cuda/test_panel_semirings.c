/* Panels over other semirings against the kernel by row, which has the oracle behind it: the same elements in every row.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/semirings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct panel_case {
    uint64_t seed;
    tsr_semiring semiring;
    int height, width;
    int64_t nrows, ncols, n, ldb, ldc, most;
    size_t size;
} panel_case;

static void draw_case(panel_case *t, rng *r, tsr_semiring semiring)
{
    static const int64_t widths[] = { 2, 3, 8, 31, 32, 33, 64, 100, 128, 130, 300 };
    bool tall = rng_chance(r, 40);
    t->semiring = semiring;
    t->size = type_size(semiring.type);
    t->height = tall ? 64 : 32;
    t->width = tall ? 48 : 24;
    t->nrows = 1 + rng_below(r, 150);
    t->ncols = 1 + rng_below(r, 400);
    t->n = widths[rng_below(r, 11)];
    t->ldb = (t->n + 3) / 4 * 4 + 4 * rng_below(r, 2);
    t->ldc = t->n + (rng_chance(r, 50) ? 0 : rng_below(r, 4));
    t->most = rng_chance(r, 50) ? 1 + rng_below(r, 3) : 64;
}

/* Any bits; of floating point in [1, 2): nothing is rounded where two results could differ. */
static void *draw_values(const panel_case *t, rng *r, int64_t count)
{
    char *x = checked(malloc((size_t)count * t->size + 1));
    for (int64_t at = 0; at < count; at++) {
        uint64_t bits = rng_next(r);
        float single = 1 + (float)(bits >> 40) * 0x1p-24f;
        double wide = 1 + (double)(bits >> 12) * 0x1p-52;
        const void *from = &bits;
        if (t->semiring.type == TSR_FP32)
            from = &single;
        if (t->semiring.type == TSR_FP64)
            from = &wide;
        memcpy(x + (size_t)at * t->size, from, t->size);
    }
    return x;
}

/* Some rows empty, some full; with values zero, one or any as SECOND wants them. */
static tsr_cuda_csr draw_matrix(const panel_case *t, rng *r)
{
    entry *list = checked(malloc((size_t)(t->nrows * t->ncols) * sizeof *list));
    int64_t nvals = 0;
    for (int64_t row = 0; row < t->nrows; row++) {
        int percent = rng_chance(r, 20) ? 0 : rng_chance(r, 10) ? 100 : (int)rng_below(r, 40);
        for (int64_t col = 0; col < t->ncols; col++)
            if (rng_chance(r, percent)) {
                list[nvals] = (entry){ row, col, nvals };
                nvals++;
            }
    }
    void *x = draw_values(t, r, nvals);
    tsr_cuda_csr a = upload_rows(list, nvals, t->nrows, t->ncols, x, false, t->size);
    must(tsr_cuda_csr_work(&a, &device, NULL), "work");
    free(list);
    free(x);
    return a;
}

/* What SECOND reads of a value. */
static double constant(const panel_case *t)
{
    static const uint32_t one = 1;
    float bits;
    memcpy(&bits, &one, sizeof bits);
    if (t->semiring.add != TSR_ADD_PLUS)
        return 0;
    return t->size == 8 ? 0x1p-1074 : (double)bits; /* the bits of an integer 1 */
}

static tsr_status run_panel(const panel_case *t, const tsr_cuda_csr *a, tsr_cuda_csr_spmm product)
{
    bool second = t->semiring.mul == TSR_MUL_SECOND;
    tsr_source source = { .nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals, .p = a->p, .i = a->i, .x = second ? NULL : a->x,
        .number = t->size == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32 };
    tsr_panel panel;
    tsr_work work;
    must(tsr_cuda_make_panel(&panel, &source, t->height, t->width, constant(t), NULL), "panel");
    must(tsr_cuda_make_work(&work, &panel.w, NULL, t->most, NULL), "work");
    product.partial = device_new(tsr_cuda_panel_partial_bytes(&panel, &work, &product));
    tsr_status status = tsr_cuda_spmm_panel_semiring(&panel, &work, a->p, NULL, &product);
    must(tsr_cuda_wait(NULL), "wait");
    tsr_cuda_free(product.partial, NULL);
    tsr_cuda_free_work(&work, NULL);
    tsr_cuda_free_panel(&panel, NULL);
    return status;
}

static tsr_status run_csr(const tsr_cuda_csr *a, tsr_cuda_csr_spmm product)
{
    product.partial = device_new(tsr_cuda_csr_partial_bytes(a, &product));
    tsr_status status = tsr_cuda_spmm_csr(a, &product);
    must(tsr_cuda_wait(NULL), "wait");
    tsr_cuda_free(product.partial, NULL);
    return status;
}

static bool same(const panel_case *t, const void *wanted, const void *got)
{
    size_t bytes = (size_t)(t->nrows * t->ldc) * t->size;
    char *x = checked(malloc(bytes)), *y = checked(malloc(bytes));
    download(x, wanted, bytes);
    download(y, got, bytes);
    bool equal = memcmp(x, y, bytes) == 0;
    free(x);
    free(y);
    return equal;
}

static bool test_case_of(tsr_semiring semiring, uint64_t seed)
{
    rng r = { seed };
    panel_case t = { .seed = seed };
    draw_case(&t, &r, semiring);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    tsr_cuda_csr a = draw_matrix(&t, &r);
    void *host_b = draw_values(&t, &r, t.ncols * t.ldb);
    size_t c_bytes = (size_t)(t.nrows * t.ldc) * t.size;
    void *b = upload(host_b, (size_t)(t.ncols * t.ldb) * t.size), *wanted = device_new(c_bytes), *got = device_new(c_bytes);
    tsr_cuda_csr_spmm product = { .semiring = semiring, .n = t.n, .b = b, .ldb = t.ldb, .c = wanted, .ldc = t.ldc, .alpha = 1,
        .device = &device };
    must(run_csr(&a, product), "csr");
    product.c = got;
    bool ok = run_panel(&t, &a, product) == TSR_OK && same(&t, wanted, got);
    if (!ok)
        printf("FAIL %s %s %s, case %llu: %d x %d, %lld x %lld, n %lld, ldb %lld, ldc %lld, most %lld\n", type_name(semiring.type),
            add_name(semiring.add), mul_name(semiring.mul), (unsigned long long)seed, t.height, t.width, (long long)t.nrows,
            (long long)t.ncols, (long long)t.n, (long long)t.ldb, (long long)t.ldc, (long long)t.most);
    tsr_cuda_free(b, NULL);
    tsr_cuda_free(wanted, NULL);
    tsr_cuda_free(got, NULL);
    free(host_b);
    free_csr(&a);
    return ok;
}

/* test_panel_semirings [cases of each semiring] */
int main(int argc, char **argv)
{
    static const tsr_type types[] = { TSR_INT32, TSR_UINT32, TSR_INT64, TSR_UINT64, TSR_FP32, TSR_FP64 };
    static const tsr_add adds[] = { TSR_ADD_PLUS, TSR_ADD_MIN, TSR_ADD_MAX };
    static const tsr_mul muls[] = { TSR_MUL_TIMES, TSR_MUL_PLUS, TSR_MUL_SECOND };
    int each = argc > 1 ? atoi(argv[1]) : 3, failed = 0, count = 0;
    if (tsr_cuda_count() == 0)
        return 77;
    must(tsr_cuda_open(0, &device), "open");
    for (int type = 0; type < 6; type++)
        for (int add = 0; add < 3; add++)
            for (int mul = 0; mul < 3; mul++) {
                bool sums = adds[add] == TSR_ADD_PLUS;
                if (sums && (muls[mul] == TSR_MUL_PLUS || type >= 4))
                    continue; /* floating point sums: test_panel */
                for (int k = 0; k < each; k++, count++)
                    failed += !test_case_of((tsr_semiring){ types[type], adds[add], muls[mul] }, (uint64_t)count + 1);
            }
    printf("%d cases, %d failed\n", count, failed);
    return failed != 0;
}
