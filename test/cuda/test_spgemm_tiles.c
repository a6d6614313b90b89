/* Sparse times sparse by tiles of bits on the device against the reference executor of that format and the oracle: sizes about the edges of tiles and
 * blocks, dense and banded and empty operands, every type, iso values, the choice by price, and rows of A that begin anywhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spgemm/spgemm.h"
#include "kernels/cuda/spgemm/tile_price.h"
#include "kernels/ref/value.h"
#include "kernels/spgemm.h"
#include "src/base/types.h"
#include "test/cuda/seeds.h"

#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    int64_t nrows, ncols;
    int64_t *p;
    uint32_t *i;
} pattern;

enum { GUARD = 64 };

static void *checked(void *p)
{
    if (!p)
        abort();
    return p;
}

static int64_t below(uint64_t *r, int64_t bound) { return (int64_t)(seeds_next(r) % (uint64_t)bound); }

static int64_t draw_size(uint64_t *r)
{
    static const int64_t edges[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 513};
    return edges[below(r, (int64_t)(sizeof edges / sizeof *edges))];
}

/* Of 1000 places, `full` have an entry within `near` of the diagonal; some rows are empty or full, some bands of columns have none. */
static pattern draw_pattern(uint64_t *r, int64_t nrows, int64_t ncols)
{
    const int64_t fulls[] = {0, 3, 60, 500, 1000}, full = fulls[below(r, 5)], near = below(r, 2) ? ncols : 1 + below(r, 200);
    const int64_t hole = below(r, 3) ? -1 : below(r, ncols / 256 + 1);
    pattern a = {.nrows = nrows, .ncols = ncols};
    int64_t nvals = 0;
    a.p = checked(malloc((size_t)(nrows + 1) * sizeof *a.p));
    a.i = checked(malloc((size_t)(nrows * ncols + 1) * sizeof *a.i));
    for (int64_t row = 0; row < nrows; row++) {
        const int64_t kind = below(r, 20), centre = row * ncols / nrows;
        a.p[row] = nvals;
        for (int64_t j = 0; j < ncols && kind > 1; j++) {
            const bool inside = j >= centre - near && j <= centre + near && j / 256 != hole;
            if (kind == 2 || (inside && below(r, 1000) < full))
                a.i[nvals++] = (uint32_t)j;
        }
    }
    a.p[nrows] = nvals;
    return a;
}

static void free_pattern(pattern *a)
{
    free(a->p);
    free(a->i);
}

/* ---- the device ---- */

static void must(tsr_status status)
{
    if (status != TSR_OK)
        printf("status %d\n", (int)status), exit(1);
}

static void *upload(const void *host, size_t bytes)
{
    void *p;
    must(tsr_cuda_malloc(&p, bytes + GUARD, NULL));
    must(tsr_cuda_set(p, 0xA5, bytes + GUARD, NULL));
    if (host)
        must(tsr_cuda_to_device(p, host, bytes, NULL));
    return p;
}

static tsr_cuda_csr upload_pattern(const pattern *a)
{
    tsr_cuda_csr d = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->p[a->nrows]};
    d.p = upload(a->p, (size_t)(a->nrows + 1) * sizeof *a->p);
    d.i = upload(a->i, (size_t)d.nvals * sizeof *a->i);
    return d;
}

static void free_device(tsr_cuda_csr *a)
{
    tsr_cuda_free(a->p, NULL);
    tsr_cuda_free(a->i, NULL);
    tsr_cuda_free(a->x, NULL);
}

/* The host's copy; what lies behind it must not have been written. */
static void *download(const void *device, size_t bytes)
{
    unsigned char *got = checked(malloc(bytes + GUARD));
    must(tsr_cuda_to_host(got, device, bytes + GUARD, NULL));
    must(tsr_cuda_wait(NULL));
    for (size_t k = bytes; k < bytes + GUARD; k++)
        if (got[k] != 0xA5)
            printf("written behind an array\n"), exit(1);
    return got;
}

/* ---- a case ---- */

typedef struct tiles_case {
    pattern a, b;
    tsr_semiring semiring;
    uint64_t a_iso, b_iso;
    bool pattern, fits;
} tiles_case;

static tsr_view view_of(const pattern *a, tsr_type type, const uint64_t *iso)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .iso = true, .index_size = 4, .nrows = a->nrows, .ncols = a->ncols, .nvec = a->nrows,
                      .vlen = a->ncols, .nvals = a->p[a->nrows], .p = a->p, .i = a->i, .x = iso};
}

static tsr_spgemm product_of(const tiles_case *c)
{
    return (tsr_spgemm){.semiring = c->semiring, .m = c->a.nrows, .k = c->a.ncols, .n = c->b.ncols, .pattern = c->pattern, .nthreads = 1, .sorted = true,
                        .a = view_of(&c->a, c->semiring.type, &c->a_iso), .b = view_of(&c->b, c->semiring.type, &c->b_iso)};
}

static uint64_t draw_one(uint64_t *r, tsr_type type, bool *exact)
{
    static const double reals[] = {1, -2, 0.5, 3, 0.1, 1e300};
    const int64_t which = below(r, 6);
    const double wide = type == TSR_FP32 && which == 5 ? 3e38 : reals[which];
    const float narrow = (float)wide;
    uint64_t bits = seeds_next(r);
    if (type == TSR_FP64)
        memcpy(&bits, &wide, sizeof wide);
    if (type == TSR_FP32)
        bits = 0, memcpy(&bits, &narrow, sizeof narrow);
    *exact &= !tsr_type_is_float(type) || which < 4;
    return bits;
}

static void draw_semiring(uint64_t *r, tiles_case *c)
{
    static const tsr_type types[] = {TSR_INT8, TSR_INT16, TSR_INT32, TSR_INT64, TSR_UINT8, TSR_UINT16, TSR_UINT32, TSR_UINT64, TSR_FP32, TSR_FP64};
    static const tsr_mul muls[] = {TSR_MUL_PAIR, TSR_MUL_FIRST, TSR_MUL_SECOND, TSR_MUL_TIMES};
    bool a_exact = true, b_exact = true;
    c->pattern = below(r, 8) == 0;
    c->semiring = (tsr_semiring){types[below(r, 10)], TSR_ADD_PLUS, muls[below(r, 4)]};
    c->a_iso = draw_one(r, c->semiring.type, &a_exact);
    c->b_iso = draw_one(r, c->semiring.type, &b_exact);
    const tsr_mul mul = c->semiring.mul;
    c->fits = c->pattern || ((a_exact || mul == TSR_MUL_PAIR || mul == TSR_MUL_SECOND) && (b_exact || mul == TSR_MUL_PAIR || mul == TSR_MUL_FIRST));
}

/* The counts of the format's executor, and the oracle's values. */
typedef struct wanted {
    int64_t *p;
    uint32_t *i, *count;
    void *x;
} wanted;

static wanted compute(const tiles_case *c)
{
    const tsr_spgemm s = product_of(c);
    wanted w = {.p = checked(malloc((size_t)(s.m + 1) * sizeof *w.p))};
    must(tsr_ref_spgemm_tiles(&s, w.p, NULL, NULL));
    const size_t nvals = (size_t)w.p[s.m] + 1;
    w.i = checked(malloc(nvals * sizeof *w.i));
    w.count = checked(malloc(nvals * sizeof *w.count));
    w.x = checked(malloc(nvals * 8));
    must(tsr_ref_spgemm_tiles(&s, w.p, w.i, w.count));
    for (int64_t e = 0; !c->pattern && e < w.p[s.m]; e++) { /* added up one by one */
        const tsr_value a = tsr_value_load(c->semiring.type, &c->a_iso, 0), b = tsr_value_load(c->semiring.type, &c->b_iso, 0);
        const tsr_value one = tsr_value_multiply(&c->semiring, TSR_ROUND_TO_TYPE, a, b);
        tsr_value sum = tsr_value_begin(&c->semiring, one);
        for (uint32_t k = 1; k < w.count[e]; k++)
            sum = tsr_value_add(&c->semiring, TSR_ROUND_TO_TYPE, sum, one);
        tsr_value_store(c->semiring.type, w.x, e, sum);
    }
    return w;
}

static void free_wanted(wanted *w)
{
    free(w->p);
    free(w->i);
    free(w->count);
    free(w->x);
}

static bool same(const void *device, const void *host, size_t bytes, const char *what)
{
    void *got = download(device, bytes);
    const bool equal = memcmp(got, host, bytes) == 0;
    if (!equal)
        printf("%s differ\n", what);
    free(got);
    return equal;
}

static bool same_c(const tsr_cuda_csr *c, const wanted *w, const tiles_case *of)
{
    const size_t nvals = (size_t)c->nvals, size = tsr_type_size(of->semiring.type);
    return same(c->p, w->p, (size_t)(c->nrows + 1) * sizeof *w->p, "offsets") && same(c->i, w->i, nvals * sizeof *w->i, "columns") &&
           (of->pattern || same(c->x, w->x, nvals * size, "values"));
}

static bool check(const tiles_case *c, const tsr_cuda_device *device, size_t memory, int forced)
{
    const size_t size = tsr_type_size(c->semiring.type);
    wanted w = compute(c);
    tsr_cuda_csr a = upload_pattern(&c->a), b = upload_pattern(&c->b);
    tsr_cuda_csr out = {.nrows = a.nrows, .ncols = b.ncols, .nvals = w.p[a.nrows]};
    const tsr_cuda_spgemm q = {.semiring = c->semiring, .pattern = c->pattern, .a = &a, .b = &b, .a_iso = c->a_iso, .b_iso = c->b_iso, .memory = memory,
                               .device = device};
    tsr_cuda_spgemm_work *work;
    tsr_cuda_spgemm_size found;
    tsr_cuda_spgemm_tiles = forced;
    must(tsr_cuda_spgemm_count(&work, &found, &q));
    bool right = found.nvals == out.nvals;
    const bool must_be = forced > 0 && c->fits && out.nvals > 0 && memory == 0; /* with little memory they may be */
    if (found.tiles ? forced < 0 : must_be)
        printf("by tiles: %d\n", found.tiles), right = false;
    out.p = upload(NULL, (size_t)(out.nrows + 1) * sizeof *out.p);
    out.i = upload(NULL, (size_t)out.nvals * sizeof *out.i);
    out.x = c->pattern ? NULL : upload(NULL, (size_t)out.nvals * size);
    if (!right)
        printf("%lld entries, not %lld\n", (long long)found.nvals, (long long)out.nvals);
    for (int again = 0; right && again < 2; again++) {
        must(tsr_cuda_spgemm_fill(work, &q, &out, again));
        right = same_c(&out, &w, c);
        if (!again && out.x)
            must(tsr_cuda_set(out.x, 0xA5, (size_t)out.nvals * size, NULL));
    }
    tsr_cuda_spgemm_free(work, NULL);
    free_device(&a);
    free_device(&b);
    free_device(&out);
    free_wanted(&w);
    return right;
}

/* The executor of the format has the oracle's structure. */
static bool check_reference(const tiles_case *c)
{
    tsr_spgemm s = product_of(c);
    tsr_spgemm_size size;
    wanted w = compute(c);
    int64_t *p = checked(malloc((size_t)(s.m + 1) * sizeof *p));
    uint32_t *i = checked(malloc((size_t)(w.p[s.m] + 1) * sizeof *i)), *x = checked(malloc((size_t)(w.p[s.m] + 1) * sizeof *x));
    s.semiring = (tsr_semiring){TSR_UINT32, TSR_ADD_PLUS, TSR_MUL_PAIR};
    s.a.type = s.b.type = TSR_UINT32;
    s.pattern = false;
    must(tsr_ref_spgemm_count(&s, &size, p));
    bool right = size.nvals == w.p[s.m];
    if (right)
        must(tsr_ref_spgemm_fill(&s, &(tsr_spgemm_c){.p = p, .i = i, .x = x, .index_size = 4}));
    right = right && memcmp(p, w.p, (size_t)(s.m + 1) * sizeof *p) == 0 && memcmp(i, w.i, (size_t)size.nvals * sizeof *i) == 0 &&
            memcmp(x, w.count, (size_t)size.nvals * sizeof *x) == 0;
    if (!right)
        printf("the executor's counts are not the oracle's\n");
    free(p);
    free(i);
    free(x);
    free_wanted(&w);
    return right;
}

/* Sizes decide, and only where tiles are full. */
static bool check_price(void)
{
    const tsr_spgemm_tile_counts full = {1.8e9, 1.4e7, 4.3e6, 34.0 * 34, 34.0 * 34, 34.0 * 34 * 17};
    const tsr_spgemm_tile_counts blocks = {5.8e8, 3.3e7, 1.5e7, 7.1e6, 20636, 49484}, mesh = {1.8e8, 3.1e7, 1.4e7, 1.3e8, 57148, 136972};
    tsr_spgemm_tile_counts sparse = full, thin = full;
    sparse.entries = 1.2e9;
    thin.steps = 1e7;
    if (!tsr_spgemm_tiles_may_pay(&blocks) || !tsr_spgemm_tiles_pay(&blocks) || tsr_spgemm_tiles_may_pay(&mesh) || tsr_spgemm_tiles_pay(&mesh))
        return false;
    return tsr_spgemm_tiles_may_pay(&full) && tsr_spgemm_tiles_pay(&full) && !tsr_spgemm_tiles_may_pay(&sparse) && !tsr_spgemm_tiles_pay(&thin);
}

static int run(uint64_t seed)
{
    tsr_cuda_device device;
    uint64_t r = seed;
    tiles_case c;
    must(tsr_cuda_open(0, &device));
    const int64_t m = draw_size(&r), k = draw_size(&r), n = draw_size(&r);
    draw_semiring(&r, &c);
    c.a = draw_pattern(&r, m, k);
    c.b = draw_pattern(&r, k, n);
    const size_t memory = below(&r, 4) ? 0 : (size_t)below(&r, 400000) + 1;
    bool right = check_price() && (m * k * n > 8000000 || check_reference(&c)) && check(&c, &device, memory, 1);
    if (right && below(&r, 3) == 0)
        right = check(&c, &device, memory, -1);
    if (!right)
        printf("FAIL --seed=%llu: type %d mul %d pattern %d, %lld x %lld x %lld, memory %zu\n", (unsigned long long)seed, (int)c.semiring.type,
               (int)c.semiring.mul, c.pattern, (long long)m, (long long)k, (long long)n, memory);
    free_pattern(&c.a);
    free_pattern(&c.b);
    return !right;
}

int main(int argc, char **argv)
{
    return run_seeds(argc, argv, "test_spgemm_tiles", 60, run);
}
