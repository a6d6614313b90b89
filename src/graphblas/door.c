/* The drop-in door's table for the engine: handles of the real library behind plain functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include <stdatomic.h>

#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/container.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/graphblas/intercept/memory/gathers.h"
#include "src/graphblas/intercept/memory/heap_top.h"
#include "src/graphblas/intercept/memory/pins.h"
#include "src/graphblas/intercept/options.h"

/* ---- the host's objects ---- */

static bool view(tsr_view *v, void *handle)
{
    return tsr_match_view(v, handle) && tsr_match_object_type(&v->type, handle);
}

static bool held(tsr_view *v, void *handle, tsr_copies *copies)
{
    return tsr_match_held(v, handle, copies) && tsr_match_object_type(&v->type, handle);
}

static bool takes_narrow(void *C)
{
    return tsr_container_ready(C);
}

static bool shape(tsr_shape *shape, void *handle, bool vector)
{
    GrB_Index nrows, ncols;
    int32_t format = GxB_BY_COL;
    tsr_type type;
    if (tsr_real.GrB_Matrix_nrows(&nrows, handle) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&ncols, handle) != GrB_SUCCESS ||
        (!vector && tsr_option_get_int32(handle, GxB_FORMAT, &format) != GrB_SUCCESS) ||
        !tsr_match_object_type(&type, handle))
        return false;
    *shape = (tsr_shape){.nrows = (int64_t)nrows, .ncols = (int64_t)ncols, .type = type, .by_col = format == GxB_BY_COL};
    return true;
}

static unsigned form(const void *handle)
{
    switch (tsr_match_sparsity((GrB_Matrix)handle)) {
    case GxB_HYPERSPARSE: return 1u << TSR_HYPERSPARSE;
    case GxB_SPARSE: return 1u << TSR_SPARSE;
    case GxB_BITMAP: return 1u << TSR_BITMAP;
    case GxB_FULL: return 1u << TSR_FULL;
    default: return 0;
    }
}

/* Of a vector without entries, offsets included; 0: not known. */
static size_t bytes_of_an_empty_one(void)
{
    static atomic_size_t known;
    size_t bytes = atomic_load(&known);
    GrB_Vector v = NULL;
    if (bytes == 0 && tsr_real.GrB_Vector_new(&v, tsr_type_handle(TSR_BOOL), 1) == GrB_SUCCESS &&
        tsr_real.GxB_Matrix_memoryUsage(&bytes, (GrB_Matrix)v) == GrB_SUCCESS)
        atomic_store(&known, bytes);
    if (v)
        tsr_real.GrB_Vector_free(&v);
    return bytes;
}

/* Its memory tells: to count the entries would finish them, which an assignment need not do.  Blocks are rounded to powers of two. */
static bool has_entries(void *handle, size_t vectors)
{
    size_t bytes = 0, offsets = 2 * sizeof(uint64_t);
    if (!tsr_match_held_sparse(handle) || tsr_real.GxB_Matrix_memoryUsage(&bytes, handle) != GrB_SUCCESS)
        return false;
    const size_t rest = bytes_of_an_empty_one() - offsets;
    while (offsets < (vectors + 1) * sizeof(uint64_t))
        offsets *= 2;
    return bytes > rest + offsets;
}

static bool may_be_bitmap(void *handle)
{
    return tsr_form_control(handle) & GxB_BITMAP;
}

static bool has_its_form(void *handle, bool vector)
{
    return tsr_has_its_form(handle, vector);
}

/* Would so many entries be lists, if SuiteSparse had computed them in the form `from`? */
static bool in_lists(void *handle, int32_t control, int64_t entries, double places, int32_t from)
{
    tsr_settings settings = {.control = control};
    const tsr_contents_size size = {.nvec = 1, .vlen = (int64_t)places, .entries = entries};
    tsr_option_get_fp64(handle, GxB_BITMAP_SWITCH, &settings.bitmap_switch);
    return tsr_result_form(&settings, &size, from) & (GxB_HYPERSPARSE | GxB_SPARSE);
}

/* Downloaded. */
static bool holds_sparse(void *handle, int64_t entries, double places)
{
    return in_lists(handle, tsr_form_control(handle), entries, places, GxB_BITMAP);
}

static bool makes_sparse(void *handle, int64_t entries, double places)
{
    int32_t control = GxB_AUTO_SPARSITY;
    tsr_option_get_int32(handle, GxB_SPARSITY_CONTROL, &control);
    return in_lists(handle, control, entries, places, GxB_BITMAP);
}

static bool makes_dense(void *handle, int64_t entries, double places)
{
    return !in_lists(handle, tsr_form_control(handle), entries, places, GxB_SPARSE);
}

static bool left_sparse(void *handle)
{
    return tsr_contents_left_sparse(handle);
}

static bool may_be_absent(void *handle)
{
    return tsr_contents_may_wait(handle);
}

static bool may_be_compressed(void *handle)
{
    return tsr_contents_may_be_compressed(handle);
}

static bool accumulator(tsr_ewise_op *op, tsr_type *type, void *accum)
{
    return tsr_match_binary(op, type, accum);
}

static bool take(tsr_handover *arrays, void *C, bool vector, bool by_col)
{
    return tsr_arrays_take(arrays, C, vector, by_col);
}

/* ---- results ---- */

static bool is_read_only(void *C)
{
    return tsr_option_is_read_only(C);
}

/* Only a hand-over that cannot fail may wait. */
static bool may_wait(const tsr_call *call)
{
    int32_t control = GxB_AUTO_SPARSITY;
    if (tsr_door_blocking() || call->through_t)
        return false;
    return tsr_option_get_int32(call->given.C, GxB_SPARSITY_CONTROL, &control) == GrB_SUCCESS &&
           control == GxB_AUTO_SPARSITY;
}

/* The hooks may not have run, and what was downloaded of C is stale soon. */
static bool yield_c(const tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    (call->through_t ? tsr_will_write : tsr_will_replace)(given->C);
    tsr_will_read(given->M);
    return !tsr_is_lost(given->C) && !tsr_is_lost(given->M);
}

static bool leave(const tsr_arguments *given, tsr_device_array *array, tsr_handover *arrays)
{
    return tsr_contents_put(given->C, given->vector, array, arrays);
}

/* A, B or M, freed by the program since: the mask says which entries a result has that stays, and all three what they are, should it
 * be lost there. */
static void drop_operand(const void *handle)
{
    GrB_Matrix object = (GrB_Matrix)handle;
    tsr_real.GrB_Matrix_free(&object);
}

static bool defer(const tsr_call *call, void (*run)(void *kept), void (*cancel)(void *kept), void *kept)
{
    const tsr_arguments *given = &call->given;
    const bool stays = call->remote.stays;
    const tsr_deferred d = {.target = given->C, .operands = {given->A, given->B, given->M}, .run = run, .cancel = cancel, .closure = kept,
                            .counted = stays, .type = call->product.semiring.type, .total = call->remote.total, .only_value = stays,
                            .drop = stays ? drop_operand : NULL};
    return tsr_defer(&d);
}

/* Written in place.  A bitmap that has every entry becomes full, as it does by any call that SuiteSparse computes. */
static GrB_Info settle_in_place(const tsr_arguments *given)
{
    const bool lists_too = tsr_spreads_t(given);
    if (!lists_too && tsr_match_sparsity(given->C) != GxB_BITMAP)
        return GrB_SUCCESS;
    const tsr_settings s = tsr_settings_read(given->C);
    return tsr_settings_settle(given->C, given->vector, &s, lists_too);
}

/* A call that succeeds ends C's error text. */
static int hand_over(tsr_call *call)
{
    GrB_Info info = GrB_SUCCESS;
    if (call->update.on_host || !call->arrays.x)
        info = tsr_real.GrB_Matrix_wait(call->given.C, GrB_COMPLETE);
    if (call->arrays.x)
        return tsr_finish_call(call);
    return (int)(info == GrB_SUCCESS ? settle_in_place(&call->given) : info);
}

const tsr_door tsr_graphblas_door = {
    .memory = &tsr_door_memory, .allows_devices = tsr_contents_allowed_inside, .threads = tsr_context_threads,
    .concerns_device = tsr_product_concerns_device, .match = tsr_match_product, .match_full = tsr_match_full_product,
    .download = tsr_product_download, .pays = tsr_product_pays, .forward = tsr_product_forward, .sample = tsr_product_sample,
    .record = tsr_table_get, .array = tsr_contents_find_dense, .compressed = tsr_contents_find_compressed, .is_absent = tsr_defer_is_target, .is_lost = tsr_is_lost,
    .keep = tsr_contents_keep, .note_use = tsr_contents_note_use, .report_download = tsr_contents_report_download,
    .inspect = tsr_will_inspect, .view = view, .held = held, .shape = shape, .form = form, .form_waits = tsr_form_waits, .left_sparse = left_sparse,
    .has_entries = has_entries, .may_be_bitmap = may_be_bitmap, .has_its_form = has_its_form, .holds_sparse = holds_sparse,
    .makes_sparse = makes_sparse, .makes_dense = makes_dense, .takes_narrow = takes_narrow, .accumulator = accumulator, .is_page_locked = tsr_pins_noted, .use_block = tsr_pins_use,
    .note_gathers = tsr_gathers_note, .note_scratch = tsr_heap_top_note,
    .begin_result = tsr_blocks_product, .is_read_only = is_read_only, .may_be_absent = may_be_absent, .may_be_compressed = may_be_compressed,
    .may_wait = may_wait, .yield = yield_c, .take = take,
    .hand_over = hand_over, .leave = leave, .defer = defer};
