/* C<M> = A B where all are sparse.  The kernels want A, B' and the mask by row; a product with a mask by column is turned:
 * C' = B' A'.  The three are kept in their slots (often they are one matrix, and one representation), and with the mask the plan,
 * which depends on patterns only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/masked/masked.h"
#include "backends/cuda/masked/masked_plans.h"
#include "backends/cuda/masked/stencil.h"
#include "backends/cuda/compressed/compressed.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/contents.h"
#include "backends/cuda/operands/dense.h"
#include "backends/cuda/masked/entries.h"

enum { A, B, MASK, OPERANDS };

/* One product on its way. */
typedef struct masked {
    tsr_product product; /* turned */
    tsr_cuda_operand operand[OPERANDS];
    tsr_cuda_sparse *held[OPERANDS]; /* NULL: not yet, or (A and B of SDDMM) never */
    tsr_cuda_csr csr[OPERANDS];      /* as the kernels see them */
    tsr_cuda_dense dense[2];         /* SDDMM: A and B' */
    tsr_cuda_sddmm_plan plan;
    uint64_t *products;              /* device: their number; NULL: not wanted */
    const char *kernel;
} masked;

/* A result that stays on the device: all entries of a mask. */
typedef struct staying {
    tsr_cuda_contents contents;
    tsr_cuda_entries entries;
} staying;

enum { STAYING_SHARE = 4 }; /* of the memory allowed, at most */
static size_t staying_bytes; /* tsr_cuda_all.busy is held */

#define TAKES "any type and semiring; A, B and the mask sparse"

const tsr_kernel_row tsr_cuda_masked_kernels[] = {
    [TSR_CUDA_MASKED_PLAN] = {"masked_dot", "masked-plan", "masked-plan", TAKES, true},
    [TSR_CUDA_MASKED_SEARCH] = {"masked_dot", "masked-search", "masked-search", TAKES, true}};

/* ---- what there is to compute ---- */

static void start(masked *s, const tsr_product *product)
{
    *s = (masked){.product = tsr_product_by_row(product)};
    const tsr_product *p = &s->product;
    tsr_type type = p->semiring.type;
    tsr_view b = tsr_view_transposed(p->b);
    s->operand[A] = tsr_cuda_operand_of(&p->a, tsr_reads_a(p), type, p->a_slot, p->a_transposed, p->nthreads);
    s->operand[B] = tsr_cuda_operand_of(&b, tsr_reads_b(p), type, p->b_slot, !p->b_transposed, p->nthreads);
    s->operand[MASK] = tsr_cuda_operand_of(&p->mask, !p->mask_structural, p->mask.type, p->mask_slot, product->mask.by_col, p->nthreads);
}

bool tsr_cuda_masked_supports(const tsr_product *p)
{
    if (!tsr_is_compressed(&p->mask) || p->mask.jumbled || p->m + p->n >= UINT32_MAX - 1)
        return false;
    if (p->op == TSR_OP_SDDMM)
        return p->a.format == TSR_FULL && p->b.format == TSR_FULL;
    return tsr_is_compressed(&p->a) && tsr_is_compressed(&p->b);
}

bool tsr_cuda_masked_held(const tsr_product *product)
{
    masked s;
    start(&s, product);
    for (int k = product->op == TSR_OP_SDDMM ? MASK : A; k < OPERANDS; k++)
        if (!tsr_cuda_sparse_held(&s.operand[k]))
            return false;
    return true;
}

bool tsr_cuda_masked_empty(const tsr_product *p)
{
    static const char zeros[8];
    return p->mask.nvals == 0 || (!p->mask_structural && p->mask.iso && memcmp(p->mask.x, zeros, tsr_type_size(p->mask.type)) == 0);
}

/* ---- operands ---- */

/* One matrix is uploaded once. */
static int same_operand(const masked *s, int k)
{
    int before = 0;
    while (before < k && !(s->held[before] && tsr_cuda_same_operand(&s->operand[k], &s->operand[before])))
        before++;
    return before;
}

static tsr_status use_operand(masked *s, int k, int64_t *moved)
{
    int same = same_operand(s, k);
    tsr_status status = TSR_OK;
    if (same < k)
        s->held[k] = tsr_cuda_sparse_again(s->held[same]);
    else
        status = tsr_cuda_sparse_use(&s->held[k], &s->operand[k], moved);
    if (status != TSR_OK) {
        s->held[k] = NULL;
        return status;
    }
    s->csr[k] = s->held[k]->csr;
    return TSR_OK;
}

static void leave(masked *s)
{
    tsr_cuda_sddmm_close(&s->plan);
    for (int k = 0; k < 2; k++)
        tsr_cuda_dense_free(&s->dense[k]);
    for (int k = 0; k < OPERANDS; k++)
        if (s->held[k])
            tsr_cuda_sparse_leave(s->held[k]);
}

/* ---- computing ---- */

static bool may_keep(const masked *s, const tsr_cuda_masked *q)
{
    return q->begin == 0 && q->end == q->mask->nvals && s->held[A]->slot && s->held[B]->slot && s->held[MASK]->slot;
}

static tsr_status compute_dot(void *product, const tsr_cuda_entries *e)
{
    masked *s = product;
    const tsr_product *p = &s->product;
    tsr_cuda_csr mask = s->csr[MASK];
    tsr_cuda_masked q = {.semiring = p->semiring, .a = &s->csr[A], .b = &s->csr[B], .mask = &mask,
                         .mask_size = (int)tsr_type_size(p->mask.type), .begin = e->begin, .end = e->end,
                         .a_iso = tsr_cuda_iso_value(&p->a), .b_iso = tsr_cuda_iso_value(&p->b), .x = e->x, .present = e->present,
                         .products = s->products, .device = &tsr_cuda->device, .stream = tsr_cuda->compute};
    bool positions = tsr_cuda_masked_reads(&q), keeps = may_keep(s, &q);
    uint64_t of_a = s->held[A]->number, of_b = s->held[B]->number;
    tsr_cuda_kept_plan **plans = &s->held[MASK]->plans, *plan = keeps ? tsr_cuda_plan_find(*plans, of_a, of_b, positions) : NULL;
    bool made = !plan;
    tsr_status status = plan ? TSR_OK : tsr_cuda_plan_make(&plan, of_a, of_b, positions, &q);
    if (status == TSR_OK)
        status = tsr_cuda_masked_dot(plan ? &plan->plan : NULL, &q);
    s->kernel = tsr_cuda_masked_kernels[plan ? TSR_CUDA_MASKED_PLAN : TSR_CUDA_MASKED_SEARCH].trace;
    if (made && plan && keeps)
        tsr_cuda_plan_keep(plans, plan);
    else if (made && plan)
        tsr_cuda_plans_free(plan);
    return status;
}

static tsr_status compute_sddmm(void *product, const tsr_cuda_entries *e)
{
    masked *s = product;
    const tsr_product *p = &s->product;
    const tsr_cuda_dense *a = &s->dense[A], *b = &s->dense[B];
    tsr_cuda_sddmm q = {.semiring = p->semiring, .mask = &s->csr[MASK], .mask_size = (int)tsr_type_size(p->mask.type),
                        .begin = e->begin, .end = e->end, .k = p->k, .a = a->x, .lda = a->ld, .b = b->x, .ldb = b->ld,
                        .a_iso = a->iso, .b_iso = b->iso, .x = e->x, .present = e->present, .device = &tsr_cuda->device,
                        .stream = tsr_cuda->compute};
    return tsr_cuda_sddmm_run(&s->plan, &q);
}

/* C<S> = X X' uploads X once. */
static tsr_status use_dense(masked *s, int64_t *moved)
{
    const tsr_product *p = &s->product;
    const tsr_view *a = &s->operand[A].view, *b = &s->operand[B].view;
    bool reads_a = tsr_reads_a(p) && (p->a_value || !s->operand[A].key.pattern);
    bool reads_b = tsr_reads_b(p) && (p->b_value || !s->operand[B].key.pattern);
    tsr_status status = tsr_cuda_dense_use(&s->dense[A], a, p->a_value, reads_a, p->nthreads, moved);
    if (status != TSR_OK)
        return status;
    bool same = a->x == b->x && p->a_value == p->b_value && a->by_col == b->by_col && a->nrows == b->nrows && a->ld == b->ld;
    if (reads_a && reads_b && same) {
        s->dense[B] = s->dense[A];
        s->dense[B].bytes = 0;
        return TSR_OK;
    }
    return tsr_cuda_dense_use(&s->dense[B], b, p->b_value, reads_b, p->nthreads, moved);
}

static tsr_status open_sddmm(masked *s)
{
    tsr_cuda_sparse *mask = s->held[MASK];
    tsr_status status = tsr_cuda_sddmm_open(&s->plan, mask, s->dense, &s->product, mask->slot != NULL);
    s->kernel = s->plan.name;
    return status;
}

/* ---- results that stay ---- */

/* Exactly: then their sum is known with them. */
static bool counts(const masked *s)
{
    tsr_semiring r = s->product.semiring;
    return r.add == TSR_ADD_PLUS && r.mul == TSR_MUL_PAIR && r.type != TSR_BOOL && r.type != TSR_FP32 && r.type != TSR_FP64;
}

static bool may_stay(const masked *s, const tsr_result *result)
{
    size_t bytes = (size_t)s->product.mask.nvals * (tsr_type_size(s->product.semiring.type) + 1);
    return result->may_stay && s->product.op == TSR_OP_MASKED_DOT && counts(s) &&
           bytes + staying_bytes <= tsr_cuda->cap / STAYING_SHARE;
}

static tsr_status compute_and_count(masked *s, const tsr_cuda_entries *e, uint64_t *total)
{
    tsr_status status = tsr_cuda_new((void **)&s->products, sizeof *total);
    if (status == TSR_OK)
        status = tsr_cuda_set(s->products, 0, sizeof *total, tsr_cuda->compute);
    if (status == TSR_OK)
        status = compute_dot(s, e);
    if (status == TSR_OK)
        status = tsr_cuda_to_host(total, s->products, sizeof *total, tsr_cuda->compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    tsr_cuda_delete(s->products);
    s->products = NULL;
    return status == TSR_OK ? waited : status;
}

static tsr_status download(void *contents, tsr_download *to)
{
    const staying *kept = contents;
    return tsr_cuda_entries_download(&kept->entries, to);
}

static void free_staying(void *contents)
{
    staying *kept = contents;
    staying_bytes -= kept->entries.bytes;
    tsr_cuda_entries_close(&kept->entries);
    free(kept);
}

static tsr_status compute_and_stay(masked *s, tsr_result *result)
{
    staying *kept = malloc(sizeof *kept);
    if (!kept)
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_entries_open(&kept->entries, 0, s->product.mask.nvals, tsr_type_size(s->product.semiring.type));
    if (status == TSR_OK) {
        status = compute_and_count(s, &kept->entries, &result->total);
        if (status != TSR_OK)
            tsr_cuda_entries_close(&kept->entries);
    }
    if (status != TSR_OK) {
        free(kept);
        return status;
    }
    tsr_cuda_contents_start(&kept->contents, download, free_staying);
    staying_bytes += kept->entries.bytes;
    result->stays = kept;
    return TSR_OK;
}

/* ---- compressed results ---- */

/* Entries that are not present are left out. */
static tsr_status compute_compressed(masked *s, tsr_result *result)
{
    const tsr_type type = s->product.semiring.type;
    tsr_cuda_entries entries;
    tsr_status status = tsr_cuda_entries_open(&entries, 0, s->product.mask.nvals, tsr_type_size(type));
    if (status != TSR_OK)
        return status;
    result->counted = counts(s);
    status = result->counted ? compute_and_count(s, &entries, &result->total) : compute_dot(s, &entries);
    if (status == TSR_OK)
        status = tsr_cuda_compressed_flagged(&result->stays, &s->csr[MASK], entries.present, entries.x, type, &result->nvals);
    tsr_cuda_entries_close(&entries);
    return status;
}

/* ---- all of it ---- */

static tsr_status compute_portions(masked *s, tsr_cuda_compute_entries compute, tsr_result *result)
{
    tsr_download to = {.nthreads = s->product.nthreads, .x = result->x, .b = result->b};
    const tsr_status status = tsr_cuda_entries_in_portions(s->product.mask.nvals, tsr_type_size(s->product.semiring.type), compute, s, &to);
    result->nvals = to.nvals;
    result->bytes_moved += to.bytes_moved;
    return status;
}

static tsr_status run(masked *s, tsr_result *result)
{
    bool dots = s->product.op == TSR_OP_MASKED_DOT;
    tsr_status status = dots ? TSR_OK : use_dense(s, &result->bytes_moved);
    for (int k = dots ? A : MASK; k < OPERANDS && status == TSR_OK; k++)
        status = use_operand(s, k, &result->bytes_moved);
    if (status == TSR_OK && result->compressed)
        return dots ? compute_compressed(s, result) : TSR_DECLINED;
    if (status == TSR_OK && may_stay(s, result))
        return compute_and_stay(s, result);
    if (status == TSR_OK && !dots)
        status = open_sddmm(s);
    if (status != TSR_OK)
        return status;
    return compute_portions(s, dots ? compute_dot : compute_sddmm, result);
}

tsr_status tsr_cuda_masked_execute(const tsr_product *product, tsr_result *result)
{
    masked s;
    start(&s, product);
    result->nvals = result->bytes_moved = 0;
    tsr_status status = run(&s, result);
    if (status != TSR_OK)
        tsr_cuda_settle();
    leave(&s);
    result->kernel = s.kernel;
    return status;
}
