/* The block formats: a worked example by hand, views, refusals, failing allocations, damage that checkers see.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/format.h"
#include "test/unit/block_formats.h"

#include <math.h>
#include <stdlib.h>

#include "test/unit/equal.h"
#include "test/unit/failing_memory.h"

/* ---- 20 x 11 by hand ---- */

/* Row: columns (values number the entries).  0: 1 4 | 1: 0 4 9 | 3: 10 | 5: 1 2 3 5 6 7 | 9: 4 | 15: 0 10 | 17: 2 8 | 19: 2 */
static const int64_t hand_p[21] = {0, 2, 5, 5, 6, 6, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 15, 15, 17, 17, 18};
static const uint32_t hand_i[18] = {1, 4, 0, 4, 9, 10, 1, 2, 3, 5, 6, 7, 4, 0, 10, 2, 8, 2};
static const float hand_x[18] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
static const tsr_source hand = {20, 11, 18, hand_p, hand_i, hand_x, TSR_NUMBER_FP32};

static void test_hand_me_tcf(void **state)
{
    (void)state;
    tsr_me_tcf a;
    assert_int_equal(tsr_make_me_tcf(&a, &hand, 1), TSR_OK);
    assert_true(a.w.nwindows == 2 && a.w.nvectors == 12 && a.w.nblocks == 3 && a.w.height == 16 && a.w.width == 8);
    EQUAL(a.w.entry, 0, 15, 18);
    EQUAL(a.w.vector, 0, 10, 12);
    EQUAL(a.w.block, 0, 2, 3);
    EQUAL(a.w.column, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 2, 8);
    EQUAL(a.block_entry, 0, 12, 0);
    EQUAL(a.local, 1, 4, 8, 12, 41, 42, 43, 45, 46, 47, 76, 120, 8, 25, 121, 8, 9, 24);
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 5, 6, 15, 16, 17, 18);
    tsr_free_me_tcf(&a);
}

static void test_hand_me_bcrs(void **state)
{
    (void)state;
    tsr_me_bcrs a;
    float want[120] = {0};
    static const struct {
        int at_8, at_16;
        float value;
    } places[18] = {{1, 1, 1},     {4, 4, 2},     {8, 10, 3},    {12, 14, 4},   {66, 18, 5},   {71, 39, 6},
                    {41, 51, 7},   {42, 52, 8},   {43, 53, 9},   {45, 55, 10},  {46, 56, 11},  {47, 57, 12},
                    {84, 84, 13},  {101, 101, 14}, {103, 103, 15}, {106, 106, 16}, {107, 107, 17}, {110, 110, 18}};
    for (int k = 0; k < 18; k++)
        want[places[k].at_8] = places[k].value;
    assert_int_equal(tsr_make_me_bcrs(&a, &hand, 8, 1, 1), TSR_OK);
    EQUAL(a.w.entry, 0, 12, 15, 18);
    EQUAL(a.w.vector, 0, 10, 13, 15);
    EQUAL(a.w.block, 0, 2, 3, 4);
    EQUAL(a.w.column, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 0, 4, 10, 2, 8);
    assert_memory_equal(a.value, want, sizeof want);
    tsr_free_me_bcrs(&a);
    memset(want, 0, sizeof want);
    for (int k = 0; k < 18; k++)
        want[places[k].at_16] = places[k].value;
    assert_int_equal(tsr_make_me_bcrs(&a, &hand, 16, 1, 1), TSR_OK);
    EQUAL(a.w.block, 0, 1, 2, 3);
    assert_memory_equal(a.value, want, sizeof want);
    tsr_free_me_bcrs(&a);
}

#define BIT(k) (1ull << (k))

static void test_hand_bmat(void **state)
{
    (void)state;
    tsr_bmat a;
    const uint64_t head = BIT(1) | BIT(4) | BIT(8) | BIT(12) | BIT(41) | BIT(42) | BIT(43) | BIT(45) | BIT(46) | BIT(47);
    assert_int_equal(tsr_make_bmat(&a, &hand, 16, 1), TSR_OK);
    EQUAL(a.mask, head, BIT(12) | BIT(56), BIT(8) | BIT(25), BIT(57), BIT(8) | BIT(9) | BIT(24), 0);
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 5, 6, 15, 16, 17, 18);
    tsr_free_bmat(&a);
    assert_int_equal(tsr_make_bmat(&a, &hand, 8, 1), TSR_OK);
    EQUAL(a.w.block, 0, 2, 3, 4);
    EQUAL(a.mask, head, BIT(8) | BIT(25), BIT(9) | BIT(56) | BIT(58), BIT(8) | BIT(9) | BIT(24));
    EQUAL((float *)a.value, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 5, 6, 13, 14, 15, 16, 17, 18);
    tsr_free_bmat(&a);
}

static void test_hand_stencil(void **state)
{
    (void)state;
    tsr_stencil a;
    uint32_t slots[32] = { [0] = 0x12, [1] = 0x211, [3] = 0x400, [5] = 0xee, [9] = 0x10, [15] = 0x401, [17] = 0x104, [19] = 0x4 };
    assert_int_equal(tsr_make_stencil(&a, &hand, 1), TSR_OK);
    assert_true(a.w.height == 32 && a.w.width == 32 && a.w.nblocks == 1 && a.w.nvectors == 11);
    assert_memory_equal(a.slots, slots, sizeof slots);
    assert_int_equal(tsr_bytes_stencil(&a), 2 * 3 * 8 + 11 * 4 + 128);
    tsr_free_stencil(&a);
}

static void test_hand_hrpb(void **state)
{
    (void)state;
    tsr_hrpb a;
    assert_int_equal(tsr_make_hrpb(&a, &hand, 16, 1), TSR_OK);
    assert_true(a.nbricks == 4 && a.w.nblocks == 2);
    EQUAL(a.brick, 0, 3, 4);
    EQUAL(a.block_brick, 0, 0);
    EQUAL(a.position, 0, 1, 2, 0);
    EQUAL(a.brick_entry, 0, 6, 12, 0);
    EQUAL(a.pattern, BIT(1) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(60),
          BIT(0) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(36), BIT(4) | BIT(13) | BIT(61), BIT(4) | BIT(5) | BIT(12));
    EQUAL((float *)a.value, 1, 3, 7, 8, 9, 14, 2, 4, 10, 11, 12, 13, 5, 6, 15, 16, 17, 18);
    tsr_free_hrpb(&a);
    assert_int_equal(tsr_make_hrpb(&a, &hand, 32, 1), TSR_OK);
    assert_true(a.nbricks == 5 && a.w.nblocks == 1 && a.w.nvectors == 11);
    EQUAL(a.position, 0, 1, 2, 4, 5);
    EQUAL(a.brick_entry, 0, 6, 8, 14, 17);
    EQUAL(a.pattern, BIT(1) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(60), BIT(6) | BIT(14),
          BIT(0) | BIT(4) | BIT(21) | BIT(22) | BIT(23) | BIT(36), BIT(5) | BIT(14) | BIT(62), BIT(4));
    EQUAL((float *)a.value, 1, 3, 7, 8, 9, 14, 16, 18, 2, 4, 10, 11, 12, 13, 5, 6, 15, 17);
    tsr_free_hrpb(&a);
}

static void test_hand_work(void **state)
{
    (void)state;
    tsr_bmat a;
    tsr_work work;
    assert_int_equal(tsr_make_bmat(&a, &hand, 16, 1), TSR_OK);
    assert_int_equal(tsr_make_work(&work, &a.w, a.mask, 1), TSR_OK);
    assert_true(work.nitems == 3 && work.nsplit == 1 && work.npartials == 2);
    EQUAL(work.window, 0, 0, 1);
    EQUAL(work.block, 0, 1, 2, 3);
    EQUAL(work.entry, 0, 12, 15);
    EQUAL(work.partial, 0, 1, -1);
    EQUAL(work.split_window, 0);
    EQUAL(work.split_partial, 0, 2);
    tsr_free_work(&work);
    assert_int_equal(tsr_make_work(&work, &a.w, NULL, 2), TSR_OK);
    assert_true(work.nitems == 2 && work.nsplit == 0 && work.npartials == 0 && !work.entry);
    EQUAL(work.block, 0, 2, 3);
    EQUAL(work.partial, -1, -1);
    tsr_free_work(&work);
    assert_int_equal(tsr_make_work(&work, &a.w, NULL, 0), TSR_INVALID_VALUE);
    tsr_free_bmat(&a);
}

static void test_hand_statistics(void **state)
{
    (void)state;
    tsr_statistics s;
    assert_int_equal(tsr_make_statistics(&s, &hand, 1), TSR_OK);
    EQUAL(s.vectors, 15, 12, 11, 11, 11);
    assert_true(s.blocks_16x8 == 3 && s.blocks_8x8 == 4 && s.bricks_16x4 == 4);
    assert_true(s.mean_nnz_tc == 6 && s.alpha == 18.0 / 256 && s.intensity == 1.5);
    assert_true(s.bytes_csr == 312 && s.bytes_me_tcf == 72 + 48 + 12 + 18 + 72);
    assert_true(s.bytes_me_bcrs == 96 + 60 + 480 && s.bytes_bmat_8 == 96 + 60 + 32 + 72 && s.bytes_bmat_16 == 72 + 48 + 48 + 72);
    assert_true(s.bytes_hrpb == 72 + 48 + 24 + 8 + 52 + 72);
}
/* B is Inf and NaN wherever no entry of a row needs it. */
static void test_missing_entries_contribute_nothing(void **state)
{
    (void)state;
    double b[11], c[20], size[20];
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, &hand, 1, 1), TSR_OK);
        for (int k = 0; k < 11; k++)
            b[k] = k % 2 ? INFINITY : NAN;
        b[4] = 2;
        assert_int_equal(multiply(&f, kind, TSR_NUMBER_FP32, 1, 1, b, 1, c, 1, 1, 0, size), TSR_OK);
        assert_true(c[9] == 26 && size[9] == 26 && c[2] == 0 && c[18] == 0 && size[18] == 0);
        assert_true(isnan(c[19]) && isnan(c[1]));
        release(&f);
    }
}

/* magnitude includes beta C and has |alpha|. */
static void test_magnitude(void **state)
{
    (void)state;
    double b[11], c[20], size[20];
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, &hand, 1, 1), TSR_OK);
        for (int k = 0; k < 11; k++)
            b[k] = k % 2 ? -1 : 1;
        for (int k = 0; k < 20; k++)
            c[k] = -1;
        assert_int_equal(multiply(&f, kind, TSR_NUMBER_FP32, 1, 1, b, 1, c, 1, -2, 3, size), TSR_OK);
        assert_true(c[0] == -2 * (-1 + 2) - 3 && size[0] == 2 * 3 + 3); /* row 0: 1 at column 1, 2 at column 4 */
        assert_true(c[2] == -3 && size[2] == 3);
        release(&f);
    }
}

/* ---- views ---- */

static void test_views(void **state)
{
    (void)state;
    const int64_t p[] = {0, 2, 3}, wide[] = {0, 4294967295, 7};
    const uint32_t narrow[] = {0, 4294967295u, 7};
    const float x[] = {1, 0.3f, -2};
    const double one = 2.5;
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 2, .ncols = (int64_t)1 << 32, .nvec = 2,
                  .vlen = (int64_t)1 << 32, .nvals = 3, .p = p, .i = wide, .x = x};
    tsr_viewed out;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 2), TSR_OK);
    assert_memory_equal(out.source.i, narrow, sizeof narrow);
    assert_true(out.source.x == x && out.source.p == p);
    assert_formats(&out.source, 1);
    tsr_free_viewed(&out);
    v.i = narrow;
    v.index_size = 4;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_BF16, 2), TSR_OK);
    assert_true(out.source.i == narrow);
    EQUAL((const uint16_t *)out.source.x, 0x3f80, 0x3e9a, 0xc000);
    tsr_free_viewed(&out);
    v.iso = true;
    v.x = &one;
    v.type = TSR_FP64;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP16, 1), TSR_OK);
    assert_true(!out.source.x && out.iso == 2.5);
    tsr_me_bcrs dense;
    assert_int_equal(tsr_make_me_bcrs(&dense, &out.source, 8, out.iso, 1), TSR_OK);
    EQUAL((uint16_t *)dense.value, 0x4100, 0, 0x4100, 0, 0x4100);
    tsr_free_me_bcrs(&dense);
    tsr_free_viewed(&out);
    v.x = NULL;
    v.type = TSR_BOOL;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_OK);
    assert_true(!out.source.x && out.iso == 1);
    tsr_free_viewed(&out);
    v.x = narrow;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_NOT_SUPPORTED);
    v.x = NULL;
    v.ncols++;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_NOT_SUPPORTED);
    v.jumbled = true;
    assert_int_equal(tsr_view_source(&out, &v, TSR_NUMBER_FP32, 1), TSR_INVALID_VALUE);
}

/* ---- refusals ---- */

static void assert_all(const tsr_source *in, tsr_status want)
{
    for (int kind = 0; kind < KINDS; kind++) {
        format f, empty;
        memset(&empty, 0, sizeof empty);
        assert_int_equal(make(&f, kind, in, 1, 1), want);
        assert_memory_equal(&f, &empty, sizeof f);
    }
}

/* Entries 0, 2, 4 and 6 are of columns 0, 4, 4 and 2, the others of 1, 1 and 1. */
static void test_hand_degrees(void **state)
{
    (void)state;
    const int64_t p[] = {0, 3, 5, 7};
    const uint32_t i[] = {0, 1, 4, 1, 4, 1, 2};
    const tsr_source in = {.nrows = 3, .ncols = 6, .nvals = 7, .p = p, .i = i};
    tsr_degrees d;
    assert_int_equal(tsr_count_degrees(&d, &in, 7, 1), TSR_OK);
    assert_true(d.longest_row == 3);
    EQUAL(d.columns, 3, 2, 1, 0);
    EQUAL(d.entries, 3, 0, 0, 0);
}

static void test_limits(void **state)
{
    (void)state;
    const int64_t nothing[2] = {0, 0}, huge[2] = {0, (int64_t)1 << 31};
    const uint32_t column = 0;
    tsr_source in = {.nrows = 1, .ncols = ((int64_t)1 << 32) + 1, .p = nothing, .i = &column};
    tsr_statistics s;
    assert_all(&in, TSR_NOT_SUPPORTED);
    tsr_degrees columns;
    assert_int_equal(tsr_make_statistics(&s, &in, 1), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_count_degrees(&columns, &in, 1, 1), TSR_NOT_SUPPORTED);
    in = (tsr_source){.nrows = 1, .ncols = (int64_t)1 << 32, .nvals = huge[1], .p = huge, .i = &column};
    assert_all(&in, TSR_NOT_SUPPORTED);
    in = (tsr_source){.nrows = 1, .ncols = 5, .p = nothing, .i = &column};
    format f;
    assert_int_equal(tsr_make_me_bcrs(&f.me_bcrs, &in, 4, 1, 1), TSR_INVALID_VALUE);
    assert_int_equal(tsr_make_bmat(&f.bmat, &in, 32, 1), TSR_INVALID_VALUE);
    assert_int_equal(tsr_make_hrpb(&f.hrpb, &in, 8, 1), TSR_INVALID_VALUE);
}

static tsr_status attempt_make(void *kind)
{
    format f;
    tsr_status status = make(&f, *(int *)kind, &hand, 1, 1);
    release(&f);
    return status;
}

static tsr_status attempt_statistics(void *unused)
{
    tsr_statistics s;
    (void)unused;
    return tsr_make_statistics(&s, &hand, 1);
}

static tsr_status attempt_degrees(void *unused)
{
    tsr_degrees columns;
    (void)unused;
    return tsr_count_degrees(&columns, &hand, TSR_DEGREE_SAMPLE, 1);
}

static tsr_status attempt_view(void *unused)
{
    tsr_viewed out;
    const int64_t wide[18] = {1, 4, 0, 4, 9, 10, 1, 2, 3, 5, 6, 7, 4, 0, 10, 2, 8, 2};
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = hand.nrows, .ncols = hand.ncols,
                  .nvec = hand.nrows, .vlen = hand.ncols, .nvals = hand.nvals, .p = hand.p, .i = wide, .x = hand.x};
    (void)unused;
    tsr_status status = tsr_view_source(&out, &v, TSR_NUMBER_FP16, 1);
    tsr_free_viewed(&out);
    return status;
}

/* The rest needs a format, which is made without being counted. */
static tsr_status attempt_use(void *of_kind)
{
    int kind = *(int *)of_kind;
    format f;
    tsr_source back;
    tsr_work work;
    double b[11] = {0}, c[20];
    memory_pause();
    make(&f, kind, &hand, 1, 1);
    memory_resume();
    tsr_status status = expand(&back, &f, kind, hand.number);
    tsr_free_source(&back);
    if (status == TSR_OK)
        status = tsr_make_work(&work, windows_of(&f, kind), kind == 3 || kind == 4 ? f.bmat.mask : NULL, 1);
    if (status == TSR_OK)
        tsr_free_work(&work);
    if (status == TSR_OK)
        status = multiply(&f, kind, hand.number, 1, 1, b, 1, c, 1, 1, 0, NULL);
    memory_pause();
    release(&f);
    memory_resume();
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(memory_failures(attempt_make, &kind) >= 2);
        assert_true(memory_failures(attempt_use, &kind) >= 2);
    }
    assert_true(memory_failures(attempt_statistics, NULL) >= 2);
    assert_true(memory_failures(attempt_degrees, NULL) >= 1);
    assert_true(memory_failures(attempt_view, NULL) >= 2);
}

/* ---- checkers see damage ---- */

static void test_checkers(void **state)
{
    (void)state;
    tsr_me_tcf t;
    assert_int_equal(tsr_make_me_tcf(&t, &hand, 1), TSR_OK);
    t.local[3]++;
    assert_null(tsr_check_me_tcf(&t)); /* another matrix, but a good one */
    t.local[3] = t.local[2];
    assert_string_equal(tsr_check_me_tcf(&t), "positions ascend inside a block");
    t.local[3] = 12;
    t.block_entry[1] = 13;
    assert_non_null(tsr_check_me_tcf(&t));
    t.block_entry[1] = 12;
    t.w.column[3] = 2;
    assert_string_equal(tsr_check_me_tcf(&t), "columns of a window ascend");
    t.w.column[3] = 3;
    t.local[17] = 32; /* row 20 of 20 */
    assert_string_equal(tsr_check_me_tcf(&t), "positions lie inside the block");
    tsr_free_me_tcf(&t);

    tsr_bmat b;
    assert_int_equal(tsr_make_bmat(&b, &hand, 8, 1), TSR_OK);
    b.mask[0] |= BIT(0);
    assert_string_equal(tsr_check_bmat(&b), "bits of a window = its entries");
    b.mask[0] ^= BIT(0) | BIT(8);
    assert_non_null(tsr_check_bmat(&b));
    tsr_free_bmat(&b);

    tsr_hrpb h;
    assert_int_equal(tsr_make_hrpb(&h, &hand, 32, 1), TSR_OK);
    h.position[3] = 3;
    assert_non_null(tsr_check_hrpb(&h));
    h.position[3] = 4;
    h.brick_entry[2]++;
    assert_string_equal(tsr_check_hrpb(&h), "brick_entry counts the bits before");
    tsr_free_hrpb(&h);

    tsr_me_bcrs d;
    assert_int_equal(tsr_make_me_bcrs(&d, &hand, 8, 1, 1), TSR_OK);
    ((float *)d.value)[119] = 1; /* row 23 */
    assert_string_equal(tsr_check_me_bcrs(&d, TSR_NUMBER_FP32), "rows past the end are zero");
    tsr_free_me_bcrs(&d);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_me_tcf),
        cmocka_unit_test(test_hand_me_bcrs),
        cmocka_unit_test(test_hand_bmat),
        cmocka_unit_test(test_hand_stencil),
        cmocka_unit_test(test_hand_hrpb),
        cmocka_unit_test(test_hand_work),
        cmocka_unit_test(test_hand_statistics),
        cmocka_unit_test(test_hand_degrees),
        cmocka_unit_test(test_missing_entries_contribute_nothing),
        cmocka_unit_test(test_magnitude),
        cmocka_unit_test_setup(test_views, set_seed),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_checkers),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
