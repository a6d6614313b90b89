/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/spmv_push.h"

#include <string.h>

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/arrays/cleared.h"
#include "backends/cuda/arrays/listed.h"
#include "backends/cuda/spmm/matrix_statistics.h"
#include "backends/cuda/spmm/whole_product.h"
#include "kernels/cuda/spmv/spmv_push.h"

/* Atomic operations here and there in w: pushed are products of at most a quarter of A's entries.  Before A is looked at, u may have an
 * eighth of all.  All entries are pushed along an A by column that is not there yet, and may not stay: to turn it would take longer, unless
 * columns have more than this many. */
enum { ENTRIES_SHARE = 4, FRONTIER_SHARE = 8, ONCE_ENTRIES = 4 };

#ifndef TSR_CUDA_PUSHES_BEFORE /* of an A, before its longest column is looked for */
#define TSR_CUDA_PUSHES_BEFORE 2
#endif

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
    tsr_cuda_push_work *work_on_device;
    uint64_t most;           /* pieces */
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

static bool may_walk(const pushing *s, double entries)
{
    return s->once || entries <= (double)s->a->csr.nvals / ENTRIES_SHARE;
}

/* So few entries of u that they cannot have too many of A, whichever they are?  Asked of an A that was pushed before. */
static tsr_status bound(pushing *s, bool *bounded)
{
    const tsr_cuda_array *u = s->product->b_value;
    const int64_t entries = u->nvals;
    *bounded = false;
    if (s->once || entries < 0 || ++s->a->pushes <= TSR_CUDA_PUSHES_BEFORE)
        return TSR_OK;
    const tsr_status status = tsr_cuda_measure_rows(s->a);
    *bounded = status == TSR_OK && may_walk(s, (double)entries * s->a->statistics.longest);
    s->most = (uint64_t)entries * tsr_cuda_push_pieces((uint64_t)s->a->statistics.longest);
    return status == TSR_NOT_SUPPORTED || status == TSR_OUT_OF_MEMORY ? TSR_OK : status;
}

/* Waits. */
static tsr_status count(pushing *s)
{
    tsr_cuda_push_work work;
    const tsr_status status = tsr_cuda_fetch_words((uint64_t *)&work, s->work_on_device, sizeof work / sizeof(uint64_t));
    if (status != TSR_OK)
        return status;
    s->most = work.pieces;
    return may_walk(s, (double)work.entries) ? TSR_OK : TSR_DECLINED;
}

/* ---- by a list of u's places, in one kernel ---- */

/* Columns of A are as short as that, and so few entries are walked, whichever they are. */
enum { LISTED_COLUMN = 256, LISTED_ENTRIES = 1 << 16 };

/* Entries of u, at most; counted where what is known of its list says too little. */
static tsr_status bound_listed(int64_t *entries, const pushing *s)
{
    tsr_cuda_array *u = s->product->b_value;
    const double longest = s->a->statistics.longest;
    *entries = u->nvals < 0 && u->lister ? u->lister->list.most : u->nvals;
    if (u->nvals >= 0 || (double)*entries * longest <= LISTED_ENTRIES)
        return TSR_OK;
    const tsr_status status = tsr_cuda_array_count(u);
    *entries = u->nvals;
    return status;
}

/* TSR_DECLINED: otherwise. */
static tsr_status may_list(int64_t *most, const pushing *s)
{
    tsr_cuda_array *u = s->product->b_value;
    const double longest = s->a->statistics.longest;
    int64_t entries;
    if (s->once || !u->present || !s->a->statistics.measured || longest > LISTED_COLUMN || (u->nvals < 0 && !u->lister))
        return TSR_DECLINED;
    tsr_status status = bound_listed(&entries, s);
    if (status != TSR_OK)
        return status;
    if ((double)entries * longest > LISTED_ENTRIES || !may_walk(s, (double)entries * longest) || s->product->m > UINT32_MAX)
        return TSR_DECLINED;
    *most = entries * (int64_t)longest < s->product->m ? entries * (int64_t)longest : s->product->m;
    return tsr_cuda_listed_make(u);
}

static tsr_status run_listed(pushing *s)
{
    const tsr_cuda_array *u = s->product->b_value;
    tsr_cuda_told told;
    int64_t most;
    tsr_status status = may_list(&most, s);
    if (status == TSR_OK)
        status = tsr_cuda_array_new_listed(&s->w, s->product->m, tsr_type_size(s->product->semiring.type), most);
    if (status == TSR_OK)
        status = tsr_cuda_ask_count(&told, s->w);
    if (status != TSR_OK)
        return status;
    s->push.w = s->w->x;
    s->push.w_present = s->w->present;
    s->w->lister = s->w;
    return tsr_cuda_cleared_end(tsr_cuda_push_listed(&s->push, &u->lister->list, (int64_t)s->a->statistics.longest, &s->w->list, &told));
}

/* ---- by pieces of columns ---- */

/* What there is to walk. */
static tsr_status list(pushing *s)
{
    bool bounded = false;
    if (s->once && s->a->csr.single) { /* no list is needed, and no count is waited for */
        s->most = 1;
        return TSR_OK;
    }
    tsr_status status = bound(s, &bounded);
    if (status == TSR_OK)
        status = allocate(s);
    if (status == TSR_OK)
        status = tsr_cuda_push_list(s->work_on_device, s->pieces, &s->push);
    return status != TSR_OK || bounded ? status : count(s);
}

static tsr_status run(pushing *s)
{
    describe(s);
    tsr_status status = run_listed(s);
    if (status != TSR_DECLINED)
        return status;
    status = list(s);
    if (status == TSR_OK)
        status = tsr_cuda_array_new(&s->w, s->product->m, tsr_type_size(s->product->semiring.type), true);
    if (status != TSR_OK)
        return status;
    s->push.w = s->w->x;
    s->push.w_present = s->w->present;
    return tsr_cuda_push_run(&s->push, s->pieces, s->work_on_device, s->most);
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
