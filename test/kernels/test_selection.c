/* Selection, extraction, gathering and scattering on the CPU against the reference, each instruction set, bit for bit.
 *     test_selection [--seed=N] [--count=N]
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/selection.h"
#include "src/base/types.h"
#include "test/kernels/cases.h"
#include "test/kernels/guarded.h"
#include "test/numbered_cases.h"

/* What follows an array must be as it was. */
static bool untouched(const void *array, size_t bytes)
{
    const unsigned char *spare = (const unsigned char *)array + bytes;
    for (int k = 0; k < SPARE; k++) {
        if (spare[k] != POISON)
            return false;
    }
    return true;
}

/* ---- matrices ---- */

static int64_t draw_size(rng *r)
{
    static const int64_t sizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 100, 300, 700};
    return sizes[rng_below(r, 14)];
}

/* How full a vector is: nothing, a little, all. */
static int draw_percent(rng *r)
{
    static const int percents[] = {0, 0, 2, 5, 10, 30, 60, 100};
    return percents[rng_below(r, 8)];
}

static void draw_vector(rng *r, tsr_view *a, int64_t *i, int64_t *nvals)
{
    const int percent = draw_percent(r);
    for (int64_t index = 0; index < a->vlen; index++) {
        if (rng_chance(r, percent))
            i[(*nvals)++] = index;
    }
}

static void draw_values(rng *r, tsr_view *a)
{
    const int64_t count = a->iso ? 1 : a->nvals;
    char *x = take((size_t)count * type_size(a->type));
    for (int64_t k = 0; k < count; k++) {
        if (a->type == TSR_BOOL)
            x[k] = (char)rng_below(r, 2);
        else
            draw_odd_element(r, a->type, x, k);
    }
    a->x = x;
}

/* The same integers, or in 32 bits. */
static const void *draw_width(rng *r, const int64_t *list, int64_t count, bool *narrow)
{
    *narrow = rng_chance(r, 50);
    if (!*narrow)
        return list;
    uint32_t *copy = take((size_t)count * sizeof *copy);
    for (int64_t k = 0; k < count; k++)
        copy[k] = (uint32_t)list[k];
    return copy;
}

/* Now and then so many vectors that several threads share their entries. */
static tsr_view draw_matrix(rng *r, bool hyper, bool iso)
{
    enum { MANY = 3000 };
    bool narrow;
    tsr_view a = {.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = (tsr_type)rng_below(r, TSR_TYPE_COUNT), .iso = iso,
                  .nvec = rng_chance(r, 5) ? MANY : draw_size(r), .vlen = draw_size(r)};
    a.nrows = a.nvec * (hyper ? 3 : 1);
    a.ncols = a.vlen;
    int64_t *p = take((size_t)(a.nvec + 1) * 8), *i = take((size_t)(a.nvec * a.vlen + 1) * 8), *h = take((size_t)a.nvec * 8);
    p[0] = 0;
    for (int64_t v = 0; v < a.nvec; v++) {
        draw_vector(r, &a, i, &a.nvals);
        p[v + 1] = a.nvals;
        h[v] = 3 * v + rng_below(r, 3);
    }
    a.p = draw_width(r, p, a.nvec + 1, &a.narrow_offsets);
    a.i = draw_width(r, i, a.nvals, &narrow);
    a.index_size = narrow ? 4 : 8;
    a.h = hyper ? h : NULL;
    draw_values(r, &a);
    return a;
}

/* ---- selection ---- */

/* A bound that runs along the diagonal or across it, or stands; also far outside. */
static void draw_places(rng *r, tsr_selection *s)
{
    static const tsr_ewise_op keeps[] = {TSR_EWISE_LT, TSR_EWISE_GE, TSR_EWISE_EQ, TSR_EWISE_NE};
    static const int64_t far[] = {0, 1, -1, INT64_C(1) << 31, INT64_C(1) << 32, -(INT64_C(1) << 32), INT64_C(1) << 50, -(INT64_C(1) << 50)};
    s->placed = true;
    s->keep = keeps[rng_below(r, 4)];
    s->slope = (int)rng_below(r, 3) - 1;
    s->bound = rng_chance(r, 20) ? far[rng_below(r, 8)] : rng_below(r, 2 * s->a.vlen) - s->a.vlen / 2 + (s->slope < 0 ? s->a.nvec : 0);
}

/* By the first byte of the value and of the thunk, and by the place. */
static void by_all(void *z, const void *x, uint64_t i, uint64_t j, const void *y)
{
    *(bool *)z = (*(const unsigned char *)x + *(const unsigned char *)y + 3 * i + j) % 4 < 2;
}

static void draw_function(rng *r, tsr_selection *s)
{
    s->function = by_all;
    s->x_type = rng_chance(r, 50) ? s->a.type : (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    s->thunk = (uint64_t)rng_below(r, 100);
}

static void draw_rule(rng *r, tsr_selection *s)
{
    s->a.by_col = rng_chance(r, 50);
    if (rng_chance(r, 25)) {
        draw_function(r, s);
        return;
    }
    if (s->a.iso || rng_chance(r, 60)) {
        draw_places(r, s);
        return;
    }
    s->keep = (tsr_ewise_op)(TSR_EWISE_EQ + rng_below(r, 6));
    if (s->a.nvals > 0 && rng_chance(r, 50))
        memcpy(&s->thunk, (const char *)s->a.x + (size_t)rng_below(r, s->a.nvals) * type_size(s->a.type), type_size(s->a.type));
    else if (s->a.type != TSR_BOOL)
        draw_odd_element(r, s->a.type, &s->thunk, 0);
}

/* What the reference keeps; p, i and x are the kernel's. */
static bool selection_right(const tsr_selection *s, const int64_t *p, const void *i, const char *x)
{
    const tsr_view *a = &s->a;
    const size_t size = type_size(a->type);
    const bool narrow = a->index_size == 4;
    int64_t at = 0;
    for (int64_t v = 0; v < a->nvec; v++) {
        if (p[v] != at)
            return false;
        for (int64_t e = tsr_view_start(a, v); e < tsr_view_start(a, v + 1); e++) {
            if (!tsr_ref_keeps(s, v, e))
                continue;
            if (tsr_offset(i, s->narrow, at) != tsr_offset(a->i, narrow, e) ||
                (x && memcmp(x + (size_t)at * size, (const char *)a->x + (size_t)e * size, size)))
                return false;
            at++;
        }
    }
    return p[a->nvec] == at;
}

static bool selects(rng *r, tsr_selection *s)
{
    const size_t size = type_size(s->a.type), bytes = (size_t)(s->a.nvec + 1) * 8;
    int64_t *p = take(bytes);
    if (tsr_cpu_select_count(s, p) != TSR_OK || !untouched(p, bytes) || p[s->a.nvec] < 0 || p[s->a.nvec] > s->a.nvals)
        return false;
    const size_t kept = (size_t)p[s->a.nvec];
    const size_t i_bytes = kept * (s->narrow ? 4 : 8);
    void *i = take(i_bytes);
    char *x = s->a.iso || rng_chance(r, 20) ? NULL : take(kept * size);
    tsr_cpu_select_fill(s, p, i, x);
    return untouched(i, i_bytes) && (!x || untouched(x, kept * size)) && selection_right(s, p, i, x);
}

static bool check_selection(rng *r)
{
    tsr_selection s = {.a = draw_matrix(r, rng_chance(r, 30), rng_chance(r, 20)), .narrow = rng_chance(r, 50), .nthreads = 1 + (int)rng_below(r, 3)};
    draw_rule(r, &s);
    const bool right = selects(r, &s);
    tsr_cpu_select_end(&s);
    return right;
}

/* ---- extraction ---- */

static void shuffle(rng *r, uint64_t *list, int64_t n)
{
    for (int64_t k = n - 1; k > 0; k--) {
        const int64_t other = rng_below(r, k + 1);
        const uint64_t one = list[k];
        list[k] = list[other];
        list[other] = one;
    }
}

/* All, a range, one with a stride, some in order, any of them (repeating where that is allowed). */
static tsr_indices draw_indices(rng *r, int64_t bound, bool repeat)
{
    const int kind = (int)rng_below(r, 6);
    if (kind == 0)
        return (tsr_indices){.step = 1, .count = bound};
    if (kind == 1) {
        const int64_t first = rng_below(r, bound);
        return (tsr_indices){.first = first, .step = 1, .count = rng_below(r, bound - first + 1)};
    }
    if (kind == 2) {
        const int64_t step = 1 + rng_below(r, 4), count = (bound + step - 1) / step;
        return rng_chance(r, 50) ? (tsr_indices){.first = 0, .step = step, .count = count}
                                 : (tsr_indices){.first = bound - 1, .step = -step, .count = count};
    }
    uint64_t *list = take((size_t)bound * 2 * 8);
    int64_t count = 0;
    const int percent = kind == 5 ? 100 : draw_percent(r);
    for (int64_t k = 0; k < bound; k++) {
        if (rng_chance(r, percent))
            list[count++] = (uint64_t)k;
        if (repeat && rng_chance(r, percent / 2))
            list[count++] = (uint64_t)rng_below(r, bound);
    }
    if (kind != 3)
        shuffle(r, list, count);
    return (tsr_indices){.list = list, .count = count};
}

static bool extraction_right(tsr_extraction *e)
{
    const size_t size = type_size(e->a.type), bytes = (size_t)(e->vectors.count + 1) * 8;
    int64_t *p = take(bytes), *want_p = take(bytes);
    if (tsr_cpu_extract_count(e, p) != TSR_OK)
        return false;
    tsr_ref_extract(e, want_p, NULL, NULL);
    if (!untouched(p, bytes) || memcmp(p, want_p, bytes))
        return false;
    const size_t n = (size_t)p[e->vectors.count], i_bytes = n * (e->narrow ? 4 : 8);
    void *i = take(i_bytes), *want_i = take(i_bytes);
    char *x = e->a.iso ? NULL : take(n * size), *want_x = e->a.iso ? NULL : take(n * size);
    if (tsr_cpu_extract_fill(e, p, i, x) != TSR_OK)
        return false;
    tsr_ref_extract(e, want_p, want_i, want_x);
    return !memcmp(i, want_i, i_bytes + SPARE) && (!x || !memcmp(x, want_x, n * size + SPARE));
}

static bool check_extraction(rng *r)
{
    tsr_extraction e = {.a = draw_matrix(r, false, rng_chance(r, 20)), .narrow = rng_chance(r, 50), .nthreads = 1 + (int)rng_below(r, 3)};
    e.vectors = draw_indices(r, e.a.nvec, true);
    e.places = draw_indices(r, e.a.vlen, false);
    const bool right = tsr_cpu_extract_begin(&e) == TSR_OK && extraction_right(&e);
    tsr_cpu_extract_end(&e);
    return right;
}

/* Places that repeat are declined. */
static bool check_repeats(rng *r)
{
    tsr_extraction e = {.a = draw_matrix(r, false, rng_chance(r, 20)), .nthreads = 1};
    uint64_t list[3] = {(uint64_t)rng_below(r, e.a.vlen), 0, 0};
    list[1] = (uint64_t)rng_below(r, e.a.vlen);
    list[2] = list[rng_below(r, 2)];
    e.vectors = (tsr_indices){.step = 1, .count = e.a.nvec};
    e.places = (tsr_indices){.list = list, .count = 3};
    const bool right = tsr_cpu_extract_begin(&e) == TSR_DECLINED;
    tsr_cpu_extract_end(&e);
    return right;
}

/* ---- gathering ---- */

static bool check_gathering(rng *r)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    const size_t size = sizes[rng_below(r, 4)];
    const int64_t bound = draw_size(r);
    const tsr_indices from = draw_indices(r, bound, true);
    unsigned char *x = take((size_t)bound * size), *z = take((size_t)from.count * size);
    for (size_t k = 0; k < (size_t)bound * size; k++)
        x[k] = (unsigned char)rng_below(r, 256);
    tsr_cpu_gather(z, x, size, &from, 1 + (int)rng_below(r, 3));
    for (int64_t k = 0; k < from.count; k++) {
        if (memcmp(z + (size_t)k * size, x + (size_t)tsr_index_at(&from, k) * size, size))
            return false;
    }
    int64_t most = -1;
    for (int64_t k = 0; k < from.count; k++)
        most = tsr_index_at(&from, k) > most ? tsr_index_at(&from, k) : most;
    return untouched(z, (size_t)from.count * size) && tsr_indices_fit(&from, most + 1, 2) && (from.count == 0 || !tsr_indices_fit(&from, most, 2));
}

/* ---- scattering ---- */

static bool repeats(const tsr_indices *s)
{
    for (int64_t k = 0; k < s->count; k++)
        for (int64_t l = 0; l < k; l++)
            if (s->list[k] == s->list[l])
                return true;
    return false;
}

/* Of places that repeat the last one counts. */
static bool check_scattering(rng *r)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    const size_t size = sizes[rng_below(r, 4)];
    const int64_t bound = draw_size(r), count = rng_below(r, 80), step = rng_below(r, 2);
    uint64_t *list = take((size_t)count * 8);
    unsigned char *x = take((size_t)(count + 1) * size), *z = take((size_t)bound * size), *want = take((size_t)bound * size);
    for (int64_t k = 0; k < count; k++)
        list[k] = (uint64_t)rng_below(r, bound);
    for (size_t k = 0; k < (size_t)(count + 1) * size; k++)
        x[k] = (unsigned char)rng_below(r, 256);
    const tsr_indices to = {.list = list, .count = count};
    for (int64_t k = 0; k < count; k++)
        memcpy(want + list[k] * size, x + (size_t)(k * step) * size, size);
    tsr_cpu_scatter(z, x, step, size, &to);
    return memcmp(z, want, (size_t)bound * size + SPARE) == 0 && tsr_indices_differ(&to, bound) != repeats(&to);
}

/* ---- all ---- */

static bool check(uint64_t seed, int64_t number)
{
    static bool (*const checks[])(rng *) = {check_selection, check_extraction, check_repeats, check_gathering, check_scattering};
    rng r = {seed + (uint64_t)number * 0x9E3779B97F4A7C15u};
    tsr_cpu_limit_isa((tsr_isa)(number % 3));
    const bool right = checks[rng_below(&r, 5)](&r);
    free_all();
    return right;
}

int main(int argc, char **argv)
{
    const numbered_cases cases = read_cases(argc, argv, 6000);
    return cases_are_right(&cases, check) ? 0 : 1;
}
