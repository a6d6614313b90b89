/* The converters of the device against those of src/format, bit by bit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/common/cuda_kernels.h"
#include "src/format/blocks/tc_blocks.h"
#include "test/cuda/emulator.h"
#include "test/cuda/seeds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARRAYS 10

typedef struct sample {
    uint64_t seed, state;
    int64_t nrows, ncols, nvals;
    int64_t *p;
    uint32_t *i;
    void *x; /* random bytes, 8 per entry */
    tsr_number number;
    bool pattern;
    double iso;
    int failures;
} sample;

static uint64_t next(sample *t) { return seeds_next(&t->state); }
static int64_t below(sample *t, int64_t bound) { return (int64_t)(next(t) % (uint64_t)bound); }
static bool chance(sample *t, int percent) { return below(t, 100) < percent; }

static void *alloc(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p)
        abort();
    return p;
}

static bool wrong(sample *t, const char *what, const char *detail)
{
    printf("test_convert --seed=%llu: %s: %s (%lld x %lld, %lld entries)\n", (unsigned long long)t->seed, what, detail,
           (long long)t->nrows, (long long)t->ncols, (long long)t->nvals);
    t->failures++;
    return false;
}

/* ---- random matrices ---- */

static int compare_columns(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* About `want` different columns, ascending, in a range that is as wide as the kind says. */
static int64_t draw_row(sample *t, uint32_t *out, int64_t want, bool near)
{
    int64_t range = near && t->ncols > 200 ? 200 : t->ncols, k = 0, kept = 0;
    if (want >= range)
        for (; k < range; k++)
            out[k] = (uint32_t)k;
    else
        for (; k < want; k++)
            out[k] = (uint32_t)below(t, range);
    qsort(out, (size_t)k, sizeof *out, compare_columns);
    for (int64_t e = 0; e < k; e++)
        if (!kept || out[kept - 1] != out[e])
            out[kept++] = out[e];
    return kept;
}

static void draw_matrix(sample *t)
{
    static const int64_t few_rows[] = { 0, 1, 7, 8, 9, 16, 64, 128, 129 };
    bool large = t->seed % 50 == 7; /* sums over more than one block of threads; much larger where that takes no time */
    int kind = large ? 4 : (int)below(t, 10);
    int64_t most = 6000, size = 1 << 10;
    t->nrows = large           ? (tsr_emulate_schedule ? 50000 : 2000000)
               : chance(t, 30) ? few_rows[below(t, 9)]
                               : 1 + below(t, chance(t, 15) ? 3000 : 200);
    switch (below(t, 6)) {
    case 0: t->ncols = below(t, 4); break;
    case 1: t->ncols = (int64_t)1 << 32; break;
    case 2: t->ncols = ((int64_t)1 << (24 + below(t, 8))) + below(t, 3) - 1; break;
    default: t->ncols = 1 + below(t, chance(t, 50) ? 100 : most);
    }
    t->p = alloc(sizeof *t->p * (size_t)(t->nrows + 1));
    t->i = alloc(sizeof *t->i * (size_t)size);
    int64_t usual = large ? 2 : chance(t, 50) ? below(t, 8) : below(t, 120), hub = t->nrows ? below(t, t->nrows) : 0;
    for (int64_t r = 0; r < t->nrows; r++) {
        int64_t want = usual ? below(t, 2 * usual) : 0;
        if (kind == 0 || (kind == 1 && r / 16 % 2) || (kind == 2 && chance(t, 90)))
            want = 0; /* empty, empty windows, mostly empty rows */
        if (kind >= 6 && (r == hub || (kind == 9 && r == hub + 1)))
            want = 1 + below(t, most); /* one or two long rows */
        if (kind == 5 && r / 16 == hub / 16)
            want = 300; /* a window that is cut, all its rows alike */
        if (t->p[r] + want > size) {
            size = 2 * (t->p[r] + want);
            t->i = realloc(t->i, sizeof *t->i * (size_t)size);
            if (!t->i)
                abort();
        }
        t->p[r + 1] = t->p[r] + (t->ncols ? draw_row(t, t->i + t->p[r], want, kind == 3 || kind == 8) : 0);
    }
    t->nvals = t->p[t->nrows];
}

static void draw(sample *t, uint64_t seed)
{
    static const double isos[] = { 1, -2.5, 0, 0.1, 1e300, 65520, NAN };
    *t = (sample){ .seed = seed, .state = seed };
    draw_matrix(t);
    t->number = (tsr_number)below(t, TSR_NUMBER_COUNT);
    t->pattern = chance(t, 25);
    t->iso = isos[below(t, 7)];
    t->x = alloc(8 * (size_t)t->nvals);
    for (int64_t k = 0; k < t->nvals; k++)
        ((uint64_t *)t->x)[k] = next(t);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)below(t, 4), 0);
}

static void drop(sample *t)
{
    free(t->p);
    free(t->i);
    free(t->x);
}

/* ---- on the device ---- */

static void *upload(const void *host, size_t bytes)
{
    void *p;
    if (tsr_cuda_malloc(&p, bytes ? bytes : 1, NULL) != TSR_OK || tsr_cuda_to_device(p, host, bytes, NULL) != TSR_OK ||
        tsr_cuda_wait(NULL) != TSR_OK)
        abort();
    return p;
}

static void *download(const void *device, size_t bytes)
{
    void *p = alloc(bytes);
    if (tsr_cuda_to_host(p, device, bytes, NULL) != TSR_OK || tsr_cuda_wait(NULL) != TSR_OK)
        abort();
    return p;
}

static tsr_source source_of(const sample *t)
{
    return (tsr_source){ .nrows = t->nrows, .ncols = t->ncols, .nvals = t->nvals, .p = t->p, .i = t->i,
                         .x = t->pattern ? NULL : t->x, .number = t->number };
}

static tsr_source upload_source(const sample *t)
{
    tsr_source s = source_of(t);
    s.p = upload(t->p, sizeof *t->p * (size_t)(t->nrows + 1));
    s.i = upload(t->i, sizeof *t->i * (size_t)t->nvals);
    if (s.x)
        s.x = upload(t->x, tsr_number_size(t->number) * (size_t)t->nvals);
    return s;
}

static void free_source(tsr_source *s)
{
    tsr_cuda_free((void *)s->p, NULL);
    tsr_cuda_free((void *)s->i, NULL);
    tsr_cuda_free((void *)s->x, NULL);
}

/* ---- formats as lists of arrays ---- */

typedef struct array {
    const char *name;
    const void *p;
    size_t bytes;
} array;

typedef union any {
    tsr_windows w;
    tsr_me_tcf me_tcf;
    tsr_me_bcrs me_bcrs;
    tsr_bmat bmat;
    tsr_hrpb hrpb;
    tsr_panel panel;
    tsr_stencil stencil;
} any;

typedef struct kind {
    const char *name;
    int shape; /* height or width */
    tsr_status (*host)(any *, const tsr_source *, int shape, double iso);
    tsr_status (*device)(any *, const tsr_source *, int shape, double iso);
    void (*free_host)(any *);
    void (*free_device)(any *);
    int (*arrays)(const any *, tsr_number, array *);
} kind;

static int windows_arrays(const tsr_windows *w, array *out)
{
    size_t n = sizeof(int64_t) * (size_t)(w->nwindows + 1);
    out[0] = (array){ "entry", w->entry, n };
    out[1] = (array){ "vector", w->vector, n };
    out[2] = (array){ "block", w->block, n };
    out[3] = (array){ "column", w->column, 4 * (size_t)w->nvectors };
    return 4;
}

static tsr_status host_me_tcf(any *a, const tsr_source *in, int shape, double iso)
{
    (void)shape, (void)iso;
    return tsr_make_me_tcf(&a->me_tcf, in, 1);
}
static tsr_status device_me_tcf(any *a, const tsr_source *in, int shape, double iso)
{
    (void)shape, (void)iso;
    return tsr_cuda_make_me_tcf(&a->me_tcf, in, NULL);
}
static void free_host_me_tcf(any *a) { tsr_free_me_tcf(&a->me_tcf); }
static void free_device_me_tcf(any *a) { tsr_cuda_free_me_tcf(&a->me_tcf, NULL); }
static int arrays_me_tcf(const any *a, tsr_number number, array *out)
{
    const tsr_me_tcf *m = &a->me_tcf;
    int n = windows_arrays(&m->w, out);
    out[n++] = (array){ "block_entry", m->block_entry, 4 * (size_t)m->w.nblocks };
    out[n++] = (array){ "local", m->local, (size_t)m->w.nvals };
    out[n++] = (array){ "value", m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return n;
}

static tsr_status host_me_bcrs(any *a, const tsr_source *in, int shape, double iso)
{
    return tsr_make_me_bcrs(&a->me_bcrs, in, shape, iso, 1);
}
static tsr_status device_me_bcrs(any *a, const tsr_source *in, int shape, double iso)
{
    return tsr_cuda_make_me_bcrs(&a->me_bcrs, in, shape, iso, NULL);
}
static void free_host_me_bcrs(any *a) { tsr_free_me_bcrs(&a->me_bcrs); }
static void free_device_me_bcrs(any *a) { tsr_cuda_free_me_bcrs(&a->me_bcrs, NULL); }
static int arrays_me_bcrs(const any *a, tsr_number number, array *out)
{
    const tsr_me_bcrs *m = &a->me_bcrs;
    int n = windows_arrays(&m->w, out);
    out[n++] = (array){ "value", m->value, 8 * tsr_number_size(number) * (size_t)m->w.nvectors };
    return n;
}

static tsr_status host_bmat(any *a, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_make_bmat(&a->bmat, in, shape, 1);
}
static tsr_status device_bmat(any *a, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_cuda_make_bmat(&a->bmat, in, shape, NULL);
}
static void free_host_bmat(any *a) { tsr_free_bmat(&a->bmat); }
static void free_device_bmat(any *a) { tsr_cuda_free_bmat(&a->bmat, NULL); }
static int arrays_bmat(const any *a, tsr_number number, array *out)
{
    const tsr_bmat *m = &a->bmat;
    int n = windows_arrays(&m->w, out);
    out[n++] = (array){ "mask", m->mask, (size_t)m->w.nblocks * (size_t)m->w.height };
    out[n++] = (array){ "value", m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return n;
}

static tsr_status host_hrpb(any *a, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_make_hrpb(&a->hrpb, in, shape, 1);
}
static tsr_status device_hrpb(any *a, const tsr_source *in, int shape, double iso)
{
    (void)iso;
    return tsr_cuda_make_hrpb(&a->hrpb, in, shape, NULL);
}
static void free_host_hrpb(any *a) { tsr_free_hrpb(&a->hrpb); }
static void free_device_hrpb(any *a) { tsr_cuda_free_hrpb(&a->hrpb, NULL); }
static int arrays_hrpb(const any *a, tsr_number number, array *out)
{
    const tsr_hrpb *m = &a->hrpb;
    int n = windows_arrays(&m->w, out);
    size_t bricks = (size_t)m->nbricks;
    out[n++] = (array){ "brick", m->brick, sizeof(int64_t) * (size_t)(m->w.nwindows + 1) };
    out[n++] = (array){ "block_brick", m->block_brick, 4 * (size_t)m->w.nblocks };
    out[n++] = (array){ "position", m->position, bricks };
    out[n++] = (array){ "pattern", m->pattern, 8 * bricks };
    out[n++] = (array){ "brick_entry", m->brick_entry, 4 * bricks };
    out[n++] = (array){ "value", m->value, tsr_number_size(number) * (size_t)m->w.nvals };
    return n;
}

/* shape: height and width */
static tsr_status host_panel(any *a, const tsr_source *in, int shape, double iso)
{
    return tsr_make_panel(&a->panel, in, shape / 100, shape % 100, iso, 1);
}
static tsr_status device_panel(any *a, const tsr_source *in, int shape, double iso)
{
    return tsr_cuda_make_panel(&a->panel, in, shape / 100, shape % 100, iso, NULL);
}
static void free_host_panel(any *a) { tsr_free_panel(&a->panel); }
static void free_device_panel(any *a) { tsr_cuda_free_panel(&a->panel, NULL); }
static int arrays_panel(const any *a, tsr_number number, array *out)
{
    const tsr_panel *m = &a->panel;
    int n = windows_arrays(&m->w, out);
    (void)number;
    out[n++] = (array){ "begin", m->begin, sizeof(int64_t) * (size_t)(m->w.nblocks + 1) };
    out[n++] = (array){ "first", m->first, sizeof(int64_t) * (size_t)(m->w.nblocks + 1) };
    out[n++] = (array){ "data", m->data, TSR_PANEL_UNIT * (size_t)(m->nunits + 1) };
    return n;
}

static tsr_status host_stencil(any *a, const tsr_source *in, int shape, double iso)
{
    (void)shape, (void)iso;
    return tsr_make_stencil(&a->stencil, in, 1);
}
static tsr_status device_stencil(any *a, const tsr_source *in, int shape, double iso)
{
    (void)shape, (void)iso;
    return tsr_cuda_make_stencil(&a->stencil, in, NULL);
}
static void free_host_stencil(any *a) { tsr_free_stencil(&a->stencil); }
static void free_device_stencil(any *a) { tsr_cuda_free_stencil(&a->stencil, NULL); }
static int arrays_stencil(const any *a, tsr_number number, array *out)
{
    const tsr_stencil *m = &a->stencil;
    int n = windows_arrays(&m->w, out);
    (void)number;
    out[n++] = (array){ "slots", m->slots, sizeof *m->slots * 32 * (size_t)m->w.nblocks };
    return n;
}

#define KIND(format, shape) \
    { #format, shape, host_##format, device_##format, free_host_##format, free_device_##format, arrays_##format }
static const kind kinds[] = {KIND(me_tcf, 16),  KIND(me_bcrs, 8),  KIND(me_bcrs, 16), KIND(bmat, 8),
                             KIND(bmat, 16),    KIND(hrpb, 16),    KIND(hrpb, 32),    KIND(hrpb, 64),
                             KIND(panel, 3232), KIND(panel, 6464), KIND(panel, 3224), KIND(panel, 6448),
                             KIND(stencil, 32)};
#define KINDS (int)(sizeof kinds / sizeof *kinds)

/* Panels have no 16-bit numbers. */
static bool has_number(const kind *f, tsr_number number) { return f->device != device_panel || tsr_number_size(number) > 2; }

/* ---- comparing ---- */

static bool same_arrays(sample *t, const char *name, const array *host, const array *device, int n)
{
    char what[100];
    for (int k = 0; k < n; k++) {
        snprintf(what, sizeof what, "%s.%s", name, host[k].name);
        if (!host[k].p != !device[k].p)
            return wrong(t, what, "only one is NULL");
        if (!host[k].p)
            continue;
        if (host[k].bytes != device[k].bytes)
            return wrong(t, what, "another length");
        void *copy = download(device[k].p, device[k].bytes);
        bool same = memcmp(copy, host[k].p, host[k].bytes) == 0;
        free(copy);
        if (!same)
            return wrong(t, what, "other bits");
    }
    return true;
}

static bool same_sizes(const tsr_windows *a, const tsr_windows *b)
{
    return a->height == b->height && a->width == b->width && a->nrows == b->nrows && a->ncols == b->ncols &&
           a->nvals == b->nvals && a->nwindows == b->nwindows && a->nvectors == b->nvectors && a->nblocks == b->nblocks;
}

static int work_arrays(const tsr_work *w, array *out)
{
    size_t n = sizeof(int64_t) * (size_t)w->nitems, split = sizeof(int64_t) * (size_t)w->nsplit;
    out[0] = (array){ "window", w->window, n };
    out[1] = (array){ "block", w->block, n + sizeof(int64_t) };
    out[2] = (array){ "entry", w->entry, n };
    out[3] = (array){ "partial", w->partial, n };
    out[4] = (array){ "split_window", w->split_window, split };
    out[5] = (array){ "split_partial", w->split_partial, split + sizeof(int64_t) };
    return 6;
}

static void check_work(sample *t, const any *host, const any *device, bool bmat)
{
    static const int64_t mosts[] = { 1, 2, 3, 7, 64, INT64_MAX };
    int64_t most = mosts[below(t, 6)];
    tsr_work a, b;
    array in_a[MOST_ARRAYS], in_b[MOST_ARRAYS];
    if (tsr_make_work(&a, &host->w, bmat ? host->bmat.mask : NULL, most) != TSR_OK)
        abort();
    if (tsr_cuda_make_work(&b, &device->w, bmat ? device->bmat.mask : NULL, most, NULL) != TSR_OK)
        wrong(t, "work", "failed");
    else if (a.nitems != b.nitems || a.nsplit != b.nsplit || a.npartials != b.npartials)
        wrong(t, "work", "other sizes");
    else {
        work_arrays(&b, in_b);
        same_arrays(t, "work", in_a, in_b, work_arrays(&a, in_a));
    }
    tsr_cuda_free_work(&b, NULL);
    tsr_free_work(&a);
}

static void check_kind(sample *t, const kind *f, const tsr_source *device_source)
{
    any host, device;
    array in_host[MOST_ARRAYS], in_device[MOST_ARRAYS];
    tsr_source source = source_of(t);
    if (!has_number(f, t->number)) {
        if (f->host(&host, &source, f->shape, t->iso) != TSR_INVALID_VALUE ||
            f->device(&device, device_source, f->shape, t->iso) != TSR_INVALID_VALUE)
            wrong(t, f->name, "a number that it does not have");
        return;
    }
    if (f->host(&host, &source, f->shape, t->iso) != TSR_OK)
        abort();
    if (f->device(&device, device_source, f->shape, t->iso) != TSR_OK) {
        wrong(t, f->name, "failed");
        f->free_host(&host);
        return;
    }
    if (!same_sizes(&host.w, &device.w) || (f->device == device_hrpb && host.hrpb.nbricks != device.hrpb.nbricks) ||
        (f->device == device_panel && host.panel.largest != device.panel.largest))
        wrong(t, f->name, "other sizes");
    else {
        f->arrays(&device, t->number, in_device);
        if (same_arrays(t, f->name, in_host, in_device, f->arrays(&host, t->number, in_host)))
            check_work(t, &host, &device, f->device == device_bmat);
    }
    f->free_host(&host);
    f->free_device(&device);
}

static void check_vectors(sample *t, const tsr_source *device)
{
    int64_t vectors[5];
    tsr_statistics host;
    tsr_source source = source_of(t);
    if (tsr_make_statistics(&host, &source, 1) != TSR_OK)
        abort();
    if (tsr_cuda_count_vectors(vectors, device, NULL) != TSR_OK)
        wrong(t, "count_vectors", "failed");
    else if (memcmp(vectors, host.vectors, sizeof vectors) != 0)
        wrong(t, "count_vectors", "other numbers");
}

static void check_degrees(sample *t, const tsr_source *device)
{
    const int64_t mosts[] = {TSR_DEGREE_SAMPLE, t->nvals / 3 + 2};
    tsr_degrees host, got;
    tsr_source source = source_of(t);
    for (int k = 0; k < 2 && t->ncols <= 100000; k++) {
        if (tsr_count_degrees(&host, &source, mosts[k], 1) != TSR_OK)
            abort();
        if (tsr_cuda_count_degrees(&got, device, mosts[k], NULL) != TSR_OK)
            wrong(t, "count_degrees", "failed");
        else if (memcmp(&got, &host, sizeof got) != 0)
            wrong(t, "count_degrees", "other numbers");
    }
}

/* ---- transposition ---- */

/* Rows that are not sorted: every row of the sample turned round. */
static void jumble(const sample *t, uint32_t *i)
{
    for (int64_t r = 0; r < t->nrows; r++)
        for (int64_t e = t->p[r]; e < t->p[r + 1]; e++)
            i[e] = t->i[t->p[r] + t->p[r + 1] - 1 - e];
}

static void flip_host(const sample *t, const uint32_t *i, int size, int64_t *p, uint32_t *rows, char *x)
{
    for (int64_t e = 0; e < t->nvals; e++)
        p[i[e] + 1]++;
    for (int64_t c = 0; c < t->ncols; c++)
        p[c + 1] += p[c];
    for (int64_t r = 0; r < t->nrows; r++)
        for (int64_t e = t->p[r]; e < t->p[r + 1]; e++) {
            int64_t to = p[i[e]]++;
            rows[to] = (uint32_t)r;
            memcpy(x + to * size, (char *)t->x + e * size, (size_t)size);
        }
    memmove(p + 1, p, sizeof *p * (size_t)t->ncols);
    p[0] = 0;
}

static void check_flip(sample *t)
{
    static const int sizes[] = { 0, 1, 2, 4, 8 };
    int size = sizes[below(t, 5)];
    if (t->ncols > 10000)
        return; /* as many offsets */
    size_t bytes = (size_t)size * (size_t)t->nvals, of_i = sizeof(uint32_t) * (size_t)t->nvals,
           of_p = sizeof(int64_t) * (size_t)(t->ncols + 1);
    uint32_t *i = alloc(of_i), *rows = alloc(of_i);
    int64_t *p = alloc(of_p);
    char *x = alloc(bytes);
    if (chance(t, 50))
        jumble(t, i);
    else
        memcpy(i, t->i, of_i);
    flip_host(t, i, size, p, rows, x);
    tsr_cuda_csr in = { .nrows = t->nrows, .ncols = t->ncols, .nvals = t->nvals }, out;
    in.p = upload(t->p, sizeof *t->p * (size_t)(t->nrows + 1));
    in.i = upload(i, of_i);
    in.x = size ? upload(t->x, bytes) : NULL;
    if (tsr_cuda_flip(&out, &in, size, NULL) != TSR_OK)
        wrong(t, "flip", "failed");
    else if (out.nrows != t->ncols || out.ncols != t->nrows || out.nvals != t->nvals)
        wrong(t, "flip", "other sizes");
    else {
        array expected[] = { { "p", p, of_p }, { "i", rows, of_i }, { "x", size ? x : NULL, bytes } };
        array got[] = { { "p", out.p, of_p }, { "i", out.i, of_i }, { "x", out.x, bytes } };
        same_arrays(t, "flip", expected, got, 3);
    }
    void *const on_device[] = { in.p, in.i, in.x, out.p, out.i, out.x };
    for (int k = 0; k < 6; k++)
        tsr_cuda_free(on_device[k], NULL);
    free(i);
    free(rows);
    free(p);
    free(x);
}

/* ---- failures ---- */

static tsr_status make_all(sample *t, int what, const tsr_source *source)
{
    any a;
    tsr_work work;
    tsr_cuda_csr in = {.nrows = t->nrows,
                       .ncols = t->ncols,
                       .nvals = t->nvals,
                       .p = (int64_t *)source->p,
                       .i = (uint32_t *)source->i,
                       .x = (void *)source->x},
                 out;
    int64_t vectors[5];
    tsr_degrees columns;
    tsr_status status;
    if (what == KINDS)
        return tsr_cuda_count_vectors(vectors, source, NULL);
    if (what == KINDS + 2)
        return tsr_cuda_count_degrees(&columns, source, TSR_DEGREE_SAMPLE, NULL);
    if (what == KINDS + 1) {
        status = tsr_cuda_flip(&out, &in, (int)tsr_number_size(t->number), NULL);
        tsr_cuda_free(out.p, NULL);
        tsr_cuda_free(out.i, NULL);
        tsr_cuda_free(out.x, NULL);
        return status;
    }
    if (!has_number(&kinds[what], source->number))
        return TSR_OK;
    status = kinds[what].device(&a, source, kinds[what].shape, t->iso);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_make_work(&work, &a.w, kinds[what].device == device_bmat ? a.bmat.mask : NULL, 2, NULL);
    tsr_cuda_free_work(&work, NULL);
    kinds[what].free_device(&a);
    return status;
}

/* Every allocation fails once. */
static void check_failures(sample *t, int what, const tsr_source *source)
{
    if (!tsr_emulate_fail_malloc || (what > KINDS && t->ncols > 10000))
        return;
    for (long k = 1;; k++) {
        long live = tsr_emulate_live_blocks(), asked = tsr_emulate_mallocs();
        tsr_emulate_fail_malloc(k);
        tsr_status status = make_all(t, what, source);
        tsr_emulate_fail_malloc(0);
        bool failed = tsr_emulate_mallocs() - asked >= k;
        if (status != (failed ? TSR_OUT_OF_MEMORY : TSR_OK))
            wrong(t, "allocation that fails", tsr_status_string(status));
        if (tsr_emulate_live_blocks() != live)
            wrong(t, "allocation that fails", "leak");
        if (!failed)
            return;
    }
}

/* Sizes that no format has, too many columns, too many entries in a window (whose indices are then not looked at). */
static void check_refusals(sample *t)
{
    any a;
    const int64_t offsets[] = { 0, (int64_t)1 << 31 };
    tsr_source crowded = { .nrows = 1, .ncols = (int64_t)1 << 32, .nvals = 2, .p = upload(offsets, sizeof offsets) };
    tsr_source large = { .nrows = 0, .ncols = ((int64_t)1 << 32) + 1, .nvals = 0 };
    tsr_windows none = { .height = 8 };
    tsr_work work;
    int64_t vectors[5];
    tsr_degrees columns;
    if (tsr_cuda_make_bmat(&a.bmat, &large, 32, NULL) != TSR_INVALID_VALUE ||
        tsr_cuda_make_hrpb(&a.hrpb, &large, 8, NULL) != TSR_INVALID_VALUE ||
        tsr_cuda_make_me_bcrs(&a.me_bcrs, &large, 4, 1, NULL) != TSR_INVALID_VALUE ||
        tsr_cuda_make_work(&work, &none, NULL, 0, NULL) != TSR_INVALID_VALUE)
        wrong(t, "invalid sizes", "accepted");
    if (tsr_cuda_make_bmat(&a.bmat, &large, 8, NULL) != TSR_NOT_SUPPORTED ||
        tsr_cuda_count_vectors(vectors, &large, NULL) != TSR_NOT_SUPPORTED ||
        tsr_cuda_count_degrees(&columns, &large, TSR_DEGREE_SAMPLE, NULL) != TSR_NOT_SUPPORTED)
        wrong(t, "too many columns", "accepted");
    if (tsr_cuda_make_bmat(&a.bmat, &crowded, 8, NULL) != TSR_NOT_SUPPORTED ||
        tsr_cuda_count_vectors(vectors, &crowded, NULL) != TSR_NOT_SUPPORTED)
        wrong(t, "too many entries in a window", "accepted");
    tsr_cuda_free((void *)crowded.p, NULL);
}

static int run_case(uint64_t seed)
{
    sample t;
    long live = tsr_emulate_live_blocks ? tsr_emulate_live_blocks() : 0;
    draw(&t, seed);
    tsr_source source = upload_source(&t);
    for (int k = 0; k < KINDS; k++)
        check_kind(&t, &kinds[k], &source);
    check_vectors(&t, &source);
    check_degrees(&t, &source);
    check_flip(&t);
    check_refusals(&t);
    if (seed % 8 == 0)
        check_failures(&t, (int)below(&t, KINDS + 3), &source);
    free_source(&source);
    if (tsr_emulate_live_blocks && tsr_emulate_live_blocks() != live)
        wrong(&t, "device memory", "leak");
    drop(&t);
    return t.failures;
}

int main(int argc, char **argv)
{
    const char *rounds = getenv("TSR_TEST_ROUNDS");
    return run_seeds(argc, argv, "test_convert", rounds ? strtoull(rounds, NULL, 10) : 200, run_case);
}
