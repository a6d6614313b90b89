/* Compressed contents on the device: how they are made, and their way to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/compressed/compressed.h"

#include <stdlib.h>

#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/compressed/entries.h"
#include "backends/cuda/compressed/kronecker.h"
#include "backends/cuda/transfer/csr.h"
#include "backends/cuda/transfer/lists.h"
#include "kernels/cuda/selection/keep_entries.h"

#define TAKES "sparse matrices of any type, and of one value"

const tsr_kernel_row tsr_cuda_compressed_kernels[TSR_CUDA_COMPRESSED_KERNELS] = {
    {"extract", "extract", "extract", TAKES, true}, {"select", "select", "select", TAKES, true},
    {"entries", "entries", "entries", "sparse matrices of any type; operators as of elementwise", true},
    {"kronecker", "kronecker", "kronecker", "sparse matrices of any type, and of one value; binary operators as of elementwise", true}};

/* ---- operands ---- */

static bool holds(const tsr_compressed_operand *a)
{
    const tsr_cuda_operand straight = tsr_cuda_compressed_operand(a, false), turned = tsr_cuda_compressed_operand(a, true);
    return tsr_cuda_alive() && (tsr_cuda_sparse_held(&straight) || tsr_cuda_sparse_held(&turned));
}

static size_t bytes_of(const tsr_cuda_csr *csr, size_t value_size)
{
    return tsr_cuda_sparse_bytes(csr->nrows, csr->ncols, csr->nvals, value_size);
}

/* ---- selection ---- */

static tsr_status keep_some(tsr_cuda_csr *out, const tsr_cuda_csr *in, const tsr_cuda_keep *keep, size_t value_size)
{
    const size_t working = tsr_cuda_keep_bytes(in->nvals) + bytes_of(in, value_size);
    if (!tsr_cuda_reserve(working))
        return TSR_OUT_OF_MEMORY;
    const tsr_status status = tsr_cuda_keep_entries(out, in, keep, (int)value_size, tsr_cuda->compute);
    tsr_cuda_unreserve(working);
    return status;
}

tsr_status tsr_cuda_compressed_flagged(void **c, const tsr_cuda_csr *in, const int8_t *flags, void *x, tsr_type type, int64_t *nvals)
{
    tsr_cuda_csr with = *in, out;
    with.x = x;
    *c = NULL;
    tsr_status status = keep_some(&out, &with, &(tsr_cuda_keep){.flags = flags}, x ? tsr_type_size(type) : 0);
    *nvals = out.nvals;
    return status == TSR_OK ? tsr_cuda_compressed_new(c, &out, type) : status;
}

typedef struct selecting {
    const tsr_compressed_operand *a;
    const tsr_compressed_rule *rule;
    void **c;
    int64_t *moved;
} selecting;

static tsr_status run_select(void *arguments)
{
    selecting *s = arguments;
    const tsr_type type = s->a->view.type;
    const tsr_cuda_operand operand = tsr_cuda_compressed_operand(s->a, false);
    tsr_cuda_sparse *a;
    tsr_cuda_csr out;
    tsr_status status = tsr_cuda_sparse_use(&a, &operand, s->moved);
    if (status != TSR_OK)
        return status;
    status = keep_some(&out, &a->csr, &(tsr_cuda_keep){.rule = *s->rule, .type = type}, tsr_cuda_compressed_value_size(a));
    tsr_cuda_sparse_leave(a);
    return status == TSR_OK ? tsr_cuda_compressed_new(s->c, &out, type) : status;
}

static tsr_status select_entries(void **c, const tsr_compressed_operand *a, const tsr_compressed_rule *rule, int64_t *moved)
{
    *c = NULL;
    return tsr_cuda_alone(run_select, &(selecting){a, rule, c, moved});
}

/* ---- extraction ---- */

typedef struct extracting {
    const tsr_compressed_operand *a;
    const tsr_indices *vectors, *places;
    void **c;
    int64_t *moved;
} extracting;

static bool is_whole(const tsr_indices *s, int64_t length)
{
    return !s->list && s->first == 0 && s->step == 1 && s->count == length;
}

static tsr_status make_list(uint32_t *list, const tsr_indices *s, int nthreads, int64_t *moved)
{
    return s->list ? tsr_cuda_list_upload(list, s, nthreads, moved) : tsr_cuda_number_list(list, s->first, s->step, s->count, tsr_cuda->compute);
}

/* Rows of `in`, which are then all that is left of it. */
static tsr_status take_rows(tsr_cuda_csr *out, const tsr_cuda_csr *in, const uint32_t *list, int64_t count, size_t value_size)
{
    return tsr_cuda_take_rows_of(out, in, list, count, (int)value_size, tsr_cuda->compute);
}

/* A (:, places), from its transpose; A (:, :) is there already. */
static tsr_status take_columns(tsr_cuda_csr *out, const tsr_cuda_csr *turned, const uint32_t *list, int64_t count, size_t value_size)
{
    tsr_cuda_csr taken = {0};
    tsr_status status = take_rows(&taken, turned, list, count, value_size);
    if (status == TSR_OK)
        status = tsr_cuda_flip(out, &taken, (int)value_size, tsr_cuda->compute);
    tsr_cuda_csr_delete(&taken);
    return status;
}

/* lists[0] of the vectors, lists[1] of the places; NULL: whole. */
static tsr_status take(tsr_cuda_csr *out, const extracting *x, const tsr_cuda_sparse *a, uint32_t *const lists[2])
{
    tsr_cuda_csr columns = {0};
    const size_t value_size = tsr_cuda_compressed_value_size(a);
    tsr_status status = lists[1] ? take_columns(&columns, &a->csr, lists[1], x->places->count, value_size) : TSR_OK;
    if (status == TSR_OK && lists[0]) {
        status = take_rows(out, lists[1] ? &columns : &a->csr, lists[0], x->vectors->count, value_size);
        tsr_cuda_csr_delete(&columns);
    } else {
        *out = columns;
    }
    return status;
}

static tsr_status make_lists(uint32_t *lists[2], const extracting *x, uint32_t *scratch, bool same)
{
    tsr_status status = TSR_OK;
    if (lists[0])
        status = make_list(lists[0] = scratch, x->vectors, x->a->nthreads, x->moved);
    if (lists[1] && same)
        lists[1] = lists[0];
    else if (lists[1] && status == TSR_OK)
        status = make_list(lists[1] = scratch + x->vectors->count, x->places, x->a->nthreads, x->moved);
    return status;
}

static tsr_status extract_from(tsr_cuda_csr *out, const extracting *x, const tsr_cuda_sparse *a, bool rows, bool columns)
{
    const bool same = rows && columns && x->vectors->list && x->vectors->list == x->places->list && x->vectors->count == x->places->count;
    const size_t bytes = (size_t)(x->vectors->count + x->places->count) * sizeof(uint32_t);
    uint32_t *scratch, *lists[2];
    if (!tsr_cuda_reserve(bytes))
        return TSR_OUT_OF_MEMORY;
    tsr_status status = tsr_cuda_new((void **)&scratch, bytes);
    lists[0] = rows ? scratch : NULL;
    lists[1] = columns ? scratch : NULL;
    if (status == TSR_OK)
        status = make_lists(lists, x, scratch, same);
    if (status == TSR_OK)
        status = take(out, x, a, lists);
    if (status != TSR_OK)
        tsr_cuda_settle(); /* nothing writes there any more */
    tsr_cuda_delete(scratch);
    tsr_cuda_unreserve(bytes);
    return status;
}

/* Places are rows of the transpose: of that the wanted ones, turned again, have them in the order of the list. */
static tsr_status run_extract(void *arguments)
{
    extracting *x = arguments;
    const tsr_view *v = &x->a->view;
    const int64_t vectors = v->by_col ? v->ncols : v->nrows;
    const bool columns = !is_whole(x->places, v->vlen), rows = !columns || !is_whole(x->vectors, vectors);
    const tsr_cuda_operand operand = tsr_cuda_compressed_operand(x->a, columns);
    tsr_cuda_sparse *a;
    tsr_cuda_csr out = {0};
    tsr_status status = tsr_cuda_sparse_use(&a, &operand, x->moved);
    if (status != TSR_OK)
        return status;
    const size_t working = 2 * bytes_of(&a->csr, tsr_cuda_compressed_value_size(a)) + (size_t)a->csr.nvals * 24;
    const bool reserved = tsr_cuda_reserve(working);
    status = reserved ? extract_from(&out, x, a, rows, columns) : TSR_OUT_OF_MEMORY;
    tsr_cuda_unreserve(reserved ? working : 0);
    tsr_cuda_sparse_leave(a);
    return status == TSR_OK ? tsr_cuda_compressed_new(x->c, &out, v->type) : status;
}

static tsr_status extract(void **c, const tsr_compressed_operand *a, const tsr_indices *vectors, const tsr_indices *places, int64_t *moved)
{
    *c = NULL;
    if (vectors->count >= UINT32_MAX || places->count >= UINT32_MAX)
        return TSR_DECLINED;
    return tsr_cuda_alone(run_extract, &(extracting){a, vectors, places, c, moved});
}

/* ---- what slots have ---- */

typedef struct finding {
    const tsr_compressed_operand *a;
    void **c;
} finding;

static tsr_status run_find(void *arguments)
{
    finding *f = arguments;
    const tsr_cuda_operand operand = tsr_cuda_compressed_operand(f->a, false);
    tsr_cuda_sparse *held = tsr_cuda_sparse_found(&operand);
    return held ? tsr_cuda_compressed_hold(f->c, held) : TSR_OK;
}

static tsr_status find(void **c, const tsr_view *like, void **slot)
{
    const tsr_compressed_operand a = {.view = *like, .slot = slot, .nthreads = 1};
    *c = NULL;
    return tsr_cuda_alone(run_find, &(finding){&a, c});
}

typedef struct sharing {
    tsr_cuda_compressed_contents *c;
    bool by_col;
    void **slot;
} sharing;

static tsr_status run_share(void *arguments)
{
    sharing *s = arguments;
    tsr_cuda_sparse *held = s->c->held;
    if (held->slot)
        return TSR_OK;
    held->key.transposed = s->by_col;
    tsr_cuda_sparse_keep(held, s->slot);
    return TSR_OK;
}

static void share(void *c, bool by_col, void **slot)
{
    tsr_cuda_alone(run_share, &(sharing){c, by_col, slot});
}

static int64_t nvals_of(const void *c)
{
    return ((const tsr_cuda_compressed_contents *)c)->held->csr.nvals;
}

const tsr_backend_compressed tsr_cuda_compressed = {.extract = extract, .select = select_entries, .apply = tsr_cuda_compressed_apply,
                                                    .join = tsr_cuda_compressed_join, .kronecker = tsr_cuda_compressed_kronecker, .reduce = tsr_cuda_compressed_reduce, .find = find, .share = share,
                                                    .nvals = nvals_of, .holds = holds};
