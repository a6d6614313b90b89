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

/* U has this part of all places at most; rows and columns of A are as short as that; so many entries of A are walked at most. */
#ifndef TSR_CUDA_FEW_SHARE
#define TSR_CUDA_FEW_SHARE 64
#endif
enum { MOST_VECTORS = 16, MOST_LENGTH = 256, MOST_ENTRIES = 1 << 17 };

const tsr_kernel_row tsr_cuda_few_kernel = {
    "spmm", "few", "few", "any semiring of real types; 2 to 16 vectors on the device with few entries, an A with short rows and columns", true};

typedef struct pushing {
    const tsr_product *product;
    tsr_cuda_sparse *rows, *columns;
    tsr_cuda_array *w;
} pushing;

static bool fits(const tsr_product *p)
{
    const tsr_cuda_array *u = p->b_value;
    return p->op == TSR_OP_SPMM && p->n > 1 && p->n <= MOST_VECTORS && u && u->present && !tsr_is_compressed(&p->b) && p->b.by_col && p->c_by_col &&
           p->semiring.type <= TSR_FP64 && !(p->kernel && p->kernel[0]) && (double)p->n * (double)(p->m > p->k ? p->m : p->k) < (double)UINT32_MAX;
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

static tsr_status use_a(pushing *s, int64_t *moved)
{
    const tsr_product *p = s->product;
    tsr_cuda_operand rows = tsr_cuda_operand_a(p), columns = rows;
    columns.view = tsr_view_transposed(p->a);
    columns.key.transposed = !p->a_transposed;
    columns.work_lists = false;
    if (!columns.slot || (!tsr_cuda_sparse_held(&columns) && (columns.view.by_col || columns.view.jumbled)))
        return TSR_DECLINED;
    tsr_cuda_sparse *used;
    tsr_status status = tsr_cuda_sparse_use(&used, &rows, moved);
    if (status != TSR_OK)
        return status;
    s->rows = used;
    status = tsr_cuda_sparse_use(&used, &columns, moved);
    s->columns = status == TSR_OK ? used : NULL;
    return status;
}

static bool is_short(const tsr_cuda_sparse *a)
{
    return a->statistics.measured && a->statistics.longest <= MOST_LENGTH;
}

static tsr_status measure(const pushing *s)
{
    tsr_status status = tsr_cuda_measure_rows(s->rows);
    if (status == TSR_OK)
        status = tsr_cuda_measure_rows(s->columns);
    return status != TSR_OK || (is_short(s->rows) && is_short(s->columns)) ? status : TSR_DECLINED;
}

static tsr_status run(pushing *s)
{
    const tsr_product *p = s->product;
    tsr_cuda_array *u = p->b_value;
    tsr_cuda_told told;
    tsr_status status = measure(s);
    if (status != TSR_OK)
        return status == TSR_NOT_SUPPORTED ? TSR_DECLINED : status;
    const double walked = (double)entries_of(u) * s->columns->statistics.longest;
    if (walked > MOST_ENTRIES)
        return TSR_DECLINED;
    const int64_t places = p->m * p->n, most = walked < (double)places ? (int64_t)walked : places;
    status = tsr_cuda_listed_make(u);
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
