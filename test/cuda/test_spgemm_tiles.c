/* Sparse times sparse by tiles on the device, of bits and of values, against the reference executors of these formats and the oracle: sizes about the edges
 * of tiles and blocks, dense and banded and empty operands, every type, iso values and such as differ, of any size, Inf and NaN, other values in the same
 * patterns, the choice by values and by price, rows of A that begin anywhere, and allocations and launches that fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spgemm/spgemm.h"
#include "kernels/cuda/spgemm/tile_price.h"
#include "kernels/ref/value.h"
#include "kernels/spgemm.h"
#include "src/base/types.h"
#include "test/cuda/emulator.h"
#include "test/cuda/seeds.h"

#include <float.h>
#include <math.h>
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
    tsr_precision precision;
    void *a_x, *b_x; /* NULL: one value */
    uint64_t a_iso, b_iso;
    bool pattern;
    tsr_spgemm_tile_sums sums;
} tiles_case;

static tsr_view view_of(const pattern *a, tsr_type type, const void *x, const uint64_t *iso)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .iso = !x, .index_size = 4, .nrows = a->nrows, .ncols = a->ncols, .nvec = a->nrows,
                      .vlen = a->ncols, .nvals = a->p[a->nrows], .p = a->p, .i = a->i, .x = x ? x : iso};
}

static tsr_spgemm product_of(const tiles_case *c)
{
    return (tsr_spgemm){.semiring = c->semiring, .m = c->a.nrows, .k = c->a.ncols, .n = c->b.ncols, .pattern = c->pattern, .nthreads = 1, .sorted = true,
                        .a = view_of(&c->a, c->semiring.type, c->a_x, &c->a_iso), .b = view_of(&c->b, c->semiring.type, c->b_x, &c->b_iso)};
}

static uint64_t real_bits(tsr_type type, double wide)
{
    const float narrow = (float)wide;
    uint64_t bits = 0;
    if (type == TSR_FP64)
        memcpy(&bits, &wide, sizeof wide);
    else
        memcpy(&bits, &narrow, sizeof narrow);
    return bits;
}

/* A float is a multiple of 1/2: counts of it are exact. */
static uint64_t draw_one(uint64_t *r, tsr_type type)
{
    static const double reals[] = {1, -2, 0.5, 3};
    const double wide = reals[below(r, 4)];
    return tsr_type_is_float(type) ? real_bits(type, wide) : seeds_next(r);
}

/* What values are like. */
enum { SMALL, REALS, FAR_APART, LARGE, TINY, SPECIAL, LIKES };

static double draw_real(uint64_t *r, int like, tsr_type type)
{
    const double x = ((double)below(r, 2000001) - 1000000) / 1000000;
    const int64_t which = below(r, 12);
    switch (like) {
    case SMALL: return (double)(below(r, 255) - 127);
    case REALS: return which ? x : 0;
    case FAR_APART: return ldexp(x, (int)below(r, 80) - 40);
    case LARGE: return x * (type == TSR_FP32 ? 1e38 : 1e308);
    case TINY: return x * (type == TSR_FP32 ? 1e-35 : 1e-300);
    default: return which == 0 ? (double)INFINITY : which == 1 ? (double)NAN : which == 2 ? -0.0 : x;
    }
}

/* NULL: of one value. */
static void *draw_values(uint64_t *r, const pattern *a, tsr_type type, int like)
{
    const size_t size = tsr_type_size(type), n = (size_t)a->p[a->nrows];
    char *x = checked(malloc((n + 1) * size));
    for (size_t e = 0; e < n; e++) {
        const uint64_t bits = tsr_type_is_float(type) ? real_bits(type, draw_real(r, like, type)) : like == SMALL ? (uint64_t)(below(r, 200) - 100) : seeds_next(r);
        memcpy(x + e * size, &bits, size);
    }
    return x;
}

static tsr_spgemm_tile_facts facts_of(const tsr_view *v, bool is_one)
{
    tsr_spgemm_tile_facts f = {is_one ? 1 : 0, is_one ? 1 : 0, true};
    const int64_t n = v->iso ? 1 : v->nvals;
    for (int64_t e = 0; !is_one && e < n; e++) {
        const tsr_value value = tsr_value_load(v->type, v->x, e);
        const bool is_signed = v->type == TSR_INT8 || v->type == TSR_INT16 || v->type == TSR_INT32 || v->type == TSR_INT64;
        const double x = tsr_type_is_float(v->type) ? (double)value.real : is_signed ? (double)(int64_t)value.bits : (double)value.bits, size = fabs(x);
        f.most = size > f.most || isnan(size) || isnan(f.most) ? (isnan(f.most) ? f.most : size) : f.most;
        f.least = size != 0 && (f.least == 0 || size < f.least) ? size : f.least;
        f.small &= size <= 127 && x == rint(x) && !(x == 0 && signbit(x));
    }
    return f;
}

static bool counts_only(const tiles_case *c)
{
    const tsr_mul mul = c->semiring.mul;
    return c->pattern || mul == TSR_MUL_PAIR || ((!c->a_x || mul == TSR_MUL_SECOND) && (!c->b_x || mul == TSR_MUL_FIRST));
}

static void expect_sums(tiles_case *c)
{
    const tsr_spgemm s = product_of(c);
    const tsr_spgemm_tile_facts a = facts_of(&s.a, c->semiring.mul == TSR_MUL_SECOND), b = facts_of(&s.b, c->semiring.mul == TSR_MUL_FIRST);
    c->sums = counts_only(c) ? TSR_SPGEMM_TILE_COUNTS : tsr_spgemm_tile_sums_of(c->semiring.type, c->precision, s.k, &a, &b);
}

/* Of values that are read, and of such as are not. */
static void draw_operands(uint64_t *r, tiles_case *c)
{
    const tsr_type type = c->semiring.type;
    const int usual = tsr_type_is_float(type) ? REALS + (int)below(r, 2) : SMALL;
    const int like = below(r, 3) ? usual : (int)below(r, LIKES), other = below(r, 3) ? like : (int)below(r, LIKES);
    free(c->a_x);
    free(c->b_x);
    c->a_iso = draw_one(r, type);
    c->b_iso = draw_one(r, type);
    c->a_x = below(r, 4) ? draw_values(r, &c->a, type, like) : NULL;
    c->b_x = below(r, 4) ? draw_values(r, &c->b, type, other) : NULL;
    expect_sums(c);
}

static void draw_semiring(uint64_t *r, tiles_case *c)
{
    static const tsr_type types[] = {TSR_INT8, TSR_INT16, TSR_INT32, TSR_INT64, TSR_UINT8, TSR_UINT16, TSR_UINT32, TSR_UINT64, TSR_FP32, TSR_FP64, TSR_FP32, TSR_FP64};
    static const tsr_mul muls[] = {TSR_MUL_PAIR, TSR_MUL_FIRST, TSR_MUL_SECOND, TSR_MUL_TIMES, TSR_MUL_TIMES, TSR_MUL_TIMES};
    c->pattern = below(r, 10) == 0;
    c->semiring = (tsr_semiring){types[below(r, 12)], TSR_ADD_PLUS, muls[below(r, 6)]};
    c->precision = below(r, 4) ? TSR_PRECISION_EXACT : TSR_PRECISION_TF32;
}

/* What the executors and the oracle find. */
typedef struct wanted {
    int64_t *p;
    uint32_t *i, *count;
    void *x;            /* integers and counts: exactly; floats: by tiles, where values differ */
    long double *exact; /* floats: the sums, … */
    double *error;      /* … and how far one may be from them; else NULL */
} wanted;

/* Sums of sizes. */
static void add_sizes(const tiles_case *c, const wanted *w, long double *sizes)
{
    tiles_case positive = *c;
    const tsr_type type = c->semiring.type;
    void *x[2];
    for (int turned = 0; turned < 2; turned++) {
        const tsr_spgemm s = product_of(c);
        const tsr_view *v = turned ? &s.b : &s.a;
        x[turned] = checked(malloc((size_t)(v->nvals + 1) * tsr_type_size(type)));
        for (int64_t e = 0; e < v->nvals; e++) {
            tsr_value value = tsr_value_load(type, v->x, v->iso ? 0 : e);
            value.real = fabsl(value.real);
            tsr_value_store(type, x[turned], e, value);
        }
    }
    positive.a_x = x[0];
    positive.b_x = x[1];
    const tsr_spgemm s = product_of(&positive);
    must(tsr_ref_spgemm_exact(&s, &(tsr_spgemm_c){.p = w->p, .i = w->i, .x = sizes, .index_size = 4}));
    free(x[0]);
    free(x[1]);
}

/* Twice that of a loop; TF32 has 11 bits. */
static void bound_errors(const tiles_case *c, wanted *w)
{
    const tsr_spgemm s = product_of(c);
    const size_t nvals = (size_t)w->p[s.m];
    long double *sizes = checked(malloc((nvals + 1) * sizeof *sizes));
    w->exact = checked(malloc((nvals + 1) * sizeof *w->exact));
    w->error = checked(malloc((nvals + 1) * sizeof *w->error));
    must(tsr_ref_spgemm_exact(&s, &(tsr_spgemm_c){.p = w->p, .i = w->i, .x = w->exact, .index_size = 4}));
    add_sizes(c, w, sizes);
    for (size_t e = 0; e < nvals; e++) {
        const double unit = c->semiring.type == TSR_FP32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, least = c->semiring.type == TSR_FP32 ? 1e-45 : 5e-324;
        const double of_operands = c->sums == TSR_SPGEMM_TILE_TF32 ? 1.0 / 512 : 0;
        w->error[e] = ((2 * (double)w->count[e] + 0.5) * unit + of_operands) * (double)sizes[e] + least * (double)w->count[e];
    }
    free(sizes);
}

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
    if (c->pattern)
        return w;
    must(tsr_ref_spgemm_fill(&s, &(tsr_spgemm_c){.p = w.p, .i = w.i, .x = w.x, .index_size = 4}));
    if (!counts_only(c) && tsr_type_is_float(c->semiring.type))
        bound_errors(c, &w);
    return w;
}

static void free_wanted(wanted *w)
{
    free(w->p);
    free(w->i);
    free(w->count);
    free(w->x);
    free(w->exact);
    free(w->error);
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

/* Within the errors; Inf and NaN as they are. */
static bool close_values(const void *x, const wanted *w, tsr_type type, int64_t nvals)
{
    for (int64_t e = 0; e < nvals; e++) {
        const long double got = tsr_value_load(type, x, e).real, want = tsr_value_load(type, w->x, e).real;
        const bool special = !isfinite((double)want) || !isfinite((double)w->exact[e]) || (type == TSR_FP32 && !isfinite((float)w->exact[e]));
        const bool equal = isnan(want) ? isnan(got) : got == want;
        if (special ? !equal : !(fabsl(got - w->exact[e]) <= w->error[e]))
            return printf("entry %lld is %.17Lg, not %.17Lg (%u products, error %.3g, at most %.3g)\n", (long long)e, got, special ? want : w->exact[e], w->count[e],
                          (double)fabsl(got - w->exact[e]), w->error[e]), false;
    }
    return true;
}

static bool same_values(const tsr_cuda_csr *c, const wanted *w, tsr_type type)
{
    const size_t bytes = (size_t)c->nvals * tsr_type_size(type);
    if (!w->exact)
        return same(c->x, w->x, bytes, "values");
    void *x = download(c->x, bytes);
    const bool right = close_values(x, w, type, c->nvals);
    free(x);
    return right;
}

static bool same_c(const tsr_cuda_csr *c, const wanted *w, const tiles_case *of)
{
    return same(c->p, w->p, (size_t)(c->nrows + 1) * sizeof *w->p, "offsets") && same(c->i, w->i, (size_t)c->nvals * sizeof *w->i, "columns") &&
           (of->pattern || same_values(c, w, of->semiring.type));
}

static void upload_values(tsr_cuda_csr *a, const void *x, tsr_type type)
{
    tsr_cuda_free(a->x, NULL);
    a->x = x ? upload(x, (size_t)a->nvals * tsr_type_size(type)) : NULL;
}

static tsr_cuda_spgemm cuda_product(const tiles_case *c, const tsr_cuda_csr *a, const tsr_cuda_csr *b, const tsr_cuda_device *device, size_t memory)
{
    return (tsr_cuda_spgemm){.semiring = c->semiring, .pattern = c->pattern, .a = a, .b = b, .a_iso = c->a_iso, .b_iso = c->b_iso, .precision = c->precision,
                             .memory = memory, .device = device};
}

/* The first time, once more, and with other values, which perhaps don't go by these tiles. */
static bool fill_thrice(tiles_case *c, uint64_t *r, tsr_cuda_spgemm_work *work, tsr_cuda_spgemm *q, tsr_cuda_csr *a, tsr_cuda_csr *b, tsr_cuda_csr *out)
{
    const tsr_type type = c->semiring.type;
    bool right = true;
    for (int turn = 0; right && turn < 3; turn++) {
        if (turn == 2) {
            draw_operands(r, c);
            upload_values(a, c->a_x, type);
            upload_values(b, c->b_x, type);
            *q = cuda_product(c, a, b, q->device, q->memory);
        }
        wanted w = compute(c);
        must(tsr_cuda_spgemm_fill(work, q, out, turn > 0));
        right = same_c(out, &w, c);
        if (out->x)
            must(tsr_cuda_set(out->x, 0xA5, (size_t)out->nvals * tsr_type_size(type), NULL));
        free_wanted(&w);
    }
    return right;
}

/* The case has other values afterwards. */
static bool check(tiles_case *c, uint64_t *r, const tsr_cuda_device *device, size_t memory, int forced)
{
    const tsr_type type = c->semiring.type;
    wanted w = compute(c);
    tsr_cuda_csr a = upload_pattern(&c->a), b = upload_pattern(&c->b);
    tsr_cuda_csr out = {.nrows = a.nrows, .ncols = b.ncols, .nvals = w.p[a.nrows]};
    upload_values(&a, c->a_x, type);
    upload_values(&b, c->b_x, type);
    tsr_cuda_spgemm q = cuda_product(c, &a, &b, device, memory);
    tsr_cuda_spgemm_work *work;
    tsr_cuda_spgemm_size found;
    tsr_cuda_spgemm_tiles = forced;
    must(tsr_cuda_spgemm_count(&work, &found, &q));
    bool right = found.nvals == out.nvals;
    const bool must_be = (forced == 1 || (forced == 2 && c->sums == TSR_SPGEMM_TILE_COUNTS)) && c->sums != TSR_SPGEMM_TILE_NONE && out.nvals > 0 && memory == 0; /* with little memory they may be */
    if (found.tiles ? forced < 0 || c->sums == TSR_SPGEMM_TILE_NONE : must_be)
        printf("by tiles: %d\n", found.tiles), right = false;
    out.p = upload(NULL, (size_t)(out.nrows + 1) * sizeof *out.p);
    out.i = upload(NULL, (size_t)out.nvals * sizeof *out.i);
    out.x = c->pattern ? NULL : upload(NULL, (size_t)out.nvals * tsr_type_size(type));
    if (!right)
        printf("%lld entries, not %lld\n", (long long)found.nvals, (long long)out.nvals);
    right = right && fill_thrice(c, r, work, &q, &a, &b, &out);
    tsr_cuda_spgemm_free(work, NULL);
    free_device(&a);
    free_device(&b);
    free_device(&out);
    free_wanted(&w);
    return right;
}

/* The whole product; what it takes is given back. */
static tsr_status multiply(const tsr_cuda_spgemm *q, const tiles_case *c, const wanted *w, bool *right)
{
    tsr_cuda_csr out;
    const tsr_status status = tsr_cuda_spgemm_whole(&out, NULL, q);
    if (status != TSR_OK)
        return status;
    must(tsr_cuda_wait(NULL));
    void *p = checked(malloc((size_t)(out.nrows + 1) * sizeof *w->p)), *i = checked(malloc((size_t)out.nvals * sizeof *w->i + 1));
    must(tsr_cuda_to_host(p, out.p, (size_t)(out.nrows + 1) * sizeof *w->p, NULL));
    must(tsr_cuda_to_host(i, out.i, (size_t)out.nvals * sizeof *w->i, NULL));
    must(tsr_cuda_wait(NULL));
    *right &= out.nvals == w->p[c->a.nrows] && memcmp(p, w->p, (size_t)(out.nrows + 1) * sizeof *w->p) == 0 && memcmp(i, w->i, (size_t)out.nvals * sizeof *w->i) == 0;
    free(p);
    free(i);
    free_device(&out);
    return TSR_OK;
}

/* Each allocation, and each launch, fails once: C is right or there is none, and nothing is kept. */
static bool check_failures(const tiles_case *c, const tsr_cuda_device *device, int forced)
{
    if (!tsr_emulate_fail_malloc)
        return true;
    wanted w = compute(c);
    tsr_cuda_csr a = upload_pattern(&c->a), b = upload_pattern(&c->b);
    upload_values(&a, c->a_x, c->semiring.type);
    upload_values(&b, c->b_x, c->semiring.type);
    const tsr_cuda_spgemm q = cuda_product(c, &a, &b, device, 0);
    bool right = true;
    tsr_cuda_spgemm_tiles = forced;
    for (int launches = 0; launches < 2; launches++) {
        long k = 0, asked, live = tsr_emulate_live_blocks();
        do {
            const long before = launches ? tsr_emulate_launches() : tsr_emulate_mallocs();
            (launches ? tsr_emulate_fail_launch : tsr_emulate_fail_malloc)(++k);
            const tsr_status status = multiply(&q, c, &w, &right);
            asked = (launches ? tsr_emulate_launches() : tsr_emulate_mallocs()) - before;
            tsr_emulate_fail_malloc(0);
            tsr_emulate_fail_launch(0);
            right &= tsr_emulate_live_blocks() == live && (status == TSR_OK || asked >= k);
        } while (right && asked >= k);
        if (!right)
            printf("when %s %ld fails\n", launches ? "launch" : "allocation", k);
    }
    free_device(&a);
    free_device(&b);
    free_wanted(&w);
    return right;
}

/* The executor of tiles of values has the oracle's integers, and floats that are close. */
static bool check_value_tiles(const tiles_case *c, const wanted *w)
{
    const tsr_spgemm s = product_of(c);
    const int64_t nvals = w->p[s.m];
    if (c->sums == TSR_SPGEMM_TILE_COUNTS || c->sums == TSR_SPGEMM_TILE_NONE)
        return true;
    void *x = checked(malloc((size_t)(nvals + 1) * 8));
    must(tsr_ref_spgemm_value_tiles(&s, c->sums, w->p, w->i, x));
    const bool right = w->exact ? close_values(x, w, c->semiring.type, nvals) : memcmp(x, w->x, (size_t)nvals * tsr_type_size(c->semiring.type)) == 0;
    if (!right)
        printf("the executor's values (sums %d) are not the oracle's\n", (int)c->sums);
    free(x);
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
    s.a.x = s.b.x = NULL;
    s.pattern = false;
    must(tsr_ref_spgemm_count(&s, &size, p));
    bool right = size.nvals == w.p[s.m];
    if (right)
        must(tsr_ref_spgemm_fill(&s, &(tsr_spgemm_c){.p = p, .i = i, .x = x, .index_size = 4}));
    right = right && memcmp(p, w.p, (size_t)(s.m + 1) * sizeof *p) == 0 && memcmp(i, w.i, (size_t)size.nvals * sizeof *i) == 0 &&
            memcmp(x, w.count, (size_t)size.nvals * sizeof *x) == 0;
    if (!right)
        printf("the executor's counts are not the oracle's\n");
    right = right && check_value_tiles(c, &w);
    free(p);
    free(i);
    free(x);
    free_wanted(&w);
    return right;
}

/* Sizes decide, and only where tiles are full. */
static bool check_price(void)
{
    static const struct {
        const char *what;
        tsr_spgemm_tile_counts counts;
        tsr_spgemm_tile_sums sums;
        bool may_pay, pays;
    } cases[] = {
        {"full", {1.8e9, 1.4e7, 4.3e6, 1156, 1156, 19652}, TSR_SPGEMM_TILE_COUNTS, true, true},
        {"full", {1.8e9, 1.4e7, 4.3e6, 1156, 1156, 19652}, TSR_SPGEMM_TILE_INT8, true, true},
        {"full", {1.8e9, 1.4e7, 4.3e6, 1156, 1156, 19652}, TSR_SPGEMM_TILE_TF32, true, true},
        {"full", {1.8e9, 1.4e7, 4.3e6, 1156, 1156, 19652}, TSR_SPGEMM_TILE_FP64, true, true},
        {"thin", {9.9e8, 1.7e7, 4e6, 1024, 1024, 16384}, TSR_SPGEMM_TILE_FP64, true, false},
        {"thin", {9.9e8, 1.7e7, 4e6, 1024, 1024, 16384}, TSR_SPGEMM_TILE_INT8, true, true},
        {"blocks", {5.8e8, 3.3e7, 1.5e7, 7.1e6, 20636, 49484}, TSR_SPGEMM_TILE_COUNTS, true, true},
        {"blocks", {5.8e8, 3.3e7, 1.5e7, 7.1e6, 20636, 49484}, TSR_SPGEMM_TILE_FP64, false, false},
        {"mesh", {1.8e8, 3.1e7, 1.4e7, 1.3e8, 57148, 136972}, TSR_SPGEMM_TILE_COUNTS, false, false},
        {"sparse", {1.8e9, 1.2e9, 4.3e6, 1156, 1156, 19652}, TSR_SPGEMM_TILE_COUNTS, false, true},
        {"many steps", {1.8e9, 1.4e7, 4.3e6, 1156, 1156, 1e7}, TSR_SPGEMM_TILE_COUNTS, true, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const tsr_spgemm_tile_sums known = cases[k].sums == TSR_SPGEMM_TILE_COUNTS ? TSR_SPGEMM_TILE_COUNTS : TSR_SPGEMM_TILE_NONE;
        if (tsr_spgemm_tiles_may_pay(&cases[k].counts, known) != cases[k].may_pay || tsr_spgemm_tiles_pay(&cases[k].counts, cases[k].sums) != cases[k].pays)
            return printf("price of case %zu, %s, sums %d\n", k, cases[k].what, (int)cases[k].sums), false;
    }
    return tsr_spgemm_steps_may_pay(1e5, TSR_SPGEMM_TILE_FP64) && !tsr_spgemm_steps_may_pay(2e4, TSR_SPGEMM_TILE_FP64) &&
           tsr_spgemm_steps_may_pay(2e4, TSR_SPGEMM_TILE_INT8) && !tsr_spgemm_steps_may_pay(1e9, TSR_SPGEMM_TILE_NONE);
}

/* Values decide. */
static bool check_choice(void)
{
    static const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        tsr_type type;
        tsr_precision precision;
        int64_t k;
        tsr_spgemm_tile_facts a, b;
        tsr_spgemm_tile_sums sums;
    } cases[] = {
        {TSR_FP64, TSR_PRECISION_EXACT, 1000, {127, 1, true}, {1, 1, true}, TSR_SPGEMM_TILE_INT8},
        {TSR_FP64, TSR_PRECISION_EXACT, 1000, {127, 1, true}, {1, 1, false}, TSR_SPGEMM_TILE_FP64},
        {TSR_INT64, TSR_PRECISION_EXACT, 140000, {127, 1, true}, {127, 1, true}, TSR_SPGEMM_TILE_NONE}, /* 2^31 */
        {TSR_INT32, TSR_PRECISION_EXACT, 140000, {127, 1, true}, {127, 1, true}, TSR_SPGEMM_TILE_INT8},
        {TSR_INT32, TSR_PRECISION_EXACT, 10, {128, 1, false}, {1, 1, true}, TSR_SPGEMM_TILE_NONE},
        {TSR_FP64, TSR_PRECISION_EXACT, 10, {inf, 1, false}, {0, 0, true}, TSR_SPGEMM_TILE_NONE},
        {TSR_FP64, TSR_PRECISION_EXACT, 10, {1, 1, false}, {nan, 1, false}, TSR_SPGEMM_TILE_NONE},
        {TSR_FP64, TSR_PRECISION_EXACT, 10, {1e200, 1, false}, {1e200, 1, false}, TSR_SPGEMM_TILE_NONE},
        {TSR_FP64, TSR_PRECISION_TF32, 10, {1e200, 1e-300, false}, {1e100, 1e-300, false}, TSR_SPGEMM_TILE_FP64},
        {TSR_FP32, TSR_PRECISION_EXACT, 10, {1e10, 1e-10, false}, {1e10, 1e-10, false}, TSR_SPGEMM_TILE_SPLIT},
        {TSR_FP32, TSR_PRECISION_EXACT, 10, {0, 0, true}, {0.5, 0.5, false}, TSR_SPGEMM_TILE_SPLIT},
        {TSR_FP32, TSR_PRECISION_EXACT, 10, {1e10, 1e-20, false}, {1e10, 1e-10, false}, TSR_SPGEMM_TILE_NONE}, /* parts are too small */
        {TSR_FP32, TSR_PRECISION_TF32, 10, {1e10, 1e-20, false}, {1e10, 1e-10, false}, TSR_SPGEMM_TILE_TF32},
        {TSR_FP32, TSR_PRECISION_TF32, 10, {1e20, 1, false}, {1e20, 1, false}, TSR_SPGEMM_TILE_NONE},
        {TSR_FP32, TSR_PRECISION_EXACT, 10, {1, 1, false}, {nan, 1, false}, TSR_SPGEMM_TILE_NONE},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        if (tsr_spgemm_tile_sums_of(cases[n].type, cases[n].precision, cases[n].k, &cases[n].a, &cases[n].b) != cases[n].sums)
            return printf("choice %zu\n", n), false;
    return true;
}

static int run(uint64_t seed)
{
    tsr_cuda_device device;
    uint64_t r = seed;
    tiles_case c = {0};
    must(tsr_cuda_open(0, &device));
    const int64_t m = draw_size(&r), k = draw_size(&r), n = draw_size(&r);
    draw_semiring(&r, &c);
    c.a = draw_pattern(&r, m, k);
    c.b = draw_pattern(&r, k, n);
    draw_operands(&r, &c);
    const tsr_spgemm_tile_sums sums = c.sums;
    const size_t memory = below(&r, 4) ? 0 : (size_t)below(&r, 400000) + 1;
    bool right = check_price() && check_choice() && (m * k * n > 8000000 || check_reference(&c)) && check(&c, &r, &device, memory, 1);
    if (right && m * k * n < 100000 && below(&r, 4) == 0)
        right = check_failures(&c, &device, 1 + (int)below(&r, 2));
    if (right && below(&r, 3) == 0)
        right = check(&c, &r, &device, memory, below(&r, 2) ? 2 : -1);
    if (!right)
        printf("FAIL --seed=%llu: type %d mul %d pattern %d sums %d, then %d, %lld x %lld x %lld, memory %zu\n", (unsigned long long)seed, (int)c.semiring.type,
               (int)c.semiring.mul, c.pattern, (int)sums, (int)c.sums, (long long)m, (long long)k, (long long)n, memory);
    free_pattern(&c.a);
    free_pattern(&c.b);
    free(c.a_x);
    free(c.b_x);
    return !right;
}

int main(int argc, char **argv)
{
    return run_seeds(argc, argv, "test_spgemm_tiles", 60, run);
}
