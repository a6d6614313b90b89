/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/spmv_push.h"

#include <string.h>

#include "backends/cuda/spmm/whole_product.h"
#include "backends/cuda/arrays/arrays.h"
#include "kernels/cuda/spmv/spmv_push.h"

/* Atomic operations here and there in w: pushed are products of at most a quarter of A's entries.  Before A is looked at, u may have an
 * eighth of all.  All entries are pushed along an A by column that is not there yet, and may not stay: to turn it would take longer, unless
 * columns have more than this many. */
enum { ENTRIES_SHARE = 4, FRONTIER_SHARE = 8, ONCE_ENTRIES = 4 };

const tsr_kernel_row tsr_cuda_push_kernel = {
    "spmv", "push", "push",
    "any, lor; min, max and integer plus of 4 and 8 bytes; a vector on the device with few entries, or an A by column that is new", true};

/* Of any second operand the least will do: it is found in any order. */
static tsr_semiring pushed(tsr_semiring s)
{
    if (s.add == TSR_ADD_ANY && s.mul == TSR_MUL_SECOND)
        s.add = TSR_ADD_MIN;
    return s;
}

bool tsr_cuda_push_operand(tsr_cuda_operand *columns, const tsr_product *p)
{
    if (p->op != TSR_OP_SPMV || tsr_is_compressed(&p->b) || !p->b_value || !tsr_cuda_push_takes(pushed(p->semiring)))
        return false;
    *columns = tsr_cuda_operand_a(p);
    columns->view = tsr_view_transposed(p->a);
    columns->key.transposed = !p->a_transposed;
    columns->work_lists = false;
    return columns->slot && (tsr_cuda_sparse_held(columns) || (!columns->view.by_col && !columns->view.jumbled));
}

/* One product on its way. */
typedef struct pushing {
    const tsr_product *product;
    tsr_cuda_sparse *a;      /* its columns */
    tsr_cuda_push push;
    tsr_cuda_push_work work;
    tsr_cuda_push_work *work_on_device;
    void *pieces;
    size_t reserved;
    tsr_cuda_array *w;
    bool once;               /* all entries */
} pushing;

static tsr_status allocate(pushing *s)
{
    size_t bytes = tsr_cuda_push_bytes(&s->a->csr) + sizeof *s->work_on_device;
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    s->reserved = bytes;
    tsr_status status = tsr_cuda_new(&s->pieces, bytes - sizeof *s->work_on_device);
    return status == TSR_OK ? tsr_cuda_new((void **)&s->work_on_device, sizeof *s->work_on_device) : status;
}

static void free_all(pushing *s)
{
    tsr_cuda_delete(s->pieces);
    tsr_cuda_delete(s->work_on_device);
    tsr_cuda_unreserve(s->reserved);
}

static void describe(pushing *s)
{
    const tsr_product *p = s->product;
    const tsr_cuda_array *u = p->b_value;
    s->push = (tsr_cuda_push){.semiring = pushed(p->semiring), .columns = &s->a->csr, .u = u->x, .u_present = u->present,
                              .device = &tsr_cuda->device, .stream = tsr_cuda->compute};
    if (p->a.iso && p->a.x && tsr_reads_a(p))
        memcpy(&s->push.iso, p->a.x, tsr_type_size(p->semiring.type));
}

/* What there is to walk; waits. */
static tsr_status list(pushing *s)
{
    tsr_status status = allocate(s);
    if (status == TSR_OK)
        status = tsr_cuda_push_list(s->work_on_device, s->pieces, &s->push);
    if (status == TSR_OK)
        status = tsr_cuda_fetch_word(&s->work, s->work_on_device, sizeof s->work);
    if (status != TSR_OK)
        return status;
    return s->once || s->work.entries <= (uint64_t)s->a->csr.nvals / ENTRIES_SHARE ? TSR_OK : TSR_DECLINED;
}

static tsr_status run(pushing *s)
{
    describe(s);
    tsr_status status = list(s);
    if (status == TSR_OK)
        status = tsr_cuda_array_new(&s->w, s->product->m, tsr_type_size(s->product->semiring.type), true);
    if (status != TSR_OK)
        return status;
    s->push.w = s->w->x;
    s->push.w_present = s->w->present;
    return tsr_cuda_push_run(&s->push, s->pieces, s->work.pieces);
}

/* Are there few entries?  Where A's columns are at hand their lengths say more. */
static tsr_status few(tsr_cuda_array *u, const tsr_cuda_operand *columns)
{
    if (!u->present)
        return TSR_DECLINED;
    tsr_status status = u->nvals < 0 && !tsr_cuda_sparse_held(columns) ? tsr_cuda_array_count(u) : TSR_OK;
    return status == TSR_OK && u->nvals > u->count / FRONTIER_SHARE ? TSR_DECLINED : status;
}

/* Nothing is there of an A by column with few entries in each. */
static bool is_new(const tsr_product *p, const tsr_cuda_operand *columns)
{
    const tsr_cuda_operand rows = tsr_cuda_operand_a(p);
    return !columns->view.by_col && p->a.nvals <= ONCE_ENTRIES * p->k && !tsr_cuda_sparse_held(columns) && !tsr_cuda_sparse_held(&rows);
}

tsr_status tsr_cuda_push_multiply(const tsr_product *product, tsr_result *result)
{
    tsr_cuda_operand columns;
    pushing s = {.product = product};
    if (!result->b || !tsr_cuda_push_operand(&columns, product))
        return TSR_DECLINED;
    s.once = is_new(product, &columns);
    tsr_status status = s.once ? TSR_OK : few(product->b_value, &columns);
    if (status == TSR_OK)
        status = tsr_cuda_sparse_use(&s.a, &columns, &result->bytes_moved);
    if (status != TSR_OK)
        return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status;
    status = run(&s);
    if (status == TSR_OK)
        status = tsr_cuda_deliver(&s.w, product, result);
    if (status == TSR_OK)
        result->kernel = tsr_cuda_push_kernel.trace;
    else if (status != TSR_DECLINED)
        tsr_cuda_settle();
    free_all(&s);
    tsr_cuda_array_free(s.w);
    tsr_cuda_sparse_leave(s.a);
    return status == TSR_OUT_OF_MEMORY ? TSR_DECLINED : status; /* rows take less */
}
