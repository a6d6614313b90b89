/* C = A B where all are sparse, perhaps under a mask.  The kernels want all by row; a C by column is computed as C' = B' A'.  Where C finds no room on the
 * device its rows are computed in portions, when they are downloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spgemm/sparse_product.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/compressed/new.h"
#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spgemm/mask_bits.h"
#include "backends/cuda/spgemm/rows.h"
#include "tessera/device.h"

enum { A, B, MASK, OPERANDS, FIRST_PORTIONS = 8 };

const tsr_kernel_row tsr_cuda_spgemm_kernels[TSR_CUDA_SPGEMM_KERNELS] = {
    {"spgemm", "spgemm", "spgemm", "any type and semiring; A and B sparse, any mask", true},
    {"spgemm", "spgemm-tiles", "spgemm-tiles", "plus_times where C is dense in blocks; Tensor Cores, no mask", true}};

typedef struct sparse_product {
    tsr_cuda_contents contents;
    tsr_product product; /* by row */
    bool pattern;
    tsr_cuda_operand operand[OPERANDS];
    tsr_cuda_sparse *held[OPERANDS];
    tsr_cuda_mask_bits mask_bits; /* of a bitmap or full mask, for which nothing is held */
    uint64_t iso[OPERANDS];
    const void *values[MASK]; /* of A and B, where the caller has them in device memory */
    tsr_cuda_rows c; /* all of C; without arrays: it finds no room */
} sparse_product;

/* ---- operands ---- */

static void start(sparse_product *s, const tsr_product *product)
{
    *s = (sparse_product){.product = product->c_by_col ? tsr_product_turned(product) : *product};
    const tsr_product *p = &s->product;
    const tsr_type type = p->semiring.type;
    s->operand[A] = tsr_cuda_operand_of(&p->a, tsr_reads_a(p), type, p->a_slot, p->a_transposed, p->nthreads);
    s->operand[B] = tsr_cuda_operand_of(&p->b, tsr_reads_b(p), type, p->b_slot, p->b_transposed, p->nthreads);
    s->operand[MASK] = tsr_cuda_operand_of(&p->mask, !p->mask_structural, p->mask.type, p->mask_slot, product->c_by_col, p->nthreads);
    s->iso[A] = tsr_cuda_iso_value(&p->a);
    s->iso[B] = tsr_cuda_iso_value(&p->b);
}

static bool has_dense_mask(const tsr_product *p)
{
    return tsr_has_mask(p) && !tsr_is_compressed(&p->mask);
}

/* Those that are sparse. */
static int operands_of(const sparse_product *s)
{
    return tsr_has_mask(&s->product) && !has_dense_mask(&s->product) ? OPERANDS : MASK;
}

bool tsr_cuda_sparse_product_held(const tsr_product *product)
{
    sparse_product s;
    start(&s, product);
    for (int k = A; k < operands_of(&s); k++)
        if (!tsr_cuda_sparse_held(&s.operand[k]))
            return false;
    return true;
}

/* One matrix is uploaded once. */
static tsr_status use_operand(sparse_product *s, int k, int64_t *moved)
{
    int before = 0;
    while (before < k && !tsr_cuda_same_operand(&s->operand[k], &s->operand[before]))
        before++;
    if (before < k) {
        s->held[k] = tsr_cuda_sparse_again(s->held[before]);
        return TSR_OK;
    }
    const tsr_status status = tsr_cuda_sparse_use(&s->held[k], &s->operand[k], moved);
    s->held[k] = status == TSR_OK ? s->held[k] : NULL;
    return status;
}

static tsr_status use_operands(sparse_product *s, int64_t *moved)
{
    tsr_status status = TSR_OK;
    for (int k = A; k < operands_of(s) && status == TSR_OK; k++)
        status = use_operand(s, k, moved);
    const tsr_product *p = &s->product;
    if (status == TSR_OK && has_dense_mask(p))
        status = tsr_cuda_mask_bits_upload(&s->mask_bits, &p->mask, p->mask_structural, p->nthreads, moved);
    return status;
}

static void leave(sparse_product *s)
{
    tsr_cuda_rows_free(&s->c);
    tsr_cuda_mask_bits_free(&s->mask_bits);
    for (int k = 0; k < OPERANDS; k++) {
        if (s->held[k])
            tsr_cuda_sparse_leave(s->held[k]);
        s->held[k] = NULL;
    }
}

/* ---- values that are on the device already ---- */

static void name_values(sparse_product *s, bool turned, const tsr_sparse_result *result)
{
    s->values[turned ? B : A] = result->a_values;
    s->values[turned ? A : B] = result->b_values;
}

static bool is_as_given(const tsr_cuda_operand *o)
{
    return !o->view.by_col && !o->view.jumbled;
}

static bool values_fit(const sparse_product *s)
{
    for (int k = A; k < MASK; k++)
        if (s->values[k] && !is_as_given(&s->operand[k]))
            return false;
    return true;
}

/* They take the place of what was uploaded. */
static tsr_status take_values(sparse_product *s, const tsr_sparse_result *result)
{
    tsr_status status = TSR_OK;
    if (s->values[A] || s->values[B])
        status = tsr_cuda_after(tsr_cuda->compute, result->stream);
    for (int k = A; k < MASK && status == TSR_OK; k++) {
        const tsr_cuda_sparse *held = s->held[k];
        const size_t bytes = held->key.pattern || !s->values[k] ? 0 : (size_t)held->csr.nvals * tsr_type_size(held->key.type);
        if (bytes && (k == A || held != s->held[A]))
            status = tsr_cuda_rows_on_device(held->csr.x, bytes, s->values[k], bytes, bytes, 1, tsr_cuda->compute);
    }
    return status;
}

/* ---- on the device ---- */

static tsr_cuda_spgemm kernels_product(const sparse_product *s)
{
    const tsr_product *p = &s->product;
    return (tsr_cuda_spgemm){.semiring = p->semiring, .pattern = s->pattern, .a = &s->held[A]->csr, .b = &s->held[B]->csr,
                             .a_iso = s->iso[A], .b_iso = s->iso[B], .mask = s->held[MASK] ? &s->held[MASK]->csr : NULL,
                             .mask_bits = s->mask_bits.bits, .mask_words = s->mask_bits.words,
                             .mask_size = (int)tsr_type_size(p->mask.type), .mask_complement = p->mask_complement, .precision = p->precision,
                             .device = &tsr_cuda->device, .stream = tsr_cuda->compute};
}

static tsr_status compute(const sparse_product *s, tsr_cuda_rows *rows)
{
    const tsr_cuda_spgemm q = kernels_product(s);
    return tsr_cuda_rows_compute(rows, &q);
}

/* C as a whole, or no more than its size. */
static tsr_status compute_all(sparse_product *s, bool comes_again)
{
    s->c = (tsr_cuda_rows){.last = s->product.m, .nvals = -1, .comes_again = comes_again};
    const tsr_status status = compute(s, &s->c);
    return s->c.nvals >= 0 && (status == TSR_DECLINED || status == TSR_OUT_OF_MEMORY) ? TSR_OK : status;
}

static tsr_status multiply_once(sparse_product *s, tsr_sparse_result *result)
{
    tsr_status status = use_operands(s, &result->bytes_moved);
    if (status == TSR_OK)
        status = take_values(s, result);
    if (status == TSR_OK)
        status = compute_all(s, result->comes_again);
    if (status != TSR_OK) {
        tsr_cuda_settle();
        leave(s);
    }
    return status;
}

/* Values of operands that were uploaded for this product alone. */
static tsr_status renew_operands(sparse_product *s, int64_t *moved)
{
    tsr_status status = TSR_OK;
    for (int k = A; k < MASK && status == TSR_OK; k++)
        if (!s->values[k] && (k == A || s->held[B] != s->held[A]))
            status = tsr_cuda_sparse_renew(s->held[k], &s->operand[k], moved);
    return status;
}

static tsr_status again_once(sparse_product *s, const tsr_product *product, tsr_sparse_result *result)
{
    sparse_product other;
    start(&other, product);
    if (!s->c.work || tsr_has_mask(&s->product) || tsr_cuda_same_operand(&other.operand[A], &other.operand[B]) != (s->held[A] == s->held[B]))
        return TSR_DECLINED;
    for (int k = 0; k < MASK; k++) {
        s->operand[k] = other.operand[k];
        s->iso[k] = other.iso[k];
    }
    name_values(s, product->c_by_col, result);
    tsr_status status = values_fit(s) ? renew_operands(s, &result->bytes_moved) : TSR_DECLINED;
    if (status == TSR_OK)
        status = take_values(s, result);
    const tsr_cuda_spgemm q = kernels_product(s);
    if (status == TSR_OK)
        status = tsr_cuda_rows_again(&s->c, &q);
    if (status != TSR_OK)
        tsr_cuda_settle();
    return status;
}

/* ---- downloading ---- */

static bool may_be_smaller(tsr_status status, const tsr_cuda_rows *rows)
{
    return (status == TSR_DECLINED || status == TSR_OUT_OF_MEMORY) && rows->last - rows->first > 1;
}

/* Rows that find no room are computed in two portions, as those after them. */
static tsr_status download_portions(const sparse_product *s, tsr_download *to)
{
    const int64_t m = s->product.m;
    int64_t step = (m + FIRST_PORTIONS - 1) / FIRST_PORTIONS, entries = 0;
    tsr_status status = TSR_OK;
    for (int64_t first = 0; status == TSR_OK && first < m;) {
        tsr_cuda_rows rows = {.first = first, .last = first + step < m ? first + step : m};
        status = compute(s, &rows);
        if (may_be_smaller(status, &rows)) {
            step = (rows.last - first + 1) / 2;
            status = TSR_OK;
            continue;
        }
        if (status == TSR_OK)
            status = tsr_cuda_rows_download(&rows, entries, to);
        first = rows.last;
        entries += rows.nvals;
        tsr_cuda_rows_free(&rows);
    }
    return status;
}

static tsr_status download(void *contents, tsr_download *to)
{
    const sparse_product *s = contents;
    if (!to->p && !s->c.csr.p)
        return TSR_DECLINED;
    const tsr_status status = s->c.csr.p ? tsr_cuda_rows_download(&s->c, 0, to) : download_portions(s, to);
    to->nvals = s->c.nvals;
    if (to->p)
        to->p[to->nvec] = to->nvals;
    return status;
}

static void free_product(void *contents)
{
    leave(contents);
    free(contents);
}

/* ---- what the engine calls ---- */

static const char *kernel_of(const sparse_product *s)
{
    return tsr_cuda_spgemm_kernels[s->c.tiles].trace;
}

/* Of a sparse mask of one value that is false nothing is left.  A dense one must be held as C is, and on the host. */
static bool mask_fits(const tsr_product *p)
{
    static const char zeros[8];
    const tsr_view *m = &p->mask;
    if (!tsr_has_mask(p))
        return true;
    if (has_dense_mask(p))
        return m->by_col == p->c_by_col && (m->b || m->format == TSR_FULL) && (m->x || p->mask_structural);
    const bool is_false = !p->mask_structural && m->iso && memcmp(m->x, zeros, tsr_type_size(m->type)) == 0;
    return !m->jumbled && !is_false;
}

static bool supports(const tsr_product *p)
{
    const bool sizes = p->m < UINT32_MAX && p->n < UINT32_MAX && p->k < UINT32_MAX && mask_fits(p);
    return tsr_is_sparse_product(p) && sizes && p->a.nvals > 0 && p->b.nvals > 0 && tsr_monoid_fits(p->semiring) && tsr_values_fit(p);
}

typedef struct multiplying {
    sparse_product *s;
    tsr_sparse_result *result;
    void **made; /* compressed contents, where they are wanted */
} multiplying;

/* Its rows are the vectors of C. */
static tsr_status compress(sparse_product *s, void **made)
{
    tsr_cuda_csr csr = s->c.csr;
    const bool whole = csr.p;
    s->c.csr = (tsr_cuda_csr){0};
    leave(s);
    return whole ? tsr_cuda_compressed_new(made, &csr, s->product.semiring.type) : TSR_DECLINED;
}

static tsr_status run_multiply(void *arguments)
{
    multiplying *m = arguments;
    const tsr_status status = multiply_once(m->s, m->result);
    return status == TSR_OK && m->result->compressed ? compress(m->s, m->made) : status;
}

static tsr_status multiply(void **c, const tsr_product *product, tsr_sparse_result *result)
{
    *c = NULL;
    sparse_product *s = tsr_cuda_alive() ? malloc(sizeof *s) : NULL;
    if (!s)
        return tsr_cuda_alive() ? TSR_OUT_OF_MEMORY : TSR_DECLINED;
    start(s, product);
    name_values(s, product->c_by_col, result);
    if (!values_fit(s)) {
        free(s);
        return TSR_DECLINED;
    }
    s->pattern = result->pattern;
    tsr_cuda_context *device = tsr_cuda_device_numbered(result->device);
    tsr_cuda_contents_start(&s->contents, download, free_product);
    s->contents.dead.device = device;
    const tsr_status status = tsr_cuda_alone_on(device, run_multiply, &(multiplying){s, result, c});
    result->nvals = s->c.nvals;
    result->kernel = kernel_of(s);
    if (status == TSR_OK && !result->compressed)
        *c = s;
    else
        free(s);
    return status;
}

typedef struct repeating {
    sparse_product *s;
    const tsr_product *product;
    tsr_sparse_result *result;
} repeating;

static tsr_status run_again(void *arguments)
{
    repeating *r = arguments;
    return again_once(r->s, r->product, r->result);
}

static tsr_status again(void *c, const tsr_product *product, tsr_sparse_result *result)
{
    sparse_product *s = c;
    result->nvals = s->c.nvals;
    result->kernel = kernel_of(s);
    tsr_cuda_context *device = s->contents.dead.device;
    if (!tsr_cuda_alive() || device != tsr_cuda_device_numbered(result->device))
        return TSR_DECLINED;
    return tsr_cuda_alone_on(device, run_again, &(repeating){s, product, result});
}

/* ---- to arrays of the caller's on the device ---- */

typedef struct placing {
    const sparse_product *s;
    const tsr_device_entries *to;
} placing;

static tsr_status run_place(void *arguments)
{
    const placing *p = arguments;
    const tsr_device_entries *to = p->to;
    const tsr_cuda_csr *c = &p->s->c.csr;
    const size_t bytes = (size_t)c->nvals * p->s->c.value_size;
    tsr_status status = tsr_cuda_after(tsr_cuda->compute, to->stream);
    if (status == TSR_OK && to->offsets)
        status = tsr_cuda_copy_indices(to->offsets, to->index_size, c->p, sizeof *c->p, c->nrows + 1, tsr_cuda->compute);
    if (status == TSR_OK && to->indices)
        status = tsr_cuda_copy_indices(to->indices, to->index_size, c->i, sizeof *c->i, c->nvals, tsr_cuda->compute);
    if (status == TSR_OK && bytes)
        status = tsr_cuda_rows_on_device(to->values, bytes, c->x, bytes, bytes, 1, tsr_cuda->compute);
    return status == TSR_OK ? tsr_cuda_after(to->stream, tsr_cuda->compute) : status;
}

static tsr_status place(void *c, const tsr_device_entries *to)
{
    placing p = {c, to};
    return !p.s->c.csr.p ? TSR_DECLINED : tsr_cuda_alone_on(p.s->contents.dead.device, run_place, &p);
}

const tsr_backend_sparse tsr_cuda_sparse_products = {.supports = supports, .multiply = multiply, .again = again, .place = place};
