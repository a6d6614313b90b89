/* Contents of objects that a device has: found with their records, left there, downloaded; sparsity controls that wait meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/report.h"
#include "src/graphblas/intercept/container.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/graphblas/intercept/memory/pins.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/match.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"
#include "src/runtime/warn.h"

static bool enabled(unsigned bit)
{
    const tsr_config *config = tsr_config_get();
    return !tsr_door_blocking() && config->mode != TSR_MODE_CPU && !(config->disabled & (bit | TSR_DISABLE_RESIDENCY));
}

bool tsr_contents_allowed(unsigned bit)
{
    return tsr_may_route() && enabled(bit);
}

bool tsr_contents_allowed_inside(void)
{
    return enabled(0);
}

tsr_device_array *tsr_contents_find(const void *handle)
{
    tsr_record *record = tsr_table_get(handle, false);
    if (!record)
        return NULL;
    tsr_device_array *value = tsr_record_device_array(record);
    tsr_record_unref(record);
    return value;
}

static tsr_device_array *find_of_form(const void *handle, bool compressed)
{
    tsr_device_array *value = tsr_contents_find(handle);
    if (!value || tsr_device_array_about(value)->compressed == compressed)
        return value;
    tsr_device_array_unref(value);
    return NULL;
}

tsr_device_array *tsr_contents_find_dense(const void *handle)
{
    return find_of_form(handle, false);
}

tsr_device_array *tsr_contents_find_compressed(const void *handle)
{
    return tsr_defer_is_target(handle) ? find_of_form(handle, true) : NULL;
}

bool tsr_contents_left_sparse(GrB_Matrix handle)
{
    tsr_device_array *value = tsr_contents_find(handle);
    if (value && tsr_device_array_about(value)->compressed && tsr_defer_is_target(handle)) {
        tsr_device_array_unref(value);
        return true;
    }
    tsr_device_array_unref(value);
    if (!handle || value || tsr_is_lost(handle))
        return false;
    tsr_will_inspect(handle);
    return !tsr_form_waits(handle) && !tsr_match_dense(handle);
}

/* ---- sparsity control ---- */

/* Large, of a type that we know, without an entry, held sparse. */
static bool may_delay(GrB_Matrix C)
{
    const tsr_config *config = tsr_config_get();
    GrB_Index nrows, ncols, entries;
    tsr_type type;
    if (tsr_real.GrB_Matrix_nrows(&nrows, C) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&ncols, C) != GrB_SUCCESS)
        return false;
    const double places = (double)nrows * (double)ncols;
    return places >= tsr_placement_least(config->min_work, config->mode == TSR_MODE_GPU) && places <= 0x1p28 &&
           tsr_match_object_type(&type, C) && tsr_real.GrB_Matrix_nvals(&entries, C) == GrB_SUCCESS && entries == 0 &&
           tsr_match_held_sparse(C);
}

bool tsr_contents_delay_control(GrB_Matrix C, int32_t control)
{
    if ((control != GxB_BITMAP && control != GxB_BITMAP + GxB_FULL) || !tsr_contents_allowed(TSR_DISABLE_ELEMENTWISE) ||
        tsr_config_get()->defer || !tsr_contents_possible())
        return false;
    if (!tsr_form_waits(C))
        tsr_will_inspect(C);
    tsr_quiet_begin();
    const bool may = tsr_form_waits(C) || may_delay(C);
    tsr_quiet_end();
    if (tsr_is_lost(C) || !may || !tsr_form_promise(C, control))
        return false;
    tsr_busy_add(TSR_BUSY_FORMS);
    return true;
}

/* ---- downloading ---- */

/* C whose contents are only with a backend. */
typedef struct absent {
    GrB_Matrix C;
    bool vector;
    tsr_device_array *value;
    tsr_handover arrays, sparse; /* sparse: with p where C is to be held so */
} absent;

static void release(absent *a)
{
    tsr_arrays_free(&a->arrays);
    tsr_arrays_free(&a->sparse);
    tsr_device_array_unref(a->value);
    free(a);
}

/* The last call of this thread that was not computed where its operands are. */
static _Thread_local struct {
    const char *call, *why;
} declined __attribute__((tls_model("initial-exec")));

void tsr_contents_decline(const char *call, const char *why)
{
    declined.call = call;
    declined.why = why;
}

static const char *why_downloaded(void)
{
    const bool by_it = tsr_caller && declined.why && strcmp(tsr_caller, declined.call) == 0;
    return by_it ? declined.why : "read on the host";
}

void tsr_contents_report_download(const tsr_backend *backend, tsr_type type, int64_t n, int64_t bytes_moved, double ms)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[96];
    snprintf(pattern, sizeof pattern, "download %s n=%lld", tsr_type_name(type), (long long)n);
    tsr_engine_report(backend, "fetch", (tsr_trace_record){.call = tsr_caller ? tsr_caller : "(end)", .pattern = pattern,
                                                             .reason = why_downloaded(), .measured_ms = ms, .bytes_moved = bytes_moved});
}

static void lose(const absent *a)
{
    tsr_warn_once("lost", "contents that were only on the GPU are lost: calls that need them return GrB_PANIC");
    tsr_record *record = tsr_table_get(a->C, false);
    if (record) {
        tsr_record_lose(record);
        tsr_record_set_device_array(record, NULL);
    }
    tsr_record_unref(record);
    tsr_busy_add(TSR_BUSY_LOST);
}

static tsr_status fetch(absent *a, tsr_download *to)
{
    const tsr_backend *backend = tsr_device_array_about(a->value)->backend;
    if (a->arrays.x)
        tsr_pins_use(a->arrays.x, backend);
    to->nthreads = tsr_context_threads();
    return TSR_ATTEMPT(backend->contents->download(tsr_device_array_kept(a->value), to));
}

static void compact(absent *a)
{
    const tsr_view v = tsr_device_array_view(a->value);
    tsr_arrays_compact(&a->sparse, &a->arrays, v.nvec, v.vlen, v.type, tsr_context_threads());
}

/* The arrays of C, from what was fetched, in the form that C has. */
static tsr_handover *form(absent *a, const tsr_settings *settings, int64_t nvals)
{
    const tsr_device_array_facts *facts = tsr_device_array_about(a->value);
    tsr_handover *arrays = a->sparse.p ? &a->sparse : &a->arrays;
    if (a->sparse.p)
        compact(a);
    else if (a->arrays.b && facts->full)
        memset(a->arrays.b, 1, (size_t)tsr_device_array_places(a->value));
    else if (a->arrays.b)
        a->arrays.nvals = nvals;
    if (facts->iso)
        tsr_arrays_unify(arrays, tsr_type_size(facts->type), &facts->one);
    (void)tsr_conform_to(a->C, a->vector, facts->by_col, arrays, settings);
    if (arrays->p)
        tsr_device_array_set_sparse(a->value);
    return arrays;
}

/* C's own, with the control that was promised. */
static tsr_settings settings_of(const absent *a)
{
    tsr_settings settings = tsr_settings_read(a->C);
    settings.control = tsr_form_control(a->C);
    return settings;
}

/* Sparse arrays, of which those of one value have it already. */
static bool hand_over_compressed(absent *a, int64_t *moved)
{
    const tsr_settings settings = settings_of(a);
    tsr_handover *s = &a->sparse;
    const tsr_device_array_facts *facts = tsr_device_array_about(a->value);
    tsr_download to = {.p = (int64_t *)s->p, .nvec = s->nvec, .i = s->i, .x = facts->iso ? NULL : s->x,
                       .index_size = s->narrow ? sizeof(uint32_t) : sizeof *s->i};
    const bool fetched = fetch(a, &to) == TSR_OK;
    *moved = to.bytes_moved;
    return fetched && tsr_finish_arrays(a->C, a->vector, facts->by_col, s, &settings) == GrB_SUCCESS;
}

static void download_compressed(void *closure)
{
    absent *a = closure;
    const double start = tsr_engine_clock_ms();
    const tsr_device_array_facts *facts = tsr_device_array_about(a->value);
    const int64_t entries = a->sparse.nvals;
    int64_t moved = 0;
    if (hand_over_compressed(a, &moved))
        tsr_form_set(a->C, 0);
    else
        lose(a);
    if (tsr_device_array_first_use(a->value))
        tsr_placement_read(facts->origin);
    tsr_contents_report_download(facts->backend, facts->type, entries, moved, tsr_engine_clock_ms() - start);
    release(a);
}

static void download(void *closure)
{
    absent *a = closure;
    const double start = tsr_engine_clock_ms();
    const tsr_device_array_facts *facts = tsr_device_array_about(a->value);
    const tsr_settings settings = settings_of(a);
    tsr_download to = {.x = a->arrays.x, .b = facts->full ? NULL : a->arrays.b};
    const bool fetched = fetch(a, &to) == TSR_OK;
    tsr_handover *arrays = fetched ? form(a, &settings, to.nvals) : NULL;
    if (!fetched || tsr_finish_arrays(a->C, a->vector, facts->by_col, arrays, &settings) != GrB_SUCCESS)
        lose(a);
    else
        tsr_form_set(a->C, 0);
    if (tsr_device_array_first_use(a->value))
        tsr_placement_read(tsr_device_array_about(a->value)->origin);
    tsr_contents_report_download(facts->backend, facts->type, tsr_device_array_places(a->value), to.bytes_moved, tsr_engine_clock_ms() - start);
    release(a);
}

static void forget(void *closure)
{
    release(closure);
}

/* ---- left on a device ---- */

enum { UNCOUNTED_PLACES = 1 << 22 };

static bool may_wait(int32_t control)
{
    const int32_t dense = GxB_BITMAP + GxB_FULL;
    return (control & dense) == dense || control == GxB_BITMAP || control == GxB_SPARSE;
}

bool tsr_contents_may_wait(GrB_Matrix C)
{
    return !tsr_door_blocking() && may_wait(tsr_form_control(C));
}

bool tsr_contents_may_be_compressed(GrB_Matrix C)
{
    const int32_t control = tsr_form_control(C);
    return !tsr_door_blocking() && !tsr_config_get()->defer && (control == GxB_AUTO_SPARSITY || control == GxB_SPARSE);
}

void tsr_contents_keep(const void *handle, tsr_device_array *value)
{
    tsr_record *record = tsr_table_get(handle, true);
    if (record)
        tsr_record_set_device_array(record, value);
    tsr_record_unref(record);
    tsr_busy_add(TSR_BUSY_ARRAYS);
}

/* Entries that there may be at most.  To count them is to wait for the backend: where room for all places is cheap, which it is while nobody
 * writes to it, they are not counted. */
static bool most_entries(int64_t *most, tsr_device_array *value)
{
    *most = tsr_device_array_places(value);
    return *most <= UNCOUNTED_PLACES || tsr_device_array_nvals(value, most) == TSR_OK;
}

/* Of one value it is written now. */
static bool reserve_compressed(absent *now)
{
    const tsr_device_array_facts *facts = tsr_device_array_about(now->value);
    const tsr_view v = tsr_device_array_view(now->value);
    const bool narrow = v.vlen <= INT32_MAX && tsr_container_ready(now->C);
    tsr_blocks_product((size_t)v.nvals * (narrow ? sizeof(uint32_t) : sizeof(GrB_Index)));
    if (!tsr_arrays_compressed(&now->sparse, &tsr_door_memory, v.nvec, v.nvals, v.type, narrow))
        return false;
    if (facts->iso)
        tsr_arrays_unify(&now->sparse, tsr_type_size(v.type), &facts->one);
    return now->sparse.iso == facts->iso;
}

/* What C must have beside `arrays` to be downloaded in the form that its sparsity control asks for. */
static bool reserve_form(absent *now, tsr_handover *arrays)
{
    const int32_t control = tsr_form_control(now->C);
    int64_t most;
    if (tsr_device_array_about(now->value)->compressed)
        return reserve_compressed(now);
    if (control == GxB_BITMAP) /* also when every entry is there */
        return tsr_arrays_presence(arrays, tsr_device_array_places(now->value));
    if (control != GxB_SPARSE)
        return true;
    const tsr_view v = tsr_device_array_view(now->value);
    return most_entries(&most, now->value) && tsr_arrays_compressed(&now->sparse, &tsr_door_memory, v.nvec, most, v.type, false);
}

bool tsr_contents_put(GrB_Matrix C, bool vector, tsr_device_array *value, tsr_handover *arrays)
{
    absent *now = calloc(1, sizeof *now);
    tsr_record *record = tsr_table_get(C, true);
    if (now)
        *now = (absent){.C = C, .vector = vector, .value = value};
    if (!now || !record || !reserve_form(now, arrays)) {
        tsr_record_unref(record);
        if (now)
            tsr_arrays_free(&now->sparse);
        free(now);
        return false;
    }
    tsr_discard(C);
    tsr_record_set_device_array(record, value);
    tsr_record_unref(record);
    tsr_busy_add(TSR_BUSY_ARRAYS);
    now->arrays = *arrays;
    *arrays = (tsr_handover){0};
    const tsr_device_array_facts *facts = tsr_device_array_about(value);
    const tsr_deferred d = {.target = C, .run = facts->compressed ? download_compressed : download, .cancel = forget, .closure = now,
                            .only_value = true, .counted = facts->counted, .type = facts->type, .total = facts->total};
    if (!tsr_defer(&d))
        d.run(now);
    return true;
}

bool tsr_contents_set_control(GrB_Matrix C, bool vector, int32_t control)
{
    tsr_device_array *value = may_wait(control) ? tsr_contents_find_dense(C) : NULL;
    if (!value)
        return false;
    const int32_t before = tsr_form_promised(C);
    const tsr_device_array_facts *facts = tsr_device_array_about(value);
    tsr_handover arrays = {0};
    const bool done = tsr_arrays_dense(&arrays, &tsr_door_memory, tsr_device_array_places(value), facts->type, !facts->full) &&
                      tsr_form_promise(C, control) && tsr_contents_put(C, vector, value, &arrays);
    if (!done) {
        tsr_form_set(C, before);
        tsr_arrays_free(&arrays);
        tsr_device_array_unref(value);
    }
    return done;
}

void tsr_contents_note_use(const void *handle)
{
    tsr_record *record = tsr_table_get(handle, true);
    if (record)
        tsr_record_note_use(record);
    tsr_record_unref(record);
    tsr_busy_add(TSR_BUSY_ARRAYS);
}

bool tsr_contents_noted(const void *handle)
{
    tsr_record *record = tsr_table_get(handle, false);
    const bool noted = record && tsr_record_uses(record) > 0;
    tsr_record_unref(record);
    return noted;
}
