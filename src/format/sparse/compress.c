/* Compressed copies: narrow indices, sorted, in either orientation, values typecast.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/sparse/format.h"

#include "src/base/split.h"
#include "src/base/types.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PER_PART (1 << 15)
#define LARGEST_VALUE 16 /* bytes */

/* One copy under way.  What is owned by `out` is reachable from here until it is finished. */
typedef struct copy {
    const tsr_view *in;
    tsr_type type;
    bool values;       /* one value per entry is wanted */
    size_t in_size;    /* bytes of one value of in, 0 if no values per entry */
    int64_t nvec;      /* vectors of the result, all of them */
    int64_t *p;
    void *i;
    void *x;           /* typecast values, or the one value of an iso matrix */
    uint8_t index_size;
    int nthreads;
} copy;

/* ---- vector pointers, same orientation ---- */

static void expand_pointers(int64_t *p, const tsr_view *in, int64_t nvec)
{
    int64_t done = 0; /* p[0..done) is written */
    for (int64_t s = 0; s < in->nvec; s++) {
        while (done <= in->h[s])
            p[done++] = tsr_view_start(in, s);
    }
    while (done <= nvec)
        p[done++] = in->nvals;
}

static void copy_pointers(int64_t *p, const tsr_view *in)
{
    if (!in->narrow_offsets)
        memcpy(p, in->p, (size_t)(in->nvec + 1) * sizeof *p);
    for (int64_t s = 0; in->narrow_offsets && s <= in->nvec; s++)
        p[s] = tsr_view_start(in, s);
}

/* ---- indices, same orientation ---- */

static inline int64_t index_at(const void *i, int64_t e, uint8_t size)
{
    return size == 4 ? (int64_t)((const uint32_t *)i)[e] : ((const int64_t *)i)[e];
}

static void copy_index_range(copy *c, int64_t begin, int64_t end)
{
    uint8_t from = c->in->index_size, to = c->index_size;
    const uint32_t *restrict in32 = c->in->i;
    const int64_t *restrict in64 = c->in->i;
    uint32_t *restrict out32 = c->i;
    int64_t *restrict out64 = c->i;
    if (from == to)
        memcpy((char *)c->i + (size_t)begin * to, (const char *)c->in->i + (size_t)begin * to,
               (size_t)(end - begin) * to);
    else if (to == 4)
        for (int64_t e = begin; e < end; e++)
            out32[e] = (uint32_t)in64[e];
    else
        for (int64_t e = begin; e < end; e++)
            out64[e] = in32[e];
}

static void copy_indices(copy *c)
{
    int64_t n = c->in->nvals;
    int nparts = tsr_parts(n, LEAST_PER_PART, c->nthreads);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        int64_t begin = tsr_part_begin(n, part, nparts), end = tsr_part_begin(n, part + 1, nparts);
        if (begin < end)
            copy_index_range(c, begin, end);
    }
}

/* ---- sorting inside the vectors ---- */

typedef struct keyed {
    int64_t index;
    int64_t from; /* place of the entry inside its vector */
} keyed;

static void merge_runs(keyed *restrict out, const keyed *restrict in, int64_t left, int64_t middle, int64_t right)
{
    int64_t a = left, b = middle;
    for (int64_t o = left; o < right; o++)
        out[o] = a < middle && (b >= right || in[a].index <= in[b].index) ? in[a++] : in[b++];
}

/* Stable merge sort; returns which of the two buffers holds the result. */
static keyed *sort_keyed(keyed *a, keyed *b, int64_t n)
{
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t left = 0; left < n; left += 2 * run) {
            int64_t middle = left + run < n ? left + run : n, right = middle + run < n ? middle + run : n;
            merge_runs(b, a, left, middle, right);
        }
        keyed *other = a;
        a = b;
        b = other;
    }
    return a;
}

static bool is_sorted(const copy *c, int64_t begin, int64_t end)
{
    for (int64_t e = begin + 1; e < end; e++)
        if (index_at(c->i, e - 1, c->index_size) > index_at(c->i, e, c->index_size))
            return false;
    return true;
}

/* Indices and values of one vector are permuted through the scratch, values by bytes of their own size. */
static void sort_vector(copy *c, keyed *scratch, char *values, int64_t begin, int64_t end, size_t size)
{
    int64_t n = end - begin;
    for (int64_t e = 0; e < n; e++)
        scratch[e] = (keyed){index_at(c->i, begin + e, c->index_size), e};
    keyed *sorted = sort_keyed(scratch, scratch + n, n);
    for (int64_t e = 0; e < n; e++) {
        if (c->index_size == 4)
            ((uint32_t *)c->i)[begin + e] = (uint32_t)sorted[e].index;
        else
            ((int64_t *)c->i)[begin + e] = sorted[e].index;
    }
    if (!c->values)
        return;
    char *x = (char *)c->x + (size_t)begin * size;
    memcpy(values, x, (size_t)n * size);
    for (int64_t e = 0; e < n; e++)
        memcpy(x + (size_t)e * size, values + (size_t)sorted[e].from * size, size);
}

static int64_t longest_vector(const int64_t *p, int64_t nvec)
{
    int64_t longest = 0;
    for (int64_t v = 0; v < nvec; v++)
        longest = p[v + 1] - p[v] > longest ? p[v + 1] - p[v] : longest;
    return longest;
}

/* Scratch of every part is allocated before any part starts. */
static tsr_status sort_vectors(copy *c)
{
    int nparts = tsr_parts(c->in->nvals, LEAST_PER_PART, c->nthreads);
    int64_t longest = longest_vector(c->p, c->nvec), stride = longest * (2 * (int64_t)sizeof(keyed) + LARGEST_VALUE);
    if (longest < 2)
        return TSR_OK;
    char *scratch = tsr_format_alloc(nparts, (size_t)stride);
    if (!scratch)
        return TSR_OUT_OF_MEMORY;
    size_t size = tsr_type_size(c->type);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        keyed *keys = (keyed *)(scratch + (size_t)part * (size_t)stride);
        int64_t last = tsr_part_vector(c->p, c->nvec, part + 1, nparts);
        for (int64_t v = tsr_part_vector(c->p, c->nvec, part, nparts); v < last; v++)
            if (!is_sorted(c, c->p[v], c->p[v + 1]))
                sort_vector(c, keys, (char *)(keys + 2 * longest), c->p[v], c->p[v + 1], size);
    }
    free(scratch);
    return TSR_OK;
}

static tsr_status copy_same(copy *c)
{
    const tsr_view *in = c->in;
    if (in->h)
        expand_pointers(c->p, in, c->nvec);
    else
        copy_pointers(c->p, in);
    copy_indices(c);
    if (c->values)
        tsr_cast_values(c->x, c->type, in->x, in->type, in->nvals, c->nthreads);
    return in->jumbled ? sort_vectors(c) : TSR_OK;
}

/* ---- the other orientation: a counting sort by the index, stable in the order of the vectors ---- */

static void count_range(int64_t *restrict count, const tsr_view *in, int64_t begin, int64_t end)
{
    const uint32_t *restrict i32 = in->i;
    const int64_t *restrict i64 = in->i;
    if (in->index_size == 4)
        for (int64_t e = begin; e < end; e++)
            count[i32[e]]++;
    else
        for (int64_t e = begin; e < end; e++)
            count[i64[e]]++;
}

/* Counts of every part become the places where the part begins to write; returns the entries of vectors [0, nvec). */
static void place_counts(int64_t *p, int64_t *counts, int64_t nvec, int nparts)
{
    int64_t sum = 0;
    for (int64_t v = 0; v < nvec; v++) {
        p[v] = sum;
        for (int part = 0; part < nparts; part++) {
            int64_t *count = counts + part * nvec + v, n = *count;
            *count = sum;
            sum += n;
        }
    }
    p[nvec] = sum;
}

static inline __attribute__((always_inline)) void
scatter(const copy *c, int64_t *restrict next, int64_t first, int64_t last, uint8_t from, uint8_t to, size_t size)
{
    const tsr_view *in = c->in;
    const char *restrict x = in->x;
    char *restrict out = c->x;
    for (int64_t s = first; s < last; s++) {
        int64_t name = in->h ? in->h[s] : s;
        for (int64_t e = tsr_view_start(in, s), end = tsr_view_start(in, s + 1); e < end; e++) {
            int64_t q = next[index_at(in->i, e, from)]++;
            if (to == 4)
                ((uint32_t *)c->i)[q] = (uint32_t)name;
            else
                ((int64_t *)c->i)[q] = name;
            if (size)
                memcpy(out + (size_t)q * size, x + (size_t)e * size, size);
        }
    }
}

#define SCATTER_SIZES(from, to)                                       \
    switch (c->in_size) {                                             \
    case 0: scatter(c, next, first, last, from, to, 0); break;        \
    case 1: scatter(c, next, first, last, from, to, 1); break;        \
    case 2: scatter(c, next, first, last, from, to, 2); break;        \
    case 4: scatter(c, next, first, last, from, to, 4); break;        \
    case 8: scatter(c, next, first, last, from, to, 8); break;        \
    default: scatter(c, next, first, last, from, to, 16); break;      \
    }

static void scatter_part(const copy *c, int64_t *next, int64_t first, int64_t last)
{
    if (c->in->index_size == 8 && c->index_size == 4) {
        SCATTER_SIZES(8, 4)
    } else if (c->in->index_size == 4 && c->index_size == 4) {
        SCATTER_SIZES(4, 4)
    } else if (c->in->index_size == 8) {
        SCATTER_SIZES(8, 8)
    } else {
        SCATTER_SIZES(4, 8)
    }
}

/* As many parts as keep the counters no larger than the entries. */
static int flip_parts(const copy *c)
{
    int nparts = tsr_parts(c->in->nvals, LEAST_PER_PART, c->nthreads);
    int64_t affordable = c->in->nvals / (c->nvec + 1) + 1;
    return nparts < affordable ? nparts : (int)affordable;
}

static tsr_status copy_flipped(copy *c)
{
    const tsr_view *in = c->in;
    const tsr_offsets offsets = tsr_offsets_of(in);
    int nparts = flip_parts(c);
    int64_t *counts = calloc((size_t)c->nvec ? (size_t)c->nvec : 1, (size_t)nparts * sizeof *counts);
    if (!counts)
        return TSR_OUT_OF_MEMORY;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        count_range(counts + part * c->nvec, in, tsr_offset_at(offsets, tsr_part_vector_of(offsets, in->nvec, part, nparts)),
                    tsr_offset_at(offsets, tsr_part_vector_of(offsets, in->nvec, part + 1, nparts)));
    place_counts(c->p, counts, c->nvec, nparts);
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++)
        scatter_part(c, counts + part * c->nvec, tsr_part_vector_of(offsets, in->nvec, part, nparts),
                     tsr_part_vector_of(offsets, in->nvec, part + 1, nparts));
    free(counts);
    return TSR_OK;
}

/* A typecast that comes with a flip is done first, into memory of its own: one sequential pass. */
static tsr_status copy_cast_flipped(copy *c)
{
    const tsr_view *in = c->in;
    if (!c->values || in->type == c->type)
        return copy_flipped(c);
    size_t size = tsr_type_size(c->type);
    void *cast = tsr_format_alloc(in->nvals, size);
    if (!cast)
        return TSR_OUT_OF_MEMORY;
    tsr_cast_values(cast, c->type, in->x, in->type, in->nvals, c->nthreads);
    tsr_view typed = *in;
    typed.x = cast;
    typed.type = c->type;
    copy narrowed = *c;
    narrowed.in = &typed;
    narrowed.in_size = size;
    tsr_status status = copy_flipped(&narrowed);
    free(cast);
    return status;
}

/* ---- all together ---- */

/* A row pointer array far larger than the matrix is refused: such a matrix belongs to those who keep it hypersparse. */
static bool pointers_absurd(int64_t nvec, int64_t nvals)
{
    return nvec >= (int64_t)1 << 32 && nvec / 16 > nvals;
}

static bool allocate(copy *c, bool one_value)
{
    if (pointers_absurd(c->nvec, c->in->nvals))
        return false;
    size_t size = tsr_type_size(c->type);
    c->p = tsr_format_alloc(c->nvec + 1, sizeof *c->p);
    c->i = tsr_format_alloc(c->in->nvals, c->index_size);
    c->x = c->values ? tsr_format_alloc(c->in->nvals, size) : one_value ? malloc(LARGEST_VALUE) : NULL;
    return c->p && c->i && (c->x || (!c->values && !one_value));
}

static void release(copy *c)
{
    free(c->p);
    free(c->i);
    free(c->x);
}

static void describe(tsr_compressed *out, const copy *c, bool by_col, bool iso)
{
    const tsr_view *in = c->in;
    size_t size = tsr_type_size(c->type);
    out->view = (tsr_view){.format = TSR_SPARSE, .type = c->type, .by_col = by_col, .iso = iso,
                           .index_size = c->index_size, .nrows = in->nrows, .ncols = in->ncols, .nvec = c->nvec,
                           .vlen = by_col ? in->nrows : in->ncols, .nvals = in->nvals, .p = c->p, .i = c->i, .x = c->x};
    out->bytes = (size_t)(c->nvec + 1) * sizeof *c->p + (size_t)in->nvals * c->index_size +
                 (c->values ? (size_t)in->nvals * size : iso ? size : 0);
}

tsr_status tsr_compress(tsr_compressed *out, const tsr_view *in, tsr_type type, unsigned flags, int nthreads)
{
    memset(out, 0, sizeof *out);
    if ((in->format != TSR_SPARSE && in->format != TSR_HYPERSPARSE) || ((unsigned)type >= TSR_TYPE_COUNT && !tsr_is_complex(type)))
        return TSR_INVALID_VALUE;
    bool flip = flags & TSR_COMPRESS_FLIP, with_x = !(flags & TSR_COMPRESS_PATTERN) && in->x, iso = with_x && in->iso;
    bool by_col = in->by_col != flip;
    copy c = {.in = in, .type = type, .values = with_x && !iso, .nvec = by_col ? in->ncols : in->nrows,
              .index_size = in->nrows > UINT32_MAX || in->ncols > UINT32_MAX ? 8 : 4, .nthreads = nthreads};
    c.in_size = c.values ? tsr_type_size(in->type) : 0;
    tsr_status status = allocate(&c, iso) ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK && !in->nvals)
        memset(c.p, 0, (size_t)(c.nvec + 1) * sizeof *c.p);
    else if (status == TSR_OK)
        status = flip ? copy_cast_flipped(&c) : copy_same(&c);
    if (status != TSR_OK) {
        release(&c);
        return status;
    }
    if (iso)
        tsr_cast_values(c.x, type, in->x, in->type, 1, 1);
    describe(out, &c, by_col, iso);
    return TSR_OK;
}

void tsr_compressed_free(tsr_compressed *c)
{
    free((void *)c->view.p);
    free((void *)c->view.i);
    free((void *)c->view.x);
    memset(c, 0, sizeof *c);
}
