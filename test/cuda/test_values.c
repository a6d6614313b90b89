/* Values that stay with the plug-in, on the lazy device, the emulated one or a GPU: coming and going, dense products, tight
 * memory, failures, threads.
 *   test_values [seed] [rounds]
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ref/derive.h"
#include "test/cuda/device_control.h"
#include "test/cuda/plugin_start.h"
#include "test/cuda/step_case.h"
#include "test/threads.h"

enum { NARROW_LEAST = 8 }; /* offsets that cross the bus with 32 bits (meson.build) */

/* ---- coming and going ---- */

/* Vectors further apart than they are long, one value for all, page-locked arrays; what is moved is counted. */
static void upload_one(rng *r)
{
    tsr_type type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    int64_t vectors = rng_below(r, 12), length = rng_below(r, 40), ld = length + rng_below(r, 3), moved = -1;
    bool iso = rng_chance(r, 30), bitmap = rng_chance(r, 50), pinned = rng_chance(r, 30) && vectors * length > 0;
    host_value held = new_host(type, vectors * ld + 1, bitmap), want = new_host(type, vectors * length, bitmap);
    size_t size = type_size(type);
    draw_host(&held, r);
    for (int64_t k = 0; k < want.count; k++) {
        int64_t at = k / length * ld + k % length;
        memcpy((char *)want.x + (size_t)k * size, (char *)held.x + (iso ? 0 : (size_t)at * size), size);
        if (bitmap)
            want.b[k] = held.b[at];
    }
    tsr_view v = {.format = bitmap ? TSR_BITMAP : TSR_FULL, .type = type, .iso = iso, .nrows = vectors, .ncols = length, .nvec = vectors,
                  .vlen = length, .ld = ld, .nvals = entries_of(&want), .b = held.b, .x = held.x};
    pinned = pinned && gpu->pin(held.x, (size_t)held.count * size);
    void *value;
    assert_int_equal(contents->upload(&v, 1 + (int)rng_below(r, 4), &value, &moved), TSR_OK);
    assert_int_equal(moved, want.count * (int64_t)((iso ? 0 : size) + (bitmap ? 1 : 0)));
    if (pinned)
        gpu->unpin(held.x);
    memset(held.x, POISON, (size_t)held.count * size); /* it is not looked at any more */
    check_value(value, &want);
    contents->drop(value);
    free_host(&held);
    free_host(&want);
}

/* Sparse or hypersparse on the host, a bitmap there. */
static void upload_sparse(rng *r)
{
    tsr_type type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    int64_t vectors = 1 + rng_below(r, 12), length = 1 + rng_below(r, 40), count = vectors * length, nvals = 0, stored = 0, moved = -1;
    bool iso = rng_chance(r, 30), hyper = rng_chance(r, 50), by_col = rng_chance(r, 50);
    host_value want = new_host(type, count, true), entries = new_host(type, count + 1, false);
    int64_t *p = take((size_t)(vectors + 1) * 8), *h = take((size_t)vectors * 8), *i = take((size_t)count * 8);
    size_t size = type_size(type);
    draw_host(&want, r);
    draw_host(&entries, r);
    p[0] = 0;
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t k = v * length; k < (v + 1) * length; k++)
            if (want.b[k]) {
                memcpy((char *)want.x + (size_t)k * size, (char *)entries.x + (iso ? 0 : (size_t)nvals * size), size);
                i[nvals++] = k - v * length;
            }
        if (hyper && p[stored] == nvals)
            continue;
        h[stored++] = v;
        p[stored] = nvals;
    }
    tsr_view view = {.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = type, .iso = iso, .by_col = by_col, .index_size = 8,
                     .nrows = by_col ? length : vectors, .ncols = by_col ? vectors : length, .nvec = stored, .vlen = length, .ld = length,
                     .nvals = nvals, .p = p, .h = hyper ? h : NULL, .i = i, .x = nvals ? entries.x : NULL};
    void *value;
    assert_int_equal(contents->upload(&view, 1 + (int)rng_below(r, 4), &value, &moved), TSR_OK);
    const int64_t offsets = (vectors + 1) * (vectors + 1 < NARROW_LEAST ? 8 : 4);
    assert_int_equal(moved, nvals ? offsets + nvals * (int64_t)(4 + (iso ? 0 : size)) : 0);
    memset(entries.x, POISON, (size_t)count * size); /* it is not looked at any more */
    check_value(value, &want);
    contents->drop(value);
    free_host(&want);
    free_host(&entries);
    free(p);
    free(h);
    free(i);
}

static void test_upload_and_download(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 300 * rounds; round++) {
        upload_one(&r);
        upload_sparse(&r);
    }
    assert_int_equal(tsr_cuda->used, 0);
}

/* A value may be fetched often, also into page-locked arrays, and with presence that it need not have. */
static void test_fetch_again(void **state)
{
    (void)state;
    rng r = {seed};
    for (int bitmap = 0; bitmap < 2; bitmap++) {
        host_value h = new_host(TSR_INT32, 777, bitmap), full = new_host(TSR_INT32, 777, true);
        draw_host(&h, &r);
        void *value = must_upload(&h);
        for (int again = 0; again < 4; again++) {
            bool pinned = again % 2 && gpu->pin(full.x, 777 * 4);
            tsr_download to = {.nthreads = 3, .x = full.x, .b = full.b};
            memset(full.x, POISON, 777 * 4);
            assert_int_equal(contents->download(value, &to), TSR_OK);
            assert_int_equal(to.bytes_moved, 777 * (4 + bitmap));
            assert_same(&full, &h);
            if (pinned)
                gpu->unpin(full.x);
        }
        contents->drop(value);
        free_host(&h);
        free_host(&full);
    }
}

/* ---- values made of one value ---- */

/* Vectors of a length; small numbers, so that sums are exact. */
typedef struct derive_case {
    int64_t vectors, length;
    host_value host;
    tsr_elements e;
    void *value;
} derive_case;

static derive_case draw_derive(rng *r, tsr_type type)
{
    derive_case c = {.vectors = rng_below(r, 40), .length = rng_below(r, 60)};
    c.host = new_host(type, c.vectors * c.length, rng_chance(r, 50));
    draw_host(&c.host, r);
    c.e = elements_of(&c.host);
    c.value = must_upload(&c.host);
    return c;
}

/* The source may go before its result is looked at. */
static void check_derived(derive_case *c, tsr_status status, void *const *value, host_value *want)
{
    assert_int_equal(status, TSR_OK);
    contents->drop(c->value);
    check_value(*value, want);
    contents->drop(*value);
    free_host(want);
    free_host(&c->host);
}

static void check_sums(rng *r)
{
    tsr_reduce_op op = (tsr_reduce_op)rng_below(r, TSR_REDUCE_ANY);
    tsr_type type = op == TSR_REDUCE_EQ ? TSR_BOOL : (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    if (op == TSR_REDUCE_TIMES && tsr_type_is_float(type))
        op = TSR_REDUCE_PLUS;
    derive_case c = draw_derive(r, type);
    tsr_sums s = {.value = c.value, .type = type, .op = op, .vectors = c.vectors, .length = c.length, .across = rng_chance(r, 50)};
    host_value want = new_host(type, c.vectors, true);
    void *value;
    tsr_ref_sums(&s, &c.e, want.x, want.b);
    check_derived(&c, arrays->sums(&s, &value), &value, &want);
}

static void check_cast(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    host_value want = new_host((tsr_type)rng_below(r, TSR_TYPE_COUNT), c.host.count, true);
    void *value;
    tsr_ref_cast_all(want.x, want.b, want.type, &c.e, c.host.type, c.host.count);
    check_derived(&c, arrays->cast(c.value, c.host.type, want.type, &value), &value, &want);
}

static void check_turn(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    host_value want = new_host(c.host.type, c.host.count, true);
    void *value;
    tsr_ref_turn(want.x, want.b, &c.e, type_size(c.host.type), c.vectors, c.length);
    check_derived(&c, arrays->turn(c.value, c.vectors, c.length, &value), &value, &want);
}

static void check_places(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    tsr_places p = {.value = c.value, .vectors = c.vectors, .length = c.length, .by_vector = (int)rng_below(r, 3) - 1,
                    .by_place = (int)rng_below(r, 3) - 1, .offset = rng_below(r, 9) - 4, .select = rng_chance(r, 50),
                    .keep = (tsr_ewise_op)(TSR_EWISE_EQ + rng_below(r, 6))};
    host_value want = new_host(p.select ? c.host.type : TSR_INT64, c.host.count, true);
    void *value;
    tsr_ref_places(&p, &c.e, type_size(c.host.type), want.x, want.b);
    check_derived(&c, arrays->places(&p, &value), &value, &want);
}

/* A list, or a stride in either direction; what the list was afterwards does not matter. */
static void check_gather(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    const int64_t places = c.host.count, count = places ? rng_below(r, 200) : 0;
    uint64_t *list = take((size_t)count * sizeof *list + 1);
    int64_t moved = -1;
    tsr_indices from = {.list = list, .count = count};
    for (int64_t k = 0; k < count; k++)
        list[k] = (uint64_t)rng_below(r, places);
    if (rng_chance(r, 30)) {
        const int64_t step = 1 + rng_below(r, 5), last = (count - 1) * step;
        from = (tsr_indices){.first = 0, .step = step, .count = last < places ? count : (places + step - 1) / step};
        if (from.count && rng_chance(r, 50))
            from = (tsr_indices){.first = (from.count - 1) * step, .step = -step, .count = from.count};
    }
    host_value want = new_host(c.host.type, from.count, c.host.b);
    host_value presence = new_host(TSR_BOOL, from.count, true);
    void *value;
    tsr_ref_gather(&from, &c.e, type_size(c.host.type), want.x, want.b ? want.b : presence.b);
    const tsr_status status = arrays->gather(c.value, &from, 1 + (int)rng_below(r, 4), &value, &moved);
    memset(list, POISON, (size_t)count * sizeof *list);
    assert_int_equal(moved, from.list ? from.count * 4 : 0);
    check_derived(&c, status, &value, &want);
    free_host(&presence);
    free(list);
}

/* To places in any order, of which two may be the same. */
static void check_scatter(rng *r)
{
    derive_case c = draw_derive(r, (tsr_type)rng_below(r, TSR_TYPE_COUNT));
    const int64_t given = c.host.count, count = given + 1 + rng_below(r, 50);
    uint64_t *list = take((size_t)count * sizeof *list);
    int64_t moved = -1;
    for (int64_t k = 0; k < count; k++)
        list[k] = (uint64_t)k;
    for (int64_t k = count - 1; k > 0; k--) {
        const int64_t other = rng_below(r, k + 1);
        const uint64_t swapped = list[k];
        list[k] = list[other];
        list[other] = swapped;
    }
    if (given > 1 && rng_chance(r, 30))
        list[0] = list[given - 1];
    const tsr_indices to = {.list = rng_chance(r, 80) ? list : NULL, .first = count - 1, .step = -1, .count = given};
    host_value want = new_host(c.host.type, count, true);
    void *value;
    const bool once = tsr_ref_scatter(&to, &c.e, type_size(c.host.type), want.x, want.b, count);
    const tsr_status status = arrays->scatter(c.value, &to, count, 1 + (int)rng_below(r, 4), &value, &moved);
    assert_int_equal(status, once ? TSR_OK : TSR_DECLINED);
    assert_int_equal(moved, to.list ? given * 4 : 0);
    free(list);
    if (once) {
        check_derived(&c, status, &value, &want);
        return;
    }
    contents->drop(c.value);
    free_host(&want);
    free_host(&c.host);
}

static void test_derived(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 150 * rounds; round++) {
        check_sums(&r);
        check_cast(&r);
        check_turn(&r);
        check_places(&r);
        check_gather(&r);
        check_scatter(&r);
    }
    assert_int_equal(tsr_cuda->used, 0);
}

/* ---- dense products ---- */

static int64_t place(int64_t row, int64_t column, int64_t rows, int64_t columns, bool by_col)
{
    return by_col ? column * rows + row : row * columns + column;
}

static void multiply_host(const tsr_dense_product *p, const host_value *a, const host_value *b, host_value *c)
{
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t column = 0; column < p->n; column++) {
            long double sum = 0;
            for (int64_t at = 0; at < p->k; at++)
                sum += tsr_value_load(p->type, a->x, place(row, at, p->m, p->k, p->a_by_col)).real *
                       tsr_value_load(p->type, b->x, place(at, column, p->k, p->n, p->b_by_col)).real;
            tsr_value_store(p->type, c->x, place(row, column, p->m, p->n, p->c_by_col), (tsr_value){.real = sum});
        }
}

/* Sums are exact. */
static void test_dense_products(void **state)
{
    (void)state;
    rng r = {seed};
    for (int round = 0; round < 100 * rounds; round++) {
        tsr_dense_product p = {.type = rng_chance(&r, 50) ? TSR_FP32 : TSR_FP64, .m = rng_below(&r, 40), .n = rng_below(&r, 40),
                               .k = rng_below(&r, 40), .a_by_col = rng_chance(&r, 50), .b_by_col = rng_chance(&r, 50),
                               .c_by_col = rng_chance(&r, 50)};
        host_value a = new_host(p.type, p.m * p.k, false), b = new_host(p.type, p.k * p.n, false), c = new_host(p.type, p.m * p.n, false);
        draw_host(&a, &r);
        draw_host(&b, &r);
        multiply_host(&p, &a, &b, &c);
        p.a = must_upload(&a);
        p.b = must_upload(&b);
        void *value;
        tsr_status status = arrays->multiply(&p, &value);
        if (status == TSR_DECLINED && round == 0)
            print_message("no cuBLAS here\n");
        assert_true(status == TSR_OK || status == TSR_DECLINED);
        if (status == TSR_OK) {
            check_value(value, &c);
            contents->drop(value);
        }
        contents->drop(p.a);
        contents->drop(p.b);
        free_host(&a);
        free_host(&b);
        free_host(&c);
    }
}

/* ---- tight memory ---- */

static void test_little_memory(void **state)
{
    (void)state;
    rng r = {seed};
    size_t cap = tsr_cuda->cap;
    int short_of = 0, ok = 0;
    for (int round = 0; round < 300 * rounds; round++) {
        step_case c;
        void *value;
        make_step(&c, &r);
        compute_want(&c);
        tsr_cuda->cap = (size_t)1 << rng_below(&r, 16);
        tsr_status status = run_step(&c, &value);
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY);
        assert_true(tsr_cuda->used <= tsr_cuda->cap);
        *(status == TSR_OK ? &ok : &short_of) += 1;
        if (status == TSR_OK) {
            tsr_cuda->cap = cap;
            check_value(value, &c.want);
            contents->drop(value);
        }
        free_step(&c);
        assert_int_equal(tsr_cuda->used, 0);
    }
    tsr_cuda->cap = cap;
    assert_true(ok > 20 && short_of > 20);
}

/* Representations of matrices go before a value has to. */
static void test_values_evict(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, 1, 2}, indices[] = {0, 1};
    static const float ones[] = {1, 1}, b[] = {3, 4};
    float c[2];
    void *slot = NULL, *value;
    tsr_product p = {.op = TSR_OP_SPMM, .semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .m = 2, .n = 1, .k = 2, .nthreads = 1,
                     .a_slot = &slot};
    p.a = (tsr_view){.format = TSR_SPARSE, .type = TSR_FP32, .index_size = 8, .nrows = 2, .ncols = 2, .nvec = 2, .vlen = 2, .nvals = 2,
                     .p = offsets, .i = indices, .x = ones};
    p.b = (tsr_view){.format = TSR_FULL, .type = TSR_FP32, .nrows = 2, .ncols = 1, .nvec = 2, .vlen = 1, .ld = 1, .nvals = 2, .x = b};
    assert_int_equal(gpu->execute(&p, &(tsr_result){.x = c}), TSR_OK);
    assert_true(gpu->holds(&p));
    size_t cap = tsr_cuda->cap;
    tsr_cuda->cap = tsr_cuda->used + 4000;
    rng r = {seed};
    host_value h = new_host(TSR_UINT8, 4100, false);
    draw_host(&h, &r);
    value = must_upload(&h);
    assert_false(gpu->holds(&p));
    check_value(value, &h);
    contents->drop(value);
    free_host(&h);
    if (slot)
        gpu->release(slot);
    tsr_cuda->cap = cap;
    assert_int_equal(tsr_cuda->used, 0);
}

/* ---- products of few entries ---- */

enum { PATHS = 64, PATHS_ENTRIES = PATHS + 2 * (PATHS - 1) };

/* Column 0 has every row, others two. */
typedef struct frontier {
    int64_t p[PATHS + 1], i[PATHS_ENTRIES];
    int32_t x[PATHS_ENTRIES], u[PATHS], want[PATHS], got[PATHS];
    int8_t b[PATHS], want_b[PATHS], got_b[PATHS];
    tsr_product product;
    void *slot;
} frontier;

static void make_frontier(frontier *f)
{
    int64_t count = 0;
    memset(f, 0, sizeof *f);
    for (int64_t column = 0; column < PATHS; f->p[++column] = count)
        for (int64_t k = 0; k < (column ? 2 : PATHS); k++, count++) {
            f->i[count] = column ? (7 * column) % 32 + 32 * k : k;
            f->x[count] = (int32_t)(count % 11) - 3;
        }
    for (int k = 0; k < PATHS; k++)
        f->u[k] = 5 * k % 17;
    f->product = (tsr_product){.op = TSR_OP_SPMV, .semiring = {TSR_INT32, TSR_ADD_MIN, TSR_MUL_PLUS}, .m = PATHS, .n = 1, .k = PATHS,
        .c_by_col = true, .nthreads = 1, .a_transposed = true,
        .a = {.format = TSR_SPARSE, .type = TSR_INT32, .by_col = true, .index_size = 8, .nrows = PATHS, .ncols = PATHS, .nvec = PATHS,
              .vlen = PATHS, .nvals = count, .p = f->p, .i = f->i, .x = f->x}};
}

/* With entries in these columns (NULL: a full u).  The status; which kernel it was, what moved. */
static tsr_status multiply_frontier(frontier *f, const int *columns, int count, tsr_result *got)
{
    tsr_product p = f->product;
    memset(f->b, 0, sizeof f->b);
    for (int k = 0; columns && k < count; k++)
        f->b[columns[k]] = 1;
    p.b = (tsr_view){.format = TSR_BITMAP, .type = TSR_INT32, .by_col = true, .nrows = PATHS, .ncols = 1, .nvec = 1, .vlen = PATHS,
                     .ld = PATHS, .nvals = count, .b = f->b, .x = f->u};
    if (!columns) {
        p.b.format = TSR_FULL;
        p.b.b = NULL;
    }
    assert_int_equal(tsr_ref_execute(&p, &(tsr_result){.x = f->want, .b = f->want_b}), TSR_OK);
    *got = (tsr_result){.x = f->got, .b = f->got_b};
    int64_t moved;
    tsr_status status = contents->upload(&p.b, 1, &p.b_value, &moved);
    p.a_slot = &f->slot;
    p.b.x = NULL;
    p.b.b = NULL;
    if (status == TSR_OK)
        status = gpu->execute(&p, got);
    if (p.b_value)
        contents->drop(p.b_value);
    for (int row = 0; status == TSR_OK && row < PATHS; row++) {
        assert_int_equal(f->got_b[row], f->want_b[row]);
        assert_true(!f->want_b[row] || f->got[row] == f->want[row]);
    }
    return status;
}

/* Few entries of short columns are pushed; what A's rows are needed for afterwards is made of its columns there. */
static void test_frontiers(void **state)
{
    (void)state;
    static const int few[] = {3, 5, 40}, hub[] = {0}, none[] = {1};
    int all[PATHS];
    frontier f;
    tsr_result got;
    const int64_t least = PATHS * (int64_t)(sizeof(int32_t) + 1);
    for (int k = 0; k < PATHS; k++)
        all[k] = k;
    make_frontier(&f);
    assert_int_equal(multiply_frontier(&f, few, 3, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    assert_true(got.bytes_moved > least);
    assert_int_equal(multiply_frontier(&f, none, 0, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    assert_true(got.bytes_moved == least && got.nvals == 0);
    assert_int_equal(multiply_frontier(&f, hub, 1, &got), TSR_OK);
    assert_string_equal(got.kernel, "csr");
    assert_int_equal(got.bytes_moved, least);
    assert_int_equal(multiply_frontier(&f, all, PATHS, &got), TSR_OK);
    assert_string_equal(got.kernel, "csr");
    assert_int_equal(multiply_frontier(&f, few, 2, &got), TSR_OK);
    assert_string_equal(got.kernel, "push");
    gpu->release(f.slot);
    assert_int_equal(tsr_cuda->used, 0);
}

/* A full u is pushed along columns that are new; the next product has A by row, made of them there. */
static void test_new_columns(void **state)
{
    (void)state;
    static const char *const kernels[] = {"push", "csr", "csr"};
    frontier f;
    tsr_result got;
    make_frontier(&f);
    for (int k = 0; k < 3; k++) {
        const int64_t least = PATHS * (int64_t)(sizeof(int32_t) + 1);
        assert_int_equal(multiply_frontier(&f, NULL, PATHS, &got), TSR_OK);
        assert_string_equal(got.kernel, kernels[k]);
        assert_true(k == 0 ? got.bytes_moved > least : got.bytes_moved <= least);
    }
    gpu->release(f.slot);
    assert_int_equal(tsr_cuda->used, 0);
}

static void fail_frontier(const int *columns, int count)
{
    frontier f;
    tsr_result got;
    make_frontier(&f);
    const long live = control_live();
    multiply_frontier(&f, columns, count, &got);
    gpu->release(f.slot);
    const long calls = control_calls();
    for (long k = 1; k <= calls; k++) {
        f.slot = NULL;
        control_fail(k, false);
        const tsr_status status = multiply_frontier(&f, columns, count, &got);
        control_fail(0, false);
        assert_true(status == TSR_OK || status == TSR_OUT_OF_MEMORY || status == TSR_INTERNAL_ERROR);
        if (f.slot)
            gpu->release(f.slot);
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda->used, 0);
    }
}

static void test_failing_frontiers(void **state)
{
    (void)state;
    static const int few[] = {3, 5, 40};
    if (!control_fail(1, false))
        skip();
    control_fail(0, false);
    fail_frontier(few, 3);
    fail_frontier(NULL, PATHS);
}

/* ---- failures ---- */

/* All that a value can meet; results are thrown away. */
static tsr_status do_all(const step_case *c, const tsr_dense_product *product, const host_value *a)
{
    void *value = NULL, *matrix = NULL, *square = NULL;
    host_value got = new_host(c->want.type, c->want.count, true);
    uint64_t scalar;
    int64_t nvals;
    bool any;
    tsr_status status = run_step(c, &value);
    if (status == TSR_OK)
        status = arrays->count(value, &nvals);
    if (status == TSR_OK)
        status = arrays->reduce(value, c->want.type, TSR_REDUCE_PLUS, &scalar, &any);
    if (status == TSR_OK)
        status = contents->download(value, &(tsr_download){.nthreads = 1, .x = got.x, .b = got.b});
    if (value && status == TSR_OK)
        assert_same(&got, &c->want);
    if (status == TSR_OK)
        status = upload(a, &matrix);
    if (status == TSR_OK) {
        tsr_dense_product p = *product;
        p.a = p.b = matrix;
        status = arrays->multiply(&p, &square);
    }
    tsr_sums s = {.value = matrix, .type = TSR_FP64, .op = TSR_REDUCE_PLUS, .vectors = 9, .length = 9};
    tsr_places at = {.value = matrix, .vectors = 9, .length = 9, .by_vector = 1, .by_place = -1, .select = true, .keep = TSR_EWISE_GE};
    static const uint64_t list[] = {80, 3, 41, 0, 7};
    const tsr_indices some = {.list = list, .count = 5}, behind = {.first = 99, .step = -1, .count = 81};
    void *made[6] = {NULL};
    int64_t moved;
    if (status == TSR_OK)
        status = arrays->sums(&s, &made[0]);
    if (status == TSR_OK)
        status = arrays->cast(matrix, TSR_FP64, TSR_INT8, &made[1]);
    if (status == TSR_OK)
        status = arrays->turn(matrix, 9, 9, &made[2]);
    if (status == TSR_OK)
        status = arrays->places(&at, &made[3]);
    if (status == TSR_OK)
        status = arrays->gather(matrix, &some, 2, &made[4], &moved);
    if (status == TSR_OK)
        status = arrays->scatter(matrix, &behind, 100, 2, &made[5], &moved);
    void *const all[] = {value, matrix, square, made[0], made[1], made[2], made[3], made[4], made[5]};
    for (int k = 0; k < 9; k++)
        if (all[k])
            contents->drop(all[k]);
    free_host(&got);
    return status;
}

static void fail_everywhere(const step_case *c, rng *r, bool sticky)
{
    tsr_dense_product p = {.type = TSR_FP64, .m = 9, .n = 9, .k = 9};
    host_value a = new_host(TSR_FP64, 81, false);
    draw_host(&a, r);
    tsr_status well = do_all(c, &p, &a);
    assert_true(well == TSR_OK || well == TSR_DECLINED);
    long live = control_live();
    control_fail(0, false);
    do_all(c, &p, &a);
    long calls = control_calls();
    for (long k = 1; k <= calls; k++) {
        control_fail(k, sticky);
        tsr_status status = do_all(c, &p, &a);
        control_fail(0, false);
        assert_true(status == well || status == TSR_OUT_OF_MEMORY || status == TSR_INTERNAL_ERROR);
        if (sticky)
            assert_true(status != TSR_OK);
        assert_int_equal(control_live(), live);
        assert_int_equal(tsr_cuda->used, 0);
    }
    assert_int_equal(do_all(c, &p, &a), well);
    free_host(&a);
}

static void test_failures(void **state)
{
    (void)state;
    rng r = {seed};
    if (!control_fail(1, false))
        skip();
    control_fail(0, false);
    for (int round = 0; round < 6 * rounds; round++) {
        step_case c;
        make_step(&c, &r);
        compute_want(&c);
        bool sticky = round % 2 && control_fail(1, true);
        control_fail(0, false);
        fail_everywhere(&c, &r, sticky);
        free_step(&c);
    }
}

/* ---- threads ---- */

static void *worker(void *argument)
{
    rng r = {seed ^ (uint64_t)(uintptr_t)argument};
    for (int round = 0; round < 60; round++) {
        step_case c;
        void *value;
        make_step(&c, &r);
        compute_want(&c);
        host_value got = new_host(c.want.type, c.want.count, true);
        tsr_download to = {.nthreads = 2, .x = got.x, .b = got.b};
        bool ok = run_step(&c, &value) == TSR_OK && contents->download(value, &to) == TSR_OK;
        ok = ok && memcmp(got.b, c.want.b, (size_t)got.count) == 0;
        if (value)
            contents->drop(value);
        free_host(&got);
        free_step(&c);
        if (!ok)
            return (void *)1;
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(run_numbered_threads(4, worker), 0);
    rng r = {seed};
    upload_one(&r); /* frees what others left */
    assert_int_equal(tsr_cuda->used, 0);
}

/* ---- what it does not take ---- */

static void test_declines(void **state)
{
    (void)state;
    int64_t moved;
    void *value = NULL;
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP32, .vlen = INT64_C(1) << 32};
    assert_int_equal(contents->upload(&v, 1, &value, &moved), TSR_DECLINED);
    rng r = {seed};
    host_value h = new_host(TSR_INT32, 5, false);
    draw_host(&h, &r);
    void *integers = must_upload(&h);
    tsr_ewise s = {.op = TSR_EWISE_SQRT, .type = TSR_INT32, .result = TSR_INT32, .count = 5, .x = {.value = integers}};
    assert_int_equal(arrays->step(&s, &value), TSR_DECLINED);
    assert_null(value);
    tsr_dense_product p = {.type = TSR_INT32, .m = 1, .n = 1, .k = 5, .a = integers, .b = integers};
    assert_int_equal(arrays->multiply(&p, &value), TSR_DECLINED);
    tsr_sums sums = {.value = integers, .type = TSR_INT32, .op = TSR_REDUCE_EQ, .vectors = 1, .length = 5};
    assert_int_equal(arrays->sums(&sums, &value), TSR_DECLINED);
    contents->drop(integers);
    free_host(&h);
    assert_int_equal(tsr_cuda->used, 0);
}

int main(int argc, char **argv)
{
    int status = start_plugin(argc, argv, &(tsr_backend_options){0});
    if (status)
        return status;
    arrays = gpu->arrays;
    contents = gpu->contents;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upload_and_download), cmocka_unit_test(test_fetch_again), cmocka_unit_test(test_derived),
        cmocka_unit_test(test_dense_products), cmocka_unit_test(test_little_memory), cmocka_unit_test(test_values_evict),
        cmocka_unit_test(test_frontiers), cmocka_unit_test(test_new_columns), cmocka_unit_test(test_failing_frontiers), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
