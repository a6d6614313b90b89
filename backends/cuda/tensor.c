/* Representations beside plain CSR: block formats for the Tensor-Core kernels, and values in 16 bits.
 *
 * The rule, where TESSERA_KERNEL does not name a kernel: plus_times (or plus_second) over FP32 or FP64 with a full B, by panels
 * also min and max over plus and times, and integers; enough
 * entries per nonzero vector, so that fewer rows of B are fetched than by CSR (`rules`); and as much time spent on CSR products
 * that blocks could have spared as building them takes (or as many calls announced).
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sparse.h"

typedef struct shape {
    tsr_cuda_kind kind;
    int height, width;
} shape;

/* Which format, from how many entries per nonzero vector of some height on and for how many columns; the first that matches,
 * else CSR (in 16 bits where these are allowed).  From bench_gpu on an H200, nine graphs, N = 32 and 128, 2026-11-21: Tensor
 * Cores where windows are dense, else panels where rows share columns, which also compute TF32 products exactly and faster. */
typedef struct rule {
    tsr_cuda_math math;
    int vector_height;
    double least_density;
    int64_t least_columns;
    shape shape;
} rule;

static const rule rules[] = {
    {TSR_CUDA_EXACT, 8, 2.5, 2, {TSR_CUDA_ME_BCRS, 8, 8}}, {TSR_CUDA_EXACT, 32, 1.05, 64, {TSR_CUDA_PANEL, 0, 0}},
    {TSR_CUDA_TF32, 8, 2.5, 2, {TSR_CUDA_HRPB, 16, 16}},   {TSR_CUDA_TF32, 32, 1.05, 64, {TSR_CUDA_PANEL, 0, 0}},
    {TSR_CUDA_FP64, 8, 2.5, 2, {TSR_CUDA_BMAT, 16, 8}},    {TSR_CUDA_FP64, 32, 1.05, 64, {TSR_CUDA_PANEL, 32, 24}},
    {TSR_CUDA_FP16, 8, 1.9, 2, {TSR_CUDA_HRPB, 16, 16}},   {TSR_CUDA_BF16, 8, 1.9, 2, {TSR_CUDA_HRPB, 16, 16}},
    {TSR_CUDA_FP16, 8, 1.4, 2, {TSR_CUDA_CSR, 0, 0}},      {TSR_CUDA_BF16, 8, 1.4, 2, {TSR_CUDA_CSR, 0, 0}},
    {TSR_CUDA_FP16, 64, 1.7, 96, {TSR_CUDA_PANEL, 64, 48}}, {TSR_CUDA_BF16, 64, 1.7, 96, {TSR_CUDA_PANEL, 64, 48}},
};

/* For a kernel asked for by name. */
static const shape named_shapes[TSR_CUDA_KIND_COUNT] = {
    {TSR_CUDA_CSR, 0, 0},    {TSR_CUDA_ME_TCF, 16, 8}, {TSR_CUDA_ME_BCRS, 8, 8},
    {TSR_CUDA_HRPB, 16, 16}, {TSR_CUDA_BMAT, 8, 8},    {TSR_CUDA_PANEL, 32, 24},
};

/* Heights that a kernel has beside that one, all of them powers of 2. */
static const int other_heights[TSR_CUDA_KIND_COUNT] = {[TSR_CUDA_HRPB] = 32 | 64, [TSR_CUDA_BMAT] = 16, [TSR_CUDA_PANEL] = 64};

/* ms, of the same day: fetching a byte of B; counting and building, per entry and at least; any product at least.  And the
 * share of a CSR product that blocks are hoped to spare. */
static const double fetch_ms = 1.1e-10, build_entry_ms = 7e-8, build_start_ms = 0.2, launch_ms = 0.005, spared = 0.3;

static const char *const kind_name[TSR_CUDA_KIND_COUNT] = {"csr", "me-tcf", "me-bcrs", "hrpb", "bmat", "panel"};

static const char *const names[TSR_CUDA_KIND_COUNT][TSR_CUDA_MATH_COUNT] = {
    {"csr", "csr", "csr-fp16", "csr-bf16", "csr"},
    {"me-tcf-exact", "me-tcf-tf32", "me-tcf-fp16", "me-tcf-bf16", "me-tcf-fp64"},
    {"me-bcrs-exact", "me-bcrs-tf32", "me-bcrs-fp16", "me-bcrs-bf16", "me-bcrs-fp64"},
    {"hrpb-exact", "hrpb-tf32", "hrpb-fp16", "hrpb-bf16", "hrpb-fp64"},
    {"bmat-exact", "bmat-tf32", "bmat-fp16", "bmat-bf16", "bmat-fp64"},
    {"panel-fp32", "panel-fp32", "panel-fp16", "panel-bf16", "panel-fp64"},
};

/* What an element of B must stay below: finite, also after rounding, and 2^127 where FP32 is split or rounded to TF32. */
static const double limits[TSR_CUDA_MATH_COUNT] = {
    [TSR_CUDA_EXACT] = 0x1p127, [TSR_CUDA_TF32] = 0x1p127, [TSR_CUDA_FP16] = 65520.0, [TSR_CUDA_BF16] = 0x1.ffp127,
    [TSR_CUDA_FP64] = INFINITY,
};

/* ---- which ---- */

static bool is_real(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64;
}

/* What Tensor Cores compute: plus_times of real numbers. */
static bool is_sum(tsr_semiring s)
{
    return s.add == TSR_ADD_PLUS && (s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_SECOND) && is_real(s.type);
}

/* What only panels compute beside CSR. */
static bool is_for_panels(tsr_semiring s)
{
    bool times = s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_SECOND;
    if (tsr_cuda_type_size(s.type) < 4)
        return false;
    return s.add == TSR_ADD_PLUS ? times && !is_real(s.type)
                                 : (s.add == TSR_ADD_MIN || s.add == TSR_ADD_MAX) && (times || s.mul == TSR_MUL_PLUS);
}

/* The one value of A is kept as a real number: integers have no room in it. */
static bool iso_fits(const tsr_product *p)
{
    return !p->a.iso || p->semiring.mul == TSR_MUL_SECOND || is_real(p->semiring.type);
}

static bool could_be_blocks(const tsr_product *p)
{
    return p->op == TSR_OP_SPMM && p->n > 1 && p->b.format == TSR_FULL &&
           (is_sum(p->semiring) || (is_for_panels(p->semiring) && iso_fits(p)));
}

/* A kernel asked for by name, "bmat", or by name and height, "bmat-16". */
static bool named_shape(shape *s, const tsr_product *p)
{
    for (int kind = 0; p->kernel && kind < TSR_CUDA_KIND_COUNT; kind++) {
        size_t length = strlen(kind_name[kind]);
        if (strncmp(p->kernel, kind_name[kind], length) != 0 || (p->kernel[length] && p->kernel[length] != '-'))
            continue;
        *s = named_shapes[kind];
        int height = p->kernel[length] ? atoi(p->kernel + length + 1) : s->height;
        if (height == s->height)
            return true;
        s->height = height;
        s->width = kind == TSR_CUDA_PANEL ? tsr_panel_width(height) : s->width;
        return (height == 16 || height == 32 || height == 64) && (other_heights[kind] & height);
    }
    return false;
}

/* Values of A beyond FP16 would become infinite. */
static tsr_status check_range(tsr_cuda_sparse *a)
{
    if (a->account.checked || !a->csr.x || a->csr.nvals == 0)
        return TSR_OK;
    int flag = 0, *device_flag;
    tsr_status status = tsr_cuda_new((void **)&device_flag, sizeof flag);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_set(device_flag, 0, sizeof flag, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_check_finite(device_flag, a->csr.x, TSR_NUMBER_FP32, a->csr.nvals, 1, a->csr.nvals,
                                       limits[TSR_CUDA_FP16], tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&flag, device_flag, sizeof flag, tsr_cuda.compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    tsr_cuda_delete(device_flag);
    status = status == TSR_OK ? waited : status;
    a->account.checked = status == TSR_OK;
    a->account.out_of_range = flag != 0;
    return status;
}

static tsr_status choose_math(tsr_cuda_math *math, tsr_cuda_sparse *a, const tsr_product *p, double iso)
{
    static const tsr_cuda_math of_precision[] = {
        [TSR_PRECISION_EXACT] = TSR_CUDA_EXACT, [TSR_PRECISION_TF32] = TSR_CUDA_TF32, [TSR_PRECISION_BF16] = TSR_CUDA_BF16,
        [TSR_PRECISION_FP16] = TSR_CUDA_FP16,
    };
    bool wide = tsr_cuda_type_size(p->semiring.type) == 8;
    *math = wide ? TSR_CUDA_FP64 : is_sum(p->semiring) ? of_precision[p->precision] : TSR_CUDA_EXACT;
    if (*math != TSR_CUDA_FP16)
        return TSR_OK;
    tsr_status status = check_range(a);
    if (a->account.out_of_range || !(fabs(iso) < limits[TSR_CUDA_FP16]))
        *math = TSR_CUDA_EXACT;
    return status;
}

/* SECOND is TIMES with ones (over integers: the real number with the bits of one), over MIN and MAX PLUS with zeros. */
static double second_value(tsr_semiring s)
{
    static const uint32_t one = 1;
    float bits;
    memcpy(&bits, &one, sizeof bits);
    if (s.add != TSR_ADD_PLUS)
        return 0.0;
    return is_real(s.type) ? 1.0 : tsr_cuda_type_size(s.type) == 8 ? 0x1p-1074 : (double)bits;
}

static double iso_value(const tsr_product *p)
{
    if (p->semiring.mul == TSR_MUL_SECOND)
        return second_value(p->semiring);
    if (!p->a.iso || !p->a.x)
        return 1.0;
    return p->semiring.type == TSR_FP64 ? *(const double *)p->a.x : (double)*(const float *)p->a.x;
}

static tsr_source source_of(const tsr_cuda_sparse *a)
{
    const tsr_cuda_csr *c = &a->csr;
    return (tsr_source){.nrows = c->nrows, .ncols = c->ncols, .nvals = c->nvals, .p = c->p, .i = c->i, .x = c->x,
                             .number = tsr_cuda_type_size(a->key.type) == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32};
}

/* The order of rows is decided first. */
static tsr_status count_vectors(tsr_cuda_sparse *a, tsr_reorder wanted)
{
    if (a->account.counted)
        return TSR_OK;
    /* keys to sort and a copy; labels or sketches */
    size_t working = (size_t)a->csr.nvals * 28 + (size_t)(a->csr.nrows + a->csr.ncols) * 112;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_source pattern = source_of(a), ordered = {0};
    pattern.x = NULL;
    tsr_status status = tsr_cuda_decide_order(&a->order, &pattern, wanted);
    if (status == TSR_OK)
        status = tsr_cuda_in_order(&ordered, &a->order, &pattern);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(a->account.vectors, &ordered, tsr_cuda.compute);
    tsr_cuda_end_order(&ordered, &a->order);
    tsr_cuda_unreserve(working);
    a->account.counted = status == TSR_OK;
    return status;
}

static double csr_ms(const tsr_cuda_sparse *a, const tsr_product *p)
{
    return (double)a->csr.nvals * (double)p->n * (double)tsr_cuda_type_size(p->semiring.type) * fetch_ms + launch_ms;
}

static bool has_paid(const tsr_cuda_sparse *a, const tsr_product *p)
{
    double products = p->expected_calls > 0 ? p->expected_calls * csr_ms(a, p) : a->account.spent_ms;
    tsr_source source = source_of(a);
    double order_ms = a->account.counted ? 0 : tsr_cuda_order_ms(&source, p->reorder);
    return products * spared >= (double)a->csr.nvals * build_entry_ms + build_start_ms + order_ms;
}

/* Nonzero vectors, counted before. */
static int64_t vectors_of(const tsr_cuda_sparse *a, int height)
{
    int at = 0;
    while (8 << at < height)
        at++;
    return a->account.vectors[at];
}

/* EXACT on Tensor Cores errs about as much as adding six products one by one in FP32: too much for shorter rows. */
static bool rows_are_too_short(const rule *r, const tsr_cuda_sparse *a)
{
    return r->math == TSR_CUDA_EXACT && r->shape.kind != TSR_CUDA_PANEL && a->csr.nvals < 6 * a->csr.nrows;
}

/* Where rows are in another order, CSR, which has their own, brings most rows of B from memory again and again, unless B fits the cache. */
static int64_t least_columns(const rule *r, const tsr_cuda_sparse *a, int64_t n)
{
    double b_bytes = (double)a->csr.ncols * (double)n * (double)tsr_cuda_type_size(a->key.type);
    bool gains = a->order.row && b_bytes > (double)tsr_cuda.device.l2_bytes;
    return gains ? r->least_columns / 2 : r->least_columns;
}

static bool applies(const rule *r, const tsr_cuda_sparse *a, const tsr_cuda_plan *plan, int64_t n)
{
    return r->math == plan->math && !rows_are_too_short(r, a) && n >= least_columns(r, a, n) &&
           (is_sum(plan->semiring) || r->shape.kind == TSR_CUDA_PANEL) &&
           (double)a->csr.nvals >= r->least_density * (double)vectors_of(a, r->vector_height);
}

/* NULL: CSR. */
static const rule *find_rule(const tsr_cuda_sparse *a, const tsr_cuda_plan *plan, int64_t n)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (applies(&rules[k], a, plan, n))
            return &rules[k];
    return NULL;
}

/* Height 0: as the matrix wants it. */
static shape resolve(shape s, const tsr_cuda_sparse *a)
{
    if (s.height == 0 && s.kind == TSR_CUDA_PANEL) {
        s.height = tsr_panel_height(a->csr.nrows, a->account.vectors);
        s.width = tsr_panel_width(s.height);
    }
    return s;
}

static bool is_half(tsr_cuda_math math)
{
    return math == TSR_CUDA_FP16 || math == TSR_CUDA_BF16;
}

/* ---- building ---- */

/* Formats without a pattern form store the one value of a pattern. */
static bool stores_iso(tsr_cuda_kind kind)
{
    return kind == TSR_CUDA_ME_BCRS || kind == TSR_CUDA_PANEL;
}

/* Panels keep values of A in full where B has 16 bits. */
static tsr_number stored_number(tsr_cuda_kind kind, tsr_cuda_math math)
{
    return kind == TSR_CUDA_PANEL && math != TSR_CUDA_FP64 ? TSR_NUMBER_FP32 : tsr_cuda_number(math);
}

/* What a format of this shape would be. */
static tsr_cuda_blocks describe(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, shape s)
{
    return (tsr_cuda_blocks){.kind = s.kind, .height = s.height, .width = s.width, .number = stored_number(s.kind, plan->math),
                             .iso = stores_iso(s.kind) && !a->csr.x ? plan->iso : 1.0};
}

static tsr_cuda_blocks *find_blocks(tsr_cuda_blocks *list, const tsr_cuda_blocks *like)
{
    tsr_cuda_blocks *b = list;
    while (b && (b->kind != like->kind || b->number != like->number || b->height != like->height || b->width != like->width ||
                 memcmp(&b->iso, &like->iso, sizeof b->iso) != 0))
        b = b->next;
    return b;
}

static size_t at_most_bytes(const tsr_cuda_sparse *a, const tsr_cuda_blocks *b)
{
    size_t size = a->csr.x || stores_iso(b->kind) ? tsr_number_size(b->number) : 0, nvals = (size_t)a->csr.nvals;
    if (b->kind == TSR_CUDA_CSR)
        return nvals * size + 256;
    size_t vectors = (size_t)vectors_of(a, b->height), windows = (size_t)(a->csr.nrows / b->height + 1);
    size_t blocks = vectors / (size_t)b->width + windows, items = blocks + windows;
    size_t common = 24 * windows + 4 * vectors + 48 * items + 65536;
    switch (b->kind) {
    case TSR_CUDA_ME_TCF: return common + 4 * blocks + nvals * (1 + size);
    case TSR_CUDA_ME_BCRS: return common + 8 * vectors * size;
    case TSR_CUDA_HRPB: return common + 8 * windows + 4 * blocks + 13 * vectors + nvals * size;
    case TSR_CUDA_PANEL: return common + 64 * blocks + 2 * nvals * size;
    default: return common + 16 * blocks + nvals * size;
    }
}

static tsr_status make_format(tsr_cuda_blocks *b, const tsr_source *source)
{
    tsr_status status = TSR_DECLINED;
    switch (b->kind) {
    case TSR_CUDA_ME_TCF: status = tsr_cuda_make_me_tcf(&b->as.me_tcf, source, tsr_cuda.compute); break;
    case TSR_CUDA_ME_BCRS:
        status = tsr_cuda_make_me_bcrs(&b->as.me_bcrs, source, b->width, b->iso, tsr_cuda.compute);
        break;
    case TSR_CUDA_HRPB: status = tsr_cuda_make_hrpb(&b->as.hrpb, source, b->height, tsr_cuda.compute); break;
    case TSR_CUDA_BMAT: status = tsr_cuda_make_bmat(&b->as.bmat, source, b->height, tsr_cuda.compute); break;
    case TSR_CUDA_PANEL:
        status = tsr_cuda_make_panel(&b->as.panel, source, b->height, b->width, b->iso, tsr_cuda.compute);
        break;
    case TSR_CUDA_CSR: return TSR_OK;
    }
    return status;
}

static const tsr_windows *windows_of(const tsr_cuda_blocks *b)
{
    switch (b->kind) {
    case TSR_CUDA_ME_TCF: return &b->as.me_tcf.w;
    case TSR_CUDA_ME_BCRS: return &b->as.me_bcrs.w;
    case TSR_CUDA_HRPB: return &b->as.hrpb.w;
    case TSR_CUDA_PANEL: return &b->as.panel.w;
    default: return &b->as.bmat.w;
    }
}

static void free_format(tsr_cuda_blocks *b)
{
    switch (b->kind) {
    case TSR_CUDA_ME_TCF: tsr_cuda_free_me_tcf(&b->as.me_tcf, tsr_cuda.compute); break;
    case TSR_CUDA_ME_BCRS: tsr_cuda_free_me_bcrs(&b->as.me_bcrs, tsr_cuda.compute); break;
    case TSR_CUDA_HRPB: tsr_cuda_free_hrpb(&b->as.hrpb, tsr_cuda.compute); break;
    case TSR_CUDA_BMAT: tsr_cuda_free_bmat(&b->as.bmat, tsr_cuda.compute); break;
    case TSR_CUDA_PANEL: tsr_cuda_free_panel(&b->as.panel, tsr_cuda.compute); break;
    case TSR_CUDA_CSR: tsr_cuda_delete(b->as.half); break;
    }
}

/* Blocks of a work item: long enough to hide its start, short enough to spread a dense window over the device. */
static tsr_status most_of(int64_t *most, const tsr_cuda_blocks *b)
{
    int64_t longest = 0;
    *most = 64;
    if (b->kind == TSR_CUDA_PANEL)
        *most = tsr_cuda_panel_most(windows_of(b), &tsr_cuda.device);
    if (b->kind == TSR_CUDA_ME_BCRS)
        *most = tsr_cuda_me_bcrs_most(windows_of(b), &tsr_cuda.device);
    if (b->kind != TSR_CUDA_ME_TCF && b->kind != TSR_CUDA_HRPB)
        return TSR_OK;
    tsr_status status = tsr_cuda_longest_window(&longest, windows_of(b), tsr_cuda.compute);
    *most = b->kind == TSR_CUDA_HRPB ? tsr_cuda_hrpb_most(windows_of(b), longest, &tsr_cuda.device)
                                     : tsr_cuda_me_tcf_most(windows_of(b), longest, &tsr_cuda.device);
    return status;
}

static tsr_status make_blocks(tsr_cuda_blocks *b, const tsr_source *source)
{
    int64_t most;
    tsr_status status = make_format(b, source);
    if (status != TSR_OK)
        return status;
    const uint64_t *mask = b->kind == TSR_CUDA_BMAT ? b->as.bmat.mask : NULL;
    status = most_of(&most, b);
    if (status == TSR_OK)
        status = tsr_cuda_make_work(&b->work, windows_of(b), mask, most, tsr_cuda.compute);
    if (status != TSR_OK)
        free_format(b);
    return status;
}

/* The values as the format stores them. */
static tsr_status make_from_values(tsr_cuda_blocks *b, const tsr_cuda_sparse *a)
{
    tsr_source source = source_of(a);
    void *rounded = NULL;
    tsr_status status = TSR_OK;
    if (source.x && b->number != source.number) {
        status = tsr_cuda_new(&rounded, (size_t)source.nvals * tsr_number_size(b->number));
        if (status == TSR_OK)
            status = tsr_cuda_convert(rounded, b->number, source.nvals, source.x, source.number, source.nvals, 1, source.nvals,
                                      tsr_cuda.compute);
        source.x = rounded;
    }
    source.number = b->number;
    if (status == TSR_OK && b->kind == TSR_CUDA_CSR) {
        b->as.half = rounded;
        return TSR_OK;
    }
    tsr_source ordered = {0};
    if (status == TSR_OK)
        status = tsr_cuda_in_order(&ordered, &a->order, &source);
    if (status == TSR_OK)
        status = make_blocks(b, &ordered);
    tsr_cuda_end_order(&ordered, &a->order);
    tsr_cuda_delete(rounded);
    return status;
}

/* *out = NULL: there is no memory for it, or the format does not take this matrix. */
static tsr_status build(tsr_cuda_blocks **out, tsr_cuda_sparse *a, const tsr_cuda_blocks *like)
{
    tsr_cuda_blocks *b = calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return TSR_OUT_OF_MEMORY;
    *b = *like;
    size_t working = b->kind == TSR_CUDA_CSR ? 0 : (size_t)a->csr.nvals * (a->order.row ? 44 : 32);
    b->bytes = at_most_bytes(a, b);
    if (!tsr_cuda_reserve(b->bytes + working)) {
        free(b);
        return TSR_OUT_OF_MEMORY;
    }
    tsr_status status = make_from_values(b, a);
    tsr_cuda_unreserve(working);
    if (status == TSR_OK) {
        b->next = a->blocks;
        *out = a->blocks = b;
        return TSR_OK;
    }
    tsr_cuda_unreserve(b->bytes);
    free(b);
    return status;
}

void tsr_cuda_blocks_free(tsr_cuda_blocks *list)
{
    for (tsr_cuda_blocks *b = list, *next; b; b = next) {
        next = b->next;
        tsr_cuda_free_work(&b->work, tsr_cuda.compute);
        free_format(b);
        tsr_cuda_unreserve(b->bytes);
        free(b);
    }
}

/* ---- the plan ---- */

static tsr_status find_or_build(tsr_cuda_plan *plan, tsr_cuda_sparse *a, shape wanted, tsr_reorder reorder)
{
    tsr_cuda_blocks like = describe(plan, a, wanted), *b = find_blocks(a->blocks, &like);
    tsr_status status = TSR_OK;
    if (!b) {
        status = wanted.kind == TSR_CUDA_CSR ? TSR_OK : count_vectors(a, reorder);
        if (status == TSR_OK)
            status = build(&b, a, &like);
    }
    if (b && !b->refused) {
        plan->blocks = b;
        plan->name = is_sum(plan->semiring) ? names[wanted.kind][plan->math] : kind_name[wanted.kind];
        plan->limit = wanted.kind == TSR_CUDA_PANEL && !is_half(plan->math) ? 0 : limits[plan->math];
    }
    return status;
}

/* The choice by itself: blocks that pay. */
static tsr_status choose_blocks(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p)
{
    bool paid = has_paid(a, p);
    if (a->account.failed || (!a->account.counted && !paid))
        return TSR_OK;
    tsr_status status = count_vectors(a, p->reorder);
    const rule *r = status == TSR_OK ? find_rule(a, plan, p->n) : NULL;
    if (!r)
        return status;
    shape wanted = resolve(r->shape, a);
    tsr_cuda_blocks like = describe(plan, a, wanted);
    return paid || find_blocks(a->blocks, &like) ? find_or_build(plan, a, wanted, p->reorder) : TSR_OK;
}

tsr_status tsr_cuda_make_plan(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p, bool keep)
{
    *plan = (tsr_cuda_plan){.name = "csr", .iso = 1.0, .semiring = p->semiring};
    shape wanted;
    bool named = named_shape(&wanted, p);
    if (!could_be_blocks(p))
        return TSR_OK;
    plan->iso = iso_value(p);
    tsr_status status = choose_math(&plan->math, a, p, plan->iso);
    bool takes = named && wanted.kind != TSR_CUDA_CSR && (is_sum(p->semiring) || wanted.kind == TSR_CUDA_PANEL);
    if (status == TSR_OK && takes)
        status = find_or_build(plan, a, wanted, p->reorder);
    else if (status == TSR_OK && (!named || wanted.kind != TSR_CUDA_CSR) && keep)
        status = choose_blocks(plan, a, p);
    if (!plan->blocks)
        a->account.spent_ms += csr_ms(a, p);
    if (status == TSR_OK && !plan->blocks && is_half(plan->math))
        status = find_or_build(plan, a, named_shapes[TSR_CUDA_CSR], p->reorder); /* rounding the values costs next to nothing */
    if (status != TSR_OK && status != TSR_INTERNAL_ERROR) {
        a->account.failed = true;
        status = TSR_OK;
    }
    return status;
}

/* ---- running ---- */

/* CSR with values and B in 16 bits. */
static tsr_cuda_csr_spmm half_product(tsr_cuda_csr *csr, const tsr_cuda_plan *plan, const tsr_cuda_sparse *a,
                                      const tsr_cuda_spmm *q)
{
    float iso = (float)q->iso;
    tsr_cuda_csr_spmm half = {.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .half = true,
                              .number = plan->blocks->number, .n = q->n, .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc,
                              .alpha = 1, .partial = q->partial, .device = q->device, .stream = q->stream};
    memcpy(&half.iso, &iso, sizeof iso);
    *csr = a->csr;
    csr->x = plan->blocks->as.half;
    return half;
}

static tsr_status run_panel(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, const tsr_cuda_spmm *q)
{
    const tsr_cuda_blocks *b = plan->blocks;
    tsr_cuda_csr_spmm product = {.semiring = plan->semiring, .n = q->n, .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = 1,
                                 .partial = q->partial, .device = q->device, .stream = q->stream};
    return is_sum(plan->semiring) ? tsr_cuda_spmm_panel(&b->as.panel, &b->work, q)
                                  : tsr_cuda_spmm_panel_semiring(&b->as.panel, &b->work, a->csr.p, q->row, &product);
}

tsr_status tsr_cuda_run_blocks(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, const tsr_cuda_spmm *product)
{
    const tsr_cuda_blocks *b = plan->blocks;
    tsr_cuda_spmm ordered = *product;
    ordered.row = a->order.row;
    switch (b->kind) {
    case TSR_CUDA_ME_TCF: return tsr_cuda_spmm_me_tcf(&b->as.me_tcf, &b->work, &ordered);
    case TSR_CUDA_ME_BCRS: return tsr_cuda_spmm_me_bcrs(&b->as.me_bcrs, &b->work, &ordered);
    case TSR_CUDA_HRPB: return tsr_cuda_spmm_hrpb(&b->as.hrpb, &b->work, &ordered);
    case TSR_CUDA_BMAT: return tsr_cuda_spmm_bmat(&b->as.bmat, &b->work, &ordered);
    case TSR_CUDA_PANEL: return run_panel(plan, a, &ordered);
    case TSR_CUDA_CSR: break;
    }
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, plan, a, product);
    return tsr_cuda_spmm_csr(&csr, &half);
}

size_t tsr_cuda_blocks_partial_bytes(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, const tsr_cuda_spmm *product)
{
    if (plan->blocks->kind != TSR_CUDA_CSR)
        return tsr_cuda_partial_bytes(&plan->blocks->work, plan->blocks->height, product);
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, plan, a, product);
    return tsr_cuda_csr_partial_bytes(&csr, &half);
}
