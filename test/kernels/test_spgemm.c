/* SpGEMM: the oracle against a product worked out by hand, and the CPU's kernel without memory.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/common/arrays.h"
#include "kernels/spgemm.h"
#include "test/unit/failing_memory.h"

/*      0  1  2  3  4          squared:
 * 0    .  2  .  .  3           .  .  .  . 18
 * 1    .  .  .  .  .           .  .  .  .  .
 * 2    1  .  4  .  .           4  2 16  .  3
 * 3    .  .  .  5  .           .  .  . 25  .
 * 4    .  .  .  .  6           .  .  .  . 36   */
static const int64_t row_p[] = {0, 2, 2, 4, 5, 6}, row_i[] = {4, 1, 0, 2, 3, 4};
static const double row_x[] = {3, 2, 1, 4, 5, 6};
static const int64_t col_p[] = {0, 1, 2, 3, 4, 6};
static const uint32_t col_i[] = {2, 0, 2, 3, 0, 4};
static const double col_x[] = {1, 2, 4, 5, 3, 6};
static const int64_t hyper_p[] = {0, 2, 4, 5, 6}, hyper_h[] = {0, 2, 3, 4};

static const int64_t square_i[] = {4, 0, 1, 2, 4, 3, 4};
static const double square_x[] = {18, 4, 2, 16, 3, 25, 36};

static tsr_view by_row(void)
{
    return (tsr_view){.format = TSR_SPARSE, .type = TSR_FP64, .jumbled = true, .index_size = 8, .nrows = 5, .ncols = 5, .nvec = 5, .vlen = 5,
                      .ld = 5, .nvals = 6, .p = row_p, .i = row_i, .x = row_x};
}

static tsr_view by_col(void)
{
    tsr_view v = by_row();
    v.by_col = true;
    v.jumbled = false;
    v.index_size = 4;
    v.p = col_p;
    v.i = col_i;
    v.x = col_x;
    return v;
}

static tsr_view hyper(void)
{
    tsr_view v = by_row();
    v.format = TSR_HYPERSPARSE;
    v.nvec = 4;
    v.p = hyper_p;
    v.h = hyper_h;
    return v;
}

static tsr_spgemm square(tsr_view a, tsr_view b)
{
    return (tsr_spgemm){.semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 5, .n = 5, .k = 5, .a = a, .b = b, .nthreads = 1};
}

typedef struct result {
    int64_t p[6], h[5], i[16];
    double x[16];
    tsr_spgemm_size size;
} result;

static tsr_spgemm_c arrays_of(result *c)
{
    return (tsr_spgemm_c){.p = c->p, .h = c->h, .i = c->i, .x = c->x, .index_size = 8};
}

static void compute(result *c, const tsr_spgemm *product)
{
    memset(c, 0, sizeof *c);
    const tsr_spgemm_c arrays = arrays_of(c);
    assert_int_equal(tsr_ref_spgemm_count(product, &c->size, c->p), TSR_OK);
    assert_true(c->size.nvals <= 16);
    assert_int_equal(tsr_ref_spgemm_fill(product, &arrays), TSR_OK);
    assert_int_equal(c->p[c->size.nvec], c->size.nvals);
}

static void every_orientation(void **state)
{
    (void)state;
    const tsr_view views[] = {by_row(), by_col(), hyper()};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            result c;
            const tsr_spgemm s = square(views[a], views[b]);
            compute(&c, &s);
            assert_int_equal(c.size.nvec, a == 2 ? 4 : 5);
            assert_int_equal(c.size.nvals, 7);
            assert_memory_equal(c.i, square_i, sizeof square_i);
            assert_memory_equal(c.x, square_x, sizeof square_x);
        }
}

static void by_column(void **state)
{
    (void)state;
    static const int64_t p[] = {0, 1, 2, 3, 4, 7}, i[] = {2, 2, 2, 3, 0, 2, 4};
    result c;
    tsr_spgemm s = square(by_row(), by_row());
    s.c_by_col = true;
    compute(&c, &s);
    assert_memory_equal(c.p, p, sizeof p);
    assert_memory_equal(c.i, i, sizeof i);
    assert_true(c.x[0] == 4 && c.x[4] == 18 && c.x[5] == 3);
}

static void under_masks(void **state)
{
    (void)state;
    result c;
    tsr_spgemm s = square(by_row(), by_row());
    s.masked = s.mask_structural = true;
    s.mask = by_col();
    compute(&c, &s); /* (0,4) (2,0) (2,2) (3,3) (4,4) */
    assert_true(c.size.nvals == 5 && c.x[0] == 18 && c.x[1] == 4 && c.x[2] == 16 && c.x[4] == 36);
    s.mask_complement = true;
    compute(&c, &s); /* (2,1) (2,4) */
    assert_true(c.size.nvals == 2 && c.i[0] == 1 && c.x[0] == 2 && c.x[1] == 3);
    double zero[6] = {0, 0, 0, 0, 0, -0.0}; /* of all values only -0 is true: (4,4) */
    s.mask_structural = false;
    s.mask.x = zero;
    compute(&c, &s);
    assert_int_equal(c.size.nvals, 6);
}

static void positions(void **state)
{
    (void)state;
    int32_t x[16];
    int64_t p[6], h[5], i[16];
    tsr_spgemm_size size;
    tsr_spgemm s = square(by_row(), by_row());
    s.semiring = (tsr_semiring){TSR_INT32, TSR_ADD_MIN, TSR_MUL_TIMES};
    s.offset = 1;
    const int32_t want[3][7] = {{1, 3, 3, 3, 3, 4, 5}, {5, 3, 1, 3, 1, 4, 5}, {5, 1, 2, 3, 5, 4, 5}};
    for (int which = 0; which < 3; which++) {
        const tsr_spgemm_c c = {.p = p, .h = h, .i = i, .x = x, .index_size = 8};
        s.position = (tsr_position)(TSR_POSITION_I + which);
        assert_int_equal(tsr_ref_spgemm_count(&s, &size, p), TSR_OK);
        assert_int_equal(tsr_ref_spgemm_fill(&s, &c), TSR_OK);
        assert_memory_equal(x, want[which], sizeof want[which]);
    }
}

static void any_is_one_of_them(void **state)
{
    (void)state;
    result c;
    tsr_spgemm s = square(by_row(), by_row());
    s.semiring.add = TSR_ADD_ANY;
    compute(&c, &s);
    const tsr_spgemm_c arrays = arrays_of(&c);
    assert_true(tsr_ref_spgemm_matches_any(&s, &arrays, 5));
    c.x[2]++;
    assert_false(tsr_ref_spgemm_matches_any(&s, &arrays, 5));
    c.x[2]--;
    c.i[2] = c.i[1];
    assert_false(tsr_ref_spgemm_matches_any(&s, &arrays, 5));
}

/* ---- every allocation of the CPU's kernel failing once ---- */

/* As realloc, of blocks with their size in front. */
static void *resize(const void *context, void *block, size_t bytes)
{
    (void)context;
    size_t *larger = malloc(bytes + 16);
    if (!larger)
        return NULL;
    larger[0] = bytes;
    if (block) {
        size_t *was = (size_t *)block - 2;
        memcpy(larger + 2, block, was[0] < bytes ? was[0] : bytes);
        free(was);
    }
    return larger + 2;
}

static void release(const void *context, void *block)
{
    (void)context;
    free((size_t *)block - 2);
}

static tsr_status attempt(void *context)
{
    static const tsr_spgemm_memory memory = {resize, release, NULL};
    const tsr_spgemm *product = context;
    tsr_spgemm_work *work = NULL;
    tsr_spgemm_size size;
    int64_t p[64];
    tsr_spgemm_c c = {.p = p};
    tsr_status status = tsr_cpu_spgemm_count(&work, product, &memory, &size);
    if (status == TSR_OK)
        status = tsr_cpu_spgemm_take(work, &c);
    tsr_cpu_spgemm_free(work);
    if (status == TSR_OK) {
        assert_int_equal(size.nvals, p[size.nvec]);
        release(NULL, c.i);
        release(NULL, c.x);
    }
    return status;
}

static void memory_fails(void **state)
{
    (void)state;
    tsr_spgemm s = square(by_row(), by_col());
    assert_true(memory_failures(attempt, &s) >= 10);
    s.sorted = s.masked = s.mask_complement = s.c_by_col = true;
    s.mask = by_col();
    assert_true(memory_failures(attempt, &s) >= 10);
}

/* Columns far apart go to a table, then to notes of all columns, near ones to a window: each has scratch of its own.  Those of a wide one have groups. */
enum { ROWS = 24, LENGTH = 120, TABLE = 5000000, NOTES = 400000, WIDE = 150000, WINDOW = 3000, MOST = ROWS * ROWS * LENGTH };

typedef struct large {
    int64_t a_p[ROWS + 1], b_p[ROWS + 1];
    uint32_t a_i[ROWS * ROWS], b_i[ROWS * LENGTH];
    double a_x[ROWS * ROWS], b_x[ROWS * LENGTH];
    int8_t mask[ROWS * WINDOW];
    tsr_spgemm product;
} large;

static tsr_view view_of(int64_t ncols, const int64_t *p, const uint32_t *i, const double *x)
{
    return (tsr_view){.format = TSR_SPARSE, .type = TSR_FP64, .index_size = 4, .nrows = ROWS, .ncols = ncols, .nvec = ROWS, .vlen = ncols, .ld = ncols,
                      .nvals = p[ROWS], .p = p, .i = i, .x = x};
}

/* A is full, rows of B are LENGTH columns among n. */
static void make_large(large *l, int64_t n)
{
    for (int64_t v = 0; v < ROWS; v++) {
        for (int64_t k = 0; k < ROWS; k++)
            l->a_i[v * ROWS + k] = (uint32_t)k;
        for (int64_t k = 0; k < LENGTH; k++)
            l->b_i[v * LENGTH + k] = (uint32_t)(k * (n / LENGTH) + v * 7 % (n / LENGTH));
        l->a_p[v + 1] = (v + 1) * ROWS;
        l->b_p[v + 1] = (v + 1) * LENGTH;
    }
    for (int64_t e = 0; e < ROWS * WINDOW; e++)
        l->mask[e] = e % 3 == 0;
    for (int64_t e = 0; e < ROWS * LENGTH; e++)
        l->b_x[e] = (double)e;
    for (int64_t e = 0; e < ROWS * ROWS; e++)
        l->a_x[e] = 1;
    l->product = (tsr_spgemm){.semiring = {TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = ROWS, .n = n, .k = ROWS, .sorted = true, .nthreads = 1,
                              .a = view_of(ROWS, l->a_p, l->a_i, l->a_x), .b = view_of(n, l->b_p, l->b_i, l->b_x)};
}

static void large_memory_fails(void **state)
{
    (void)state;
    static large l;
    const int64_t widths[] = {TABLE, NOTES, WIDE, WINDOW};
    for (int k = 0; k < 4; k++) {
        make_large(&l, widths[k]);
        assert_true(memory_failures(attempt, &l.product) >= 8);
        l.product.masked = l.product.mask_complement = l.product.narrow = true;
        l.product.mask = l.product.b;
        assert_true(memory_failures(attempt, &l.product) >= (k == 0 ? 8 : 9));
    }
    l.product.mask_structural = true;
    l.product.mask = (tsr_view){.format = TSR_BITMAP, .type = TSR_BOOL, .iso = true, .nrows = ROWS, .ncols = WINDOW, .nvec = ROWS, .vlen = WINDOW,
                                .ld = WINDOW, .b = l.mask, .x = l.mask};
    assert_true(memory_failures(attempt, &l.product) >= 8);
}

typedef struct entries {
    int64_t p[ROWS + 1], i[MOST];
    double x[MOST];
} entries;

static void assert_like_oracle(const tsr_spgemm *s)
{
    static entries got, want;
    const tsr_spgemm_c c = {.p = got.p, .i = got.i, .x = got.x, .index_size = 8}, oracle = {.p = want.p, .i = want.i, .x = want.x, .index_size = 8};
    tsr_spgemm_work *work;
    tsr_spgemm_size size, expected;
    assert_int_equal(tsr_cpu_spgemm_count(&work, s, NULL, &size), TSR_OK);
    assert_int_equal(tsr_cpu_spgemm_fill(work, &c), TSR_OK);
    tsr_cpu_spgemm_free(work);
    assert_int_equal(tsr_ref_spgemm_count(s, &expected, want.p), TSR_OK);
    assert_int_equal(tsr_ref_spgemm_fill(s, &oracle), TSR_OK);
    assert_true(size.nvals == expected.nvals);
    assert_memory_equal(got.p, want.p, sizeof want.p);
    assert_memory_equal(got.i, want.i, (size_t)size.nvals * sizeof *want.i);
    assert_memory_equal(got.x, want.x, (size_t)size.nvals * sizeof *want.x);
}

static void all_widths_agree(void **state)
{
    (void)state;
    static large l;
    const int64_t widths[] = {TABLE, NOTES, WIDE, WIDE / 10, WINDOW, LENGTH};
    for (int k = 0; k < 6; k++) {
        make_large(&l, widths[k]);
        assert_like_oracle(&l.product);
        l.product.masked = l.product.mask_complement = true;
        l.product.mask = l.product.b;
        assert_like_oracle(&l.product);
    }
}

/* ---- several threads ---- */

/* Rows of A that are sampled to tell how large C will be have products that meet, others have none: C must grow.  Some have all of B's rows. */
enum { MANY = 1500, INNER = 200, HALF = 100, COLUMNS = 50000, EACH = 150, MOST_A = MANY * 30 + MANY / 100 * INNER };

typedef struct uneven {
    int64_t a_p[MANY + 1], b_p[INNER + 1];
    uint32_t a_i[MOST_A], b_i[INNER * EACH];
    float a_x[MOST_A], b_x[INNER * EACH];
    tsr_spgemm product;
} uneven;

static int64_t put_row(uneven *u, int64_t e, int64_t from, int64_t count, int64_t step)
{
    for (int64_t k = 0; k < count; k++) {
        u->a_x[e] = (float)(e % 31) / 7;
        u->a_i[e++] = (uint32_t)(from + k * step);
    }
    return e;
}

static void make_uneven(uneven *u)
{
    const tsr_view plain = {.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 4};
    for (int64_t v = 0, e = 0; v < MANY; v++) {
        e = v % 64 == 32 ? put_row(u, e, 0, 30, 1) : v % 128 == 7 ? put_row(u, e, 0, INNER, 1) : put_row(u, e, HALF + v % 10, 10, 9);
        u->a_p[v + 1] = e;
    }
    for (int64_t v = 0; v < INNER; v++) {
        for (int64_t k = 0; k < EACH; k++)
            u->b_i[v * EACH + k] = (uint32_t)(v < HALF ? k : k * (COLUMNS / EACH) + v);
        u->b_p[v + 1] = (v + 1) * EACH;
    }
    for (int64_t e = 0; e < INNER * EACH; e++)
        u->b_x[e] = (float)(e % 17) / 3;
    u->product = (tsr_spgemm){.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = MANY, .n = COLUMNS, .k = INNER, .sorted = true, .a = plain, .b = plain};
    tsr_view *a = &u->product.a, *b = &u->product.b;
    a->nrows = a->nvec = MANY;
    a->ncols = a->vlen = a->ld = b->nrows = b->nvec = INNER;
    b->ncols = b->vlen = b->ld = COLUMNS;
    a->p = u->a_p, a->i = u->a_i, a->x = u->a_x, a->nvals = u->a_p[MANY];
    b->p = u->b_p, b->i = u->b_i, b->x = u->b_x, b->nvals = u->b_p[INNER];
}

typedef struct whole {
    int64_t p[MANY + 1];
    tsr_spgemm_c c;
    tsr_spgemm_size size;
} whole;

static void take_whole(whole *w, tsr_spgemm s, int nthreads, bool narrow)
{
    static const tsr_spgemm_memory memory = {resize, release, NULL};
    tsr_spgemm_work *work;
    s.nthreads = nthreads;
    s.narrow = narrow;
    w->c = (tsr_spgemm_c){.p = w->p};
    assert_int_equal(tsr_cpu_spgemm_count(&work, &s, &memory, &w->size), TSR_OK);
    assert_int_equal(tsr_cpu_spgemm_take(work, &w->c), TSR_OK);
    assert_int_equal(w->c.index_size, narrow ? 4 : 8);
    tsr_cpu_spgemm_free(work);
}

static void free_whole(whole *w)
{
    release(NULL, w->c.i);
    release(NULL, w->c.x);
}

static void assert_same(const whole *got, const whole *want)
{
    assert_true(got->size.nvals == want->size.nvals);
    assert_memory_equal(got->p, want->p, sizeof want->p);
    for (int64_t e = 0; e < want->size.nvals; e++)
        assert_true((got->c.index_size == 4 ? ((uint32_t *)got->c.i)[e] : ((int64_t *)got->c.i)[e]) == ((int64_t *)want->c.i)[e]);
    assert_memory_equal(got->c.x, want->c.x, (size_t)want->size.nvals * sizeof(float));
}

static void threads_agree(void **state)
{
    (void)state;
    static uneven u;
    static whole one, several;
    make_uneven(&u);
    take_whole(&one, u.product, 1, false);
    assert_true(one.size.work > 8 << 18);
    for (int round = 0; round < 6; round++) {
        take_whole(&several, u.product, 2 + round, round % 2);
        assert_same(&several, &one);
        free_whole(&several);
    }
    free_whole(&one);
}

/* Values again, for what is known of the pattern. */
typedef struct known {
    const tsr_spgemm *product;
    const int64_t *p;
    const uint32_t *i;
    double *x;
} known;

static tsr_status attempt_again(void *context)
{
    const known *k = context;
    return tsr_cpu_spgemm_again(k->product, k->p, k->i, k->x);
}

static void memory_for_values_fails(void **state)
{
    (void)state;
    result c;
    uint32_t i[16];
    double x[16];
    tsr_spgemm s = square(by_row(), by_col());
    compute(&c, &s);
    for (int e = 0; e < 16; e++)
        i[e] = (uint32_t)c.i[e];
    assert_true(memory_failures(attempt_again, &(known){&s, c.p, i, x}) >= 5);
    assert_memory_equal(x, square_x, sizeof square_x);
}

/* Pages that are asked for before they are written: what was there stays, and nothing else is touched. */
static void pages_come_at_once(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = TSR_POPULATE_LEAST + 8 * page;
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(block, MAP_FAILED);
    block[2 * page + 5] = 7;
    tsr_populate(block + page + 3, bytes - 3 * page, 1);
    for (size_t k = 0; k < bytes; k++)
        assert_int_equal(block[k], k == 2 * page + 5 ? 7 : 0);
    tsr_populate(block, bytes, 1);
    tsr_populate(block + 1, 2, 1);
    assert_int_equal(block[2 * page + 5], 7);
    munmap(block, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_orientation), cmocka_unit_test(by_column),          cmocka_unit_test(under_masks),
        cmocka_unit_test(positions),         cmocka_unit_test(any_is_one_of_them),
        cmocka_unit_test(memory_fails),      cmocka_unit_test(all_widths_agree),    cmocka_unit_test(large_memory_fails), cmocka_unit_test(memory_for_values_fails),
        cmocka_unit_test(threads_agree),     cmocka_unit_test(pages_come_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
