/* The kernels, format by format, and the table of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/kernel_table.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/device/context.h"

/* Trace names of a format whose sums run on Tensor Cores. */
#define TENSOR_NAMES(format) \
    .names = {format "-exact", format "-tf32", format "-fp16", format "-bf16", format "-fp64"}, .narrow_name = format "-narrow"

/* Windows, vectors and work items, which all block formats have. */
static size_t common_bytes(const tsr_cuda_counts *c)
{
    return 24 * c->windows + 4 * c->vectors + 48 * (c->blocks + c->windows) + 65536;
}

static size_t block_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    (void)a;
    return tsr_cuda_partial_bytes(&b->work, b->height, product);
}

/* ---- csr with values and B in 16 bits (other products by csr need no representation) ---- */

static size_t csr_bytes(const tsr_cuda_counts *c)
{
    return c->nvals * c->value + 256;
}

static void csr_free(tsr_cuda_blocks *b)
{
    tsr_cuda_delete(b->as.half);
}

static tsr_cuda_csr_spmm half_product(tsr_cuda_csr *csr, const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *q)
{
    float iso = (float)q->iso;
    tsr_cuda_csr_spmm half = {.semiring = {TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES}, .half = true, .number = b->number, .n = q->n,
                              .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = q->alpha, .partial = q->partial,
                              .device = q->device, .stream = q->stream};
    memcpy(&half.iso, &iso, sizeof iso);
    *csr = *a;
    csr->x = b->as.half;
    return half;
}

static tsr_status csr_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)semiring;
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, b, a, product);
    return tsr_cuda_spmm_csr(&csr, &half);
}

static size_t csr_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    tsr_cuda_csr csr;
    tsr_cuda_csr_spmm half = half_product(&csr, b, a, product);
    return tsr_cuda_csr_partial_bytes(&csr, &half);
}

static const tsr_cuda_format csr = {
    .semirings = TSR_CUDA_SUMS, .names = {"csr", "csr", "csr-fp16", "csr-bf16", "csr"}, .narrow_name = "csr-narrow", .own_rows = true,
    .bytes = csr_bytes, .free = csr_free, .run = csr_run, .partial_bytes = csr_partial_bytes};

/* ---- ME-TCF ---- */

static size_t me_tcf_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 4 * c->blocks + c->nvals * (1 + c->value);
}

static tsr_status me_tcf_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_me_tcf(&b->as.me_tcf, source, tsr_cuda.compute);
}

static void me_tcf_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_me_tcf(&b->as.me_tcf, tsr_cuda.compute);
}

static tsr_status me_tcf_most(int64_t *most, const tsr_cuda_blocks *b)
{
    int64_t longest = 0;
    tsr_status status = tsr_cuda_longest_window(&longest, &b->as.w, tsr_cuda.compute);
    *most = tsr_cuda_me_tcf_most(&b->as.w, longest, &tsr_cuda.device);
    return status;
}

static tsr_status me_tcf_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_me_tcf(&b->as.me_tcf, &b->work, product);
}

static const tsr_cuda_format me_tcf = {
    .semirings = TSR_CUDA_SUMS, TENSOR_NAMES("me-tcf"), .exact_rounds = true, .bytes = me_tcf_bytes, .make = me_tcf_make,
    .free = me_tcf_free, .most = me_tcf_most, .run = me_tcf_run, .partial_bytes = block_partial_bytes};

/* ---- ME-BCRS ---- */

static size_t me_bcrs_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 8 * c->vectors * c->value;
}

static tsr_status me_bcrs_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_me_bcrs(&b->as.me_bcrs, source, b->width, b->iso, tsr_cuda.compute);
}

static void me_bcrs_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_me_bcrs(&b->as.me_bcrs, tsr_cuda.compute);
}

static tsr_status me_bcrs_most(int64_t *most, const tsr_cuda_blocks *b)
{
    *most = tsr_cuda_me_bcrs_most(&b->as.w, &tsr_cuda.device);
    return TSR_OK;
}

static tsr_status me_bcrs_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_me_bcrs(&b->as.me_bcrs, &b->work, product);
}

static const tsr_cuda_format me_bcrs = {
    .semirings = TSR_CUDA_SUMS, TENSOR_NAMES("me-bcrs"), .stores_iso = true, .exact_rounds = true, .bytes = me_bcrs_bytes,
    .make = me_bcrs_make, .free = me_bcrs_free, .most = me_bcrs_most, .run = me_bcrs_run, .partial_bytes = block_partial_bytes};

/* ---- HRPB ---- */

static size_t hrpb_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 8 * c->windows + 4 * c->blocks + 13 * c->vectors + c->nvals * c->value;
}

static tsr_status hrpb_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_hrpb(&b->as.hrpb, source, b->height, tsr_cuda.compute);
}

static void hrpb_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_hrpb(&b->as.hrpb, tsr_cuda.compute);
}

static tsr_status hrpb_most(int64_t *most, const tsr_cuda_blocks *b)
{
    int64_t longest = 0;
    tsr_status status = tsr_cuda_longest_window(&longest, &b->as.w, tsr_cuda.compute);
    *most = tsr_cuda_hrpb_most(&b->as.w, longest, &tsr_cuda.device);
    return status;
}

static tsr_status hrpb_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_hrpb(&b->as.hrpb, &b->work, product);
}

static const tsr_cuda_format hrpb = {
    .semirings = TSR_CUDA_SUMS, TENSOR_NAMES("hrpb"), .exact_rounds = true, .bytes = hrpb_bytes, .make = hrpb_make, .free = hrpb_free,
    .most = hrpb_most, .run = hrpb_run, .partial_bytes = block_partial_bytes};

/* ---- BMat ---- */

static size_t bmat_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 16 * c->blocks + c->nvals * c->value;
}

static tsr_status bmat_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_bmat(&b->as.bmat, source, b->height, tsr_cuda.compute);
}

static void bmat_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_bmat(&b->as.bmat, tsr_cuda.compute);
}

static const uint64_t *bmat_mask(const tsr_cuda_blocks *b)
{
    return b->as.bmat.mask;
}

static tsr_status bmat_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_bmat(&b->as.bmat, &b->work, product);
}

static const tsr_cuda_format bmat = {
    .semirings = TSR_CUDA_SUMS, TENSOR_NAMES("bmat"), .exact_rounds = true, .bytes = bmat_bytes, .make = bmat_make, .free = bmat_free,
    .mask = bmat_mask, .run = bmat_run, .partial_bytes = block_partial_bytes};

/* ---- Panels ---- */

static size_t panel_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 64 * c->blocks + 2 * c->nvals * c->value;
}

static tsr_status panel_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    return tsr_cuda_make_panel(&b->as.panel, source, b->height, b->width, b->iso, tsr_cuda.compute);
}

static void panel_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_panel(&b->as.panel, tsr_cuda.compute);
}

static tsr_status panel_most(int64_t *most, const tsr_cuda_blocks *b)
{
    *most = tsr_cuda_panel_most(&b->as.w, &tsr_cuda.device);
    return TSR_OK;
}

static tsr_status panel_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *q)
{
    if (tsr_cuda_class_of(semiring) == TSR_CUDA_SUMS)
        return tsr_cuda_spmm_panel(&b->as.panel, &b->work, q);
    tsr_cuda_csr_spmm product = {.semiring = semiring, .n = q->n, .b = q->b, .ldb = q->ldb, .c = q->c, .ldc = q->ldc, .alpha = 1,
                                 .partial = q->partial, .device = q->device, .stream = q->stream};
    return tsr_cuda_spmm_panel_semiring(&b->as.panel, &b->work, a->p, q->row, &product);
}

static const tsr_cuda_format panel = {
    .semirings = TSR_CUDA_SUMS | TSR_CUDA_PATHS, .names = {"panel-fp32", "panel-fp32", "panel-fp16", "panel-bf16", "panel-fp64"},
    .narrow_name = "panel-narrow", .stores_iso = true, .full_values = true, .bytes = panel_bytes,
    .make = panel_make, .free = panel_free, .most = panel_most, .run = panel_run, .partial_bytes = block_partial_bytes};

/* ---- Hybrid ---- */

static size_t hybrid_bytes(const tsr_cuda_counts *c)
{
    return common_bytes(c) + 16 * c->vectors * c->value + 16 * c->blocks + 13 * c->vectors + 2 * c->nvals * c->value + c->nrows * 5 +
           c->nvals / 2;
}

static tsr_status hybrid_make(tsr_cuda_blocks *b, const tsr_source *source)
{
    tsr_cuda_split_rule rule;
    const tsr_cuda_kernel *dense = tsr_cuda_kernel_of(tsr_window_kernel((tsr_gpu_math)b->math));
    memcpy(rule.w, tsr_cuda.model->window[b->math][b->split], sizeof rule.w);
    return tsr_cuda_make_hybrid(&b->as.hybrid, source, dense->half, b->height, b->iso, &rule, &tsr_cuda.device, tsr_cuda.compute);
}

static void hybrid_free(tsr_cuda_blocks *b)
{
    tsr_cuda_free_hybrid(&b->as.hybrid, tsr_cuda.compute);
}

static tsr_status hybrid_run(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, tsr_semiring semiring, const tsr_cuda_spmm *product)
{
    (void)a, (void)semiring;
    return tsr_cuda_spmm_hybrid(&b->as.hybrid, product);
}

static size_t hybrid_partial_bytes(const tsr_cuda_blocks *b, const tsr_cuda_csr *a, const tsr_cuda_spmm *product)
{
    (void)a;
    return tsr_cuda_hybrid_partial_bytes(&b->as.hybrid, product);
}

static const tsr_cuda_format hybrid = {
    .semirings = TSR_CUDA_SUMS, TENSOR_NAMES("hybrid"), .stores_iso = true, .own_rows = true, .exact_rounds = true,
    .bytes = hybrid_bytes, .make = hybrid_make, .free = hybrid_free, .run = hybrid_run, .partial_bytes = hybrid_partial_bytes};

/* ---- The table ---- */

#define ROW(id, its_format, its_width, ...) \
    [TSR_GPU_##id] = {.form = TSR_GPU_##id, .format = &its_format, .width = its_width, __VA_ARGS__}

static const tsr_cuda_kernel table[TSR_FORMS] = {
    ROW(CSR, csr, 0),
    ROW(PANEL_32, panel, 24),
    ROW(PANEL_64, panel, 48),
    ROW(ME_TCF, me_tcf, 8),
    ROW(ME_BCRS, me_bcrs, 8, .width16 = 16, .half = TSR_CUDA_HALF_ME_BCRS),
    ROW(HRPB_16, hrpb, 16, .half = TSR_CUDA_HALF_HRPB),
    ROW(HRPB_32, hrpb, 16),
    ROW(HRPB_64, hrpb, 16),
    ROW(BMAT_8, bmat, 8),
    ROW(BMAT_16, bmat, 8, .half = TSR_CUDA_HALF_BMAT),
    ROW(HYBRID, hybrid, 8),
};

const tsr_cuda_kernel *tsr_cuda_kernel_of(int form)
{
    return &table[form];
}

static const char *takes(int form)
{
    if (form == TSR_GPU_CSR)
        return "any type and semiring; B full or bitmap, of any width";
    return table[form].format->semirings & TSR_CUDA_PATHS ? "plus_times, plus_second, min and max over plus and times; 4 and 8 bytes; B full"
                                                          : "plus_times, plus_second; FP32 and FP64; B full";
}

tsr_kernel_row tsr_cuda_spmm_row(int form)
{
    return (tsr_kernel_row){"spmm", tsr_gpu_kernel_names[form], tsr_gpu_format_names[form], takes(form),
                            (TSR_AUTOMATIC_FORMS & TSR_FORM_BIT(form)) != 0};
}

/* ---- What a row means for a product ---- */

static bool is_real(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64;
}

unsigned tsr_cuda_class_of(tsr_semiring s)
{
    bool times = s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_SECOND;
    if (s.add == TSR_ADD_PLUS && times && is_real(s.type))
        return TSR_CUDA_SUMS;
    bool path = (s.add == TSR_ADD_PLUS && times) || ((s.add == TSR_ADD_MIN || s.add == TSR_ADD_MAX) && (times || s.mul == TSR_MUL_PLUS));
    return path && tsr_type_size(s.type) >= 4 ? TSR_CUDA_PATHS : 0;
}

const char *tsr_cuda_trace_name(const tsr_cuda_kernel *kernel, unsigned semirings, tsr_cuda_math math, bool narrow)
{
    if (narrow)
        return kernel->format->narrow_name;
    return semirings == TSR_CUDA_SUMS ? kernel->format->names[math] : tsr_gpu_format_names[kernel->form];
}

/* Finite, also after rounding, and 2^127 where FP32 is split or rounded to TF32. */
double tsr_cuda_limit(const tsr_cuda_kernel *kernel, tsr_cuda_math math)
{
    static const double limits[TSR_CUDA_MATH_COUNT] = {
        [TSR_CUDA_EXACT] = 0x1p127, [TSR_CUDA_TF32] = 0x1p127, [TSR_CUDA_FP16] = TSR_CUDA_FP16_LIMIT, [TSR_CUDA_BF16] = 0x1.ffp127,
        [TSR_CUDA_FP64] = INFINITY,
    };
    return kernel->format->full_values && !tsr_cuda_is_half(math) ? 0 : limits[math];
}

int tsr_cuda_block_width(const tsr_cuda_kernel *kernel, tsr_number number)
{
    return kernel->width16 && tsr_number_size(number) == 2 ? kernel->width16 : kernel->width;
}

tsr_number tsr_cuda_stored_number(const tsr_cuda_kernel *kernel, tsr_cuda_math math)
{
    return kernel->format->full_values && math != TSR_CUDA_FP64 ? TSR_NUMBER_FP32 : tsr_cuda_number(math);
}
