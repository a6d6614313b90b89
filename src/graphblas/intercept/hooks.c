/* Hooks: what is done with the record and the deferred products of a handle before (or after) a call touches it.
 * They only use the address, so that NULL and garbage handles reach the real library, which answers with its error
 * codes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

/* Another thread may look at an object without entries, too: nothing of it is unfinished. */
static bool is_empty(const void *handle)
{
    GrB_Index entries;
    tsr_quiet_begin();
    const bool empty = tsr_real.GrB_Matrix_nvals(&entries, (GrB_Matrix) handle) != GrB_SUCCESS || entries == 0;
    tsr_quiet_end();
    return empty;
}

static void settle(const void *handle)
{
    if (tsr_form_waits(handle))
        tsr_settle_form(handle);
}

void tsr_will_inspect(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_defer_before_read(handle);
    if (tsr_form_waits(handle) && is_empty(handle))
        tsr_settle_form(handle);
}

void tsr_will_read(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_defer_before_read(handle);
    settle(handle);
}

void tsr_will_move(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_held_forget(handle);
    tsr_defer_before_write(handle);
    settle(handle);
}

static void invalidate(const void *handle)
{
    tsr_record *matrix = tsr_table_get(handle, false);
    if (matrix) {
        tsr_record_invalidate(matrix);
        tsr_record_unref(matrix);
    }
}

void tsr_will_edit(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_held_forget(handle);
    tsr_defer_before_write(handle);
    invalidate(handle);
}

void tsr_will_write(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_will_edit(handle);
    settle(handle);
}

void tsr_discard(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_held_forget(handle);
    tsr_defer_before_replace(handle);
    invalidate(handle);
}

void tsr_will_replace(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_discard(handle);
    tsr_settle_form(handle);
}

void tsr_freed(const void *handle)
{
    if (!tsr_filter_hit(handle))
        return;
    tsr_held_forget(handle);
    tsr_defer_before_replace(handle);
    tsr_table_drop(handle);
}

bool tsr_will_free(const void *handle)
{
    tsr_held_forget(handle);
    const bool held = tsr_defer_before_free(handle);
    tsr_table_drop(handle);
    return held;
}

void tsr_exported(const void *handle)
{
    tsr_will_write(handle);
    if (!tsr_is_lost(handle))
        tsr_freed(handle);
}

void tsr_created(const void *handle)
{
    tsr_freed(handle);
}

void tsr_hook_read_array(const void *const *handles, size_t count)
{
    for (size_t n = 0; handles && n < count; n++)
        tsr_will_read(handles[n]);
}

void tsr_hook_new_array(const void *const *handles, size_t count)
{
    for (size_t n = 0; handles && n < count; n++)
        tsr_created(handles[n]);
}

bool tsr_is_lost_array(const void *const *handles, size_t count)
{
    bool lost = false;
    for (size_t n = 0; handles && n < count; n++)
        lost |= tsr_is_lost(handles[n]);
    return lost;
}

size_t tsr_tiles(uint64_t rows, uint64_t columns)
{
    size_t count;
    return __builtin_mul_overflow(rows, columns, &count) ? 0 : count;
}
