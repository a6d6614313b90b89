/* C = A B where all are sparse.  The kernels want all three by row; a C by column is computed as C' = B' A'.  Where C finds no room on the
 * device its rows are computed in portions, when they are downloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spgemm/sparse_product.h"

#include <stdlib.h>

#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spgemm/rows.h"

enum { A, B, OPERANDS, FIRST_PORTIONS = 8 };

const tsr_kernel_row tsr_cuda_spgemm_kernel = {"spgemm", "spgemm", "spgemm", "any type and semiring; A and B sparse, without a mask", true};

typedef struct sparse_product {
    tsr_cuda_contents contents;
    tsr_product product; /* by row */
    bool pattern;
    tsr_cuda_operand operand[OPERANDS];
    tsr_cuda_sparse *held[OPERANDS];
    uint64_t iso[OPERANDS];
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
    s->iso[A] = tsr_cuda_iso_value(&p->a);
    s->iso[B] = tsr_cuda_iso_value(&p->b);
}

bool tsr_cuda_sparse_product_held(const tsr_product *product)
{
    sparse_product s;
    start(&s, product);
    return tsr_cuda_sparse_held(&s.operand[A]) && tsr_cuda_sparse_held(&s.operand[B]);
}

static tsr_status use_operands(sparse_product *s, int64_t *moved)
{
    tsr_status status = tsr_cuda_sparse_use(&s->held[A], &s->operand[A], moved);
    if (status != TSR_OK) {
        s->held[A] = NULL;
        return status;
    }
    if (tsr_cuda_same_operand(&s->operand[A], &s->operand[B])) {
        s->held[B] = tsr_cuda_sparse_again(s->held[A]);
        return TSR_OK;
    }
    status = tsr_cuda_sparse_use(&s->held[B], &s->operand[B], moved);
    s->held[B] = status == TSR_OK ? s->held[B] : NULL;
    return status;
}

static void leave(sparse_product *s)
{
    tsr_cuda_rows_free(&s->c);
    for (int k = 0; k < OPERANDS; k++) {
        if (s->held[k])
            tsr_cuda_sparse_leave(s->held[k]);
        s->held[k] = NULL;
    }
}

/* ---- on the device ---- */

static tsr_status compute(const sparse_product *s, tsr_cuda_rows *rows)
{
    const tsr_cuda_spgemm q = {.semiring = s->product.semiring, .pattern = s->pattern, .a = &s->held[A]->csr, .b = &s->held[B]->csr,
                               .a_iso = s->iso[A], .b_iso = s->iso[B], .device = &tsr_cuda.device, .stream = tsr_cuda.compute};
    return tsr_cuda_rows_compute(rows, &q);
}

/* C as a whole, or no more than its size. */
static tsr_status compute_all(sparse_product *s)
{
    s->c = (tsr_cuda_rows){.last = s->product.m, .nvals = -1};
    const tsr_status status = compute(s, &s->c);
    return s->c.nvals >= 0 && (status == TSR_DECLINED || status == TSR_OUT_OF_MEMORY) ? TSR_OK : status;
}

static tsr_status multiply_once(sparse_product *s, tsr_sparse_result *result)
{
    tsr_status status = use_operands(s, &result->bytes_moved);
    if (status == TSR_OK)
        status = compute_all(s);
    if (status != TSR_OK) {
        tsr_cuda_settle();
        leave(s);
    }
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
    const tsr_status status = s->c.csr.p ? tsr_cuda_rows_download(&s->c, 0, to) : download_portions(s, to);
    to->p[to->nvec] = to->nvals = s->c.nvals;
    return status;
}

static void free_product(void *contents)
{
    leave(contents);
    free(contents);
}

/* ---- what the engine calls ---- */

static bool supports(const tsr_product *p)
{
    const bool sizes = p->m < UINT32_MAX && p->n < UINT32_MAX && p->k < UINT32_MAX;
    return tsr_is_sparse_product(p) && sizes && p->a.nvals > 0 && p->b.nvals > 0 && tsr_monoid_fits(p->semiring) && tsr_values_fit(p);
}

typedef struct multiplying {
    sparse_product *s;
    tsr_sparse_result *result;
} multiplying;

static tsr_status run_multiply(void *arguments)
{
    multiplying *m = arguments;
    return multiply_once(m->s, m->result);
}

static tsr_status multiply(void **c, const tsr_product *product, tsr_sparse_result *result)
{
    *c = NULL;
    sparse_product *s = tsr_cuda_alive() ? malloc(sizeof *s) : NULL;
    if (!s)
        return tsr_cuda_alive() ? TSR_OUT_OF_MEMORY : TSR_DECLINED;
    start(s, product);
    s->pattern = result->pattern;
    tsr_cuda_contents_start(&s->contents, download, free_product);
    const tsr_status status = tsr_cuda_alone(run_multiply, &(multiplying){s, result});
    result->nvals = s->c.nvals;
    result->kernel = tsr_cuda_spgemm_kernel.trace;
    if (status == TSR_OK)
        *c = s;
    else
        free(s);
    return status;
}

const tsr_backend_sparse tsr_cuda_sparse_products = {.supports = supports, .multiply = multiply};
