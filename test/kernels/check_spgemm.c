/* The CPU's SpGEMM against the oracle: random products over semirings, types, forms, masks and orientations, printed with their seed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/spgemm/driver.h"
#include "src/base/types.h"
#include "test/seed.h"

enum { MOST = 1 << 16 };

static uint64_t state;

static uint64_t draw(uint64_t n)
{
    return test_next(&state) % n;
}

/* ---- operands ---- */

typedef struct matrix {
    int64_t p[400], h[400], wide[MOST];
    uint32_t narrow[MOST], narrow_p[400];
    int8_t b[MOST];
    _Alignas(8) char x[MOST * 8];
    tsr_view view;
} matrix;

static void put_value(tsr_type type, void *x, int64_t at)
{
    static const double edges[] = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5};
    const uint64_t kind = draw(8);
    const double real = kind == 0 ? edges[draw(8)] : (double)draw(2000) / 7 - 140;
    const uint64_t bits = kind == 0 ? UINT64_MAX >> draw(64) : draw(100);
    switch (type) {
    case TSR_BOOL: ((uint8_t *)x)[at] = (uint8_t)draw(2); break;
    case TSR_FP32: ((float *)x)[at] = (float)real; break;
    case TSR_FP64: ((double *)x)[at] = real; break;
    default: memcpy((char *)x + (size_t)at * tsr_type_size(type), &bits, tsr_type_size(type));
    }
}

/* A row or column of `length` places: now and then empty, full or one entry. */
static int64_t draw_vector(int64_t *index, int64_t length, int64_t density)
{
    const uint64_t kind = draw(10);
    int64_t n = 0;
    for (int64_t j = 0; j < length; j++) {
        const bool in = kind == 0 ? false : kind == 1 ? true : kind == 2 ? j == (int64_t)(state % (uint64_t)length) : draw(100) < (uint64_t)density;
        if (in)
            index[n++] = j;
    }
    return n;
}

static void shuffle(int64_t *index, int64_t n)
{
    for (int64_t e = n - 1; e > 0; e--) {
        const int64_t other = (int64_t)draw((uint64_t)e + 1), moved = index[e];
        index[e] = index[other];
        index[other] = moved;
    }
}

static void draw_matrix(matrix *m, int64_t nrows, int64_t ncols, tsr_type type, bool may_iso)
{
    const bool by_col = draw(3) == 0, hyper = draw(3) == 0, jumbled = draw(3) == 0, narrow = draw(2), narrow_p = draw(2);
    const int64_t nvec = by_col ? ncols : nrows, vlen = by_col ? nrows : ncols, density = (int64_t)draw(40);
    int64_t stored = 0, nvals = 0;
    m->p[0] = 0;
    for (int64_t v = 0; v < nvec; v++) {
        const int64_t n = draw_vector(m->wide + nvals, vlen, density);
        if (jumbled)
            shuffle(m->wide + nvals, n);
        nvals += n;
        if (hyper && n == 0)
            continue;
        m->h[stored] = v;
        m->p[++stored] = nvals;
    }
    for (int64_t e = 0; e < nvals || e == 0; e++) {
        m->narrow[e] = (uint32_t)m->wide[e];
        put_value(type, m->x, e);
    }
    for (int64_t v = 0; v <= stored; v++)
        m->narrow_p[v] = (uint32_t)m->p[v];
    m->view = (tsr_view){.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = type, .by_col = by_col, .iso = may_iso && draw(4) == 0,
                         .jumbled = jumbled, .index_size = narrow ? 4 : 8, .nrows = nrows, .ncols = ncols, .nvec = hyper ? stored : nvec,
                         .vlen = vlen, .ld = vlen, .nvals = nvals,
                         .p = narrow_p ? (const int64_t *)(const void *)m->narrow_p : m->p, .narrow_offsets = narrow_p, .h = hyper ? m->h : NULL,
                         .i = narrow ? (void *)m->narrow : (void *)m->wide, .x = m->x};
}

/* A bitmap or full mask, held as C is. */
static void draw_dense(matrix *m, int64_t nrows, int64_t ncols, tsr_type type, bool by_col)
{
    const int64_t nvec = by_col ? ncols : nrows, vlen = by_col ? nrows : ncols, ld = vlen + (int64_t)draw(3), density = (int64_t)draw(101);
    const bool full = draw(4) == 0;
    int64_t nvals = 0;
    for (int64_t e = 0; e < nvec * ld || e == 0; e++) {
        m->b[e] = draw(100) < (uint64_t)density;
        put_value(type, m->x, e);
    }
    for (int64_t v = 0; v < nvec; v++)
        for (int64_t k = 0; k < vlen; k++)
            nvals += full || m->b[v * ld + k];
    m->view = (tsr_view){.format = full ? TSR_FULL : TSR_BITMAP, .type = type, .by_col = by_col, .iso = draw(4) == 0, .nrows = nrows, .ncols = ncols,
                         .nvec = nvec, .vlen = vlen, .ld = ld, .nvals = nvals, .b = full ? NULL : m->b, .x = m->x};
}

/* ---- results ---- */

typedef struct result {
    int64_t p[400], h[400], nvec, nvals;
    int64_t *i;
    void *x;
    tsr_spgemm_size size;
} result;

static void free_result(result *r)
{
    free(r->i);
    free(r->x);
    r->i = NULL;
    r->x = NULL;
}

static bool by_oracle(result *r, const tsr_spgemm *s, bool exact)
{
    if (tsr_ref_spgemm_count(s, &r->size, r->p) != TSR_OK)
        return false;
    r->i = malloc((size_t)(r->size.nvals + 1) * sizeof *r->i);
    r->x = malloc((size_t)(r->size.nvals + 1) * 16);
    const tsr_spgemm_c c = {.p = r->p, .h = r->h, .i = r->i, .x = r->x, .index_size = 8};
    return r->i && r->x && (exact ? tsr_ref_spgemm_exact(s, &c) : tsr_ref_spgemm_fill(s, &c)) == TSR_OK;
}

/* Indices of 32 bits become such of 64. */
static bool widened(tsr_spgemm_c *c, int64_t nvals)
{
    int64_t *i = c->index_size == 4 ? realloc(c->i, (size_t)(nvals + 1) * sizeof *i) : c->i;
    for (int64_t e = nvals; i && c->index_size == 4 && e-- > 0;)
        i[e] = ((uint32_t *)i)[e];
    c->i = i ? i : c->i;
    return i;
}

static bool by_kernel(result *r, const tsr_spgemm *s, bool take)
{
    tsr_spgemm_work *work;
    if (tsr_cpu_spgemm_count(&work, s, NULL, &r->size) != TSR_OK)
        return false;
    tsr_spgemm_c c = {.p = r->p, .h = r->h, .index_size = 8};
    bool ok;
    if (take) {
        ok = tsr_cpu_spgemm_take(work, &c) == TSR_OK && widened(&c, r->size.nvals);
    } else {
        c.index_size = draw(2) ? 4 : 8;
        c.i = malloc((size_t)(r->size.nvals + 1) * 8);
        c.x = malloc((size_t)(r->size.nvals + 1) * 8);
        ok = c.i && c.x && tsr_cpu_spgemm_fill(work, &c) == TSR_OK && widened(&c, r->size.nvals);
    }
    r->i = c.i;
    r->x = c.x;
    tsr_cpu_spgemm_free(work);
    return ok;
}

/* Those that must be sorted already are. */
static bool sort_rows(result *r, const tsr_spgemm *s)
{
    tsr_sg_thread t = {.i = r->i, .x = r->x};
    bool sorted = true, ok = true;
    for (int64_t v = 0; ok && v < r->size.nvec; v++) {
        for (int64_t e = r->p[v] + 1; e < r->p[v + 1]; e++)
            sorted = sorted && r->i[e - 1] < r->i[e];
        t.used = r->p[v + 1];
        ok = tsr_sg_sort(&t, s->pattern ? 0 : tsr_type_size(s->semiring.type), r->p[v], 0);
    }
    free(t.keys);
    return ok && (sorted || !s->sorted);
}

static bool same_structure(const result *a, const result *b)
{
    return a->size.nvec == b->size.nvec && a->size.nvals == b->size.nvals && a->size.hyper == b->size.hyper &&
           memcmp(a->p, b->p, (size_t)(a->size.nvec + 1) * sizeof *a->p) == 0 &&
           (!a->size.hyper || memcmp(a->h, b->h, (size_t)a->size.nvec * sizeof *a->h) == 0) &&
           memcmp(a->i, b->i, (size_t)a->size.nvals * sizeof *a->i) == 0;
}

static long double real_at(tsr_type type, const void *x, int64_t e)
{
    return type == TSR_FP32 ? (long double)((const float *)x)[e] : (long double)((const double *)x)[e];
}

/* Floats: no further from the exact value than twice the oracle, which adds one by one, and a unit in the last place. */
static bool same_values(const tsr_spgemm *s, const result *got, const result *want, const result *exact)
{
    const tsr_type type = s->semiring.type;
    if (type != TSR_FP32 && type != TSR_FP64)
        return memcmp(got->x, want->x, (size_t)got->size.nvals * tsr_type_size(type)) == 0;
    for (int64_t e = 0; e < got->size.nvals; e++) {
        const long double x = real_at(type, got->x, e), y = real_at(type, want->x, e), z = ((const long double *)exact->x)[e];
        const long double unit = fabsl(z) * (type == TSR_FP32 ? 0x1p-23L : 0x1p-52L);
        if (x != y && !(isnan(x) && isnan(y)) && !(fabsl(x - z) <= 2 * fabsl(y - z) + unit))
            return false;
    }
    return true;
}

/* The values alone, of what is known to have these indices: the same bits. */
static bool same_again(const tsr_spgemm *s, const result *known)
{
    const int64_t nvals = known->size.nvals;
    const size_t size = tsr_type_size(s->semiring.type);
    const bool declines = s->pattern || s->masked || s->semiring.add == TSR_ADD_ANY,
               floats = s->semiring.type == TSR_FP32 || s->semiring.type == TSR_FP64;
    uint32_t *i = malloc((size_t)(nvals + 1) * sizeof *i);
    char *x = malloc((size_t)(nvals + 1) * size);
    for (int64_t e = 0; e < nvals; e++)
        i[e] = (uint32_t)known->i[e];
    memset(x, 0xa5, (size_t)(nvals + 1) * size);
    const tsr_status status = tsr_cpu_spgemm_again(s, known->p, i, x);
    bool ok = declines ? status == TSR_DECLINED : status == TSR_OK && (unsigned char)x[(size_t)nvals * size] == 0xa5;
    for (int64_t e = 0; ok && !declines && e < nvals; e++)
        ok = memcmp(x + (size_t)e * size, (char *)known->x + (size_t)e * size, size) == 0 ||
             (floats && isnan(real_at(s->semiring.type, x, e)) && isnan(real_at(s->semiring.type, known->x, e)));
    free(i);
    free(x);
    return ok;
}

/* ---- one product ---- */

static matrix a, b, mask;

static tsr_spgemm draw_product(void)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 31, 33, 64, 100, 200};
    const int64_t m = sizes[draw(9)], n = sizes[draw(9)], k = sizes[draw(9)];
    tsr_spgemm s = {.m = m, .n = n, .k = k, .c_by_col = draw(3) == 0, .sorted = draw(3) == 0, .narrow = draw(2) == 0, .nthreads = 1 + (int)draw(3)};
    s.semiring = (tsr_semiring){(tsr_type)draw(TSR_TYPE_COUNT), (tsr_add)draw(TSR_ADD_COUNT), (tsr_mul)draw(TSR_MUL_COUNT)};
    if (s.semiring.type == TSR_BOOL && s.semiring.add != TSR_ADD_ANY)
        s.semiring.add = TSR_ADD_LOR;
    if (draw(6) == 0) {
        s.position = (tsr_position)(1 + draw(3));
        s.offset = (int64_t)draw(2);
        s.semiring.type = draw(2) ? TSR_INT32 : TSR_INT64;
    }
    s.pattern = draw(8) == 0;
    draw_matrix(&a, m, k, s.semiring.type, true);
    draw_matrix(&b, k, n, s.semiring.type, true);
    s.a = a.view;
    s.b = b.view;
    if (!tsr_spgemm_reads_a(&s))
        s.a.x = NULL;
    if (!tsr_spgemm_reads_b(&s))
        s.b.x = NULL;
    if (draw(2)) {
        if (draw(3))
            draw_matrix(&mask, m, n, (tsr_type)draw(TSR_TYPE_COUNT), true);
        else
            draw_dense(&mask, m, n, (tsr_type)draw(TSR_TYPE_COUNT), s.c_by_col);
        s.masked = true;
        s.mask_structural = draw(2);
        s.mask_complement = draw(2);
        s.mask = mask.view;
    }
    return s;
}

static bool check(const tsr_spgemm *s)
{
    result got = {0}, want = {0}, exact = {0};
    const bool floats = s->semiring.type == TSR_FP32 || s->semiring.type == TSR_FP64;
    bool ok = by_kernel(&got, s, draw(2)) && by_oracle(&want, s, false) && (!floats || s->pattern || by_oracle(&exact, s, true)) &&
              sort_rows(&got, s) && same_structure(&got, &want);
    const tsr_spgemm_c c = {.p = got.p, .h = got.h, .i = got.i, .x = got.x, .index_size = 8};
    if (ok && !s->pattern)
        ok = s->semiring.add == TSR_ADD_ANY ? tsr_ref_spgemm_matches_any(s, &c, got.size.nvec) : same_values(s, &got, &want, &exact);
    ok = ok && same_again(s, &got);
    free_result(&got);
    free_result(&want);
    free_result(&exact);
    return ok;
}

int main(int argc, char **argv)
{
    const uint64_t seed = test_seed();
    const int cases = argc > 1 ? atoi(argv[1]) : 3000;
    for (int c = 0; c < cases; c++) {
        state = seed + (uint64_t)c * 1000003;
        tsr_sg_most_places = draw(3) == 0 ? 300 : UINT32_MAX - 1; /* notes run out now and then */
        const tsr_spgemm s = draw_product();
        if (!check(&s)) {
            printf("case %d of seed %llu: type %s add %d mul %d position %d m %lld n %lld k %lld masked %d pattern %d by_col %d\n", c,
                   (unsigned long long)seed, tsr_type_name(s.semiring.type), (int)s.semiring.add, (int)s.semiring.mul, (int)s.position,
                   (long long)s.m, (long long)s.n, (long long)s.k, s.masked, s.pattern, s.c_by_col);
            return 1;
        }
    }
    printf("%d products, seed %llu\n", cases, (unsigned long long)seed);
    return 0;
}
