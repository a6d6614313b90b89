/* The cost model is monotone, and building by ski-rental costs at most twice the best possible.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "src/policy/price/few.h"
#include "src/policy/price/gpu_price.h"

static tsr_features base(tsr_op op)
{
    return (tsr_features){.op = op, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 1e5, .n = 32, .k = 1e5,
                          .a_nnz = 1e6, .b_nnz = 3.2e6, .mask_nnz = 1e6, .b_by_col = op == TSR_OP_SDDMM, .nthreads = 2};
}

static void test_more_work_takes_longer(void **state)
{
    (void)state;
    for (int op = 0; op < TSR_OP_COUNT; op++) {
        tsr_features small = base((tsr_op)op), large = small;
        large.a_nnz *= 4;
        large.b_nnz *= 4;
        large.mask_nnz *= 4;
        assert_true(tsr_work_of(&large) > tsr_work_of(&small));
        assert_true(tsr_predict_cpu_ms(&large) > tsr_predict_cpu_ms(&small));
        assert_true(tsr_predict_suitesparse_ms(&large) > tsr_predict_suitesparse_ms(&small));
    }
}

static void test_predictions_are_positive_and_finite(void **state)
{
    (void)state;
    for (int op = 0; op < TSR_OP_COUNT; op++)
        for (int type = 0; type < TSR_TYPE_COUNT; type++)
            for (int bits = 0; bits < 32; bits++) {
                tsr_features f = base((tsr_op)op);
                f.semiring.type = (tsr_type)type;
                f.a_by_col = bits & 1;
                f.b_by_col = bits & 2;
                f.c_by_col = bits & 4;
                f.a_cast = bits & 8;
                f.narrow_index = bits & 16;
                double cpu = tsr_predict_cpu_ms(&f), real = tsr_predict_suitesparse_ms(&f), gpu = tsr_predict_gpu_ms(&f);
                assert_true(isfinite(cpu) && cpu > 0 && isfinite(real) && real > 0 && isfinite(gpu) && gpu > 0);
                f.a_nnz = f.b_nnz = f.mask_nnz = f.m = f.n = f.k = 0;
                cpu = tsr_predict_cpu_ms(&f), real = tsr_predict_suitesparse_ms(&f);
                assert_true(isfinite(cpu) && cpu >= 0 && isfinite(real) && real >= 0);
            }
}

/* SuiteSparse walks all of m*n*k where it cannot take dots: such a call must not even be tried. */
static void test_sddmm_without_dots(void **state)
{
    (void)state;
    tsr_features dots = base(TSR_OP_SDDMM), x_by_col = dots, y_by_row = dots;
    x_by_col.a_by_col = true;
    y_by_row.b_by_col = false;
    assert_true(tsr_predict_suitesparse_ms(&x_by_col) > 50 * tsr_predict_suitesparse_ms(&dots));
    assert_true(tsr_predict_suitesparse_ms(&y_by_row) > 50 * tsr_predict_suitesparse_ms(&dots));
}

/* What is on the device already is not paid for again; and a large product is worth the way there, a small one is not. */
static void test_the_gpu_pays_for_the_bus(void **state)
{
    (void)state;
    tsr_features f = base(TSR_OP_SPMM), there = f;
    there.a_on_device = true;
    assert_true(tsr_predict_gpu_ms(&there) < tsr_predict_gpu_ms(&f));
    f.nthreads = 16;
    f.m = f.k = 1e6;
    f.a_nnz = 3e7;
    f.n = 128;
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_cpu_ms(&f));
    there = f;
    there.direct = true;
    assert_true(tsr_predict_gpu_ms(&there) < tsr_predict_gpu_ms(&f));
    const double slow = tsr_predict_download_ms(&f);
    f.m = f.k = 1e3;
    f.a_nnz = 1e4;
    assert_true(tsr_predict_gpu_ms(&f) > tsr_predict_cpu_ms(&f));
    assert_true(tsr_predict_download_ms(&f) > 0 && tsr_predict_download_ms(&f) < slow);
}

/* SuiteSparse multiplies the entries of a sparse vector, the GPU all of A: few are left where they are, many are worth the way. */
static void test_a_sparse_vector(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_SPMV, .semiring = {TSR_INT32, TSR_ADD_MIN, TSR_MUL_PLUS}, .m = 1e6, .n = 1, .k = 1e6, .a_nnz = 3e7,
                      .b_nnz = 1e3, .a_by_col = true, .b_by_col = true, .b_bitmap = true, .b_sparse = true, .a_on_device = true,
                      .c_stays = true, .nthreads = 16};
    tsr_features bitmap = f;
    bitmap.b_sparse = false;
    assert_true(tsr_predict_suitesparse_ms(&f) < tsr_predict_gpu_ms(&f));
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_gpu_ms(&bitmap));
    f.b_nnz = 3e5;
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_suitesparse_ms(&f) / 10);
    f.b_nnz = 1e3;
    f.a_by_col = false; /* by dots every entry of A is looked for */
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_suitesparse_ms(&f) / 3);
}

/* Of a matrix the entries that they meet count, with every thread: hubs meet many. */
static void test_a_sparse_narrow_matrix(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_SPMM, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_SECOND}, .m = 1 << 20, .n = 32, .k = 1 << 20,
                      .a_nnz = 3.14e7, .b_nnz = 32, .a_by_col = true, .b_by_col = true, .c_by_col = true, .a_pattern = true, .b_bitmap = true,
                      .b_sparse = true, .a_on_device = true, .c_stays = true, .finish_extra = true, .nthreads = 16};
    assert_true(tsr_predict_suitesparse_ms(&f) < tsr_predict_gpu_ms(&f));
    const double waiting = tsr_predict_settle_ms(f.m * f.n, f.nthreads); /* that the mask becomes a bitmap first turns it round */
    assert_true(tsr_predict_gpu_ms(&f) < waiting + tsr_predict_suitesparse_ms(&f) && tsr_predict_settle_ms(0, 1) == 0);
    f.b_nnz = f.walk = 4e5;
    assert_true(tsr_predict_suitesparse_ms(&f) < tsr_predict_gpu_ms(&f));
    f.walk = 1e8;
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_suitesparse_ms(&f) / 10);
    tsr_features downloaded = f;
    downloaded.c_stays = false;
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_gpu_ms(&downloaded) / 4);
}

static bool ours(const tsr_features *f)
{
    return tsr_predict_cpu_ms(f) < tsr_predict_suitesparse_ms(f) * TSR_ROUTE_MARGIN;
}

/* Beyond the caches both CPU routes wait alike: who is faster stays, against the GPU they lose. */
static void test_gathers_beyond_the_caches(void **state)
{
    (void)state;
    for (int n = 1; n <= 128; n *= 8) {
        tsr_features near = base(n == 1 ? TSR_OP_SPMV : TSR_OP_SPMM), far;
        near.n = n;
        near.m = near.k = 1e3;
        near.a_nnz = 3e7;
        far = near;
        far.k = 1e7;
        assert_true(tsr_predict_cpu_ms(&far) > 2 * tsr_predict_cpu_ms(&near));
        assert_true(tsr_predict_suitesparse_ms(&far) > 2 * tsr_predict_suitesparse_ms(&near));
        assert_true(ours(&near) == ours(&far));
        far.semiring.mul = near.semiring.mul = TSR_MUL_FIRST; /* nothing of B is read */
        assert_true(tsr_predict_cpu_ms(&far) == tsr_predict_cpu_ms(&near));
    }
}

/* PageRank on R-MAT 20: nothing crosses the bus in a loop that has settled there. */
static void test_settled_loops(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_SPMV, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_SECOND}, .m = 1 << 20, .n = 1, .k = 1 << 20,
                      .a_nnz = 3.14e7, .b_nnz = 1 << 20, .a_pattern = true, .a_on_device = true, .nthreads = 16};
    const double real = tsr_predict_suitesparse_ms(&f), first = tsr_predict_gpu_ms(&f);
    f.b_on_device = f.c_stays = true;
    assert_true(real > TSR_GPU_LEAST_MS && first < real * TSR_ROUTE_MARGIN && tsr_predict_gpu_ms(&f) < first / 2);
}

/* Two full matrices: ours by far, and the GPU where the operands are large. */
static void test_full_matrices(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_SPMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 2e5, .n = 128, .k = 128, .a_nnz = 2e5 * 128,
                      .b_nnz = 128 * 128, .a_full = true, .nthreads = 16};
    assert_true(tsr_predict_cpu_ms(&f) < tsr_predict_suitesparse_ms(&f) / 5);
    assert_true(tsr_predict_gpu_ms(&f) < tsr_predict_cpu_ms(&f));
    f.m = 2e3;
    f.a_nnz = f.m * f.k;
    assert_true(tsr_predict_gpu_ms(&f) > tsr_predict_cpu_ms(&f));
}

static void test_a_cast_is_not_free(void **state)
{
    (void)state;
    tsr_features plain = base(TSR_OP_SPMM), cast = plain;
    cast.a_cast = true;
    assert_true(tsr_predict_cpu_ms(&cast) > tsr_predict_cpu_ms(&plain));
}

/* C += A*B into a full C is fast in SuiteSparse while rows of B are short; measured on R-MAT 14 and 16, docs/routing.md. */
static void test_adding_to_a_full_c(void **state)
{
    (void)state;
    const struct {
        tsr_type type;
        double n;
        bool a_pattern, b_by_col, c_by_col, ours;
    } measured[] = {
        {TSR_FP32, 4, false, false, false, false}, {TSR_FP32, 32, false, false, false, true}, {TSR_FP32, 64, true, false, false, true},
        {TSR_FP64, 4, false, false, false, false}, {TSR_FP64, 16, true, false, false, true},  {TSR_UINT16, 32, false, false, false, false},
        {TSR_FP32, 8, false, true, false, true},   {TSR_FP32, 4, false, true, true, false},   {TSR_FP64, 16, false, true, true, true},
    };
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++) {
        tsr_features f = base(TSR_OP_SPMM);
        f.m = f.k = 65536;
        f.a_nnz = 26 * f.m;
        f.accum_full = true;
        f.semiring.type = measured[k].type;
        f.n = measured[k].n;
        f.a_pattern = measured[k].a_pattern;
        f.b_by_col = measured[k].b_by_col;
        f.c_by_col = measured[k].c_by_col;
        assert_int_equal(ours(&f), measured[k].ours);
        f.typecast = true;
        assert_true(ours(&f));
    }
}

/* Also a single value of another type sends SuiteSparse to its generic kernels. */
static void test_a_typecast_is_seen(void **state)
{
    (void)state;
    const float x = 1;
    const bool yes = true;
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .a = {.type = TSR_BOOL, .iso = true, .x = &yes},
                     .b = {.type = TSR_FP32, .x = &x}};
    tsr_features f;
    tsr_features_of(&f, &p);
    assert_true(f.typecast && !f.a_cast && f.a_pattern);
    p.semiring.mul = TSR_MUL_SECOND;
    tsr_features_of(&f, &p);
    assert_false(f.typecast);
    p.semiring.mul = TSR_MUL_TIMES;
    p.a.type = TSR_FP32;
    tsr_features_of(&f, &p);
    assert_false(f.typecast);
}

/* Play `calls` products: each costs `slow` without the representation and `fast` with it. */
static double played(double slow, double fast, double price, int calls)
{
    double spent = 0, regret = 0;
    bool built = false;
    for (int c = 0; c < calls; c++) {
        if (!built && tsr_worth_building(price, regret, slow - fast, 0)) {
            spent += price;
            built = true;
        }
        spent += built ? fast : slow;
        if (!built)
            regret += slow - fast;
    }
    return spent;
}

static void test_ski_rental_is_two_competitive(void **state)
{
    (void)state;
    for (double price = 0.5; price < 300; price *= 1.7)
        for (double gain = 0.1; gain < 50; gain *= 2.3)
            for (int calls = 1; calls < 400; calls = calls * 3 / 2 + 1) {
                double fast = 2.0, slow = fast + gain;
                double never = slow * calls, at_once = price + fast * calls;
                double best = never < at_once ? never : at_once;
                assert_true(played(slow, fast, price, calls) <= 2.0 * best + gain);
            }
}

static void test_expected_calls_decide_at_once(void **state)
{
    (void)state;
    assert_true(tsr_worth_building(10.0, 0.0, 1.0, 11.0));
    assert_false(tsr_worth_building(10.0, 0.0, 1.0, 9.0));
    assert_false(tsr_worth_building(10.0, 9.9, 1.0, 0.0));
    assert_true(tsr_worth_building(10.0, 10.0, 1.0, 0.0));
}

/* 50 vertices know each other, 950 others vertex 0 only. */
static void test_lists_are_looked_at(void **state)
{
    enum { N = 1000, CLIQUE = 50, ENTRIES = CLIQUE * CLIQUE + N - CLIQUE };
    (void)state;
    static int64_t p[N + 1], h[N], i[ENTRIES];
    static uint32_t narrow[ENTRIES];
    for (int row = 0, e = 0; row < N; row++) {
        h[row] = row;
        for (int k = 0; k < (row < CLIQUE ? CLIQUE : 1); k++)
            narrow[e] = (uint32_t)k, i[e++] = k;
        p[row + 1] = e;
    }
    tsr_view rows = {.format = TSR_SPARSE, .index_size = 8, .nrows = N, .ncols = N, .nvec = N, .vlen = N, .nvals = ENTRIES, .p = p, .i = i};
    tsr_view columns = rows;
    columns.by_col = true;
    columns.index_size = 4;
    columns.i = narrow;
    tsr_view named = rows;
    named.format = TSR_HYPERSPARSE;
    named.h = h;
    tsr_product product = {.op = TSR_OP_MASKED_DOT, .m = N, .n = N, .k = N, .mask = rows};
    const tsr_view *const layouts[][2] = {{&rows, &columns}, {&named, &columns}, {&rows, &rows}, {&columns, &columns}};
    const double walked = (CLIQUE + 1.0) * CLIQUE * CLIQUE + 2.0 * (N - CLIQUE), more = (N - CLIQUE) * (double)CLIQUE;
    for (int k = 0; k < 4; k++) {
        product.a = *layouts[k][0];
        product.b = *layouts[k][1];
        assert_true(fabs(tsr_sample_walk(&product).walked - walked) < 0.1 * walked + (k < 2 ? 0 : more));
        tsr_features f;
        tsr_features_of(&f, &product);
        const double averages = tsr_work_of(&f), predicted = tsr_predict_cpu_ms(&f);
        f.walk = tsr_sample_walk(&product).walked;
        assert_true(f.walk > 5 * averages && tsr_work_of(&f) == f.walk && tsr_predict_cpu_ms(&f) > predicted);
    }
    product.a = columns;
    product.b = rows;
    assert_true(tsr_sample_walk(&product).walked == 0);
    product.op = TSR_OP_SPMM;
    assert_true(fabs(tsr_sample_walk(&product).walked - walked) < 0.1 * walked + more);
    product.a = rows;
    assert_true(tsr_sample_walk(&product).walked == 0);
}

/* Merges of values: neighbours on a line have runs in common, lists of others alternate.  Few ways of merges are regular. */
static void test_merges_are_sampled(void **state)
{
    (void)state;
    enum { N = 30011, LENGTH = 9 };
    static int64_t p[N + 1], near[N * LENGTH], apart[N * LENGTH];
    static double values[N * LENGTH];
    for (int64_t row = 0, e = 0; row < N; p[++row] = e)
        for (int64_t k = 0; k < LENGTH; k++, e++) {
            near[e] = (row < N - LENGTH ? row : N - LENGTH) + k;
            apart[e] = 2 * k + row % 2;
        }
    tsr_view a = {.format = TSR_SPARSE, .type = TSR_FP64, .index_size = 8, .nrows = N, .ncols = N, .nvec = N, .vlen = N,
                  .nvals = N * LENGTH, .p = p, .i = near, .x = values};
    const tsr_view mask = a;
    tsr_product product = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = N, .n = N, .k = N, .mask = mask,
                           .mask_structural = true, .a = a, .b = tsr_view_transposed(a)};
    const tsr_walk runs = tsr_sample_walk(&product);
    product.a.i = product.b.i = apart;
    const tsr_walk alternate = tsr_sample_walk(&product);
    const double pairs = N * LENGTH;
    assert_true(runs.common > 3 * pairs && runs.common < 6 * pairs && runs.turns <= 2 * pairs);
    assert_true(alternate.turns > 6 * pairs && alternate.common > pairs && alternate.common < 7 * pairs);
    assert_true(runs.regular && alternate.regular);
    for (int64_t row = 0, e = 0; row < N; row++)
        for (int64_t k = 0; k < LENGTH; k++, e++)
            apart[e] = 8 * k + (int64_t)(((uint64_t)row * UINT64_C(0x9e3779b97f4a7c15)) >> (5 * k + 8)) % 8;
    assert_true(!tsr_sample_walk(&product).regular);
    product.a.i = NULL;
    assert_true(tsr_sample_walk(&product).turns == 0);
}

/* Values under square masks, ns an entry of a thread of an EPYC (Zen 5), SuiteSparse / ours: uniform 2^17 of degree 6, L U' 42 / 16, A A' 110 / 20;
 * 2^18 of degree 4 42 / 19, 107 / 17; 2^15 of degree 16 69 / 21; road 39 / 19; a band of 6 12 / 34, of 40, L U', 24 / 45; a grid 9 / 12; meshes alike. */
static void test_values_by_their_merges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double entries, walk, merged, turns, common, blocks, uneven; /* all but the first: of an entry */
        bool ours;
    } cases[] = {
        {"uniform 17, degree 6, L U'", 393209, 3.7, 9.53, 2.45, 0, 1.15, 1, true}, {"A A'", 786418, 6.4, 13.71, 6.66, 0, 1.43, 1, true},
        {"uniform 18, degree 4, L U'", 524280, 3.2, 7.33, 1.98, 0, 1.03, 1, true}, {"A A'", 1048560, 4.6, 9.69, 4.27, 0, 1.08, 1, true},
        {"uniform 15, degree 16, L U'", 262086, 9, 23.03, 6.02, .02, 2.76, .9, true}, {"USA-road-FLA, A A'", 2687902, 3, 5.83, 3.34, .06, 1, 1, true},
        {"band 6, L U'", 393210, 4, 6, 1.67, 1, 1, 0, false}, {"A A'", 786420, 7, 12, 4.97, 3, 1, 0, false},
        {"band 40, L U'", 655150, 21, 40, 1.95, 9.66, 5, 0, false}, {"grid, L U'", 523264, 3, 4, 1, 0, 1, 0, false},
        {"wave, A A'", 2118662, 13.4, 28.41, 12.11, 5.01, 3.6, .7, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const double n = cases[k].entries;
        const tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 1 << 17, .n = 1 << 17, .k = 1 << 17,
                                .a_nnz = n, .b_nnz = n, .mask_nnz = n, .walk = n * cases[k].walk, .merged = n * cases[k].merged,
                                .turns = n * cases[k].turns, .common = n * cases[k].common, .blocks = n * cases[k].blocks, .uneven = cases[k].uneven,
                                .b_by_col = true, .nthreads = 1};
        if (ours(&f) != cases[k].ours)
            fail_msg("%s", cases[k].name);
    }
}

/* finan512, L U', plus_pair: ms of a thread of an EPYC (Zen 5), SuiteSparse 2.6, ours 2.5, and more around it: its merges repeat. */
static void test_regular_counts(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR}, .m = 74752, .n = 74752, .k = 74752,
                      .a_nnz = 261120, .b_nnz = 261120, .mask_nnz = 261120, .walk = 1329270, .merged = 18.08 * 261120, .marked = 12.5 * 261120,
                      .blocks = 2.27 * 261120, .turns = 3.18 * 261120, .uneven = 1, .a_pattern = true, .b_by_col = true, .nthreads = 1};
    assert_true(ours(&f));
    f.regular = true;
    assert_false(ours(&f));
}

/* Of two lists a merge passes both, unless one is so much longer that it is searched. */
static void test_merges_pass_both_lists(void **state)
{
    enum { N = 200, SHORT = 2, LONG = 10 };
    static int64_t short_p[N + 1], long_p[N + 1], short_i[N * SHORT], long_i[N * LONG];
    (void)state;
    for (int v = 0; v < N; v++) {
        short_p[v + 1] = (v + 1) * SHORT;
        long_p[v + 1] = (v + 1) * LONG;
        for (int k = 0; k < LONG; k++) long_i[v * LONG + k] = k;
        for (int k = 0; k < SHORT; k++) short_i[v * SHORT + k] = k;
    }
    const tsr_view rows = {.format = TSR_SPARSE, .index_size = 8, .nrows = N, .ncols = N, .nvec = N, .vlen = N, .nvals = N * SHORT,
                           .p = short_p, .i = short_i};
    tsr_view columns = rows;
    columns.by_col = true;
    columns.nvals = N * LONG;
    columns.p = long_p;
    columns.i = long_i;
    const tsr_product product = {.op = TSR_OP_MASKED_DOT, .m = N, .n = N, .k = N, .mask = rows, .a = rows, .b = columns};
    const double merged = (double)(N * SHORT) * (SHORT + LONG);
    assert_true(fabs(tsr_sample_walk(&product).merged - merged) < 1e-9 * merged);
    assert_true(tsr_merge_steps(1, 1024) == 10 && tsr_merge_steps(1024, 1) == 10 && tsr_merge_steps(0, 5) == 0);
}

/* Masked products by what they cost one thread of two machines, SuiteSparse and us: on grids, molecules and roads lists are so short that the
 * look at every pair of them is what takes long (counts of those: test_pairs_of_short_lists); few rows of a mask are met by lists that nobody
 * has in a cache. */
static void test_masked_products_of_graphs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool dots, counts;
        double m, n, a, b, mask, walk;
        bool ours;
    } cases[] = {
        {"grid 512, L L", false, true, 262144, 262144, 523264, 523264, 523264, 1565700, false},
        {"grid 512, A A", false, false, 262144, 262144, 1046528, 1046528, 1046528, 5224460, false},
        {"USA-road-FLA, A A'", true, false, 1070376, 1070376, 2687902, 2687902, 2687902, 9554650, false},
        {"USA-road-FLA, A A", false, true, 1070376, 1070376, 2687902, 2687902, 2687902, 10520600, false},
        {"DD, L U', values", true, false, 334925, 334925, 843046, 843046, 843046, 3135080, false},
        {"wave, L U', values", true, false, 156317, 156317, 1059331, 1059331, 1059331, 7903600, false},
        {"wave, A A', values", true, false, 156317, 156317, 2118662, 2118662, 2118662, 27923300, false},
        {"cnr-2000, betweenness", false, false, 4, 325557, 74228, 3216152, 44534, 310000, false},
        {"cnr-2000, betweenness, many", false, false, 4, 325557, 126449, 3216152, 130571, 650000, false},
        {"R-MAT 17, betweenness", false, false, 4, 131072, 83560, 3728178, 161953, 660000, false},
        {"R-MAT 17, betweenness, few", false, false, 4, 131072, 11411, 3728178, 132972, 27279, false},
        {"R-MAT 14, L U'", true, true, 16384, 16384, 213123, 213123, 213123, 13183700, true},
        {"R-MAT 14, L U', values", true, false, 16384, 16384, 213123, 213123, 213123, 13183700, true},
        {"R-MAT 14, L L", false, true, 16384, 16384, 213123, 213123, 213123, 25736300, true},
        {"R-MAT 14, A A'", true, true, 16384, 16384, 426246, 426246, 426246, 42581300, true},
        {"wave, A A", false, true, 156317, 156317, 2118662, 2118662, 2118662, 32574400, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int threads = 1; threads <= 16; threads *= 4) {
            tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = cases[k].m, .n = cases[k].n,
                              .k = cases[k].n, .a_nnz = cases[k].a, .b_nnz = cases[k].b, .mask_nnz = cases[k].mask, .walk = cases[k].walk,
                              .a_pattern = cases[k].counts, .b_by_col = cases[k].dots, .nthreads = threads};
            if (cases[k].counts)
                f.semiring = (tsr_semiring){TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR};
            const bool ours = tsr_predict_cpu_ms(&f) < tsr_predict_suitesparse_ms(&f) * TSR_ROUTE_MARGIN;
            if (ours != cases[k].ours)
                fail_msg("%s, %d threads", cases[k].name, threads);
        }
}

/* Dots by what they cost a thread of a Xeon (2 MB L2): SuiteSparse's merges of lists of 20 entries and more in no order that its branches
 * foresee are ours.  Counts by marked rows are ours from lists of ten on: ms of a thread of an EPYC (Zen 3), SuiteSparse / ours, finan512 4.3 / 3.1,
 * wave 39 / 18, R-MAT 15 by degree 107 / 12; of short lists that are compared at once, of another (Zen 5) grid 512 6.0 / 3.3. */
static void test_dots_by_their_merges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double n, entries, walk, merged, blocks;
        bool counts, sums; /* ours */
    } cases[] = { /* no pair of them, but for the grid, as long as the next */
        {"grid 512, A A'", 262144, 1015240, 4894820, 7928460, 1015240, true, false},
        {"PROTEINS_full, L U'", 43471, 81044, 250294, 451086, 81044, true, false},
        {"finan512, L U'", 74752, 261120, 1329270, 4317876, 540000, true, false},
        {"pubmed, A A'", 19717, 88648, 746546, 2309334, 400000, true, true},
        {"ca-CondMat, A A'", 23133, 186878, 2406538, 7494746, 1000000, true, true},
        {"ca-CondMat, L U'", 23133, 93439, 780519, 2398196, 330000, true, true},
        {"wave, A A'", 156317, 2118660, 28446760, 60877242, 6400000, true, true},
        {"as-caida20071105, L U'", 26475, 53381, 410670, 2006862, 290000, true, true},
        {"uniform 16, L L'", 65536, 1048310, 11882110, 31599365, 4000000, true, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int kind = 0; kind < 3; kind++) { /* counts, sums, sums of other types */
            const tsr_features f = {.op = TSR_OP_MASKED_DOT,
                                    .semiring = {TSR_FP64, TSR_ADD_PLUS, kind ? TSR_MUL_TIMES : TSR_MUL_PAIR},
                                    .m = cases[k].n, .n = cases[k].n, .k = cases[k].n, .a_nnz = cases[k].entries, .b_nnz = cases[k].entries,
                                    .mask_nnz = cases[k].entries, .walk = cases[k].walk, .merged = cases[k].merged, .blocks = cases[k].blocks, .uneven = k > 0,
                                    .a_pattern = kind == 0,
                                    .b_by_col = true, .typecast = kind == 2, .nthreads = 1};
            if (ours(&f) != (kind ? cases[k].sums : cases[k].counts))
                fail_msg("%s, kind %d", cases[k].name, kind);
        }
    assert_true(tsr_merge_steps(3, 24) == 27 && tsr_merge_steps(32, 2) == 10 && tsr_merge_steps(0, 9) == 0);
}

/* L U' of triangle counts, ms of a thread of an EPYC (Zen 4), SuiteSparse and the reduction that ends its work / ours: wave 15.6 / 11.2, DD
 * 16.5 / 7.2, USA-road-FLA 17 / 13.5, PROTEINS_full 1.25 / .77, grid 1024 10.5 / 14. */
static void test_pairs_of_short_lists(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double n, entries, walk, merged, blocks, uneven;
        bool ours;
    } cases[] = {
        {"wave", 156317, 1059331, 7903600, 19400000, 2330000, 1, true},      {"DD", 334925, 843046, 3135080, 6150000, 850000, 1, true},
        {"USA-road-FLA", 1070376, 1343951, 3244380, 5100000, 1343951, 1, true}, {"PROTEINS_full", 43471, 81044, 241233, 437000, 81044, 1, true},
        {"grid 1024", 1048576, 2095104, 6200000, 8000000, 2095104, 0.05, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR}, .m = cases[k].n, .n = cases[k].n,
                          .k = cases[k].n, .a_nnz = cases[k].entries, .b_nnz = cases[k].entries, .mask_nnz = cases[k].entries,
                          .walk = cases[k].walk, .merged = cases[k].merged, .blocks = cases[k].blocks, .uneven = cases[k].uneven,
                          .a_pattern = true, .b_by_col = true, .nthreads = 1};
        if (ours(&f) != cases[k].ours)
            fail_msg("%s", cases[k].name);
        f.a_pattern = false;
        f.semiring.mul = TSR_MUL_TIMES; /* values are added one by one, whatever the lists */
        assert_true(tsr_predict_cpu_ms(&f) * 1e6 >= 30 * cases[k].entries);
    }
}

/* Triangles of a uniform graph of 2^20 vertices by 16 threads of an H200's host: 87 to 114 ms here, 360 to 400 by SuiteSparse
 * (clients/2026-11-28T0735, T0808).  The first product says that a device would gain. */
static void test_lists_beyond_the_caches(void **state)
{
    (void)state;
    const double n = 1 << 20, entries = 16776932;
    tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR}, .m = n, .n = n, .k = n, .a_nnz = entries,
                      .b_nnz = entries, .mask_nnz = entries, .b_by_col = true, .a_pattern = true, .walk = 9 * entries, .merged = 24 * entries,
                      .blocks = 2 * entries, .uneven = 0.6, .nthreads = 16};
    const double here = tsr_predict_cpu_ms(&f);
    assert_true(here > 0.6 * 87 && here < 114);
    assert_true(tsr_predict_gpu_ms(&f) < 0.5 * here);
    assert_true(tsr_predict_suitesparse_ms(&f) > here);
    f.regular = true;
    assert_true(tsr_predict_cpu_ms(&f) < 0.6 * here);
}

/* W<S> = W A' with four rows, plus_first in FP64, uniform graphs but for the third: ms of CPU time of a thread of a busy EPYC (1 MiB L2), divided by
 * 1.4, which is assumed, not measured, to be what its other work cost. */
static void test_few_rows_by_dots(void **state)
{
    (void)state;
    static const struct {
        double n, entries, row_entries, mask, steps, ms;
    } cases[] = {
        {1 << 14, 131072, 19660, 19660, 157280, 0.64},    {1 << 17, 2097152, 261786, 157151, 2514416, 16},
        {1 << 18, 4194304, 314572, 314572, 5033152, 24}, {1 << 18, 4194304, 104857, 629145, 10066320, 42},
        {1 << 20, 16777216, 1259856, 1258270, 20132320, 160}, {1 << 20, 4194304, 41792, 41503, 166012, 8.5},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tsr_features f = {.op = TSR_OP_MASKED_DOT, .semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_FIRST}, .m = 4, .n = cases[k].n, .k = cases[k].n,
                                .a_nnz = cases[k].row_entries, .b_nnz = cases[k].entries, .mask_nnz = cases[k].mask, .marked = cases[k].steps,
                                .b_by_col = true, .nthreads = 1};
        const double ms = tsr_predict_cpu_ms(&f);
        if (ms > 1.5 * cases[k].ms || ms < cases[k].ms / 1.5)
            fail_msg("case %d: %g ms instead of %g", (int)k, ms, cases[k].ms);
    }
}

/* A vector with one entry: that of the hub. */
static void test_a_hub_is_met(void **state)
{
    enum { N = 1000 };
    (void)state;
    static int64_t p[N + 1], i[2 * N];
    for (int k = 0; k < N; k++)
        i[k] = k; /* column 0 */
    for (int column = 0; column < N; column++)
        p[column + 1] = N + column;
    const int64_t one[] = {0, 1}, first[] = {0};
    tsr_product product = {.op = TSR_OP_SPMV, .semiring = {TSR_INT32, TSR_ADD_MIN, TSR_MUL_PLUS}, .m = N, .n = 1, .k = N, .nthreads = 4};
    product.a = (tsr_view){.format = TSR_SPARSE, .by_col = true, .index_size = 8, .nrows = N, .ncols = N, .nvec = N, .vlen = N, .nvals = p[N], .p = p, .i = i};
    product.b = (tsr_view){.format = TSR_SPARSE, .by_col = true, .index_size = 8, .nrows = N, .ncols = 1, .nvec = 1, .vlen = N, .nvals = 1, .p = one, .i = first};
    tsr_features f;
    tsr_features_of(&f, &product);
    f.b_sparse = true;
    const double average = tsr_predict_suitesparse_ms(&f);
    f.walk = tsr_sample_walk(&product).walked;
    assert_true(f.walk == N + 1 && tsr_predict_suitesparse_ms(&f) > 3 * average);
}

/* Sparse times sparse: the GPU's launches and the bus against the threads of the host. */
/* SuiteSparse takes a thread for each 65536 steps; ours, a vector each, or all of them together. */
static void test_pushes_by_many_threads(void **state)
{
    (void)state;
    const tsr_push_features one_by_one = {.work = 64 * 65536, .vectors = 4, .nthreads = 16};
    tsr_push_features joint = one_by_one, few_threads = one_by_one, small = one_by_one;
    joint.joint = true;
    few_threads.nthreads = 8;
    small.work = 4 * 65536;
    assert_false(tsr_push_pays(&one_by_one));
    assert_true(tsr_push_pays(&joint));
    assert_true(tsr_push_pays(&few_threads));
    assert_true(tsr_push_pays(&small));
}

static void test_sparse_products(void **state)
{
    (void)state;
    tsr_sparse_product_features f = {.work = 1e4, .columns = 65536, .nvals = 2e3, .places = 65536.0 * 65536, .lines = 3 * 65536, .value_bytes = 8,
                                     .nthreads = 16};
    assert_true(tsr_sparse_product_gpu_ms(&f) > tsr_sparse_product_suitesparse_ms(&f));
    f.work = 4e8; /* R-MAT 16 */
    f.nvals = 2e6;
    assert_true(tsr_sparse_product_gpu_ms(&f) < 0.5 * tsr_sparse_product_cpu_ms(&f));
    assert_true(tsr_sparse_product_cpu_ms(&f) < tsr_sparse_product_suitesparse_ms(&f));
    tsr_sparse_product_features there = f, pattern = f, few = f, dense = f, copies = f;
    copies.copies = true;
    tsr_sparse_product_features renames = f;
    renames.renames = true;
    renames.nthreads = 2;
    assert_null(tsr_sparse_product_pays(&renames));
    renames.nthreads = 1;
    assert_non_null(tsr_sparse_product_pays(&renames));
    assert_null(tsr_sparse_product_pays(&f));
    assert_non_null(tsr_sparse_product_pays(&copies));
    /* A P of a 7-point grid of 10^6: 143 ms on a thread of an EPYC (Zen 5), ours 200; uniform 2^17, degree 4, whose rows reach everywhere: 85 and 45 */
    const tsr_sparse_product_features short_rows = {.work = 23e6, .columns = 125000, .nvals = 7e6, .places = 1.25e11, .span = 5000, .nthreads = 1};
    tsr_sparse_product_features apart = short_rows, wide = short_rows, long_rows = short_rows, several = short_rows;
    several.nthreads = 2; /* 123 and 26 ms to sort, ours 124 in the first call, 88 later */
    apart.span = 1e5;
    wide.columns = 1e6;
    wide.places = 1e12;
    long_rows.work = 1e8;
    assert_non_null(tsr_sparse_product_pays(&short_rows));
    assert_null(tsr_sparse_product_pays(&apart));
    assert_null(tsr_sparse_product_pays(&wide));
    wide.alike = true; /* five points of a grid: 182 ms and 46 to sort, ours 229 */
    assert_non_null(tsr_sparse_product_pays(&wide));
    assert_null(tsr_sparse_product_pays(&long_rows));
    assert_null(tsr_sparse_product_pays(&several));
    /* Under a bitmap mask, one thread of an EPYC: 256 rows of 2^16 columns, 2.7e6 products, 165 ms and ours 40; 4096^2, 2.6e5 products, complemented,
     * 12 ms and 7 to sort, ours 8, which is sorted; with fewer for a row nothing is gained */
    tsr_sparse_product_features sieved = {.work = 2.7e6, .columns = 65536, .nvals = 1.2e6, .places = 256.0 * 65536, .sieved = true, .nthreads = 1};
    assert_null(tsr_sparse_product_pays(&sieved));
    sieved.nvals = 6.5e4;
    sieved.work = 2.6e5;
    sieved.columns = 4096;
    sieved.places = 4096.0 * 4096;
    assert_null(tsr_sparse_product_pays(&sieved));
    sieved.work = 8e4;
    assert_non_null(tsr_sparse_product_pays(&sieved));
    /* 256 rows of R-MAT 18, few products for the places of C, but many of a row: 175 ms, ours 18.  What is read of the mask costs the GPU. */
    tsr_sparse_product_features long_lines = {.work = 1.04e6, .columns = 262144, .nvals = 2e6, .places = 256.0 * 262144, .sieved = true, .nthreads = 1};
    assert_null(tsr_sparse_product_pays(&long_lines));
    const double structural = tsr_sparse_product_gpu_ms(&long_lines);
    long_lines.sieve_bytes = 9;
    assert_true(tsr_sparse_product_gpu_ms(&long_lines) > structural);
    /* R (A P): as many products as A P has entries, which nobody has sorted; few rows of a graph; one that each row of B meets */
    assert_true(tsr_sparse_product_is_small(516000, 65536, 516000));
    assert_false(tsr_sparse_product_is_small(600000, 20000, 4e6));
    assert_false(tsr_sparse_product_is_small(23e6, 7e6, 3e6));
    there.held = true;
    pattern.value_bytes = 0;
    few.entries = 1e7;
    dense.places = 1e6;
    assert_true(tsr_sparse_product_gpu_ms(&there) < tsr_sparse_product_gpu_ms(&f));
    assert_true(tsr_sparse_product_gpu_ms(&pattern) < tsr_sparse_product_gpu_ms(&f));
    assert_true(tsr_sparse_product_gpu_ms(&few) < tsr_sparse_product_gpu_ms(&f));
    assert_true(tsr_sparse_product_gpu_ms(&dense) < tsr_sparse_product_gpu_ms(&few));
    f.nthreads = 2;
    assert_true(tsr_sparse_product_gpu_ms(&f) < 0.5 * tsr_sparse_product_cpu_ms(&f));
}

/* Of a sparse matrix by row entries are counted, of one by column products; into a full C, what both operands hold. */
static void test_threads_of_suitesparse(void **state)
{
    (void)state;
    tsr_features f = {.op = TSR_OP_SPMM, .m = 1024, .n = 16, .k = 1024, .a_nnz = 20000, .b_nnz = 120000, .nthreads = 4};
    assert_int_equal(tsr_suitesparse_threads(&f), 1);
    f.accum_full = true;
    assert_int_equal(tsr_suitesparse_threads(&f), 2);
    f.accum_full = false;
    f.a_by_col = true;
    assert_int_equal(tsr_suitesparse_threads(&f), 4);
    f.a_by_col = false;
    f.a_nnz = 200000;
    assert_int_equal(tsr_suitesparse_threads(&f), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_of_suitesparse),
        cmocka_unit_test(test_more_work_takes_longer), cmocka_unit_test(test_predictions_are_positive_and_finite),
        cmocka_unit_test(test_gathers_beyond_the_caches), cmocka_unit_test(test_settled_loops), cmocka_unit_test(test_full_matrices),
        cmocka_unit_test(test_a_cast_is_not_free),     cmocka_unit_test(test_ski_rental_is_two_competitive),
        cmocka_unit_test(test_expected_calls_decide_at_once),
        cmocka_unit_test(test_pushes_by_many_threads), cmocka_unit_test(test_sparse_products), cmocka_unit_test(test_sddmm_without_dots),     cmocka_unit_test(test_a_sparse_vector),
        cmocka_unit_test(test_a_sparse_narrow_matrix),
        cmocka_unit_test(test_the_gpu_pays_for_the_bus), cmocka_unit_test(test_lists_are_looked_at),
        cmocka_unit_test(test_masked_products_of_graphs), cmocka_unit_test(test_few_rows_by_dots), cmocka_unit_test(test_dots_by_their_merges),
        cmocka_unit_test(test_pairs_of_short_lists), cmocka_unit_test(test_a_hub_is_met), cmocka_unit_test(test_merges_pass_both_lists), cmocka_unit_test(test_merges_are_sampled),
        cmocka_unit_test(test_lists_beyond_the_caches),
        cmocka_unit_test(test_values_by_their_merges), cmocka_unit_test(test_regular_counts),
        cmocka_unit_test(test_adding_to_a_full_c), cmocka_unit_test(test_a_typecast_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
