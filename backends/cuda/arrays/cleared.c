/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/cleared.h"

#include <stdlib.h>

/* Bytes of an array that is kept; below, an allocation and a fill are as cheap. */
#ifndef TSR_CUDA_CLEARED_LEAST
#define TSR_CUDA_CLEARED_LEAST (1 << 20)
#endif

/* Places that every list has room for. */
#ifndef TSR_CUDA_CLEARED_ROOM
#define TSR_CUDA_CLEARED_ROOM (1 << 16)
#endif

/* Arrays that are kept, and which part of the memory that may be used. */
enum { MOST = 12, MEMORY_SHARE = 16 };

/* Oldest first.  Those that wait hold their listers. */
static tsr_cuda_array *waiting[MOST], *cleared[MOST], *under_way;
static int nwaiting, ncleared;
static size_t kept_bytes;

static tsr_cuda_array *take_at(tsr_cuda_array **all, int *count, int at)
{
    tsr_cuda_array *v = all[at];
    for (int k = at + 1; k < *count; k++)
        all[k - 1] = all[k];
    --*count;
    return v;
}

static void let_lister_go(tsr_cuda_array *v)
{
    if (v->lister != v)
        tsr_cuda_array_let_go(v->lister);
    v->lister = NULL;
}

/* Its bytes are not reserved. */
static void free_kept(tsr_cuda_array *v)
{
    kept_bytes -= v->bytes;
    let_lister_go(v);
    tsr_cuda_delete(v->x);
    free(v);
}

/* Room for a list of `most` places, or more, so that arrays of one size are alike. */
static int64_t room_for(int64_t count, size_t size, int64_t most)
{
    return (size_t)count * (size + 1) < TSR_CUDA_CLEARED_LEAST || most > TSR_CUDA_CLEARED_ROOM ? most : TSR_CUDA_CLEARED_ROOM;
}

/* Its memory is all 0 but for the list, and reserved again. */
static tsr_cuda_array *take(int64_t count, size_t size, int64_t most)
{
    for (int k = 0; k < ncleared; k++) {
        const tsr_cuda_array *v = cleared[k];
        if (v->count != count || v->size != size || v->room < most || !tsr_cuda_has_room(v->bytes))
            continue;
        kept_bytes -= v->bytes;
        tsr_cuda->used += v->bytes;
        return take_at(cleared, &ncleared, k);
    }
    return NULL;
}

static bool keep(tsr_cuda_array *v)
{
    const bool fits = v->list.head && v->lister && v->bytes >= TSR_CUDA_CLEARED_LEAST && v->bytes <= tsr_cuda->cap / MEMORY_SHARE;
    if (!fits || tsr_cuda != tsr_cuda_first())
        return false;
    while (ncleared && (nwaiting + ncleared == MOST || kept_bytes + v->bytes > tsr_cuda->cap / MEMORY_SHARE))
        free_kept(take_at(cleared, &ncleared, 0));
    if (nwaiting + ncleared == MOST || kept_bytes + v->bytes > tsr_cuda->cap / MEMORY_SHARE)
        return false;
    tsr_cuda_unreserve(v->bytes);
    kept_bytes += v->bytes;
    waiting[nwaiting++] = v;
    return true;
}

static void free_listed(void *whole)
{
    if (!keep(whole))
        tsr_cuda_array_free(whole);
}

static tsr_status new_memory(tsr_cuda_array **out, int64_t count, size_t size, int64_t most)
{
    const int64_t room = room_for(count, size, most);
    tsr_status status = tsr_cuda_array_new_beside(out, count, size, TSR_CUDA_ALIGNMENT + (size_t)room * sizeof(uint32_t));
    if (status != TSR_OK)
        return status;
    tsr_cuda_array *v = *out;
    const size_t before = tsr_cuda_array_beside(v);
    v->room = room;
    v->list = (tsr_cuda_list){(void *)((char *)v->x + before), (void *)((char *)v->x + before + TSR_CUDA_ALIGNMENT), most};
    status = tsr_cuda_set(v->x, 0, before + sizeof *v->list.head, tsr_cuda->compute);
    if (status != TSR_OK) {
        tsr_cuda_array_free(v);
        *out = NULL;
    }
    return status;
}

tsr_status tsr_cuda_array_new_listed(tsr_cuda_array **out, int64_t count, size_t size, int64_t most)
{
    tsr_cuda_array *v = *out = take(count, size, most);
    const tsr_status status = v ? TSR_OK : new_memory(out, count, size, most);
    if (v)
        *v = (tsr_cuda_array){.count = count, .size = size, .x = v->x, .present = v->present, .bytes = v->bytes, .nvals = -1,
                              .list = {v->list.head, v->list.places, most}, .room = v->room};
    if (status == TSR_OK)
        tsr_cuda_array_start(*out, free_listed);
    return status;
}

void tsr_cuda_cleared_begin(tsr_cuda_clearing *clearing)
{
    if (!nwaiting)
        return;
    tsr_cuda_array *v = under_way = take_at(waiting, &nwaiting, 0);
    *clearing = (tsr_cuda_clearing){v->x, v->present, (int64_t)v->size, v->lister->list, v->list.head};
}

tsr_status tsr_cuda_cleared_end(tsr_status status)
{
    tsr_cuda_array *v = under_way;
    under_way = NULL;
    if (v && status == TSR_OK && nwaiting + ncleared < MOST) {
        cleared[ncleared++] = v;
        let_lister_go(v);
    } else if (v) {
        free_kept(v);
    }
    return status;
}

bool tsr_cuda_cleared_forget(void)
{
    const bool any = nwaiting + ncleared > 0;
    while (nwaiting + ncleared)
        free_kept(nwaiting ? take_at(waiting, &nwaiting, 0) : take_at(cleared, &ncleared, 0));
    return any;
}
