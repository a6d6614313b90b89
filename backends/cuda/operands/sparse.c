/* Bringing sparse operands to the device, and keeping them there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/operands/sparse.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/transfer/csr.h"
#include "backends/cuda/transfer/lists.h"

struct tsr_cuda_cache_entry {
    tsr_cuda_sparse *first;
    int evictions;
};

/* Guards slots and the order of use; held for moments only.  Device memory is freed by whoever holds tsr_cuda_all.busy. */
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static tsr_cuda_sparse *oldest, *newest;

/* ---- lists ---- */

static void unlink_use(tsr_cuda_sparse *a)
{
    *(a->older ? &a->older->newer : &oldest) = a->newer;
    *(a->newer ? &a->newer->older : &newest) = a->older;
    a->older = a->newer = NULL;
}

static void link_newest(tsr_cuda_sparse *a)
{
    a->older = newest;
    *(newest ? &newest->newer : &oldest) = a;
    newest = a;
}

static void unlink_slot(tsr_cuda_sparse *a)
{
    tsr_cuda_sparse **at = &a->slot->first;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    a->next = NULL;
}

tsr_cuda_operand tsr_cuda_operand_of(const tsr_view *v, bool reads, tsr_type type, void **slot, bool is_transposed, int nthreads)
{
    bool pattern = !reads || v->iso || !v->x;
    tsr_cuda_key key = {.transposed = is_transposed, .pattern = pattern, .type = pattern ? TSR_BOOL : type};
    return (tsr_cuda_operand){.view = *v, .slot = slot, .key = key, .nthreads = nthreads};
}

uint64_t tsr_cuda_iso_value(const tsr_view *v)
{
    uint64_t bits = 0;
    const size_t size = tsr_type_size(v->type);
    if (v->iso && v->x)
        memcpy(&bits, v->x, size < sizeof bits ? size : sizeof bits);
    return bits;
}

bool tsr_cuda_same_operand(const tsr_cuda_operand *x, const tsr_cuda_operand *y)
{
    const tsr_view *v = &x->view, *w = &y->view;
    bool same_key = x->key.pattern == y->key.pattern && x->key.type == y->key.type;
    if (!v->p || !w->p) /* the slots have them */
        return same_key && x->slot && x->slot == y->slot && x->key.transposed == y->key.transposed;
    return same_key && v->p == w->p && v->i == w->i && v->h == w->h && v->by_col == w->by_col && (x->key.pattern || v->x == w->x);
}

tsr_cuda_operand tsr_cuda_operand_a(const tsr_product *p)
{
    tsr_cuda_operand a = tsr_cuda_operand_of(&p->a, tsr_reads_a(p), p->semiring.type, p->a_slot, p->a_transposed, p->nthreads);
    a.work_lists = true;
    return a;
}

static tsr_cuda_sparse *find(const tsr_cuda_operand *o)
{
    tsr_cuda_key key = o->key;
    tsr_cuda_cache_entry *slot = o->slot ? *o->slot : NULL;
    tsr_cuda_sparse *a = slot ? slot->first : NULL;
    while (a && (a->dead.device != tsr_cuda || a->key.transposed != key.transposed || a->key.pattern != key.pattern || a->key.type != key.type))
        a = a->next;
    return a;
}

bool tsr_cuda_sparse_held(const tsr_cuda_operand *operand)
{
    pthread_mutex_lock(&lists);
    bool held = find(operand) != NULL;
    pthread_mutex_unlock(&lists);
    return held;
}

/* ---- freeing ---- */

static void free_sparse(void *whole)
{
    tsr_cuda_sparse *a = whole;
    tsr_cuda_all.callbacks->free_representations(a);
    tsr_cuda_csr_delete(&a->csr);
    tsr_cuda_unreserve(a->bytes);
    free(a->row_present);
    free(a);
}

bool tsr_cuda_evict_oldest(void)
{
    pthread_mutex_lock(&lists);
    tsr_cuda_sparse *a = oldest;
    while (a && (a->users || a->dead.device != tsr_cuda))
        a = a->newer;
    if (a) {
        a->slot->evictions += a->blocks != NULL;
        unlink_use(a);
        unlink_slot(a);
    }
    pthread_mutex_unlock(&lists);
    tsr_cuda_all.evicted += a != NULL;
    if (a)
        free_sparse(a);
    return a || (tsr_cuda == tsr_cuda_first() && tsr_cuda_list_drop());
}

void tsr_cuda_cache_entry_release(void *kept)
{
    if (!tsr_cuda_alive())
        return; /* the locks may be held by threads that are not there any more */
    tsr_cuda_cache_entry *slot = kept;
    pthread_mutex_lock(&lists);
    while (slot->first) {
        tsr_cuda_sparse *a = slot->first;
        slot->first = a->next;
        unlink_use(a);
        a->slot = NULL;
        if (!a->users) /* a prepared product lets it go itself */
            tsr_cuda_let_go(&a->dead);
    }
    pthread_mutex_unlock(&lists);
    free(slot);
    tsr_cuda_free_dead_unless_busy();
}

/* ---- uploading ---- */

static tsr_status flip(tsr_cuda_csr *csr, size_t value_size)
{
    tsr_cuda_csr turned = {0};
    tsr_status status = tsr_cuda_flip(&turned, csr, (int)value_size, tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    tsr_cuda_csr_delete(csr);
    *csr = turned;
    return TSR_OK;
}

/* By row, columns ascending. */
static tsr_status upload_csr(tsr_cuda_csr *csr, const tsr_view *v, size_t value_size, int nthreads, int64_t *moved)
{
    tsr_status status = tsr_cuda_csr_upload(csr, v, value_size, nthreads, moved);
    int flips = v->by_col ? 1 : v->jumbled ? 2 : 0;
    for (int k = 0; k < flips && status == TSR_OK; k++)
        status = flip(csr, value_size);
    return status;
}

/* ---- making ---- */

size_t tsr_cuda_sparse_bytes(int64_t nrows, int64_t ncols, int64_t nvals, size_t value_size)
{
    int64_t vectors = nrows > ncols ? nrows : ncols;
    size_t lists_of_rows = (size_t)nvals * 3 / 8 + (size_t)nrows * 9 / 2 + 4096;
    return (size_t)(vectors + 1) * 8 + (size_t)nvals * (4 + value_size) + lists_of_rows;
}

static size_t csr_bytes(const tsr_view *v, size_t value_size)
{
    return tsr_cuda_sparse_bytes(v->nrows, v->ncols, v->nvals, value_size);
}

/* Turning and sorting hold two of them, and keys to sort. */
static size_t working_bytes(const tsr_view *v, size_t value_size)
{
    return v->by_col || v->jumbled ? csr_bytes(v, value_size) + (size_t)v->nvals * 24 : 0;
}

/* Of a matrix with values its pattern. */
tsr_status tsr_cuda_sparse_copy_pattern(tsr_cuda_csr *csr, const tsr_cuda_csr *from)
{
    const size_t offsets = (size_t)(from->nrows + 1) * sizeof *csr->p, indices = (size_t)from->nvals * sizeof *csr->i;
    *csr = (tsr_cuda_csr){.nrows = from->nrows, .ncols = from->ncols, .nvals = from->nvals};
    tsr_status status = tsr_cuda_new((void **)&csr->p, offsets);
    if (status == TSR_OK)
        status = tsr_cuda_new((void **)&csr->i, indices);
    if (status == TSR_OK)
        status = tsr_cuda_rows_on_device(csr->p, offsets, from->p, offsets, offsets, 1, tsr_cuda->compute);
    return status == TSR_OK && indices ? tsr_cuda_rows_on_device(csr->i, indices, from->i, indices, indices, 1, tsr_cuda->compute) : status;
}

static tsr_status convert(tsr_cuda_sparse *a, const tsr_cuda_sparse *from, size_t value_size)
{
    tsr_cuda_csr csr = from->csr;
    if (a->key.pattern)
        csr.x = NULL;
    return from->key.transposed == a->key.transposed ? tsr_cuda_sparse_copy_pattern(&a->csr, &csr) : tsr_cuda_flip(&a->csr, &csr, (int)value_size, tsr_cuda->compute);
}

/* Of another representation that is there, or of what the host has. */
static tsr_status make_csr(tsr_cuda_sparse *a, const tsr_cuda_sparse *from, const tsr_cuda_operand *o, size_t value_size, int64_t *moved)
{
    size_t working = from ? csr_bytes(&o->view, value_size) + (size_t)o->view.nvals * 24 : working_bytes(&o->view, value_size);
    const bool nowhere = !from && !o->view.p; /* it is there, of another type */
    if (nowhere || !tsr_cuda_reserve(a->bytes + working)) {
        a->bytes = 0;
        return TSR_DECLINED;
    }
    tsr_status status = from ? convert(a, from, value_size) : upload_csr(&a->csr, &o->view, value_size, o->nthreads, moved);
    if (status != TSR_OK)
        tsr_cuda_settle();
    tsr_cuda_unreserve(working);
    return status;
}

/* Without arrays, in no slot. */
static tsr_cuda_sparse *new_sparse(tsr_cuda_key key)
{
    static uint64_t made; /* tsr_cuda_all.busy is held */
    tsr_cuda_sparse *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->dead = (tsr_cuda_dead){.free = free_sparse, .device = tsr_cuda};
    a->number = ++made;
    a->key = key;
    a->users = 1;
    return a;
}

tsr_status tsr_cuda_sparse_adopt(tsr_cuda_sparse **out, tsr_cuda_csr *csr, tsr_cuda_key key)
{
    const size_t bytes = tsr_cuda_sparse_bytes(csr->nrows, csr->ncols, csr->nvals, key.pattern ? 0 : tsr_type_size(key.type));
    const bool reserved = tsr_cuda_reserve(bytes);
    tsr_cuda_sparse *a = *out = reserved ? new_sparse(key) : NULL;
    if (a) {
        a->bytes = bytes;
        a->csr = *csr;
        *csr = (tsr_cuda_csr){0};
        return TSR_OK;
    }
    tsr_cuda_csr_delete(csr);
    tsr_cuda_unreserve(reserved ? bytes : 0);
    return TSR_OUT_OF_MEMORY;
}

static tsr_status make(tsr_cuda_sparse **out, const tsr_cuda_sparse *from, const tsr_cuda_operand *o, int64_t *moved)
{
    tsr_cuda_sparse *a = new_sparse(o->key);
    if (!a)
        return TSR_OUT_OF_MEMORY;
    size_t value_size = a->key.pattern ? 0 : tsr_type_size(a->key.type);
    a->bytes = csr_bytes(&o->view, value_size);
    tsr_status status = make_csr(a, from, o, value_size, moved);
    if (status == TSR_OK)
        *out = a;
    else
        free_sparse(a);
    return status;
}

/* Without memory for a slot the representation serves this product only. */
void tsr_cuda_sparse_keep(tsr_cuda_sparse *a, void **place)
{
    pthread_mutex_lock(&lists);
    if (!*place)
        *place = calloc(1, sizeof(tsr_cuda_cache_entry));
    tsr_cuda_cache_entry *slot = *place;
    if (slot) {
        a->slot = slot;
        a->statistics.evictions = slot->evictions;
        a->next = slot->first;
        slot->first = a;
        link_newest(a);
    }
    pthread_mutex_unlock(&lists);
}

static tsr_cuda_sparse *use_locked(tsr_cuda_sparse *a)
{
    if (a) {
        a->users++;
        unlink_use(a);
        link_newest(a);
    }
    return a;
}

tsr_cuda_sparse *tsr_cuda_sparse_found(const tsr_cuda_operand *operand)
{
    pthread_mutex_lock(&lists);
    tsr_cuda_sparse *a = use_locked(find(operand));
    pthread_mutex_unlock(&lists);
    return a;
}

/* What is there of the same matrix in the other orientation or, where only the pattern is wanted, with values.  With a user more; NULL: nothing. */
static tsr_cuda_sparse *find_source(const tsr_cuda_operand *o)
{
    tsr_cuda_operand other = *o;
    other.key.transposed = !o->key.transposed;
    pthread_mutex_lock(&lists);
    tsr_cuda_cache_entry *slot = o->slot ? *o->slot : NULL;
    tsr_cuda_sparse *a = find(&other);
    for (tsr_cuda_sparse *any = slot && o->key.pattern && !a ? slot->first : NULL; any; any = any->next)
        if (any->dead.device == tsr_cuda)
            a = !a || any->key.transposed == o->key.transposed ? any : a;
    use_locked(a);
    pthread_mutex_unlock(&lists);
    return a;
}

static tsr_status find_or_make(tsr_cuda_sparse **out, const tsr_cuda_operand *o, int64_t *moved)
{
    *out = tsr_cuda_sparse_found(o);
    if (*out)
        return TSR_OK;
    tsr_cuda_sparse *from = find_source(o);
    if (!from && !o->key.pattern && o->view.type != o->key.type)
        return TSR_DECLINED;
    tsr_status status = make(out, from, o, moved);
    if (from)
        tsr_cuda_sparse_leave(from);
    if (status == TSR_OK && o->slot)
        tsr_cuda_sparse_keep(*out, o->slot);
    return status;
}

tsr_status tsr_cuda_sparse_use(tsr_cuda_sparse **out, const tsr_cuda_operand *operand, int64_t *moved)
{
    tsr_status status = find_or_make(out, operand, moved);
    if (status != TSR_OK || !operand->work_lists || (*out)->csr.work)
        return status;
    status = tsr_cuda_csr_work(&(*out)->csr, &tsr_cuda->device, tsr_cuda->compute);
    if (status != TSR_OK) {
        tsr_cuda_settle();
        tsr_cuda_sparse_leave(*out);
    }
    return status;
}

/* Turned and sorted as the first time. */
static tsr_status upload_again(tsr_cuda_sparse *a, const tsr_cuda_operand *o, size_t value_size, int64_t *moved)
{
    const size_t working = csr_bytes(&o->view, value_size) + working_bytes(&o->view, value_size);
    tsr_cuda_csr renewed = {0};
    if (!tsr_cuda_reserve(working))
        return TSR_DECLINED;
    tsr_status status = upload_csr(&renewed, &o->view, value_size, o->nthreads, moved);
    if (status == TSR_OK) {
        const tsr_cuda_csr was = a->csr;
        a->csr = renewed;
        renewed = was;
    }
    tsr_cuda_csr_delete(&renewed);
    tsr_cuda_unreserve(working);
    return status;
}

tsr_status tsr_cuda_sparse_renew(tsr_cuda_sparse *a, const tsr_cuda_operand *o, int64_t *moved)
{
    const tsr_view *v = &o->view;
    if (a->slot || a->key.pattern != o->key.pattern || a->key.type != o->key.type || a->csr.nvals != v->nvals)
        return TSR_DECLINED;
    if (a->key.pattern || v->nvals == 0)
        return TSR_OK;
    if (v->by_col || v->jumbled)
        return upload_again(a, o, tsr_type_size(a->key.type), moved);
    return tsr_cuda_csr_upload_values(&a->csr, v, o->nthreads, moved);
}

tsr_cuda_sparse *tsr_cuda_sparse_again(tsr_cuda_sparse *a)
{
    pthread_mutex_lock(&lists);
    a->users++;
    pthread_mutex_unlock(&lists);
    return a;
}

void tsr_cuda_sparse_leave(tsr_cuda_sparse *a)
{
    pthread_mutex_lock(&lists);
    const bool last = --a->users == 0 && !a->slot;
    pthread_mutex_unlock(&lists);
    if (last)
        free_sparse(a);
}

tsr_status tsr_cuda_sparse_rows(tsr_cuda_sparse *a)
{
    if (a->row_present)
        return TSR_OK;
    size_t count = (size_t)a->csr.nrows + 1;
    int64_t *offsets = malloc(count * sizeof *offsets);
    int8_t *present = malloc(count);
    tsr_status status = offsets && present ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        status = tsr_cuda_to_host(offsets, a->csr.p, count * sizeof *offsets, tsr_cuda->compute);
    tsr_status waited = tsr_cuda_wait(tsr_cuda->compute);
    status = status == TSR_OK ? waited : status;
    a->rows_present = 0;
    for (int64_t row = 0; status == TSR_OK && row < a->csr.nrows; row++)
        a->rows_present += present[row] = offsets[row + 1] > offsets[row];
    free(offsets);
    a->rows_counted = status == TSR_OK;
    if (status == TSR_OK)
        a->row_present = present;
    else
        free(present);
    return status;
}

/* A count, and a byte for each row. */
static tsr_status count_within(void *arguments, void *scratch)
{
    tsr_cuda_sparse *a = arguments;
    int8_t *present = (int8_t *)scratch + TSR_CUDA_ALIGNMENT;
    tsr_status status = tsr_cuda_mark_rows(present, a->csr.p, a->csr.nrows, 1, true, &tsr_cuda->device, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_count_ones(scratch, present, a->csr.nrows, &tsr_cuda->device, tsr_cuda->compute);
    return status == TSR_OK ? tsr_cuda_fetch_words((uint64_t *)&a->rows_present, scratch, 1) : status;
}

tsr_status tsr_cuda_sparse_count_rows(tsr_cuda_sparse *a)
{
    if (a->rows_counted)
        return TSR_OK;
    tsr_status status = tsr_cuda_with_scratch(TSR_CUDA_ALIGNMENT + (size_t)a->csr.nrows, count_within, a);
    a->rows_counted = status == TSR_OK;
    return status;
}
