/* SDDMM over a stencil of the mask.
 *
 * The rule, where TESSERA_KERNEL does not name one: plus_times of FP32 whose operands have values and rows of whole 16 bytes; enough
 * entries per nonzero vector of 32 rows and wide enough rows of B' (`rules`); and as much time spent on products by row that the stencil
 * could have spared as making it takes (or as many calls announced).
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/stencil.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/shifts.h"
#include "backends/cuda/sparse.h"

/* From bench_masked on an H200, nine graphs, N = 32 and 128, 2026-11-21. */
typedef struct rule {
    tsr_cuda_math math;
    int64_t least_bytes; /* of a row, as it is multiplied */
    double least_density;
} rule;

static const rule rules[] = {
    {TSR_CUDA_EXACT, 512, 2.1}, {TSR_CUDA_EXACT, 128, 5}, {TSR_CUDA_TF32, 512, 2.1},
    {TSR_CUDA_TF32, 128, 5},    {TSR_CUDA_FP16, 256, 2.1}, {TSR_CUDA_BF16, 256, 2.1},
};

/* ms, of the same day: a byte of B' by row, and any product at least; counting vectors and making a stencil, per entry and at least.  And
 * the share of a product by row that a stencil is hoped to spare. */
static const double fetch_ms = 1.1e-10, launch_ms = 0.005, build_entry_ms = 1e-7, build_start_ms = 0.2, spared = 0.2;

/* ms, of 2026-11-22, N = 128: a byte of Y over a stencil in 16 bits; an element of X or Y to find its range and round it, and the wait for
 * the range. */
static const double half_ms = 2.5e-10, narrow_ms = 2.5e-9, narrow_start_ms = 0.03;
/* Where TF32 would be computed over the stencil: a byte of Y that is not fetched. */
static const double spared_ms = 1e-10;

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
    return tsr_cuda.device.major >= 9 && s.type == TSR_FP32 && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && dense[0].x &&
           dense[1].x && whole;
}

static bool applies(const tsr_cuda_stencil *s, const tsr_product *p, tsr_cuda_math math)
{
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (rules[k].math == math && row_bytes(p, math) >= rules[k].least_bytes &&
            (double)p->mask.nvals >= rules[k].least_density * (double)s->vectors)
            return true;
    return false;
}

static double by_row_ms(const tsr_product *p)
{
    return (double)p->mask.nvals * (double)row_bytes(p, TSR_CUDA_EXACT) * fetch_ms + launch_ms;
}

/* FP16 in place of TF32: over_stencil: else by row. */
static bool narrow_pays(const tsr_cuda_stencil *s, const tsr_product *p, bool over_stencil)
{
    double bytes = (double)s->vectors * (double)row_bytes(p, TSR_CUDA_FP16);
    double rounding = (double)(p->m + p->n) * (double)p->k * narrow_ms + narrow_start_ms;
    if (p->k < 128) /* nothing was measured below */
        return false;
    return over_stencil ? bytes * spared_ms > rounding : bytes * half_ms + rounding < 0.9 * by_row_ms(p);
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
    tsr_status status = tsr_cuda_count_vectors(vectors, &source, tsr_cuda.compute);
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
    tsr_status status = tsr_cuda_make_stencil(&s->blocks, &source, tsr_cuda.compute);
    if (status != TSR_OK)
        return status;
    int64_t most = tsr_cuda_stencil_most(&s->blocks.w, &tsr_cuda.device);
    status = tsr_cuda_make_work(&s->work, &s->blocks.w, NULL, most, tsr_cuda.compute);
    if (status != TSR_OK)
        tsr_cuda_free_stencil(&s->blocks, tsr_cuda.compute);
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

void tsr_cuda_stencil_free(tsr_cuda_stencil *s)
{
    if (s->bytes) {
        tsr_cuda_free_work(&s->work, tsr_cuda.compute);
        tsr_cuda_free_stencil(&s->blocks, tsr_cuda.compute);
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
    status = tsr_cuda_set(device_flag, 0, sizeof flag, tsr_cuda.compute);
    for (int k = 0; k < 2 && status == TSR_OK; k++)
        status = tsr_cuda_check_finite(device_flag, dense[k].x, TSR_NUMBER_FP32, dense[k].ld, rows_of(p, k), p->k, limit,
                                       tsr_cuda.compute);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(&flag, device_flag, sizeof flag, tsr_cuda.compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda.compute);
    tsr_cuda_delete(device_flag);
    status = status == TSR_OK ? waited : status;
    *fits = status == TSR_OK && flag == 0;
    return status;
}

/* shift: of each, to FP16; NULL: rounded as they are. */
static tsr_status round_operands(tsr_cuda_sddmm_plan *plan, const tsr_product *p, const tsr_cuda_dense dense[2], const int *shift)
{
    size_t bytes = (size_t)(p->m + p->n) * (size_t)p->k * 2;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    plan->bytes = bytes;
    tsr_status status = TSR_OK;
    for (int k = 0; k < 2 && status == TSR_OK; k++) {
        plan->ld[k] = p->k;
        status = tsr_cuda_new(&plan->rounded[k], (size_t)(rows_of(p, k) * p->k) * 2);
        if (status == TSR_OK && shift)
            status = tsr_cuda_narrow(plan->rounded[k], p->k, dense[k].x, dense[k].ld, rows_of(p, k), p->k, ldexpf(1, shift[k]),
                                     tsr_cuda.compute);
        else if (status == TSR_OK)
            status = tsr_cuda_convert(plan->rounded[k], tsr_cuda_number(plan->math), p->k, dense[k].x, TSR_NUMBER_FP32, dense[k].ld,
                                      rows_of(p, k), p->k, tsr_cuda.compute);
    }
    return status;
}

/* The stencil computes it in FP16 in place of TF32, if the operands fit; else plan->stencil is NULL. */
static tsr_status use_narrow(tsr_cuda_sddmm_plan *plan, tsr_cuda_stencil *s, const tsr_product *p, const tsr_cuda_dense dense[2])
{
    const tsr_cuda_numbers both[2] = {{dense[0].x, dense[0].ld, rows_of(p, 0), p->k}, {dense[1].x, dense[1].ld, rows_of(p, 1), p->k}};
    int shift[2] = {0, 0};
    bool fits;
    tsr_status status = tsr_cuda_find_shifts(shift, &fits, both, 2, NULL);
    if (status != TSR_OK || !fits) {
        s->wide = status == TSR_OK;
        return status;
    }
    plan->math = TSR_CUDA_FP16;
    status = round_operands(plan, p, dense, shift);
    if (status == TSR_OK) {
        plan->shift = shift[0] + shift[1];
        plan->stencil = s;
        plan->name = "sddmm-stencil-narrow";
    }
    return status;
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
        status = round_operands(plan, p, dense, NULL);
    if (status == TSR_OK) {
        plan->stencil = s;
        plan->name = names[math];
    }
    return status;
}

/* ---- the plan ---- */

static tsr_status choose(tsr_cuda_sddmm_plan *plan, tsr_cuda_stencil *s, const tsr_cuda_csr *mask, const tsr_product *p,
                         const tsr_cuda_dense dense[2], bool keep)
{
    tsr_cuda_math math = math_of(p);
    bool narrow = p->kernel && strcmp(p->kernel, "stencil-narrow") == 0, named = narrow || (p->kernel && strcmp(p->kernel, "stencil") == 0);
    bool others = p->kernel && strcmp(p->kernel, "csr") == 0, may_narrow = math == TSR_CUDA_TF32 && p->k % 8 == 0 && !s->wide;
    if (!takes(p, dense, math) || others || s->failed || (!named && !keep))
        return TSR_OK;
    bool paid = named || has_paid(s, p);
    tsr_status status = paid ? count_vectors(s, mask) : TSR_OK;
    if (status != TSR_OK || !(named || s->counted) || !(paid || s->bytes))
        return status;
    bool over_stencil = named || applies(s, p, math);
    narrow = may_narrow && (narrow || (!named && narrow_pays(s, p, over_stencil)));
    if (!over_stencil && !narrow)
        return TSR_OK;
    status = build(s, mask);
    if (status == TSR_OK && narrow)
        status = use_narrow(plan, s, p, dense);
    return status == TSR_OK && over_stencil && !plan->stencil ? use(plan, s, p, dense, math) : status;
}

tsr_status tsr_cuda_sddmm_open(tsr_cuda_sddmm_plan *plan, tsr_cuda_sparse *mask, const tsr_cuda_dense dense[2], const tsr_product *product,
                               bool keep)
{
    *plan = (tsr_cuda_sddmm_plan){.name = "sddmm"};
    tsr_cuda_stencil *s = &mask->stencil;
    tsr_status status = choose(plan, s, &mask->csr, product, dense, keep);
    if (!plan->stencil)
        s->spent_ms += by_row_ms(product);
    if (status == TSR_OK || status == TSR_INTERNAL_ERROR)
        return status;
    s->failed = true;
    return TSR_OK;
}

void tsr_cuda_sddmm_close(tsr_cuda_sddmm_plan *plan)
{
    for (int k = 0; k < 2; k++)
        tsr_cuda_delete(plan->rounded[k]);
    tsr_cuda_unreserve(plan->bytes);
    *plan = (tsr_cuda_sddmm_plan){0};
}

tsr_status tsr_cuda_sddmm_run(const tsr_cuda_sddmm_plan *plan, const tsr_cuda_sddmm *product)
{
    if (!plan->stencil)
        return tsr_cuda_sddmm_csr(product);
    tsr_cuda_sddmm q = *product;
    q.shift = plan->shift;
    if (plan->rounded[0]) {
        q.a = plan->rounded[0];
        q.lda = plan->ld[0];
        q.b = plan->rounded[1];
        q.ldb = plan->ld[1];
    }
    return tsr_cuda_sddmm_stencil(&plan->stencil->blocks, &plan->stencil->work, plan->math, &q);
}
