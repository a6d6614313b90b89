/* What SuiteSparse would have taken: estimated from parts that a made-up library computes, whose time is the steps of its dot products.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/engine/call/clock.h"
#include "src/engine/product/savings.h"
#include "test/seed.h"

enum { N = 4096, LONGEST = 2048, SHORTEST = 4 };
static const double step_ms = 1e-5, call_ms = 0.02;

static int64_t offsets[N + 1], *indices;
static int sampled;

static int by_index(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Few long rows, many short ones, as in a social network; indices may be there twice. */
static int fill(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int64_t r = 0; r < N; r++) {
        const int64_t length = (int64_t)LONGEST * 8 / (r + 8);
        offsets[r + 1] = offsets[r] + (length > SHORTEST ? length : SHORTEST);
    }
    indices = malloc((size_t)offsets[N] * sizeof *indices);
    if (!indices)
        return -1;
    for (int64_t r = 0; r < N; r++) {
        for (int64_t e = offsets[r]; e < offsets[r + 1]; e++) {
            const double u = (double)(test_next(&seed) >> 11) * 0x1p-53;
            indices[e] = (int64_t)(N * u * u);
        }
        qsort(indices + offsets[r], (size_t)(offsets[r + 1] - offsets[r]), sizeof *indices, by_index);
    }
    return 0;
}

static int leave(void **state)
{
    (void)state;
    free(indices);
    return 0;
}

/* The first place from `at` on whose index is not below `wanted`; every halving is a step. */
static int64_t search(int64_t at, int64_t end, int64_t wanted, double *steps)
{
    while (at < end) {
        const int64_t middle = at + (end - at) / 2;
        *steps += 1;
        if (indices[middle] < wanted)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* A longer list is searched for the entries of the shorter one. */
static double steps_of(int64_t row, int64_t other)
{
    const int64_t left = offsets[row + 1] - offsets[row], right = offsets[other + 1] - offsets[other];
    const int64_t few = left < right ? row : other, many = left < right ? other : row;
    double steps = 0;
    if (offsets[many + 1] - offsets[many] <= 8 * (offsets[few + 1] - offsets[few]))
        return (double)(left + right);
    for (int64_t e = offsets[few], at = offsets[many]; e < offsets[few + 1]; e++)
        at = search(at, offsets[many + 1], indices[e], &steps);
    return steps;
}

static double rows_ms(const int64_t *rows, int64_t count)
{
    double steps = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = rows ? rows[k] : k;
        for (int64_t e = offsets[row]; e < offsets[row + 1]; e++)
            steps += steps_of(row, indices[e]);
    }
    return call_ms + steps * step_ms;
}

static bool sample(const tsr_arguments *given, tsr_sample *out)
{
    (void)given;
    sampled++;
    out->ms = rows_ms(out->rows, out->count);
    out->entries = out->all = 1; /* not to be believed: the work is known */
    return true;
}

static tsr_view view(bool by_col)
{
    return (tsr_view){.format = TSR_SPARSE, .type = TSR_INT64, .index_size = 8, .by_col = by_col, .nrows = N, .ncols = N, .nvec = N, .vlen = N, .ld = N,
                      .nvals = offsets[N], .p = offsets, .i = indices};
}

static tsr_call masked_dot(const tsr_door *door, int nthreads)
{
    return (tsr_call){.door = door, .product = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR}, .m = N, .n = N, .k = N,
                                                .nthreads = nthreads, .a = view(false), .b = view(true), .mask = view(false)}};
}

static void test_a_part_tells_the_whole(void **state)
{
    (void)state;
    const tsr_door door = {.sample = sample};
    const tsr_call call = masked_dot(&door, 1);
    const double estimated = tsr_engine_other_ms(&call), whole = rows_ms(NULL, N);
    print_message("estimated %.1f ms, all rows take %.1f ms\n", estimated, whole);
    assert_true(estimated > 0.85 * whole && estimated < 1.15 * whole);
}

/* What was measured of a kind counts for the next products of it. */
static void test_measured_once(void **state)
{
    (void)state;
    const tsr_door door = {.sample = sample};
    const tsr_call call = masked_dot(&door, 2);
    const double first = tsr_engine_other_ms(&call);
    const int before = sampled;
    assert_true(before > 0);
    assert_true(tsr_engine_other_ms(&call) == first);
    assert_int_equal(sampled, before);
}

static void test_no_library_no_estimate(void **state)
{
    (void)state;
    const tsr_door door = {0};
    const tsr_call native = masked_dot(NULL, 3), call = masked_dot(&door, 3);
    assert_true(tsr_engine_other_ms(&native) < 0);
    assert_true(tsr_engine_other_ms(&call) < 0);
}

static void compute_for(double ms)
{
    const double until = tsr_engine_busy_ms() + ms;
    while (tsr_engine_busy_ms() < until)
        continue;
}

/* Who waits is as one whose processor others have. */
static void test_waiting_is_no_work(void **state)
{
    (void)state;
    for (int nthreads = 1; nthreads <= 2; nthreads++) {
        const tsr_stopwatch start = tsr_engine_stopwatch();
        compute_for(5);
        usleep(100000);
        const double ms = tsr_engine_work_ms(&start, nthreads);
        assert_true(ms >= 5 && ms < 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_part_tells_the_whole),
        cmocka_unit_test(test_measured_once),
        cmocka_unit_test(test_no_library_no_estimate),
        cmocka_unit_test(test_waiting_is_no_work),
    };
    return cmocka_run_group_tests(tests, fill, leave);
}
