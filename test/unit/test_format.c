/* Properties of the format converters on random, edge-biased matrices.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/split.h"
#include "src/format/sparse/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 20240607;

static int64_t draw(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed >> 11) % n;
}

/* ---- types and casts ---- */

static void test_type_sizes(void **state)
{
    (void)state;
    static const size_t sizes[TSR_TYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    for (int t = 0; t < TSR_TYPE_COUNT; t++)
        assert_int_equal(tsr_type_size((tsr_type)t), sizes[t]);
    assert_string_equal(tsr_type_name(TSR_FP32), "fp32");
    assert_string_equal(tsr_type_name(TSR_UINT64), "uint64");
    assert_string_equal(tsr_type_name(TSR_BOOL), "bool");
}

#define CHECK_FLOAT_CAST(TYPE, T, LOW, HIGH)                                                              \
    do {                                                                                                  \
        const double in[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 2.9, -2.9, -0.0, 0.4};              \
        const T minus = (T)((LOW) < 0 ? -2 : 0);                                                          \
        const T want[] = {0, HIGH, LOW, HIGH, LOW, 2, minus, 0, 0};                                       \
        float in32[9];                                                                                    \
        T out[9];                                                                                         \
        tsr_cast_values(out, TYPE, in, TSR_FP64, 9, 1);                                                   \
        assert_memory_equal(out, want, sizeof out);                                                       \
        for (int e = 0; e < 9; e++)                                                                       \
            in32[e] = (float)in[e];                                                                       \
        tsr_cast_values(out, TYPE, in32, TSR_FP32, 9, 1);                                                 \
        assert_memory_equal(out, want, sizeof out);                                                       \
    } while (0)

static void test_cast_float_to_integer(void **state)
{
    (void)state;
    CHECK_FLOAT_CAST(TSR_INT8, int8_t, INT8_MIN, INT8_MAX);
    CHECK_FLOAT_CAST(TSR_INT16, int16_t, INT16_MIN, INT16_MAX);
    CHECK_FLOAT_CAST(TSR_INT32, int32_t, INT32_MIN, INT32_MAX);
    CHECK_FLOAT_CAST(TSR_INT64, int64_t, INT64_MIN, INT64_MAX);
    CHECK_FLOAT_CAST(TSR_UINT8, uint8_t, 0, UINT8_MAX);
    CHECK_FLOAT_CAST(TSR_UINT16, uint16_t, 0, UINT16_MAX);
    CHECK_FLOAT_CAST(TSR_UINT32, uint32_t, 0, UINT32_MAX);
    CHECK_FLOAT_CAST(TSR_UINT64, uint64_t, 0, UINT64_MAX);
}

/* The bounds of 64 bits round up to powers of two as doubles; the largest double below them must pass unchanged. */
static void test_cast_near_bounds(void **state)
{
    (void)state;
    const double in[] = {0x1.fffffffffffffp62, 0x1p63, -0x1p63, 0x1.fffffffffffffp63, 0x1p64, -1.0, 254.99, 255.0};
    int64_t s[8];
    uint64_t u[8];
    uint8_t b[8];
    tsr_cast_values(s, TSR_INT64, in, TSR_FP64, 8, 1);
    tsr_cast_values(u, TSR_UINT64, in, TSR_FP64, 8, 1);
    tsr_cast_values(b, TSR_UINT8, in, TSR_FP64, 8, 1);
    assert_true(s[0] == INT64_MAX - 1023 && s[1] == INT64_MAX && s[2] == INT64_MIN);
    assert_true(u[3] == UINT64_MAX - 2047 && u[4] == UINT64_MAX && u[5] == 0);
    assert_true(b[6] == 254 && b[7] == 255 && b[5] == 0);
}

static void test_cast_to_bool_and_back(void **state)
{
    (void)state;
    const float in[] = {NAN, 0.0f, -0.0f, 0.25f, -INFINITY};
    const uint8_t want[] = {1, 0, 0, 1, 1};
    uint8_t flags[5];
    double back[5];
    tsr_cast_values(flags, TSR_BOOL, in, TSR_FP32, 5, 1);
    assert_memory_equal(flags, want, 5);
    tsr_cast_values(back, TSR_FP64, flags, TSR_BOOL, 5, 1);
    for (int e = 0; e < 5; e++)
        assert_true(back[e] == want[e]);
    const int32_t wide[] = {256, 0, -1};
    tsr_cast_values(flags, TSR_BOOL, wide, TSR_INT32, 3, 1);
    assert_true(flags[0] == 1 && flags[1] == 0 && flags[2] == 1);
}

static void test_cast_integers_wrap(void **state)
{
    (void)state;
    const int64_t in[] = {-1, 300, INT64_MIN, ((int64_t)1 << 40) + 7};
    uint8_t narrow[4];
    int16_t middle[4];
    uint64_t wide[4];
    tsr_cast_values(narrow, TSR_UINT8, in, TSR_INT64, 4, 1);
    tsr_cast_values(middle, TSR_INT16, in, TSR_INT64, 4, 1);
    tsr_cast_values(wide, TSR_UINT64, in, TSR_INT64, 4, 1);
    assert_true(narrow[0] == 255 && narrow[1] == 44 && narrow[2] == 0 && narrow[3] == 7);
    assert_true(middle[0] == -1 && middle[1] == 300 && middle[2] == 0 && middle[3] == 7);
    assert_true(wide[0] == UINT64_MAX && wide[2] == (uint64_t)1 << 63);
}

/* Every pair of types, many values, several threads: the same as with one thread, and there and back is no change. */
static void test_cast_every_pair(void **state)
{
    (void)state;
    enum { N = 200003 };
    uint8_t *small = malloc(N);
    void *from = malloc(N * 8), *one = malloc(N * 8), *many = malloc(N * 8), *back = malloc(N * 8);
    for (int64_t e = 0; e < N; e++)
        small[e] = (uint8_t)draw(100);
    for (int f = 0; f < TSR_TYPE_COUNT; f++)
        for (int t = 0; t < TSR_TYPE_COUNT; t++) {
            tsr_cast_values(from, (tsr_type)f, small, TSR_UINT8, N, 1);
            tsr_cast_values(one, (tsr_type)t, from, (tsr_type)f, N, 1);
            tsr_cast_values(many, (tsr_type)t, from, (tsr_type)f, N, 3);
            assert_memory_equal(one, many, N * tsr_type_size((tsr_type)t));
            tsr_cast_values(back, TSR_UINT8, one, (tsr_type)t, N, 2);
            for (int64_t e = 0; e < N; e++)
                assert_int_equal(((uint8_t *)back)[e], f && t ? small[e] : small[e] != 0);
        }
    free(small);
    free(from);
    free(one);
    free(many);
    free(back);
}

/* ---- compressed matrices ---- */

/* A random matrix: dense[r * ncols + c] = 1 + value, 0 = absent; and a view of it that owns its arrays. */
typedef struct sample {
    int64_t nrows, ncols;
    int16_t *dense;
    tsr_view view;
} sample;

static void shuffle_vector(int64_t *i, int16_t *x, int64_t n)
{
    for (int64_t e = n - 1; e > 0; e--) {
        int64_t o = draw(e + 1), ti = i[e];
        int16_t tx = x[e];
        i[e] = i[o];
        x[e] = x[o];
        i[o] = ti;
        x[o] = tx;
    }
}

static sample new_sample(int64_t nrows, int64_t ncols, bool by_col, bool hyper, bool jumbled, int permille)
{
    sample s = {nrows, ncols, calloc((size_t)(nrows * ncols) + 1, sizeof *s.dense), {0}};
    int64_t nvec = by_col ? ncols : nrows, vlen = by_col ? nrows : ncols;
    int64_t *p = calloc((size_t)nvec + 1, 8), *h = malloc((size_t)nvec * 8 + 8);
    int64_t *i = malloc((size_t)(nvec * vlen) * 8 + 8);
    int16_t *x = malloc((size_t)(nvec * vlen) * 2 + 2);
    int64_t nvals = 0, present = 0;
    for (int64_t v = 0; v < nvec; v++) {
        int64_t begin = nvals;
        int density = draw(4) == 0 ? 0 : draw(10) == 0 ? 1000 : permille;
        for (int64_t l = 0; l < vlen; l++) {
            if (draw(1000) >= density)
                continue;
            int16_t value = (int16_t)draw(1000);
            s.dense[by_col ? l * ncols + v : v * ncols + l] = (int16_t)(1 + value);
            i[nvals] = l;
            x[nvals++] = value;
        }
        if (jumbled)
            shuffle_vector(i + begin, x + begin, nvals - begin);
        if (!hyper || nvals > begin) {
            h[present] = v;
            p[++present] = nvals;
        }
    }
    s.view = (tsr_view){.format = hyper ? TSR_HYPERSPARSE : TSR_SPARSE, .type = TSR_INT16, .by_col = by_col,
                        .jumbled = jumbled, .index_size = 8, .nrows = nrows, .ncols = ncols,
                        .nvec = hyper ? present : nvec, .vlen = vlen, .nvals = nvals, .p = p, .h = hyper ? h : NULL,
                        .i = i, .x = x};
    if (!hyper)
        free(h);
    return s;
}

/* Its offsets have 32 bits now. */
static void narrow_sample(sample *s)
{
    uint32_t *p = malloc((size_t)(s->view.nvec + 1) * sizeof *p);
    for (int64_t v = 0; v <= s->view.nvec; v++)
        p[v] = (uint32_t)s->view.p[v];
    free((void *)s->view.p);
    s->view.p = (const void *)p;
    s->view.narrow_offsets = true;
}

static void free_sample(sample *s)
{
    free(s->dense);
    free((void *)s->view.p);
    free((void *)s->view.h);
    free((void *)s->view.i);
    free((void *)s->view.x);
}

static void check_compressed(const sample *s, const tsr_compressed *c, bool by_col)
{
    const tsr_view *v = &c->view;
    assert_true(v->format == TSR_SPARSE && v->h == NULL && v->by_col == by_col && !v->jumbled);
    assert_true(v->index_size == 4 && v->nrows == s->nrows && v->ncols == s->ncols && v->nvals == s->view.nvals);
    assert_true(v->nvec == (by_col ? s->ncols : s->nrows) && v->vlen == (by_col ? s->nrows : s->ncols));
    assert_true(v->p[0] == 0 && v->p[v->nvec] == v->nvals);
    const uint32_t *i = v->i;
    const double *x = v->x;
    for (int64_t n = 0; n < v->nvec; n++)
        for (int64_t e = v->p[n]; e < v->p[n + 1]; e++) {
            assert_true(e == v->p[n] || i[e - 1] < i[e]);
            int16_t want = s->dense[by_col ? (int64_t)i[e] * s->ncols + n : n * s->ncols + (int64_t)i[e]];
            assert_true(want > 0);
            if (x && !v->iso)
                assert_true(x[e] == want - 1);
        }
}

static void test_vectors_of_entries(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        sample s = new_sample(1 + draw(60), 1 + draw(30), false, round % 4 == 3, false, 300);
        const tsr_view wide = s.view;
        int64_t *p = malloc((size_t)(wide.nvec + 1) * sizeof *p);
        memcpy(p, wide.p, (size_t)(wide.nvec + 1) * sizeof *p);
        narrow_sample(&s);
        const tsr_offsets narrow = tsr_offsets_of(&s.view);
        for (int64_t v = 0; v < wide.nvec; v++)
            for (int64_t e = p[v]; e < p[v + 1]; e++)
                assert_true(tsr_vector_of(narrow, wide.nvec, e) == v && tsr_vector_of(tsr_offsets_wide(p), wide.nvec, e) == v);
        assert_int_equal(tsr_vector_of(narrow, wide.nvec, wide.nvals), wide.nvec);
        for (int part = 0; part <= 5; part++)
            assert_int_equal(tsr_part_vector_of(narrow, wide.nvec, part, 5), tsr_part_vector(p, wide.nvec, part, 5));
        free(p);
        free_sample(&s);
    }
}

static void test_compress_random(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 1},    {7, 5},     {0, 4},   {4, 0},  {33, 200},
                                        {200, 33}, {300, 250}, {1, 900}, {900, 1}};
    for (int round = 0; round < 9 * 8 * 2; round++) {
        const int64_t *shape = shapes[round % 9];
        int bits = round / 9 % 8;
        sample s = new_sample(shape[0], shape[1], bits & 1, bits & 2, bits & 4, round % 2 ? 200 : 20);
        if (draw(2))
            narrow_sample(&s);
        for (unsigned flags = 0; flags < 4; flags++)
            for (int nthreads = 1; nthreads <= 3; nthreads += 2) {
                tsr_compressed c, again;
                assert_int_equal(tsr_compress(&c, &s.view, TSR_FP64, flags, nthreads), TSR_OK);
                check_compressed(&s, &c, s.view.by_col != !!(flags & TSR_COMPRESS_FLIP));
                assert_true((c.view.x == NULL) == !!(flags & TSR_COMPRESS_PATTERN));
                assert_true(c.bytes >= (size_t)c.view.nvals * 4);
                assert_int_equal(tsr_compress(&again, &c.view, TSR_FP64, TSR_COMPRESS_FLIP, nthreads), TSR_OK);
                check_compressed(&s, &again, !c.view.by_col);
                tsr_compressed_free(&again);
                tsr_compressed_free(&c);
                assert_null(c.view.p);
            }
        free_sample(&s);
    }
}

/* Enough entries that several threads really take part, and that values are moved in every size. */
static void test_compress_large(void **state)
{
    (void)state;
    sample s = new_sample(1500, 1400, false, false, true, 120);
    for (unsigned round = 0; round < 8; round++) {
        const unsigned flags = round % 4;
        tsr_compressed one, three;
        if (round == 4)
            narrow_sample(&s);
        assert_int_equal(tsr_compress(&one, &s.view, TSR_FP64, flags, 1), TSR_OK);
        assert_int_equal(tsr_compress(&three, &s.view, TSR_FP64, flags, 3), TSR_OK);
        check_compressed(&s, &three, !!(flags & TSR_COMPRESS_FLIP));
        assert_memory_equal(one.view.i, three.view.i, (size_t)one.view.nvals * 4);
        tsr_compressed_free(&one);
        tsr_compressed_free(&three);
    }
    static const tsr_type types[] = {TSR_UINT8, TSR_INT16, TSR_FP32, TSR_INT64};
    for (int t = 0; t < 4; t++) {
        tsr_compressed typed, flipped, wide;
        assert_int_equal(tsr_compress(&typed, &s.view, types[t], 0, 2), TSR_OK);
        assert_int_equal(tsr_compress(&flipped, &typed.view, types[t], TSR_COMPRESS_FLIP, 2), TSR_OK);
        assert_int_equal(tsr_compress(&wide, &flipped.view, TSR_FP64, TSR_COMPRESS_FLIP, 2), TSR_OK);
        if (types[t] != TSR_UINT8)
            check_compressed(&s, &wide, false);
        for (int64_t e = 0; e < wide.view.nvals; e++) {
            double want;
            const char *value = (const char *)typed.view.x + (size_t)e * tsr_type_size(types[t]);
            tsr_cast_values(&want, TSR_FP64, value, types[t], 1, 1);
            assert_true(((const double *)wide.view.x)[e] == want);
        }
        tsr_compressed_free(&typed);
        tsr_compressed_free(&flipped);
        tsr_compressed_free(&wide);
    }
    free_sample(&s);
}

static void test_compress_iso(void **state)
{
    (void)state;
    sample s = new_sample(40, 30, true, false, true, 300);
    s.view.iso = true;
    ((int16_t *)s.view.x)[0] = -3;
    for (unsigned flip = 0; flip <= TSR_COMPRESS_FLIP; flip += TSR_COMPRESS_FLIP) {
        tsr_compressed c;
        assert_int_equal(tsr_compress(&c, &s.view, TSR_FP32, flip, 2), TSR_OK);
        assert_true(c.view.iso && c.view.type == TSR_FP32 && *(const float *)c.view.x == -3.0f);
        check_compressed(&s, &c, !flip);
        tsr_compressed_free(&c);
    }
    free_sample(&s);
}

/* Dimensions beyond 32 bits keep 64-bit indices. */
static void test_compress_wide_indices(void **state)
{
    (void)state;
    const int64_t big = (int64_t)1 << 40, p[] = {0, 2, 3}, i[] = {big - 1, 5, (int64_t)1 << 33};
    const double x[] = {1, 2, 3};
    tsr_view v = {.format = TSR_SPARSE, .type = TSR_FP64, .jumbled = true, .index_size = 8, .nrows = 2, .ncols = big,
                  .nvec = 2, .vlen = big, .nvals = 3, .p = p, .i = i, .x = x};
    tsr_compressed c;
    assert_int_equal(tsr_compress(&c, &v, TSR_FP32, 0, 2), TSR_OK);
    const int64_t *out = c.view.i;
    const float *values = c.view.x;
    assert_true(c.view.index_size == 8 && out[0] == 5 && out[1] == big - 1 && out[2] == (int64_t)1 << 33);
    assert_true(values[0] == 2 && values[1] == 1 && values[2] == 3);
    tsr_compressed_free(&c);
    assert_int_equal(tsr_compress(&c, &v, TSR_FP32, TSR_COMPRESS_FLIP, 2), TSR_OUT_OF_MEMORY);
    assert_null(c.view.p);
}

static void test_compress_refuses_dense(void **state)
{
    (void)state;
    double x[4] = {0};
    tsr_view v = {.format = TSR_FULL, .type = TSR_FP64, .nrows = 2, .ncols = 2, .nvec = 2, .vlen = 2, .ld = 2,
                  .nvals = 4, .x = x};
    tsr_compressed c;
    assert_int_equal(tsr_compress(&c, &v, TSR_FP64, 0, 1), TSR_INVALID_VALUE);
}

/* ---- dense flips ---- */

static void check_flip(int64_t nvec, int64_t vlen, int64_t ld, size_t size, int nthreads)
{
    size_t in_bytes = (size_t)(nvec ? (nvec - 1) * ld + vlen : 0) * size, out_bytes = (size_t)(nvec * vlen) * size;
    unsigned char *in = calloc(in_bytes + 1, 1), *out = malloc(out_bytes + 64);
    for (size_t b = 0; b < in_bytes; b++)
        in[b] = (unsigned char)draw(256);
    memset(out, 0xa5, out_bytes + 64);
    tsr_dense_flip(out, in, nvec, vlen, ld, size, nthreads);
    for (int64_t v = 0; v < nvec; v++)
        for (int64_t l = 0; l < vlen; l++)
            assert_memory_equal(out + (size_t)(l * nvec + v) * size, in + (size_t)(v * ld + l) * size, size);
    for (int b = 0; b < 64; b++)
        assert_int_equal(out[out_bytes + (size_t)b], 0xa5);
    free(in);
    free(out);
}

static void test_dense_flip(void **state)
{
    (void)state;
    static const int64_t extents[] = {0, 1, 3, 8, 16, 17, 31, 64, 65, 100, 257};
    for (size_t size = 1; size <= 8; size *= 2) {
        for (int a = 0; a < 11; a++)
            for (int b = 0; b < 11; b++)
                check_flip(extents[a], extents[b], extents[b] + draw(3), size, 1 + (int)draw(3));
        check_flip(1700, 301, 301, size, 3);
        check_flip(301, 1700, 1703, size, 3);
    }
}

/* ---- masked results ---- */

/* h: nvec different names. */
static void check_vectors(int64_t *p, int64_t nvec)
{
    int64_t *h = malloc((size_t)(nvec + 1) * sizeof *h), *before = malloc((size_t)(nvec + 1) * sizeof *before);
    for (int64_t v = 0; v < nvec; v++)
        h[v] = 3 * v + 1;
    memcpy(before, p, (size_t)(nvec + 1) * sizeof *p);
    const int64_t used = tsr_compact_vectors(p, h, nvec);
    int64_t u = 0;
    for (int64_t v = 0; v < nvec; v++) {
        if (before[v] == before[v + 1])
            continue;
        assert_int_equal(h[u], 3 * v + 1);
        assert_int_equal(p[u++], before[v]);
    }
    assert_int_equal(used, u);
    assert_int_equal(p[u], before[nvec]);
    free(h);
    free(before);
}

/* The same entries once more, p, i and x being right, with the vector of each; and that others are told from them. */
static void check_few(const tsr_view *mask, const int8_t *b, const int64_t *p, const char *i, const int16_t *x, bool narrow, int nthreads)
{
    const int64_t kept = p[mask->nvec];
    const size_t bytes = (size_t)kept * (narrow ? 4 : 8);
    int64_t *h = malloc((size_t)(kept + 1) * 8);
    char *few_i = malloc(bytes + 1);
    int16_t *few_x = malloc((size_t)kept * 2 + 2);
    h[kept] = few_x[kept] = few_i[bytes] = -77;
    assert_false(tsr_compact_few(h, few_i, narrow, few_x, kept + 1, mask, b, mask->x, 2, nthreads));
    assert_true(tsr_compact_few(h, few_i, narrow, few_x, kept, mask, b, mask->x, 2, nthreads));
    assert_true(h[kept] == -77 && few_x[kept] == -77 && few_i[bytes] == -77);
    assert_memory_equal(few_i, i, bytes);
    assert_memory_equal(few_x, x, (size_t)kept * 2);
    for (int64_t v = 0; v < mask->nvec; v++)
        for (int64_t q = p[v]; q < p[v + 1]; q++)
            assert_int_equal(h[q], v);
    free(h);
    free(few_i);
    free(few_x);
}

static void check_compaction(int64_t nrows, int64_t ncols, bool hyper, int keep, int nthreads, bool wide)
{
    sample s = new_sample(nrows, ncols, false, hyper, false, 300);
    tsr_compressed c;
    assert_int_equal(tsr_compress(&c, &s.view, TSR_INT16, 0, 1), TSR_OK);
    if (draw(2))
        narrow_sample(&s);
    tsr_view mask = s.view;
    if (!wide)
        mask = c.view;
    int64_t n = mask.nvals, kept = 0;
    int8_t *b = malloc((size_t)n + 1);
    for (int64_t e = 0; e < n; e++)
        kept += b[e] = draw(100) < keep;
    const bool narrow = keep % 2;
    const size_t index_size = narrow ? 4 : 8;
    int64_t *p = malloc((size_t)(mask.nvec + 1) * 8);
    char *i = malloc((size_t)kept * index_size + 1);
    int16_t *x = malloc((size_t)kept * 2 + 2);
    i[(size_t)kept * index_size] = -77;
    x[kept] = -77;
    assert_int_equal(tsr_compact_count(p, &mask, b, nthreads), kept);
    tsr_compact_fill(i, narrow, x, p, &mask, b, mask.x, 2, nthreads);
    assert_true(p[0] == 0 && p[mask.nvec] == kept && i[(size_t)kept * index_size] == -77 && x[kept] == -77);
    int64_t q = 0;
    for (int64_t v = 0; v < mask.nvec; v++) {
        assert_int_equal(p[v], q);
        for (int64_t e = tsr_view_start(&mask, v); e < tsr_view_start(&mask, v + 1); e++) {
            if (!b[e])
                continue;
            assert_int_equal(tsr_offset(i, narrow, q), tsr_offset(mask.i, !wide, e));
            assert_int_equal(x[q++], ((const int16_t *)mask.x)[e]);
        }
    }
    check_few(&mask, b, p, i, x, narrow, nthreads);
    check_vectors(p, mask.nvec);
    free(b);
    free(p);
    free(i);
    free(x);
    tsr_compressed_free(&c);
    free_sample(&s);
}

/* The lists p, i, x of the bitmap b, values being places, come back; with all vectors and with those alone that have entries. */
static void check_spread(const int8_t *b, int64_t *p, const int64_t *i, const int32_t *x, int64_t nvec, int64_t vlen, int nthreads)
{
    const int64_t places = nvec * vlen;
    int8_t *again = malloc((size_t)places);
    int32_t *values = malloc((size_t)places * sizeof *values);
    int64_t *h = malloc((size_t)nvec * sizeof *h), stored = nvec;
    for (int hyper = 0; hyper < 2; hyper++) {
        for (int64_t v = 0; v < nvec; v++)
            h[v] = v;
        if (hyper)
            stored = tsr_compact_vectors(p, h, nvec);
        memset(again, -77, (size_t)places);
        tsr_spread_lists(again, values, p, hyper ? h : NULL, i, false, x, sizeof *values, stored, places, vlen, nthreads);
        assert_memory_equal(again, b, (size_t)places);
        for (int64_t k = 0; k < places; k++)
            assert_true(!b[k] || values[k] == k);
    }
    free(again);
    free(values);
    free(h);
}

static void check_bitmap(int64_t nvec, int64_t vlen, int keep, bool full, int nthreads)
{
    const int64_t places = nvec * vlen;
    int8_t *b = malloc((size_t)places);
    int32_t *from = malloc((size_t)places * sizeof *from), *x = malloc((size_t)places * sizeof *x);
    int64_t *p = malloc((size_t)(nvec + 1) * sizeof *p), *i = malloc((size_t)places * sizeof *i), q = 0;
    for (int64_t k = 0; k < places; k++) {
        b[k] = full || (k * 7919 % 100 < keep && k / vlen % 5 != 2);
        from[k] = (int32_t)k;
    }
    tsr_compact_bitmap(p, i, x, full ? NULL : b, from, sizeof *from, nvec, vlen, nthreads);
    assert_int_equal(p[0], 0);
    for (int64_t v = 0; v < nvec; v++) {
        for (int64_t k = 0; k < vlen; k++) {
            if (!b[v * vlen + k])
                continue;
            assert_int_equal(i[q], k);
            assert_int_equal(x[q++], v * vlen + k);
        }
        assert_int_equal(p[v + 1], q);
    }
    check_spread(b, p, i, x, nvec, vlen, nthreads);
    free(b);
    free(from);
    free(x);
    free(p);
    free(i);
}

static void test_bitmap_without_places(void **state)
{
    (void)state;
    int64_t p[] = {-1, -1, -1, -1};
    const int8_t none = 1;
    tsr_compact_bitmap(p, NULL, NULL, &none, NULL, sizeof(int32_t), 3, 0, 1);
    for (int v = 0; v <= 3; v++) assert_int_equal(p[v], 0);
}

static void test_bitmap_compaction(void **state)
{
    (void)state;
    static const int keeps[] = {0, 3, 60, 100};
    for (int k = 0; k < 4; k++)
        for (int nthreads = 1; nthreads < 4; nthreads++) {
            check_bitmap(1, 500000, keeps[k], false, nthreads);
            check_bitmap(150000, 3, keeps[k], false, nthreads);
            check_bitmap(7, 60000, keeps[k], k == 3, nthreads);
        }
}

static void test_compaction(void **state)
{
    (void)state;
    static const int keeps[] = {0, 3, 50, 100};
    for (int k = 0; k < 4; k++)
        for (int bits = 0; bits < 8; bits++) {
            check_compaction(20, 30, bits & 1, keeps[k], bits & 2 ? 3 : 1, bits & 4);
            check_compaction(1700, 1200, bits & 1, keeps[k], bits & 2 ? 3 : 1, bits & 4);
        }
}

static void test_nonempty_rows(void **state)
{
    (void)state;
    for (int round = 0; round < 24; round++) {
        bool large = round >= 20;
        sample s = new_sample(large ? 1500 : 60, large ? 500 : 40, round & 1, round & 2, round & 4, 30 + 200 * large);
        int8_t flags[1500];
        int64_t want = 0, got;
        memset(flags, 9, sizeof flags);
        got = tsr_nonempty_rows(flags, &s.view, 3);
        for (int64_t r = 0; r < s.nrows; r++) {
            bool present = false;
            for (int64_t c = 0; c < s.ncols; c++)
                present |= s.dense[r * s.ncols + c] != 0;
            assert_int_equal(flags[r], present);
            want += present;
        }
        assert_int_equal(got, want);
        if (s.view.by_col) {
            assert_false(tsr_share_rows(&s.view, s.view.nvals - want));
            assert_int_equal(tsr_share_rows(&s.view, s.view.nvals - want - 1), s.view.nvals <= 65536);
        } else {
            assert_int_equal(tsr_no_vector_empty(&s.view, 3), want == s.view.nvec);
        }
        free_sample(&s);
    }
}

/* Shared out among threads; the only empty one is where a thread begins, or ends, or nowhere. */
static void test_no_vector_empty(void **state)
{
    (void)state;
    enum { VECTORS = 300000 };
    int64_t *p = malloc((VECTORS + 1) * sizeof *p);
    const tsr_view view = {.format = TSR_SPARSE, .nrows = VECTORS, .ncols = 8, .nvec = VECTORS, .vlen = 8, .p = p};
    const int64_t empty[] = {0, 1, 4095, 4096, 99999, 100000, VECTORS - 1, VECTORS};
    for (int k = 0; k < 8; k++) {
        p[0] = 0;
        for (int64_t v = 0; v < VECTORS; v++)
            p[v + 1] = p[v] + (v != empty[k]);
        for (int threads = 1; threads <= 3; threads++)
            assert_int_equal(tsr_no_vector_empty(&view, threads), empty[k] == VECTORS);
    }
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_sizes),
        cmocka_unit_test(test_cast_float_to_integer),
        cmocka_unit_test(test_cast_near_bounds),
        cmocka_unit_test(test_cast_to_bool_and_back),
        cmocka_unit_test(test_cast_integers_wrap),
        cmocka_unit_test(test_cast_every_pair),
        cmocka_unit_test(test_vectors_of_entries),
        cmocka_unit_test(test_compress_random),
        cmocka_unit_test(test_compress_large),
        cmocka_unit_test(test_compress_iso),
        cmocka_unit_test(test_compress_wide_indices),
        cmocka_unit_test(test_compress_refuses_dense),
        cmocka_unit_test(test_dense_flip),
        cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_bitmap_compaction), cmocka_unit_test(test_bitmap_without_places),
        cmocka_unit_test(test_nonempty_rows),
        cmocka_unit_test(test_no_vector_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
