/* Arrays of a result, in the memory of the program that gets them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/handover.h"

#include <string.h>

#include "src/base/types.h"
#include "src/format/sparse/format.h"

/* SuiteSparse keeps freed blocks of a power of two in a pool of its own, from which ours take none: each new result would touch new memory,
 * until the pool is full. */
enum { LEAST_POOLED = 1 << 12, MOST_POOLED = 1 << 19, UNPOOLED = 64 };

static void *room(const tsr_handover *a, size_t *bytes, int64_t count, size_t size)
{
    *bytes = (size_t)(count > 0 ? count : 1) * size;
    if (*bytes >= LEAST_POOLED && *bytes <= MOST_POOLED && (*bytes & (*bytes - 1)) == 0)
        *bytes += UNPOOLED;
    return a->memory->allocate(*bytes);
}

static void give_back(const tsr_handover *a, void *block)
{
    if (block)
        a->memory->release(block);
}

bool tsr_arrays_dense(tsr_handover *a, const tsr_memory *memory, int64_t count, tsr_type type, bool present)
{
    *a = (tsr_handover){.memory = memory, .nvals = count};
    a->x = room(a, &a->x_bytes, count, tsr_type_size(type));
    if (present)
        a->b = room(a, &a->b_bytes, count, 1);
    if (a->x && (a->b || !present))
        return true;
    tsr_arrays_free(a);
    return false;
}

bool tsr_arrays_presence(tsr_handover *a, int64_t count)
{
    if (!a->b)
        a->b = room(a, &a->b_bytes, count, 1);
    return a->b;
}

/* Room for two offsets at least: GB_import wants them where C has one vector, also when a hypersparse one has none. */
static bool add_vectors(tsr_handover *a, const tsr_memory *memory, int64_t nvec)
{
    *a = (tsr_handover){.memory = memory, .nvec = nvec};
    a->p = room(a, &a->p_bytes, (nvec > 0 ? nvec : 1) + 1, sizeof(uint64_t));
    if (a->p)
        a->p[0] = a->p[1] = 0;
    return a->p;
}

/* Freed as a whole where there is no room for a part. */
static bool has_room(tsr_handover *a, const void *part)
{
    if (!part)
        tsr_arrays_free(a);
    return part;
}

bool tsr_arrays_names(tsr_handover *a, int64_t nvec)
{
    a->h = room(a, &a->h_bytes, nvec, sizeof *a->h);
    return has_room(a, a->h);
}

bool tsr_arrays_values(tsr_handover *a, tsr_type type)
{
    a->x = room(a, &a->x_bytes, a->nvals, tsr_type_size(type));
    return has_room(a, a->x);
}

static bool add_indices(tsr_handover *a, int64_t nvals, bool narrow)
{
    a->nvals = nvals;
    a->narrow = narrow;
    a->i = room(a, &a->i_bytes, nvals, narrow ? sizeof(uint32_t) : sizeof(uint64_t));
    return has_room(a, a->i);
}

bool tsr_arrays_lists(tsr_handover *a, const tsr_memory *memory, int64_t nvec, int64_t nvals, bool narrow)
{
    return add_vectors(a, memory, nvec) && add_indices(a, nvals, narrow);
}

bool tsr_arrays_entries(tsr_handover *a, int64_t nvals, tsr_type type, bool narrow)
{
    return add_indices(a, nvals, narrow) && tsr_arrays_values(a, type);
}

bool tsr_arrays_compressed(tsr_handover *a, const tsr_memory *memory, int64_t nvec, int64_t nvals, tsr_type type, bool narrow)
{
    return add_vectors(a, memory, nvec) && tsr_arrays_entries(a, nvals, type, narrow);
}

static void swap_values(tsr_handover *a, tsr_handover *b)
{
    void *x = a->x;
    const size_t bytes = a->x_bytes;
    a->x = b->x;
    a->x_bytes = b->x_bytes;
    b->x = x;
    b->x_bytes = bytes;
}

void tsr_arrays_compact(tsr_handover *sparse, tsr_handover *dense, int64_t nvec, int64_t vlen, tsr_type type, int nthreads)
{
    const size_t size = dense->iso ? 0 : tsr_type_size(type);
    tsr_compact_bitmap((int64_t *)sparse->p, (int64_t *)sparse->i, sparse->x, dense->b, dense->x, size, nvec, vlen, nthreads);
    if (dense->iso)
        swap_values(sparse, dense);
    sparse->iso = dense->iso;
    tsr_arrays_free(dense);
}

/* ---- from one form to another ---- */

bool tsr_arrays_list(tsr_handover *a, int64_t nvec, int64_t vlen, tsr_type type, int nthreads)
{
    tsr_handover sparse;
    if (!tsr_arrays_compressed(&sparse, a->memory, nvec, a->b ? a->nvals : nvec * vlen, type, false))
        return false;
    tsr_arrays_compact(&sparse, a, nvec, vlen, type, nthreads);
    *a = sparse;
    return true;
}

int64_t tsr_arrays_nonempty(const tsr_handover *a, int64_t enough, int nthreads)
{
    return tsr_nonempty_vectors((const int64_t *)a->p, a->nvec, enough, nthreads);
}

/* Other offsets and vectors, the entries stay. */
static void replace_vectors(tsr_handover *a, const tsr_handover *by)
{
    give_back(a, a->p);
    give_back(a, a->h);
    a->p = by->p;
    a->h = by->h;
    a->p_bytes = by->p_bytes;
    a->h_bytes = by->h_bytes;
    a->nvec = by->nvec;
}

bool tsr_arrays_list_vectors(tsr_handover *a, int nthreads)
{
    const int64_t nonempty = tsr_arrays_nonempty(a, INT64_MAX, nthreads);
    tsr_handover to = {.memory = a->memory, .nvec = nonempty};
    to.p = room(&to, &to.p_bytes, (nonempty > 0 ? nonempty : 1) + 1, sizeof *to.p);
    to.h = room(&to, &to.h_bytes, nonempty, sizeof *to.h);
    if (!to.p || !to.h) {
        tsr_arrays_free(&to);
        return false;
    }
    to.p[0] = to.p[1] = 0;
    tsr_list_vectors((int64_t *)to.p, (int64_t *)to.h, (const int64_t *)a->p, a->nvec, nthreads);
    replace_vectors(a, &to);
    return true;
}

bool tsr_arrays_all_vectors(tsr_handover *a, int64_t nvec)
{
    tsr_handover to = {.memory = a->memory, .nvec = nvec};
    to.p = room(&to, &to.p_bytes, nvec + 1, sizeof *to.p);
    if (!to.p)
        return false;
    to.p[0] = 0;
    for (int64_t v = 0, k = 0; v < nvec; v++) {
        k += k < a->nvec && (int64_t)a->h[k] == v;
        to.p[v + 1] = a->p[k];
    }
    replace_vectors(a, &to);
    return true;
}

static void drop_lists(tsr_handover *a)
{
    give_back(a, a->i);
    replace_vectors(a, &(tsr_handover){0});
    a->i = NULL;
    a->i_bytes = 0;
    a->narrow = a->jumbled = false;
}

bool tsr_arrays_spread(tsr_handover *a, int64_t nvec, int64_t vlen, tsr_type type, bool full, int nthreads)
{
    const int64_t entries = (int64_t)a->p[a->nvec];
    tsr_handover to;
    if (!full && !tsr_arrays_dense(&to, a->memory, nvec * vlen, type, true))
        return false;
    if (!full) {
        tsr_spread_lists(to.b, to.x, (const int64_t *)a->p, (const int64_t *)a->h, a->i, a->narrow, a->x, a->iso ? 0 : tsr_type_size(type), a->nvec,
                         nvec * vlen, vlen, nthreads);
        if (!a->iso)
            swap_values(a, &to);
        a->b = to.b;
        a->b_bytes = to.b_bytes;
        give_back(a, to.x);
    }
    drop_lists(a);
    a->nvals = entries;
    return true;
}

void tsr_arrays_put(tsr_handover *a, int64_t vlen, const int64_t *i, int64_t count, const void *x, size_t size)
{
    const int64_t ends[2] = {0, count};
    tsr_spread_lists(a->b, a->x, ends, NULL, i, false, x, x ? size : 0, 1, vlen, vlen, 1);
}

void tsr_arrays_count(tsr_handover *a, int64_t nvals, int64_t count)
{
    a->nvals = nvals;
    if (nvals < count)
        return;
    give_back(a, a->b);
    a->b = NULL;
}

static const char *first_value(const tsr_handover *a, size_t size)
{
    const int8_t *first = a->b ? memchr(a->b, 1, a->b_bytes) : NULL;
    if (a->nvals == 0 || (a->b && !first))
        return NULL;
    return (const char *)a->x + (first ? (size_t)(first - a->b) * size : 0);
}

void tsr_arrays_unify(tsr_handover *a, size_t size, const void *one)
{
    const void *value = one ? one : first_value(a, size);
    const size_t word = size < sizeof(uint64_t) ? sizeof(uint64_t) : size;
    void *x = value ? a->memory->allocate(word) : NULL;
    if (!x)
        return;
    memset(x, 0, word);
    memcpy(x, value, size);
    give_back(a, a->x);
    a->x = x;
    a->x_bytes = size;
    a->iso = true;
}

bool tsr_arrays_mask_vectors(tsr_handover *a, const tsr_memory *memory, const tsr_view *mask)
{
    if (!add_vectors(a, memory, mask->nvec))
        return false;
    if (mask->format != TSR_HYPERSPARSE)
        return true;
    if (!tsr_arrays_names(a, mask->nvec))
        return false;
    memcpy(a->h, mask->h, (size_t)mask->nvec * sizeof *a->h);
    return true;
}

bool tsr_arrays_listed(tsr_handover *a, const tsr_memory *memory, int64_t nvals, tsr_type type, bool narrow)
{
    if (!add_vectors(a, memory, nvals))
        return false;
    a->listed = true;
    return tsr_arrays_names(a, nvals) && tsr_arrays_entries(a, nvals, type, narrow);
}

void tsr_arrays_name(tsr_handover *a, const tsr_view *mask)
{
    int64_t last = -1;
    a->nvec = 0;
    for (int64_t q = 0; q < a->nvals; q++) {
        const int64_t v = (int64_t)a->h[q];
        if (v == last)
            continue;
        a->p[a->nvec] = (uint64_t)q;
        a->h[a->nvec++] = (uint64_t)(mask->h ? mask->h[v] : v);
        last = v;
    }
    a->p[a->nvec] = (uint64_t)a->nvals;
}

void tsr_arrays_drop_empty(tsr_handover *a)
{
    if (a->h)
        a->nvec = tsr_compact_vectors((int64_t *)a->p, (int64_t *)a->h, a->nvec);
}

void tsr_arrays_free(tsr_handover *a)
{
    give_back(a, a->x);
    give_back(a, a->b);
    give_back(a, a->p);
    give_back(a, a->h);
    give_back(a, a->i);
    *a = (tsr_handover){.memory = a->memory};
}
