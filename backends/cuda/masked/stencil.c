/* SDDMM over a stencil of the mask, or by row with rows of B' as FP16.
 *
 * The rule, where TESSERA_KERNEL does not name one: plus_times of FP32 whose operands have values and rows of whole 16 bytes.  A stencil:
 * enough entries per nonzero vector of 32 rows and wide enough rows of B' (`rules`); and as much time spent on products by row that the
 * stencil could have spared as making it takes (or as many calls announced).  Else FP16, where TF32 or less is allowed and the bytes of B'
 * that it spares outweigh rounding B'.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/stencil.h"

#include <math.h>
#include <string.h>

#include "kernels/cuda/common/fp16_scaling.h"

/* From bench_masked on an H200, nine graphs, N = 32 and 128, 2026-11-21. */
typedef struct rule {
    tsr_cuda_math math;
    int64_t least_bytes; /* of a row, as it is multiplied */
    double least_density;
    bool alone; /* where FP16 by row does not pay */
} rule;

static const rule rules[] = {
    {TSR_CUDA_EXACT, 512, 2.1, false}, {TSR_CUDA_EXACT, 128, 5, false},  {TSR_CUDA_TF32, 512, 2.1, true},
    {TSR_CUDA_TF32, 128, 5, false},    {TSR_CUDA_FP16, 256, 2.1, false}, {TSR_CUDA_BF16, 256, 2.1, false},
};

/* ms, of the same day: a byte of B' by row, and any product at least; counting vectors and making a stencil, per entry and at least.  And
 * the share of a product by row that a stencil is hoped to spare. */
static const double fetch_ms = 1.1e-10, launch_ms = 0.005, build_entry_ms = 1e-7, build_start_ms = 0.2, spared = 0.2;

/* ms, of 2026-11-22, K = 32 and 128: an element of B' to round it, the start of that, and what an entry costs more than its bytes. */
static const double narrow_ms = 2e-9, narrow_start_ms = 0.004, narrow_entry_ms = 5.5e-9;

const tsr_kernel_row tsr_cuda_sddmm_kernels[] = {
    [TSR_CUDA_SDDMM_CSR] = {"sddmm", "csr", "sddmm", "any type and semiring; A and B full", true},
    [TSR_CUDA_SDDMM_NARROW] = {"sddmm", "csr-narrow", "sddmm-narrow", "plus_times of FP32 where TF32 is allowed; rows of whole 16 bytes", true},
    [TSR_CUDA_SDDMM_STENCIL] = {"sddmm", "stencil", "sddmm-stencil", "plus_times of FP32; rows of whole 16 bytes; sm_90", true}};

static const char *const names[TSR_CUDA_MATH_COUNT] = {"sddmm-stencil", "sddmm-stencil-tf32", "sddmm-stencil-fp16", "sddmm-stencil-bf16",
                                                       NULL};

/* Elements must stay below this in magnitude. */
static const double limits[TSR_CUDA_MATH_COUNT] = {
    [TSR_CUDA_EXACT] = INFINITY, [TSR_CUDA_TF32] = 0x1p127, [TSR_CUDA_FP16] = 65520.0, [TSR_CUDA_BF16] = 0x1.ffp127};

/* ---- which ---- */

static tsr_cuda_math math_of(const tsr_product *p)
{
    static const tsr_cuda_math of_precision[] = {
        [TSR_PRECISION_EXACT] = TSR_CUDA_EXACT, [TSR_PRECISION_TF32] = TSR_CUDA_TF32, [TSR_PRECISION_BF16] = TSR_CUDA_BF16,
        [TSR_PRECISION_FP16] = TSR_CUDA_FP16,
    };
    return of_precision[p->precision];
}

static bool is_half(tsr_cuda_math math)
{
    return math == TSR_CUDA_FP16 || math == TSR_CUDA_BF16;
}

static int64_t row_bytes(const tsr_product *p, tsr_cuda_math math)
{
    return p->k * (is_half(math) ? 2 : 4);
}

static bool takes(const tsr_product *p, const tsr_cuda_dense dense[2], tsr_cuda_math math)
{
    tsr_semiring s = p->semiring;
    bool whole = row_bytes(p, math) % 16 == 0 && dense[0].ld % 4 == 0 && dense[1].ld % 4 == 0;
    return tsr_cuda->device.major >= 9 && s.type == TSR_FP32 && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && dense[0].x &&
           dense[1].x && whole;
}

static double by_row_ms(const tsr_product *p)
{
    return (double)p->mask.nvals * (double)row_bytes(p, TSR_CUDA_EXACT) * fetch_ms + launch_ms;
}

/* Can rows of B' be FP16 in place of TF32, by row? */
static bool may_narrow(const tsr_product *p, const tsr_cuda_dense dense[2], tsr_cuda_math math)
{
    tsr_semiring s = p->semiring;
    return math != TSR_CUDA_EXACT && s.type == TSR_FP32 && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && dense[0].x && dense[1].x &&
           p->k % 8 == 0 && dense[0].ld % 4 == 0 && dense[1].ld % 4 == 0;
}

static bool narrow_pays(const tsr_product *p)
{
    double spared_ms = (double)p->mask.nvals * ((double)p->k * 2 * fetch_ms - narrow_entry_ms);
    return p->k % 8 == 0 && spared_ms > (double)p->n * (double)p->k * narrow_ms + narrow_start_ms;
}

static bool is_dense(const tsr_cuda_stencil *s, const rule *r, int64_t nvals, int64_t bytes, tsr_cuda_math math)
{
    return r->math == math && bytes >= r->least_bytes && (double)nvals >= r->least_density * (double)s->vectors;
}

/* TF32 by a stencil has to beat FP16 by row where that pays. */
static bool applies(const tsr_cuda_stencil *s, const tsr_product *p, tsr_cuda_math math)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const rule *r = &rules[k];
        if (is_dense(s, r, p->mask.nvals, row_bytes(p, math), math) && !(r->alone && narrow_pays(p)))
            return true;
    }
    return false;
}

static bool has_paid(const tsr_cuda_stencil *s, const tsr_product *p)
{
    double products = p->expected_calls > 0 ? p->expected_calls * by_row_ms(p) : s->spent_ms;
    return products * spared >= (double)p->mask.nvals * build_entry_ms + build_start_ms;
}

/* ---- making it ---- */

static tsr_source source_of(const tsr_cuda_csr *mask)
{
    return (tsr_source){.nrows = mask->nrows, .ncols = mask->ncols, .nvals = mask->nvals, .p = mask->p, .i = mask->i};
}

static tsr_status count_vectors(tsr_cuda_stencil *s, const tsr_cuda_csr *mask)
{
    if (s->counted)
        return TSR_OK;
    int64_t vectors[5]; /* at heights 8, 16, 32, 64, 128 */
    tsr_source source = source_of(mask);
    size_t working = (size_t)mask->nvals * 24 + 65536; /* keys to sort */
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_count_vectors(vectors, &source, tsr_cuda->compute);
    tsr_cuda_unreserve(working);
    s->counted = status == TSR_OK;
    s->vectors = s->counted ? vectors[2] : 0;
    return status;
}

static size_t at_most_bytes(const tsr_cuda_stencil *s, const tsr_cuda_csr *mask)
{
    size_t vectors = (size_t)s->vectors, windows = (size_t)(mask->nrows / TSR_STENCIL_HEIGHT + 1);
    size_t blocks = vectors / TSR_STENCIL_WIDTH + windows, items = blocks + windows;
    return 24 * windows + 4 * vectors + 48 * items + 4 * TSR_STENCIL_HEIGHT * blocks + 65536;
}

static tsr_status make(tsr_cuda_stencil *s, const tsr_cuda_csr *mask)
{
    tsr_source source = source_of(mask);
    tsr_status status = tsr_cuda_make_stencil(&s->blocks, &source, tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    int64_t most = tsr_cuda_stencil_most(&s->blocks.w, &tsr_cuda->device);
    status = tsr_cuda_make_work(&s->work, &s->blocks.w, NULL, most, tsr_cuda->compute);
    if (status != TSR_OK)
        tsr_cuda_free_stencil(&s->blocks, tsr_cuda->compute);
    return status;
}

static tsr_status build(tsr_cuda_stencil *s, const tsr_cuda_csr *mask)
{
    tsr_status status = count_vectors(s, mask);
    if (status != TSR_OK || s->bytes)
        return status;
    size_t bytes = at_most_bytes(s, mask), working = (size_t)mask->nvals * 32;
    if (!tsr_cuda_reserve(bytes + working))
        return TSR_OUT_OF_MEMORY;
    status = make(s, mask);
    tsr_cuda_unreserve(status == TSR_OK ? working : bytes + working);
    s->bytes = status == TSR_OK ? bytes : 0;
    return status;
}

tsr_status tsr_cuda_stencil_prepare(tsr_cuda_stencil *s, const tsr_cuda_csr *mask, int64_t bytes, tsr_cuda_math math)
{
    bool wanted = false;
    tsr_status status = count_vectors(s, mask);
    for (size_t k = 0; status == TSR_OK && k < sizeof rules / sizeof *rules; k++)
        wanted = wanted || is_dense(s, &rules[k], mask->nvals, bytes, math);
    return status == TSR_OK && wanted ? build(s, mask) : status;
}

void tsr_cuda_stencil_free(tsr_cuda_stencil *s)
{
    if (s->bytes) {
        tsr_cuda_free_work(&s->work, tsr_cuda->compute);
        tsr_cuda_free_stencil(&s->blocks, tsr_cuda->compute);
        tsr_cuda_unreserve(s->bytes);
    }
    *s = (tsr_cuda_stencil){0};
}

/* ---- operands ---- */

/* Rows of A and of B'. */
static int64_t rows_of(const tsr_product *p, int k)
{
    return k == 0 ? p->m : p->n;
}

static tsr_status check_range(bool *fits, const tsr_product *p, const tsr_cuda_dense dense[2], double limit)
{
    int flag = 0, *device_flag;
    tsr_status status = tsr_cuda_new((void **)&device_flag, sizeof flag);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_set(device_flag, 0, sizeof flag, tsr_cuda->compute);
    for (int k = 0; k < 2 && status == TSR_OK; k++)
        status = tsr_cuda_check_finite(device_flag, dense[k].x, TSR_NUMBER_FP32, dense[k].ld, rows_of(p, k), p->k, limit,
                                       tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&flag, device_flag, sizeof flag, tsr_cuda->compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    tsr_cuda_delete(device_flag);
    status = status == TSR_OK ? waited : status;
    *fits = status == TSR_OK && flag == 0;
    return status;
}

static tsr_status round_operands(tsr_cuda_sddmm_plan *plan, const tsr_product *p, const tsr_cuda_dense dense[2])
{
    size_t bytes = (size_t)(p->m + p->n) * (size_t)p->k * 2;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    plan->bytes = bytes;
    tsr_status status = TSR_OK;
    for (int k = 0; k < 2 && status == TSR_OK; k++) {
        plan->ld[k] = p->k;
        status = tsr_cuda_new(&plan->rounded[k], (size_t)(rows_of(p, k) * p->k) * 2);
        if (status == TSR_OK)
            status = tsr_cuda_convert(plan->rounded[k], tsr_cuda_number(plan->math), p->k, dense[k].x, TSR_NUMBER_FP32, dense[k].ld,
                                      rows_of(p, k), p->k, tsr_cuda->compute);
    }
    return status;
}

/* Rows of B' become FP16.  Without memory for them nothing changes. */
static tsr_status use_narrow(tsr_cuda_sddmm_plan *plan, const tsr_product *p, const tsr_cuda_dense dense[2])
{
    size_t bytes = (size_t)p->n * (size_t)p->k * 2 + (size_t)p->n;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OK;
    plan->bytes = bytes;
    tsr_status status = tsr_cuda_new(&plan->rounded[1], (size_t)(p->n * p->k) * 2);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&plan->exponent, (size_t)p->n);
    if (status == TSR_OK)
        status = tsr_cuda_narrow_rows(plan->rounded[1], plan->exponent, dense[1].x, dense[1].ld, p->n, p->k, tsr_cuda->compute);
    if (status == TSR_OK)
        plan->name = tsr_cuda_sddmm_kernels[TSR_CUDA_SDDMM_NARROW].trace;
    else
        tsr_cuda_sddmm_close(plan);
    return status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
}

/* The stencil computes it, unless an element is out of range. */
static tsr_status use(tsr_cuda_sddmm_plan *plan, const tsr_cuda_stencil *s, const tsr_product *p, const tsr_cuda_dense dense[2],
                      tsr_cuda_math math)
{
    bool fits = true;
    tsr_status status = math == TSR_CUDA_EXACT ? TSR_OK : check_range(&fits, p, dense, limits[math]);
    if (status != TSR_OK || !fits)
        return status;
    plan->math = math;
    if (is_half(math))
        status = round_operands(plan, p, dense);
    if (status == TSR_OK) {
        plan->stencil = s;
        plan->name = names[math];
    }
    return status;
}

/* ---- the plan ---- */

static bool is_named(const tsr_product *p, int kernel)
{
    return p->kernel && strcmp(p->kernel, tsr_cuda_sddmm_kernels[kernel].name) == 0;
}

/* A stencil, if it takes the product and pays. */
static tsr_status choose_stencil(tsr_cuda_sddmm_plan *plan, tsr_cuda_stencil *s, const tsr_cuda_csr *mask, const tsr_product *p,
                                 const tsr_cuda_dense dense[2], bool keep)
{
    tsr_cuda_math math = math_of(p);
    bool named = is_named(p, TSR_CUDA_SDDMM_STENCIL);
    if (!takes(p, dense, math) || s->failed || (!named && !keep))
        return TSR_OK;
    bool paid = named || has_paid(s, p);
    tsr_status status = paid ? count_vectors(s, mask) : TSR_OK;
    if (status != TSR_OK || !(named || s->counted) || !(paid || s->bytes) || !(named || applies(s, p, math)))
        return status;
    status = build(s, mask);
    return status == TSR_OK ? use(plan, s, p, dense, math) : status;
}

tsr_status tsr_cuda_sddmm_open(tsr_cuda_sddmm_plan *plan, tsr_cuda_sparse *mask, const tsr_cuda_dense dense[2], const tsr_product *product,
                               bool keep)
{
    const tsr_product *p = product;
    tsr_cuda_stencil *s = &mask->stencil;
    *plan = (tsr_cuda_sddmm_plan){.name = tsr_cuda_sddmm_kernels[TSR_CUDA_SDDMM_CSR].trace};
    if (is_named(p, TSR_CUDA_SDDMM_CSR))
        return TSR_OK;
    bool named = is_named(p, TSR_CUDA_SDDMM_NARROW);
    tsr_status status = named ? TSR_OK : choose_stencil(plan, s, &mask->csr, p, dense, keep);
    s->failed = s->failed || (status != TSR_OK && status != TSR_INTERNAL_ERROR);
    if (status == TSR_INTERNAL_ERROR || plan->stencil)
        return status;
    s->spent_ms += by_row_ms(p);
    return may_narrow(p, dense, math_of(p)) && (named || narrow_pays(p)) ? use_narrow(plan, p, dense) : TSR_OK;
}

void tsr_cuda_sddmm_close(tsr_cuda_sddmm_plan *plan)
{
    for (int k = 0; k < 2; k++)
        tsr_cuda_delete(plan->rounded[k]);
    tsr_cuda_delete(plan->exponent);
    tsr_cuda_unreserve(plan->bytes);
    *plan = (tsr_cuda_sddmm_plan){.name = tsr_cuda_sddmm_kernels[TSR_CUDA_SDDMM_CSR].trace};
}

tsr_status tsr_cuda_sddmm_run(const tsr_cuda_sddmm_plan *plan, const tsr_cuda_sddmm *product)
{
    if (plan->exponent)
        return tsr_cuda_sddmm_narrow(product, plan->rounded[1], plan->exponent);
    if (!plan->stencil)
        return tsr_cuda_sddmm_csr(product);
    tsr_cuda_sddmm q = *product;
    if (plan->rounded[0]) {
        q.a = plan->rounded[0];
        q.lda = plan->ld[0];
        q.b = plan->rounded[1];
        q.ldb = plan->ld[1];
    }
    return tsr_cuda_sddmm_stencil(&plan->stencil->blocks, &plan->stencil->work, plan->math, &q);
}
