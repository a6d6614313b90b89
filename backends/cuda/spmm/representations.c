/* Representations beside plain CSR: block formats for the Tensor-Core kernels, panels, hybrid, and values in 16 bits.
 *
 * Where TESSERA_KERNEL does not name a kernel: plus_times (or plus_second) over FP32 or FP64 with a full B, by panels also min and
 * max over plus and times, and integers, are computed by what the model predicts to be the fastest; what is not there yet is built
 * when it has paid (src/policy/forms.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/representations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/operands/fp16_scaling.h"
#include "backends/cuda/operands/order.h"

typedef struct shape {
    tsr_cuda_kind kind;
    int height, width;
} shape;

/* For a kernel asked for by name. */
static const shape named_shapes[TSR_CUDA_KIND_COUNT] = {
    {TSR_CUDA_CSR, 0, 0},    {TSR_CUDA_ME_TCF, 16, 8}, {TSR_CUDA_ME_BCRS, 8, 8},
    {TSR_CUDA_HRPB, 16, 16}, {TSR_CUDA_BMAT, 8, 8},    {TSR_CUDA_PANEL, 32, 24},  {TSR_CUDA_HYBRID, 0, 0},
};

/* Those of the model. */
static const shape form_shapes[TSR_FORMS] = {
    [TSR_GPU_CSR] = {TSR_CUDA_CSR, 0, 0},          [TSR_GPU_PANEL_32] = {TSR_CUDA_PANEL, 32, 24},
    [TSR_GPU_PANEL_64] = {TSR_CUDA_PANEL, 64, 48}, [TSR_GPU_ME_TCF] = {TSR_CUDA_ME_TCF, 16, 8},
    [TSR_GPU_ME_BCRS] = {TSR_CUDA_ME_BCRS, 8, 8},  [TSR_GPU_HRPB_16] = {TSR_CUDA_HRPB, 16, 16},
    [TSR_GPU_HRPB_32] = {TSR_CUDA_HRPB, 32, 16},   [TSR_GPU_HRPB_64] = {TSR_CUDA_HRPB, 64, 16},
    [TSR_GPU_BMAT_8] = {TSR_CUDA_BMAT, 8, 8},
    [TSR_GPU_BMAT_16] = {TSR_CUDA_BMAT, 16, 8},    [TSR_GPU_HYBRID] = {TSR_CUDA_HYBRID, 0, 0},
};

/* Heights that a kernel has beside that one, all of them powers of 2. */
static const int other_heights[TSR_CUDA_KIND_COUNT] = {[TSR_CUDA_HRPB] = 32 | 64, [TSR_CUDA_BMAT] = 16, [TSR_CUDA_PANEL] = 64};

/* Share of a CSR product that another order of rows is hoped to spare.  ms for a byte across the bus. */
static const double order_gain = 0.3, bus_ms = 1 / 55e6;

static const char *const kind_name[TSR_CUDA_KIND_COUNT] = {"csr", "me-tcf", "me-bcrs", "hrpb", "bmat", "panel", "hybrid"};

static const char *const names[TSR_CUDA_KIND_COUNT][TSR_CUDA_MATH_COUNT] = {
    {"csr", "csr", "csr-fp16", "csr-bf16", "csr"},
    {"me-tcf-exact", "me-tcf-tf32", "me-tcf-fp16", "me-tcf-bf16", "me-tcf-fp64"},
    {"me-bcrs-exact", "me-bcrs-tf32", "me-bcrs-fp16", "me-bcrs-bf16", "me-bcrs-fp64"},
    {"hrpb-exact", "hrpb-tf32", "hrpb-fp16", "hrpb-bf16", "hrpb-fp64"},
    {"bmat-exact", "bmat-tf32", "bmat-fp16", "bmat-bf16", "bmat-fp64"},
    {"panel-fp32", "panel-fp32", "panel-fp16", "panel-bf16", "panel-fp64"},
    {"hybrid-exact", "hybrid-tf32", "hybrid-fp16", "hybrid-bf16", "hybrid-fp64"},
};

static const char *const narrow_names[TSR_CUDA_KIND_COUNT] = {
    "csr-narrow", "me-tcf-narrow", "me-bcrs-narrow", "hrpb-narrow", "bmat-narrow", "panel-narrow", "hybrid-narrow",
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
    if (tsr_type_size(s.type) < 4)
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

/* May values of A be FP16 where TF32 is allowed?  Known once it was asked. */
static tsr_status look_at_values(tsr_cuda_sparse *a)
{
    tsr_cuda_statistics *account = &a->account;
    const tsr_cuda_numbers values = {a->csr.x, a->csr.nvals, 1, a->csr.nvals};
    if (account->narrow_known)
        return TSR_OK;
    tsr_status status = tsr_cuda_find_fp16_scale(&account->shift, &account->narrow, &values, NULL);
    account->narrow_known = status == TSR_OK;
    return status;
}

static tsr_status choose_math(tsr_cuda_math *math, tsr_cuda_sparse *a, const tsr_product *p, double iso)
{
    static const tsr_cuda_math of_precision[] = {
        [TSR_PRECISION_EXACT] = TSR_CUDA_EXACT, [TSR_PRECISION_TF32] = TSR_CUDA_TF32, [TSR_PRECISION_BF16] = TSR_CUDA_BF16,
        [TSR_PRECISION_FP16] = TSR_CUDA_FP16,
    };
    bool wide = tsr_type_size(p->semiring.type) == 8;
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
    return is_real(s.type) ? 1.0 : tsr_type_size(s.type) == 8 ? 0x1p-1074 : (double)bits;
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
                             .number = tsr_type_size(a->key.type) == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32};
}

/* ---- what is known of A ---- */

/* Scratch for keys to sort and a copy; labels or sketches. */
static size_t looking_bytes(const tsr_cuda_sparse *a)
{
    return (size_t)a->csr.nvals * 28 + (size_t)(a->csr.nrows + a->csr.ncols) * 112;
}

static tsr_status look_at_windows(tsr_cuda_statistics *account, const tsr_source *sample, int at)
{
    int height = 8 << at;
    account->nwindows[at] = (sample->nrows + height - 1) / height;
    account->windows[at] = calloc((size_t)account->nwindows[at] + 1, sizeof *account->windows[at]);
    return account->windows[at] ? tsr_cuda_count_windows(account->windows[at], sample, height, tsr_cuda.compute) : TSR_OUT_OF_MEMORY;
}

void tsr_cuda_statistics_free(tsr_cuda_statistics *account)
{
    for (int at = 0; at < 2; at++) {
        free(account->windows[at]);
        account->windows[at] = NULL;
    }
}

/* Vectors and windows of a sample of the rows, its longest row, columns of a sample of the entries. */
static tsr_status look(tsr_cuda_sparse *a)
{
    tsr_cuda_statistics *account = &a->account;
    size_t working = looking_bytes(a);
    int64_t vectors[5];
    tsr_degrees degrees = {0};
    tsr_source all = source_of(a), sample = {0};
    if (account->looked)
        return TSR_OK;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_sample_rows(&sample, &all, NULL, tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(vectors, &sample, tsr_cuda.compute);
    for (int at = 0; at < 2 && status == TSR_OK; at++)
        status = look_at_windows(account, &sample, at);
    if (status == TSR_OK)
        status = tsr_cuda_count_degrees(&degrees, &all, TSR_DEGREE_SAMPLE, tsr_cuda.compute);
    if (status == TSR_OK)
        tsr_hot_shares(account->hot, &degrees);
    account->longest = (double)degrees.longest_row;
    for (int h = 0; h < 5 && status == TSR_OK; h++)
        account->sampled[h] = sample.nvals ? (double)vectors[h] * (double)a->csr.nvals / (double)sample.nvals : (double)a->csr.nvals;
    tsr_cuda_free_source(&sample, tsr_cuda.compute);
    tsr_cuda_unreserve(working);
    if (status != TSR_OK)
        tsr_cuda_statistics_free(account);
    account->looked = status == TSR_OK;
    return status;
}

static tsr_status decide_order(tsr_cuda_sparse *a, tsr_reorder wanted)
{
    size_t working = looking_bytes(a);
    tsr_source pattern = source_of(a);
    pattern.x = NULL;
    if (a->account.ordered)
        return TSR_OK;
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_decide_order(&a->order, &pattern, wanted);
    tsr_cuda_unreserve(working);
    a->account.ordered = status == TSR_OK;
    return status;
}

tsr_status tsr_cuda_count_matrix(tsr_cuda_sparse *a, tsr_reorder wanted)
{
    size_t working = looking_bytes(a);
    tsr_source pattern = source_of(a), ordered = {0};
    pattern.x = NULL;
    if (a->account.counted)
        return TSR_OK;
    tsr_status status = decide_order(a, wanted);
    if (status != TSR_OK || !tsr_cuda_reserve(working))
        return status == TSR_OK ? TSR_OUT_OF_MEMORY : status;
    status = tsr_cuda_in_order(&ordered, &a->order, &pattern);
    if (status == TSR_OK)
        status = tsr_cuda_count_vectors(a->account.vectors, &ordered, tsr_cuda.compute);
    tsr_cuda_end_order(&ordered, &a->order);
    tsr_cuda_unreserve(working);
    a->account.counted = status == TSR_OK;
    return status;
}

/* Nonzero vectors, counted before. */
static int64_t vectors_of(const tsr_cuda_sparse *a, int height)
{
    int at = 0;
    while (8 << at < height)
        at++;
    return a->account.vectors[at];
}

/* As far as it is known: before anybody has looked no two entries share a vector. */
static tsr_gpu_matrix matrix_of(const tsr_cuda_sparse *a)
{
    const tsr_cuda_statistics *account = &a->account;
    tsr_gpu_matrix m = {.nrows = (double)a->csr.nrows, .ncols = (double)a->csr.ncols, .nvals = (double)a->csr.nvals};
    for (int h = 0; h < 5; h++) {
        m.own[h] = account->looked ? account->sampled[h] : m.nvals;
        m.vectors[h] = account->counted ? (double)account->vectors[h] : m.own[h];
        if (account->counted && !a->order.row)
            m.own[h] = m.vectors[h];
    }
    m.longest = account->longest;
    memcpy(m.hot, account->hot, sizeof m.hot);
    for (int at = 0; at < 2 && !a->order.row; at++) {
        m.nwindows[at] = account->nwindows[at];
        m.windows[at] = account->windows[at];
    }
    return m;
}

static double csr_ms(const tsr_cuda_sparse *a, tsr_cuda_math math, int64_t n)
{
    double ms[TSR_FORMS];
    tsr_gpu_matrix m = matrix_of(a);
    tsr_predict_forms(ms, tsr_cuda.model, &m, (tsr_gpu_math)math, (double)n, TSR_FORM_BIT(TSR_GPU_CSR));
    return ms[TSR_GPU_CSR] > 0 ? ms[TSR_GPU_CSR] : 0;
}

/* B and C across the bus, both ways at once. */
static double transfer_ms(const tsr_product *p)
{
    double size = (double)tsr_type_size(p->semiring.type), n = (double)p->n;
    double up = p->b_value || p->b.iso ? 0 : (double)p->k * n * size, down = p->b_value ? 0 : (double)p->m * n * size;
    return (up > down ? up : down) * bus_ms;
}

/* EXACT on Tensor Cores errs about as much as adding six products one by one in FP32: too much for shorter rows. */
static bool rows_are_too_short(const tsr_gpu_matrix *m, int form)
{
    if (form != TSR_GPU_HYBRID)
        return m->nvals < 6 * m->nrows;
    tsr_gpu_split split = tsr_split_windows(tsr_cuda.model, m, TSR_GPU_EXACT, 32);
    return split.nvals < 6 * split.nrows;
}

/* What may compute a product of this arithmetic; Tensor Cores only sums. */
static unsigned allowed_forms(const tsr_gpu_matrix *m, const tsr_cuda_plan *plan)
{
    unsigned allowed = TSR_FORM_BIT(TSR_GPU_CSR) | TSR_FORM_BIT(TSR_GPU_PANEL_32) | TSR_FORM_BIT(TSR_GPU_PANEL_64);
    for (int form = 0; form < TSR_FORMS && is_sum(plan->semiring); form++)
        if (plan->math != TSR_CUDA_EXACT || !rows_are_too_short(m, form))
            allowed |= TSR_FORM_BIT(form);
    return allowed & TSR_AUTOMATIC_FORMS;
}

static bool is_half(tsr_cuda_math math)
{
    return math == TSR_CUDA_FP16 || math == TSR_CUDA_BF16;
}

/* ---- building ---- */

/* Formats without a pattern form store the one value of a pattern. */
static bool stores_iso(tsr_cuda_kind kind)
{
    return kind == TSR_CUDA_ME_BCRS || kind == TSR_CUDA_PANEL || kind == TSR_CUDA_HYBRID;
}

/* Panels keep values of A in full where B has 16 bits. */
static tsr_number stored_number(tsr_cuda_kind kind, tsr_cuda_math math)
{
    return kind == TSR_CUDA_PANEL && math != TSR_CUDA_FP64 ? TSR_NUMBER_FP32 : tsr_cuda_number(math);
}

/* What a format of this shape would be, for B of n columns. */
static tsr_cuda_blocks describe(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, shape s, int64_t n)
{
    bool shifted = plan->narrow && a->csr.x && stored_number(s.kind, plan->math) == TSR_NUMBER_FP16;
    tsr_cuda_blocks b = {.kind = s.kind, .height = s.height, .width = s.width, .number = stored_number(s.kind, plan->math),
                         .shift = shifted ? a->account.shift : 0, .iso = stores_iso(s.kind) && !a->csr.x ? plan->iso : 1.0};
    if (s.kind == TSR_CUDA_HYBRID) {
        b.height = tsr_gpu_kernel_height(tsr_window_kernel((tsr_gpu_math)plan->math));
        b.width = 8;
        b.math = plan->math;
        b.split = tsr_nearest_width((double)n);
    }
    return b;
}

static tsr_cuda_blocks *find_blocks(tsr_cuda_blocks *list, const tsr_cuda_blocks *like)
{
    tsr_cuda_blocks *b = list;
    while (b && (b->kind != like->kind || b->number != like->number || b->height != like->height || b->width != like->width ||
                 b->math != like->math || b->split != like->split || b->shift != like->shift || memcmp(&b->iso, &like->iso, sizeof b->iso) != 0))
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
    case TSR_CUDA_HYBRID: return common + 16 * vectors * size + 16 * blocks + 13 * vectors + 2 * nvals * size + (size_t)a->csr.nrows * 5 + nvals / 2;
    default: return common + 16 * blocks + nvals * size;
    }
}

static tsr_status make_hybrid(tsr_cuda_blocks *b, const tsr_source *source)
{
    tsr_cuda_split_rule rule;
    tsr_gpu_kernel kernel = tsr_window_kernel((tsr_gpu_math)b->math);
    tsr_cuda_half half = kernel == TSR_GPU_ME_BCRS ? TSR_CUDA_HALF_ME_BCRS : kernel == TSR_GPU_BMAT_16 ? TSR_CUDA_HALF_BMAT : TSR_CUDA_HALF_HRPB;
    memcpy(rule.w, tsr_cuda.model->window[b->math][b->split], sizeof rule.w);
    return tsr_cuda_make_hybrid(&b->as.hybrid, source, half, b->height, b->iso, &rule, &tsr_cuda.device, tsr_cuda.compute);
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
    case TSR_CUDA_HYBRID: status = make_hybrid(b, source); break;
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
    case TSR_CUDA_HYBRID: tsr_cuda_free_hybrid(&b->as.hybrid, tsr_cuda.compute); break;
    case TSR_CUDA_CSR: tsr_cuda_delete(b->as.half); break;
    }
    tsr_cuda_delete(b->rounded);
    b->rounded = NULL;
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
    if (status != TSR_OK || b->kind == TSR_CUDA_HYBRID) /* which has work lists of its own */
        return status;
    const uint64_t *mask = b->kind == TSR_CUDA_BMAT ? b->as.bmat.mask : NULL;
    status = most_of(&most, b);
    if (status == TSR_OK)
        status = tsr_cuda_make_work(&b->work, windows_of(b), mask, most, tsr_cuda.compute);
    if (status != TSR_OK)
        free_format(b);
    return status;
}

static tsr_status make_in_order(tsr_cuda_blocks *b, const tsr_cuda_sparse *a, const tsr_source *source)
{
    tsr_source ordered = {0};
    tsr_status status = tsr_cuda_in_order(&ordered, &a->order, source);
    if (status == TSR_OK)
        status = make_blocks(b, &ordered);
    tsr_cuda_end_order(&ordered, &a->order);
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
        if (status == TSR_OK && b->shift)
            status = tsr_cuda_narrow(rounded, source.nvals, source.x, source.nvals, 1, source.nvals, ldexpf(1, b->shift), tsr_cuda.compute);
        else if (status == TSR_OK)
            status = tsr_cuda_convert(rounded, b->number, source.nvals, source.x, source.number, source.nvals, 1, source.nvals,
                                      tsr_cuda.compute);
        source.x = rounded;
    }
    source.number = b->number;
    if (status == TSR_OK && b->kind == TSR_CUDA_CSR) {
        b->as.half = rounded;
        return TSR_OK;
    }
    if (status == TSR_OK && b->kind == TSR_CUDA_HYBRID) { /* rows as they are: csr has no other order */
        status = make_blocks(b, &source);
        b->rounded = status == TSR_OK ? rounded : NULL;
        rounded = status == TSR_OK ? NULL : rounded;
    } else if (status == TSR_OK) {
        status = make_in_order(b, a, &source);
    }
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
        tsr_cuda.built++;
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

static tsr_status find_or_build(tsr_cuda_plan *plan, tsr_cuda_sparse *a, shape wanted, const tsr_product *p)
{
    tsr_cuda_blocks like = describe(plan, a, wanted, p->n), *b = find_blocks(a->blocks, &like);
    tsr_status status = TSR_OK;
    if (!b) {
        status = wanted.kind == TSR_CUDA_CSR ? TSR_OK : tsr_cuda_count_matrix(a, p->reorder);
        if (status == TSR_OK)
            status = build(&b, a, &like);
    }
    if (b && !b->refused) {
        plan->blocks = b;
        plan->name = plan->narrow ? narrow_names[wanted.kind] : is_sum(plan->semiring) ? names[wanted.kind][plan->math] : kind_name[wanted.kind];
        plan->limit = wanted.kind == TSR_CUDA_PANEL && !is_half(plan->math) ? 0 : limits[plan->math];
    }
    return status;
}

/* Forms that are there; one that a kernel has refused is not allowed any more. */
static unsigned built_forms(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, int64_t n, unsigned *allowed)
{
    unsigned built = TSR_FORM_BIT(TSR_GPU_CSR);
    for (int form = TSR_GPU_CSR + 1; form < TSR_FORMS; form++) {
        tsr_cuda_blocks like = describe(plan, a, form_shapes[form], n), *b = find_blocks(a->blocks, &like);
        built |= b && !b->refused ? TSR_FORM_BIT(form) : 0;
        *allowed &= ~(b && b->refused ? TSR_FORM_BIT(form) : 0);
    }
    return built;
}

/* Another order of rows is looked for when products have lost as much without it as finding one takes, if it spares what is hoped. */
static tsr_status consider_order(tsr_cuda_sparse *a, const tsr_cuda_plan *plan, const tsr_product *p)
{
    tsr_source source = source_of(a);
    tsr_cuda_statistics *account = &a->account;
    double price = tsr_cuda_order_ms(&source, p->reorder);
    if (account->ordered || price == 0)
        return TSR_OK;
    double gain = order_gain * csr_ms(a, plan->math, p->n);
    account->order_regret += gain;
    bool pays = (p->expected_calls > 0 ? gain * p->expected_calls : account->order_regret) >= price;
    return pays ? tsr_cuda_count_matrix(a, p->reorder) : TSR_OK;
}

static int choose_form(tsr_cuda_sparse *a, const tsr_cuda_plan *plan, const tsr_product *p)
{
    double ms[TSR_FORMS], price[TSR_FORMS], transfer = transfer_ms(p);
    tsr_gpu_matrix m = matrix_of(a);
    unsigned allowed = allowed_forms(&m, plan), built = built_forms(plan, a, p->n, &allowed);
    tsr_predict_forms(ms, tsr_cuda.model, &m, (tsr_gpu_math)plan->math, (double)p->n, allowed);
    tsr_predict_making(price, tsr_cuda.model, &m, (tsr_gpu_math)plan->math, (double)p->n);
    for (int form = 0; form < TSR_FORMS; form++) {
        ms[form] = ms[form] >= 0 ? tsr_exposed_ms(ms[form], transfer) : ms[form];
        price[form] *= 1 + a->account.evictions; /* what is given up again and again must gain more */
    }
    return tsr_choose_form(&a->account.rental, ms, price, built, (tsr_gpu_math)plan->math, p->expected_calls);
}

/* TF32 by FP16 kernels, where these are predicted to be faster, finding the range of B and rounding it included. */
static tsr_status consider_narrow(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p)
{
    double iso = fabs(plan->iso);
    bool iso_fits = a->csr.x || iso == 0 || (iso >= 0x1p-14 && iso < limits[TSR_CUDA_FP16]);
    if (plan->math != TSR_CUDA_TF32 || a->account.wide || !iso_fits)
        return TSR_OK;
    tsr_gpu_matrix m = matrix_of(a);
    if (!tsr_prefers_narrow(tsr_cuda.model, &m, (double)p->n, allowed_forms(&m, plan)))
        return TSR_OK;
    tsr_status status = look_at_values(a);
    plan->narrow = status == TSR_OK && a->account.narrow;
    plan->math = plan->narrow ? TSR_CUDA_FP16 : TSR_CUDA_TF32;
    return status;
}

/* The choice by itself. */
static tsr_status choose_blocks(tsr_cuda_plan *plan, tsr_cuda_sparse *a, const tsr_product *p)
{
    tsr_cuda_statistics *account = &a->account;
    if (account->failed ||
        (!account->looked && !tsr_may_look(&account->rental, csr_ms(a, plan->math, p->n), p->expected_calls)))
        return TSR_OK;
    tsr_status status = look(a);
    if (status == TSR_OK)
        status = consider_order(a, plan, p);
    if (status == TSR_OK)
        status = consider_narrow(plan, a, p);
    if (status != TSR_OK)
        return status;
    int form = choose_form(a, plan, p);
    return form == TSR_GPU_CSR ? TSR_OK : find_or_build(plan, a, form_shapes[form], p);
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
        status = find_or_build(plan, a, wanted, p);
    else if (status == TSR_OK && (!named || wanted.kind != TSR_CUDA_CSR) && keep)
        status = choose_blocks(plan, a, p);
    if (status == TSR_OK && !plan->blocks && is_half(plan->math))
        status = find_or_build(plan, a, named_shapes[TSR_CUDA_CSR], p); /* rounding the values costs next to nothing */
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
                              .alpha = q->alpha, .partial = q->partial, .device = q->device, .stream = q->stream};
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
    case TSR_CUDA_HYBRID: return tsr_cuda_spmm_hybrid(&b->as.hybrid, product);
    case TSR_CUDA_CSR: break;
    }
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, plan, a, product);
    return tsr_cuda_spmm_csr(&csr, &half);
}

size_t tsr_cuda_blocks_partial_bytes(const tsr_cuda_plan *plan, const tsr_cuda_sparse *a, const tsr_cuda_spmm *product)
{
    if (plan->blocks->kind == TSR_CUDA_HYBRID)
        return tsr_cuda_hybrid_partial_bytes(&plan->blocks->as.hybrid, product);
    if (plan->blocks->kind != TSR_CUDA_CSR)
        return tsr_cuda_partial_bytes(&plan->blocks->work, plan->blocks->height, product);
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, plan, a, product);
    return tsr_cuda_csr_partial_bytes(&csr, &half);
}
