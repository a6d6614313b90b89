/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/few_push.h"

#include <string.h>

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/arrays/cleared.h"
#include "backends/cuda/arrays/listed.h"
#include "backends/cuda/spmm/matrix_statistics.h"
#include "backends/cuda/spmm/whole_product.h"
#include "kernels/cuda/spmv/few_listed.h"

/* U has this part of all places at most; rows and columns of A are as short as that, and have no more on average: a search of a denser matrix has few levels
 * for which columns would be made; so many entries of A are walked at most. */
#ifndef TSR_CUDA_FEW_SHARE
#define TSR_CUDA_FEW_SHARE 64
#endif
enum { MOST_VECTORS = 16, MOST_LENGTH = 256, MOST_AVERAGE = 8, MOST_ENTRIES = 1 << 17 };

const tsr_kernel_row tsr_cuda_few_kernel = {
    "spmm", "few", "few", "any semiring of real types; 2 to 16 vectors on the device with few entries, an A with short rows and columns", true};

typedef struct pushing {
    const tsr_product *product;
    tsr_cuda_sparse *rows, *columns;
    tsr_cuda_array *w;
} pushing;

static bool fits_a(const tsr_product *p)
{
    const double longer = (double)(p->m > p->k ? p->m : p->k);
    return p->semiring.type <= TSR_FP64 && p->a.nvals <= MOST_AVERAGE * p->k && (double)p->n * longer < (double)UINT32_MAX;
}

static bool fits(const tsr_product *p)
{
    const tsr_cuda_array *u = p->b_value;
    const bool named = p->kernel && p->kernel[0], few = p->op == TSR_OP_SPMM && p->n > 1 && p->n <= MOST_VECTORS;
    return few && !named && u && u->present && !tsr_is_compressed(&p->b) && p->b.by_col && p->c_by_col && fits_a(p);
}

/* Entries of U, at most; < 0: not known without asking the device. */
static int64_t entries_of(const tsr_cuda_array *u)
{
    return u->nvals < 0 && u->lister ? u->lister->list.most : u->nvals;
}

static tsr_status count_few(tsr_cuda_array *u)
{
    const int64_t most = u->count / TSR_CUDA_FEW_SHARE;
    tsr_status status = u->nvals < 0 && u->lister ? tsr_cuda_array_count(u) : TSR_OK;
    if (status != TSR_OK)
        return status;
    return entries_of(u) >= 0 && entries_of(u) <= most && entries_of(u) <= TSR_CUDA_LISTED_MOST ? TSR_OK : TSR_DECLINED;
}

/* A, or its columns, if all are short. */
static tsr_status use_short(tsr_cuda_sparse **out, const tsr_cuda_operand *operand, int64_t *moved)
{
    tsr_cuda_sparse *a;
    tsr_status status = tsr_cuda_sparse_use(&a, operand, moved);
    if (status != TSR_OK)
        return status;
    *out = a;
    status = tsr_cuda_measure_rows(a);
    if (status != TSR_OK)
        return status == TSR_NOT_SUPPORTED ? TSR_DECLINED : status;
    return a->statistics.longest <= MOST_LENGTH ? TSR_OK : TSR_DECLINED;
}

/* Rows first: where these are long columns are not made. */
static tsr_status use_a(pushing *s, int64_t *moved)
{
    const tsr_product *p = s->product;
    tsr_cuda_operand rows = tsr_cuda_operand_a(p), columns = rows;
    columns.view = tsr_view_transposed(p->a);
    columns.key.transposed = !p->a_transposed;
    columns.work_lists = false;
    if (!columns.slot || (!tsr_cuda_sparse_held(&columns) && (columns.view.by_col || columns.view.jumbled)))
        return TSR_DECLINED;
    const tsr_status status = use_short(&s->rows, &rows, moved);
    return status == TSR_OK ? use_short(&s->columns, &columns, moved) : status;
}

static tsr_status run(pushing *s)
{
    const tsr_product *p = s->product;
    tsr_cuda_array *u = p->b_value;
    tsr_cuda_told told;
    const double walked = (double)entries_of(u) * s->columns->statistics.longest;
    if (walked > MOST_ENTRIES)
        return TSR_DECLINED;
    const int64_t places = p->m * p->n, most = walked < (double)places ? (int64_t)walked : places;
    tsr_status status = tsr_cuda_listed_make(u);
    if (status == TSR_OK)
        status = tsr_cuda_array_new_listed(&s->w, places, tsr_type_size(p->semiring.type), most);
    if (status == TSR_OK)
        status = tsr_cuda_ask_count(&told, s->w);
    if (status != TSR_OK)
        return status;
    s->w->lister = s->w;
    tsr_cuda_few few = {.semiring = p->semiring, .rows = &s->rows->csr, .columns = &s->columns->csr, .vectors = p->n, .u = u->x, .u_present = u->present,
                        .w = s->w->x, .w_present = s->w->present, .device = &tsr_cuda->device, .stream = tsr_cuda->compute};
    if (p->a.iso && p->a.x && tsr_reads_a(p))
        memcpy(&few.iso, p->a.x, tsr_type_size(p->semiring.type));
    return tsr_cuda_cleared_end(tsr_cuda_few_listed(&few, &u->lister->list, &s->w->list, &told));
}

tsr_status tsr_cuda_few_multiply(const tsr_product *product, tsr_result *result)
{
    pushing s = {.product = product};
    if (!result->b || !fits(product))
        return TSR_DECLINED;
    tsr_status status = count_few(product->b_value);
    if (status == TSR_OK)
        status = use_a(&s, &result->bytes_moved);
    if (status == TSR_OK)
        status = run(&s);
    if (status == TSR_OK)
        status = tsr_cuda_deliver(&s.w, product, result);
    if (status == TSR_OK)
        result->kernel = tsr_cuda_few_kernel.trace;
    else if (status != TSR_DECLINED)
        tsr_cuda_settle();
    tsr_cuda_array_free(s.w);
    if (s.columns)
        tsr_cuda_sparse_leave(s.columns);
    if (s.rows)
        tsr_cuda_sparse_leave(s.rows);
    return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status;
}
