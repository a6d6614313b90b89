/* Values on the host, and the same with the plug-in.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/cuda/host_value.h"
#include "test/cuda/plugin_start.h"

const tsr_backend_arrays *arrays;
const tsr_backend_contents *contents;

void *take(size_t bytes)
{
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    memset(p, POISON, bytes + 1);
    return p;
}

host_value new_host(tsr_type type, int64_t count, bool bitmap)
{
    return (host_value){type, count, take((size_t)count * type_size(type)), bitmap ? take((size_t)count) : NULL};
}

void free_host(host_value *h)
{
    free(h->x);
    free(h->b);
}

tsr_elements elements_of(const host_value *h)
{
    return (tsr_elements){h->x, h->b};
}

void draw_host(host_value *h, rng *r)
{
    int percent = (int)rng_below(r, 101);
    for (int64_t k = 0; k < h->count; k++) {
        int64_t number = rng_below(r, 9) - (h->type >= TSR_INT8 && h->type <= TSR_INT64 ? 4 : 0);
        tsr_value_store(h->type, h->x, k, (tsr_value){.bits = h->type == TSR_BOOL ? number & 1 : (uint64_t)number, .real = (double)number / 4});
        if (h->b)
            h->b[k] = rng_chance(r, percent);
    }
}

int64_t entries_of(const host_value *h)
{
    int64_t entries = 0;
    for (int64_t k = 0; k < h->count; k++)
        entries += !h->b || h->b[k];
    return entries;
}

/* The same bits, or both NaN: devices differ in what else a NaN says. */
static bool same_element(const host_value *x, const host_value *y, int64_t k)
{
    size_t size = type_size(x->type), at = (size_t)k * size;
    bool both_nan = isnan(tsr_value_load(x->type, x->x, k).real) && isnan(tsr_value_load(y->type, y->x, k).real);
    return both_nan || memcmp((char *)x->x + at, (char *)y->x + at, size) == 0;
}

void assert_same(const host_value *x, const host_value *y)
{
    assert_true(x->type == y->type && x->count == y->count);
    for (int64_t k = 0; k < x->count; k++) {
        bool p = !x->b || x->b[k], q = !y->b || y->b[k];
        if (p != q || (p && !same_element(x, y, k)))
            fail_msg("seed %llu: element %lld of %lld, %s", (unsigned long long)seed, (long long)k, (long long)x->count, type_name(x->type));
    }
}

/* ---- coming and going ---- */

tsr_view view_of(const host_value *h)
{
    return (tsr_view){.format = h->b ? TSR_BITMAP : TSR_FULL, .type = h->type, .by_col = true, .nrows = h->count, .ncols = 1, .nvec = 1,
                      .vlen = h->count, .ld = h->count, .nvals = entries_of(h), .b = h->b, .x = h->x};
}

tsr_status upload(const host_value *h, void **value)
{
    int64_t moved;
    tsr_view v = view_of(h);
    return contents->upload(&v, 2, value, &moved);
}

void *must_upload(const host_value *h)
{
    void *value;
    assert_int_equal(upload(h, &value), TSR_OK);
    return value;
}

void check_value(void *value, const host_value *want)
{
    host_value got = new_host(want->type, want->count, want->b != NULL);
    tsr_download to = {.nthreads = 2, .x = got.x, .b = got.b};
    int64_t nvals;
    assert_int_equal(arrays->count(value, &nvals), TSR_OK);
    assert_int_equal(nvals, entries_of(want));
    assert_int_equal(contents->download(value, &to), TSR_OK);
    assert_int_equal(to.nvals, nvals);
    assert_same(&got, want);
    free_host(&got);
}

int64_t draw_count(rng *r)
{
    static const int64_t counts[] = {0, 1, 2, 7, 31, 64, 65, 300, 1000};
    return counts[rng_below(r, 9)];
}
