/* A mask of few rows costs many threads about the work that it costs one: what a row needs is not done again for each part of it.
 * Process CPU time, least of several runs; threads that wait must sleep (OMP_WAIT_POLICY=passive).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 2, N = 1 << 16, DEGREE = 12, THREADS = 16, ROUNDS = 5 };
#define MOST 3.0

static int64_t p[N + 1], rows[ROWS + 1], i[(int64_t)N * DEGREE], every[ROWS * N];
static double values[ROWS * N], x[ROWS * N], expected[ROWS * N];
static int8_t present[ROWS * N];

static void fill(void)
{
    for (int64_t v = 0; v < N; v++) {
        p[v + 1] = p[v] + DEGREE;
        for (int64_t e = 0; e < DEGREE; e++)
            i[p[v] + e] = e * (N / DEGREE) + v * 2654435761u % (N / DEGREE);
    }
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t e = 0; e < N; e++) {
            every[r * N + e] = e;
            values[r * N + e] = (double)(e % 7 + r);
        }
    for (int64_t r = 0; r <= ROWS; r++)
        rows[r] = r * N;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static tsr_view view(const int64_t *offsets, const int64_t *index, int64_t nrows, int64_t nvals, const double *values_of)
{
    return (tsr_view){.format = TSR_SPARSE, .type = TSR_FP64, .index_size = 8, .nrows = nrows, .ncols = N, .nvec = nrows, .vlen = N,
                      .nvals = nvals, .p = offsets, .i = index, .x = values_of};
}

/* W<W> = W A, or W A' by dots; least time in ms, < 0: it failed. */
static double least_ms(int nthreads, bool dots, double *out)
{
    tsr_product product = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_FIRST}, .m = ROWS, .n = N, .k = N,
                           .nthreads = nthreads, .mask_structural = true, .a = view(rows, every, ROWS, (int64_t)ROWS * N, values),
                           .b = view(p, i, N, p[N], NULL), .mask = view(rows, every, ROWS, (int64_t)ROWS * N, NULL)};
    product.b.by_col = dots;
    double least = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        tsr_result result = {.x = out, .b = present};
        const double start = cpu_ms();
        if (tsr_cpu_masked_dot(&product, &result) != TSR_OK || result.nvals == 0)
            return -1;
        const double ms = cpu_ms() - start;
        least = ms < least ? ms : least;
    }
    return least;
}

static int check(const char *name, bool dots)
{
    double one, many;
    int turns = 0; /* of one that is disturbed, a few */
    do {
        one = least_ms(1, dots, expected);
        many = least_ms(THREADS, dots, x);
    } while (++turns < 4 && many > MOST * one);
    int wrong = one < 0 || many < 0 || many > MOST * one;
    for (int64_t e = 0; e < (int64_t)ROWS * N; e++)
        wrong |= x[e] != expected[e];
    printf("%s: one thread %.2f ms, %d threads %.2f ms together%s\n", name, one, THREADS, many, wrong ? ": FAIL" : "");
    return wrong;
}

/* Some entries of C<M> = A B of n vertices: short rows of A, longer columns of B. */
static double few_ms(int64_t n)
{
    enum { FEW = 256, SHORT = 2, LONG = 24, CALLS = 20 };
    static int64_t columns[N + 1], index[(int64_t)N * LONG], short_rows[ROWS + 1], short_index[ROWS * SHORT];
    static int64_t few_rows[ROWS + 1], few[ROWS * FEW];
    for (int64_t v = 0; v < n; v++) {
        columns[v + 1] = columns[v] + LONG;
        for (int64_t e = 0; e < LONG; e++)
            index[columns[v] + e] = e * (n / LONG);
    }
    for (int64_t r = 0; r < ROWS; r++) {
        short_rows[r + 1] = (r + 1) * SHORT;
        few_rows[r + 1] = (r + 1) * FEW;
        for (int64_t e = 0; e < SHORT; e++)
            short_index[r * SHORT + e] = e * (n / LONG);
        for (int64_t e = 0; e < FEW; e++)
            few[r * FEW + e] = e * (n / FEW);
    }
    tsr_product product = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_FIRST}, .m = ROWS, .n = n, .k = n,
                           .nthreads = 1, .mask_structural = true, .a = view(short_rows, short_index, ROWS, ROWS * SHORT, values),
                           .b = view(columns, index, n, columns[n], NULL), .mask = view(few_rows, few, ROWS, ROWS * FEW, NULL)};
    product.a.vlen = product.b.vlen = product.mask.vlen = n;
    product.b.by_col = true;
    double least = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        tsr_result result = {.x = x, .b = present};
        const double start = cpu_ms();
        for (int call = 0; call < CALLS; call++)
            if (tsr_cpu_masked_dot(&product, &result) != TSR_OK || result.nvals != ROWS * FEW)
                return 1e30;
        least = cpu_ms() - start < least ? cpu_ms() - start : least;
    }
    return least / CALLS;
}

static int check_few(void)
{
    const double small = few_ms(N / 64), large = few_ms(N);
    const int wrong = large > 8 * small;
    printf("few entries of dots: %.3f ms, of 64 times as many columns %.3f ms%s\n", small, large, wrong ? ": FAIL" : "");
    return wrong;
}

/* W<M> = W A' where rows of W are long: they are laid out once, however few lists are looked at together. */
static double long_ms(int64_t length)
{
    static int64_t long_rows[ROWS + 1], long_index[ROWS * N];
    for (int64_t r = 0; r < ROWS; r++) {
        long_rows[r + 1] = (r + 1) * length;
        for (int64_t e = 0; e < length; e++)
            long_index[r * length + e] = e * (N / length);
    }
    tsr_product product = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_FIRST}, .m = ROWS, .n = N, .k = N,
                           .nthreads = 1, .mask_structural = true, .a = view(long_rows, long_index, ROWS, ROWS * length, values),
                           .b = view(p, i, N, p[N], NULL), .mask = view(rows, every, ROWS, (int64_t)ROWS * N, NULL)};
    product.b.by_col = true;
    double least = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        tsr_result result = {.x = x, .b = present};
        const double start = cpu_ms();
        if (tsr_cpu_masked_dot(&product, &result) != TSR_OK)
            return 1e30;
        least = cpu_ms() - start < least ? cpu_ms() - start : least;
    }
    return least;
}

static int check_long(void)
{
    const double some = long_ms(N / 32), most = long_ms(N / 2);
    const int wrong = most > 4 * some;
    printf("dots of rows of %d entries: %.2f ms, of %d: %.2f ms%s\n", N / 32, some, N / 2, most, wrong ? ": FAIL" : "");
    return wrong;
}

int main(void)
{
    fill();
    return check("rows of B", false) | check("dots", true) | check_few() | check_long();
}
