/* Passes over all vectors or entries of large sparse matrices, on one thread and on several: which vectors have entries, equal lists, entries
 * in common, offsets from counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "src/base/split.h"
#include "src/base/types.h"
#include "test/unit/seeded.h"

enum { VECTORS = 700001 };

static const int all_threads[] = {1, 2, 3, 16, 65};

#define FOR_THREADS(t) for (const int *t = all_threads; t < all_threads + sizeof all_threads / sizeof *all_threads; t++)

/* Every `step`-th vector from the first one on has one to three entries. */
static int64_t *offsets_of(int64_t nvec, int64_t step, int64_t *nonempty)
{
    int64_t *p = malloc((size_t)(nvec + 1) * sizeof *p);
    p[0] = *nonempty = 0;
    for (int64_t v = 0; v < nvec; v++) {
        p[v + 1] = p[v] + (v % step == 0 ? 1 + v / step % 3 : 0);
        *nonempty += p[v] < p[v + 1];
    }
    return p;
}

static void test_nonempty_vectors(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 65536, 65537, VECTORS}, steps[] = {1, 2, 40, 90000};
    for (int c = 0; c < 5; c++)
        for (int s = 0; s < 4; s++) {
            int64_t nonempty;
            int64_t *p = offsets_of(counts[c], steps[s], &nonempty);
            FOR_THREADS(t) {
                assert_int_equal(tsr_nonempty_vectors(p, counts[c], INT64_MAX, *t), nonempty);
                assert_true(tsr_nonempty_vectors(p, counts[c], 100, *t) >= (nonempty < 100 ? nonempty : 100));
                assert_true(tsr_nonempty_vectors(p, counts[c], 100, *t) <= nonempty);
            }
            free(p);
        }
}

static void check_listed(const int64_t *p, int64_t nvec, const int64_t *listed_p, const int64_t *h, int64_t nonempty)
{
    int64_t k = 0;
    assert_int_equal(listed_p[0], 0);
    for (int64_t v = 0; v < nvec; v++)
        if (p[v] < p[v + 1]) {
            assert_int_equal(h[k], v);
            assert_int_equal(listed_p[++k], p[v + 1]);
        }
    assert_int_equal(k, nonempty);
}

static void test_list_vectors(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 5, VECTORS}, steps[] = {1, 3, 90000, VECTORS};
    for (int c = 0; c < 3; c++)
        for (int s = 0; s < 4; s++) {
            int64_t nonempty;
            int64_t *p = offsets_of(counts[c], steps[s], &nonempty);
            int64_t *to_p = malloc((size_t)(nonempty + 1) * sizeof *to_p), *to_h = malloc((size_t)(nonempty + 1) * sizeof *to_h);
            FOR_THREADS(t) {
                to_h[nonempty] = -7;
                tsr_list_vectors(to_p, to_h, p, counts[c], *t);
                check_listed(p, counts[c], to_p, to_h, nonempty);
                assert_int_equal(to_h[nonempty], -7);
            }
            free(p);
            free(to_p);
            free(to_h);
        }
}

/* The same numbers, but for one place; of 64 bits a difference may lie above the 32 bits of the other list. */
static void check_same(const uint32_t *narrow, int64_t *wide, int64_t count, int64_t place, int64_t change)
{
    int64_t *equal = malloc((size_t)(count + 1) * sizeof *equal);
    uint32_t *other = malloc((size_t)(count + 1) * sizeof *other);
    memcpy(equal, wide, (size_t)count * sizeof *wide);
    memcpy(other, narrow, (size_t)count * sizeof *narrow);
    other[place] ^= 1;
    wide[place] ^= change;
    FOR_THREADS(t) {
        assert_false(tsr_same_indices((tsr_index_list){equal, 8}, (tsr_index_list){wide, 8}, count, *t));
        assert_false(tsr_same_indices((tsr_index_list){narrow, 4}, (tsr_index_list){wide, 8}, count, *t));
        assert_false(tsr_same_indices((tsr_index_list){wide, 8}, (tsr_index_list){narrow, 4}, count, *t));
        assert_false(tsr_same_indices((tsr_index_list){narrow, 4}, (tsr_index_list){other, 4}, count, *t));
    }
    wide[place] ^= change;
    free(equal);
    free(other);
}

static void test_same_indices(void **state)
{
    (void)state;
    int64_t *wide = malloc(VECTORS * sizeof *wide), *again = malloc(VECTORS * sizeof *again);
    uint32_t *narrow = malloc(VECTORS * sizeof *narrow);
    for (int64_t k = 0; k < VECTORS; k++) {
        wide[k] = draw(INT64_C(1) << 32);
        narrow[k] = (uint32_t)wide[k];
    }
    memcpy(again, wide, VECTORS * sizeof *wide);
    for (int64_t count = 0; count <= VECTORS; count += VECTORS / 2)
        FOR_THREADS(t) {
            assert_true(tsr_same_indices((tsr_index_list){wide, 8}, (tsr_index_list){again, 8}, count, *t));
            assert_true(tsr_same_indices((tsr_index_list){wide, 8}, (tsr_index_list){narrow, 4}, count, *t));
            assert_true(tsr_same_indices((tsr_index_list){narrow, 4}, (tsr_index_list){narrow, 4}, count, *t));
        }
    static const int64_t places[] = {0, 8191, 8192, VECTORS / 2, VECTORS - 1};
    for (int k = 0; k < 5; k++)
        check_same(narrow, wide, VECTORS, places[k], k % 2 ? 1 : INT64_C(1) << 40);
    assert_false(tsr_same_indices((tsr_index_list){narrow, 4}, (tsr_index_list){narrow, 8}, 4, 1)); /* one list, read in two ways */
    free(wide);
    free(again);
    free(narrow);
}

static void test_offsets_of_counts(void **state)
{
    (void)state;
    int64_t nonempty;
    int64_t *p = offsets_of(VECTORS, 2, &nonempty), *kept = malloc((VECTORS + 1) * sizeof *kept);
    int8_t *b = malloc((size_t)p[VECTORS]);
    for (int64_t e = 0; e < p[VECTORS]; e++)
        b[e] = (int8_t)draw(2);
    const tsr_view mask = {.p = p, .nvec = VECTORS, .nvals = p[VECTORS]};
    FOR_THREADS(t) {
        int64_t sum = 0;
        const int64_t total = tsr_compact_count(kept, &mask, b, *t);
        for (int64_t v = 0; v < VECTORS; v++) {
            assert_int_equal(kept[v], sum);
            for (int64_t e = p[v]; e < p[v + 1]; e++)
                sum += b[e];
        }
        assert_true(kept[VECTORS] == sum && total == sum);
    }
    free(p);
    free(kept);
    free(b);
}

/* Within a call teams grow only; the next call begins anew.  The team is the thread's own. */
static void test_teams(void **state)
{
    (void)state;
    int other = 0;
    tsr_team_begin();
    assert_int_equal(tsr_team(1), 1);
    assert_int_equal(tsr_team(4), 4);
    assert_int_equal(tsr_team(2), 4);
    assert_int_equal(tsr_team(1), 1);
    assert_int_equal(tsr_team(6), 6);
#pragma omp parallel num_threads(2) reduction(max : other)
    if (omp_get_thread_num() == 1)
        other = tsr_team(3);
    assert_true(other == 3 || other == 0); /* 0: only one thread was to be had */
    tsr_team_begin();
    assert_int_equal(tsr_team(2), 2);
}

/* ---- entries in common ---- */

enum { ROWS = 1500, COLUMNS = 3000 };

/* Every row has as many entries as `most` says on average, some none, one all; ascending, of 32 or 64 bits. */
static tsr_view draw_rows(int64_t most, bool narrow)
{
    tsr_view v = {.format = TSR_SPARSE, .nrows = ROWS, .ncols = COLUMNS, .vlen = COLUMNS, .index_size = narrow ? 4 : 8, .type = TSR_UINT16};
    int64_t *p = malloc((ROWS + 1) * sizeof *p), count = 0;
    void *i = malloc(((size_t)ROWS * COLUMNS + 1) * 8);
    uint16_t *x = malloc(((size_t)ROWS * COLUMNS + 1) * sizeof *x);
    for (int64_t r = p[0] = 0; r < ROWS; p[++r] = count)
        for (int64_t c = 0; c < COLUMNS; c++)
            if (r == 700 || (r % 7 && draw(COLUMNS) < most)) {
                if (narrow)
                    ((uint32_t *)i)[count] = (uint32_t)c;
                else
                    ((int64_t *)i)[count] = c;
                x[count++] = (uint16_t)draw(1 << 16);
            }
    v.p = p, v.i = i, v.x = x, v.nvals = count;
    return v;
}

static void free_rows(tsr_view *v)
{
    free((void *)(uintptr_t)v->p);
    free((void *)(uintptr_t)v->i);
    free((void *)(uintptr_t)v->x);
}

static int64_t column_at(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}

/* One entry of a row after the other, found by looking at all of the other's. */
static void expect_common(const tsr_common *c, const void *i, bool narrow, const uint16_t *x, const uint16_t *y, const tsr_view *fewer,
                          const tsr_view *more)
{
    int64_t k = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        assert_int_equal(c->p[r], k);
        int64_t f = tsr_view_start(more, r);
        for (int64_t e = tsr_view_start(fewer, r); e < tsr_view_start(fewer, r + 1); e++) {
            while (f < tsr_view_start(more, r + 1) && column_at(more, f) < column_at(fewer, e))
                f++;
            if (f == tsr_view_start(more, r + 1) || column_at(more, f) != column_at(fewer, e))
                continue;
            assert_int_equal(narrow ? (int64_t)((const uint32_t *)i)[k] : ((const int64_t *)i)[k], column_at(fewer, e));
            assert_int_equal(x[k], ((const uint16_t *)fewer->x)[e]);
            assert_int_equal(y[k++], ((const uint16_t *)more->x)[f]);
        }
    }
    assert_int_equal(c->p[ROWS], k);
}

static void check_common(const tsr_view *fewer, const tsr_view *more, bool narrow)
{
    FOR_THREADS(t) {
        tsr_common c;
        assert_true(tsr_common_find(&c, fewer, more, *t));
        const size_t room = (size_t)c.p[ROWS] + 1;
        void *i = malloc(room * 8);
        uint16_t *x = malloc(room * sizeof *x), *y = malloc(room * sizeof *y);
        tsr_common_take(&c, i, narrow, x, y, fewer, more, *t);
        expect_common(&c, i, narrow, x, y, fewer, more);
        tsr_common_take(&c, i, narrow, NULL, NULL, fewer, more, *t);
        tsr_common_free(&c);
        free(i);
        free(x);
        free(y);
    }
}

static void test_common(void **state)
{
    static const int64_t average[][2] = {{2, 2900}, {1, 700}, {40, 300}, {200, 200}, {0, 5}};
    (void)state;
    for (int k = 0; k < 20; k++) {
        tsr_view fewer = draw_rows(average[k % 5][0], k & 4), more = draw_rows(average[k % 5][1], k & 8);
        check_common(&fewer, &more, k & 1);
        free_rows(&fewer);
        free_rows(&more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nonempty_vectors),
        cmocka_unit_test(test_list_vectors),
        cmocka_unit_test(test_teams),
        cmocka_unit_test_setup(test_same_indices, set_seed),
        cmocka_unit_test_setup(test_offsets_of_counts, set_seed),
        cmocka_unit_test_setup(test_common, set_seed),
    };
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
