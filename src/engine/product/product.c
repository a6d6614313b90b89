/* Products as an operation: sparse times full, sampled, masked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/product/product.h"

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/report.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/execute.h"
#include "src/engine/sparse/compressed.h"
#include "src/format/sparse/format.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/policy/history/stay_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* ---- operands ---- */

/* What is built of an operand that is about to be overwritten would be stale; compressed contents lie in their record. */
static tsr_record *record_of(const tsr_call *call, const tsr_object *object, const void *handle)
{
    return handle == call->given.C && !object->compressed ? NULL : call->door->record(handle, true);
}

static const char *resolve(tsr_call *call)
{
    if (tsr_is_dense_product(&call->product))
        return NULL; /* nothing is kept of full operands */
    call->a.record = record_of(call, &call->a, call->a.handle);
    if (!tsr_is_masked(call->product.op))
        return NULL;
    call->b.record = record_of(call, &call->b, call->b.handle);
    call->mask.record = record_of(call, &call->mask, call->given.M);
    return NULL;
}

/* ---- where may the result be? ---- */

static double least_places(void)
{
    const tsr_config *config = tsr_config_get();
    return tsr_placement_least(config->min_work, config->mode == TSR_MODE_GPU);
}

static bool large(const tsr_product *p)
{
    return (double)p->m * (double)p->n >= least_places();
}

static uint64_t key_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const uint64_t parts[] = {(uint64_t)p->op, (uint64_t)p->semiring.add, (uint64_t)p->semiring.mul, (uint64_t)p->semiring.type,
                              (uint64_t)p->m, (uint64_t)p->n, (uint64_t)p->k, (uint64_t)p->a.nvals, call->through_t};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* SuiteSparse 7.4.0 crashes in C<M> += T with a full T (its method 08n), so there a full T is handed over as bitmap. */
static bool keep_presence(const tsr_call *call)
{
    return call->through_t && call->given.accum && call->given.M;
}

/* Of a dense result. */
static bool is_full(const tsr_call *call)
{
    return !keep_presence(call) && tsr_engine_result_full(call);
}

/* C<M> accum= T there.  What only the host has of C and M must be worth uploading: a mask alone is, T would have to come here to meet it;
 * C, where such results are used there, which is tried now and then. */
static bool plan_update(tsr_call *call)
{
    tsr_remote *r = &call->remote;
    if (tsr_update_plan(call, call->product.semiring.type, is_full(call)))
        return false;
    call->update.masks_t = call->given.M && tsr_engine_masks_t(call);
    const tsr_object *old = &call->update.c, *mask = &call->update.m;
    const bool free_old = !old->given || old->array || (old->view.iso && old->view.format == TSR_FULL);
    const bool wanted = call->in_place || r->settled || tsr_placement_stays(r->key) || (free_old && (!mask->given || mask->array));
    r->trial = !wanted && (!old->given || tsr_placement_keeps(r->key));
    return wanted || r->trial;
}

/* May a loop of such products move to the device?  There operands are not cast.  Of a search its pulls are a loop, and what pushes follows
 * them: how many there are does not depend on where they are computed. */
static bool may_move(const tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    const tsr_product *p = &call->product;
    const bool fits = p->b.type == p->semiring.type || !tsr_reads_b(p), pushes = tsr_is_search(call) && p->a.by_col;
    return config->mode == TSR_MODE_AUTO && !config->eager && call->may_forward && !call->b_sparse && !pushes && fits &&
           !(config->disabled & TSR_DISABLE_RESIDENCY);
}

/* Before the product is priced: what need not be downloaded counts. */
static void place(tsr_call *call)
{
    tsr_remote *r = &call->remote;
    if (tsr_is_masked(call->product.op) || tsr_config_get()->defer || !call->door->allows_devices() || !large(&call->product) ||
        !call->door->may_be_absent(call->given.C))
        return;
    r->loop = may_move(call) ? key_of(call) : 0;
    if (!tsr_contents_possible())
        return;
    r->key = key_of(call);
    r->settled = tsr_stay_on_device(r->loop) || tsr_engine_frontier_moves(call);
    if (tsr_stay_given_up(r->loop))
        return;
    if (call->through_t)
        r->may_stay = r->updates = plan_update(call);
    else
        r->may_stay = call->in_place || r->settled || tsr_placement_stays(r->key);
    r->settled &= r->may_stay;
    r->may_keep = !r->may_stay && !call->through_t && tsr_placement_keeps(r->key);
}

static double waiting_places(const tsr_call *call, const void *handle)
{
    const tsr_product *p = &call->product;
    return handle && call->door->form_waits(handle) ? (double)p->m * (double)p->n : 0;
}

/* Nothing of it is left to do on the host. */
static bool may_be_compressed(const tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    return call->product.op == TSR_OP_MASKED_DOT && backend && backend->compressed && !call->through_t && !call->one_value &&
           call->door->may_be_compressed(call->given.C);
}

static bool counts(const tsr_product *p)
{
    const tsr_semiring s = p->semiring;
    return s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_PAIR && s.type != TSR_FP32 && s.type != TSR_FP64;
}

/* Nothing is computed for it then. */
static bool may_be_empty(const tsr_product *p)
{
    return p->a.nvals == 0 || p->b.nvals == 0 || p->mask.nvals == 0 || (p->mask.iso && !p->mask_structural);
}

/* Of counts the sum may be all that anybody wants to know; of others, what became of results like this says whether it is worth while. */
static bool stays_compressed(tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    if (!may_be_compressed(call) || tsr_has_compressed(call))
        return may_be_compressed(call);
    if (may_be_empty(&call->product))
        return false;
    if (counts(&call->product))
        return true;
    const tsr_pull pull = {.elements = (double)call->product.mask.nvals, .least = config->min_work, .on_device = true,
                           .forced = config->mode == TSR_MODE_GPU, .key = key_of(call)};
    return tsr_placement_pulls(&pull);
}

static void decide(tsr_call *call)
{
    const void *C = call->given.C, *M = call->mask.handle;
    place(call);
    call->b.absent = call->b.array && call->door->is_absent(call->b.handle);
    call->waiting = waiting_places(call, C) + (M == C ? 0 : waiting_places(call, M));
    call->direct = call->door->is_page_locked(call->product.b.x);
    tsr_engine_decide(call, &call->decision);
    call->remote.compressed = stays_compressed(call);
    if (tsr_has_compressed(call) && tsr_is_masked(call->product.op) && !call->remote.compressed)
        call->decision.backend = NULL;
}

/* ---- memory ---- */

/* C before the call, if the backend joins T to it. */
static const tsr_view *joined(const tsr_call *call)
{
    const bool joins = call->joins_c && !call->deferred && !tsr_config_get()->defer;
    return joins && tsr_engine_joins(call, &call->decision) ? &call->c : NULL;
}

/* C's own array, where the product is joined to it in place. */
static void *own_array(const tsr_call *call)
{
    const tsr_view *c = joined(call);
    return c && !c->iso && call->given.C != call->b.handle ? (void *)(uintptr_t)c->x : NULL;
}

/* Room for every entry of the mask. */
static bool reserve_masked(tsr_call *call)
{
    const tsr_product *p = &call->product;
    return tsr_arrays_mask_vectors(&call->arrays, call->door->memory, &p->mask) &&
           tsr_arrays_entries(&call->arrays, p->mask.nvals, p->semiring.type, false);
}

/* Memory of the result, in the user's allocator, before anything is computed (a deferred product must not fail later). */
static bool reserve(tsr_call *call)
{
    const tsr_product *p = &call->product;
    const tsr_memory *memory = call->door->memory;
    const bool masked = tsr_is_masked(p->op);
    if (own_array(call))
        return true;
    call->door->begin_result((size_t)(masked ? p->mask.nvals : p->m * p->n) * tsr_type_size(p->semiring.type));
    if (call->remote.compressed)
        return true;
    if (!masked)
        return tsr_arrays_dense(&call->arrays, memory, p->m * p->n, p->semiring.type, !joined(call) && !is_full(call));
    const bool waits = call->door->may_wait(call);
    const size_t entries = (size_t)(p->mask.nvals > 0 ? p->mask.nvals : 1);
    call->masked_x = memory->allocate(entries * tsr_type_size(p->semiring.type));
    call->masked_b = memory->allocate(entries);
    call->remote.may_stay = waits && !call->in_place && call->decision.backend->contents;
    if (!call->masked_x || !call->masked_b)
        return false;
    call->door->note_scratch(call->masked_x, entries * tsr_type_size(p->semiring.type));
    return !(waits && tsr_config_get()->defer) || reserve_masked(call);
}

/* The device reads and writes large arrays by itself once they lie in blocks that products have often used; what stays there touches
 * none. */
static void use_operand(const tsr_call *call, const tsr_view *v, bool read)
{
    if (read && !v->iso && v->type == call->product.semiring.type)
        call->door->use_block(v->x, call->decision.backend);
}

static void use_blocks(tsr_call *call)
{
    const tsr_product *p = &call->product;
    const double start = call->decision.timing ? tsr_engine_clock_ms() : 0;
    if (p->op != TSR_OP_MASKED_DOT)
        use_operand(call, &p->b, tsr_reads_b(p));
    if (p->op == TSR_OP_SDDMM)
        use_operand(call, &p->a, tsr_reads_a(p));
    if (!tsr_is_masked(p->op) && !call->remote.may_stay)
        call->door->use_block(call->arrays.x, call->decision.backend);
    call->pin_ms = call->decision.timing ? tsr_engine_clock_ms() - start : 0;
}

/* ---- computing ---- */

static tsr_status execute(const tsr_call *call, tsr_result *result)
{
    return call->deferred ? tsr_engine_execute_surely(call, &call->decision, result)
                          : tsr_engine_execute(call, &call->decision, result);
}

static void count(tsr_call *call, int64_t nvals, int64_t places)
{
    tsr_arrays_count(&call->arrays, nvals, keep_presence(call) ? INT64_MAX : places);
}

static tsr_status run_dense(tsr_call *call)
{
    tsr_remote *r = &call->remote;
    const tsr_view *c = joined(call);
    tsr_result result = {.x = call->arrays.x ? call->arrays.x : own_array(call), .b = call->arrays.b, .c = c ? c->x : NULL,
                         .c_iso = c && c->iso, .may_stay = r->may_stay, .may_keep = r->may_keep};
    const tsr_status status = execute(call, &result);
    r->stays = result.stays;
    if (status == TSR_OK && c)
        call->through_t = call->add_c = false;
    if (status == TSR_OK && call->arrays.b && !(r->stays && r->may_stay))
        count(call, result.nvals, call->product.m * call->product.n);
    return status;
}

/* Of `kept` entries, few beside the vectors: none of these is looked at that has no entry.  False: not done. */
static bool compact_few(tsr_call *call, int64_t kept)
{
    enum { VECTORS_LEAST = 4096, VECTORS_PER_ENTRY = 32 };
    const tsr_product *p = &call->product;
    tsr_handover *arrays = &call->arrays;
    if (arrays->p || p->mask.format != TSR_SPARSE || p->mask.nvec < VECTORS_LEAST || kept > p->mask.nvec / VECTORS_PER_ENTRY)
        return false;
    if (!tsr_arrays_listed(arrays, call->door->memory, kept, p->semiring.type, tsr_call_narrows(call, p->mask.vlen)))
        return false;
    if (tsr_compact_few((int64_t *)arrays->h, arrays->i, arrays->narrow, arrays->x, kept, &p->mask, call->masked_b, call->masked_x,
                        tsr_type_size(p->semiring.type), p->nthreads)) {
        tsr_arrays_name(arrays, &p->mask);
        return true;
    }
    tsr_arrays_free(arrays);
    return false;
}

static bool compact(tsr_call *call, int64_t expected)
{
    const tsr_product *p = &call->product;
    tsr_handover *arrays = &call->arrays;
    if (compact_few(call, expected))
        return true;
    if (!arrays->p && !tsr_arrays_mask_vectors(arrays, call->door->memory, &p->mask))
        return false;
    int64_t *offsets = (int64_t *)arrays->p;
    const int64_t kept = tsr_compact_count(offsets, &p->mask, call->masked_b, p->nthreads);
    if (!arrays->i && !tsr_arrays_entries(arrays, kept, p->semiring.type, tsr_call_narrows(call, p->mask.vlen)))
        return false;
    tsr_compact_fill(arrays->i, arrays->narrow, arrays->x, offsets, &p->mask, call->masked_b, call->masked_x,
                     tsr_type_size(p->semiring.type), p->nthreads);
    arrays->nvals = kept;
    tsr_arrays_drop_empty(arrays);
    return true;
}

static void drop(tsr_call *call)
{
    call->decision.backend->contents->drop(call->remote.stays);
    call->remote.stays = NULL;
}

/* What stays somewhere is downloaded, or computed once more. */
static tsr_status download(tsr_call *call, tsr_result *result)
{
    const tsr_backend *backend = call->decision.backend;
    const tsr_product *p = &call->product;
    const double start = tsr_engine_clock_ms();
    tsr_download to = {.nthreads = p->nthreads, .x = result->x, .b = result->b};
    const tsr_status status = backend->contents->download(call->remote.stays, &to);
    if (status == TSR_OK)
        call->door->report_download(backend, p->semiring.type, p->mask.nvals, to.bytes_moved, tsr_engine_clock_ms() - start);
    drop(call);
    return status == TSR_OK ? status : execute(call, result);
}

static tsr_status run_compressed(tsr_call *call)
{
    const tsr_product *p = &call->product;
    tsr_result result = {.may_stay = true, .compressed = true};
    const tsr_status status = execute(call, &result);
    const tsr_device_array_facts facts = {.backend = call->decision.backend, .type = p->semiring.type, .nrows = p->mask.nrows,
                                          .ncols = p->mask.ncols, .by_col = p->mask.by_col, .counted = result.counted, .total = result.total,
                                          .origin = key_of(call)};
    call->remote.stays = result.stays;
    return status == TSR_OK ? tsr_compressed_leave(call, facts, NULL) : status;
}

static tsr_status run_masked(tsr_call *call)
{
    tsr_remote *r = &call->remote;
    tsr_result result = {.x = call->masked_x, .b = call->masked_b, .may_stay = r->may_stay};
    const tsr_status status = r->stays ? download(call, &result) : execute(call, &result);
    r->stays = result.stays;
    r->total = result.total;
    return status == TSR_OK && !r->stays && !compact(call, result.nvals) ? TSR_OUT_OF_MEMORY : status;
}

/* b, which the host holds, becomes a bitmap on the device, or full. */
static tsr_status upload_b(tsr_call *call)
{
    const tsr_view held = call->b.transposed ? tsr_view_transposed(call->sparse) : call->sparse;
    if (!call->b.array)
        call->b.array = call->door->array(call->b.handle);
    const tsr_status status =
        call->b.array ? TSR_OK : tsr_contents_upload(&call->b, &held, call->door, call->decision.backend, &call->moved);
    if (status != TSR_OK)
        return status;
    call->product.b_value = tsr_device_array_kept(call->b.array);
    call->product.b.x = NULL;
    return TSR_OK;
}

/* In the place of b's values. */
static tsr_status number_places(tsr_call *call)
{
    const tsr_backend_arrays *arrays = call->decision.backend->arrays;
    const tsr_places places = {.value = call->product.b_value, .vectors = 1, .length = call->product.k, .by_place = 1, .offset = call->offset};
    const tsr_type type = call->product.semiring.type;
    void *wide = NULL;
    tsr_status status = TSR_ATTEMPT(arrays->places(&places, &wide));
    call->b.made = wide;
    if (status == TSR_OK && type != TSR_INT64) {
        status = TSR_ATTEMPT(arrays->cast(wide, TSR_INT64, type, &call->b.made));
        call->decision.backend->contents->drop(wide);
        call->b.made = status == TSR_OK ? call->b.made : NULL;
    }
    call->product.b_value = call->b.made;
    return status;
}

static tsr_status prepare_b(tsr_call *call)
{
    const tsr_status status = call->b_sparse || call->positions ? upload_b(call) : TSR_OK;
    return status == TSR_OK && call->positions ? number_places(call) : status;
}

/* The host reads a row of B for each entry of A, or a column for each entry of the mask. */
static void note_gathers(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const tsr_view *b = &p->b;
    const bool spmm = p->op == TSR_OP_SPMM;
    if ((spmm || p->op == TSR_OP_SDDMM) && b->by_col != spmm && tsr_reads_b(p) && !b->iso && b->type == p->semiring.type)
        call->door->note_gathers(b->x, (size_t)(b->nrows * b->ncols) * tsr_type_size(b->type),
                                 (double)(spmm ? p->a.nvals : p->mask.nvals) / p->nthreads);
}

static tsr_status run(tsr_call *call)
{
    const tsr_status uploaded = prepare_b(call);
    if (uploaded != TSR_OK)
        return uploaded;
    if (call->remote.compressed)
        return run_compressed(call);
    if (call->decision.backend == tsr_backend_cpu())
        note_gathers(call);
    if (!call->remote.stays)
        use_blocks(call);
    return tsr_is_masked(call->product.op) ? run_masked(call) : run_dense(call);
}

/* ---- a result that stays ---- */

static void release_record(tsr_object *object)
{
    tsr_record_unref(object->record);
    object->record = NULL;
}

/* The result stays on the device until somebody wants to see it; what the device has of the operands is theirs alone. */
static tsr_settlement settle_masked(tsr_call *call, tsr_status *status)
{
    release_record(&call->a);
    release_record(&call->b);
    release_record(&call->mask);
    if (reserve_masked(call) && tsr_call_defer(call))
        return TSR_WAITS;
    tsr_arrays_free(&call->arrays);
    call->remote.may_stay = false;
    *status = run_masked(call);
    return TSR_HAND_OVER;
}

tsr_device_array *tsr_engine_result_array(tsr_call *call, bool full)
{
    const tsr_product *p = &call->product;
    const bool turned = call->swapped;
    const tsr_device_array_facts facts = {.backend = call->decision.backend, .type = p->semiring.type, .nrows = turned ? p->n : p->m,
                                          .ncols = turned ? p->m : p->n, .by_col = call->c_by_col, .full = full,
                                          .iso = call->one_value, .one = call->one, .origin = call->remote.updates ? 0 : call->remote.key};
    void *stays = call->remote.stays;
    call->remote.stays = NULL;
    return tsr_device_array_new(&facts, stays);
}

static tsr_status fetch(tsr_call *call, tsr_device_array *array)
{
    tsr_download to = {.nthreads = call->product.nthreads, .x = call->arrays.x, .b = call->arrays.b};
    const tsr_status status = call->decision.backend->contents->download(tsr_device_array_kept(array), &to);
    if (status == TSR_OK && call->arrays.b)
        count(call, to.nvals, tsr_device_array_places(array));
    return status;
}

/* C<M> accum= T; T is taken over, unless it fails. */
static bool update(tsr_call *call, tsr_device_array *t)
{
    tsr_elementwise *e = &call->update;
    e->x.array = t;
    e->backend = call->decision.backend;
    e->key = call->remote.key;
    if (tsr_elementwise_finish(e) == TSR_OK)
        return true;
    e->x.array = NULL;
    return false;
}

/* C is the array from now on, or what C<M> accum= makes of it; else it is downloaded, or *status says why not. */
static tsr_settlement settle_dense(tsr_call *call, tsr_status *status)
{
    tsr_device_array *array = tsr_engine_result_array(call, !call->arrays.b);
    *status = array ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (!array)
        return TSR_HAND_OVER;
    if (call->remote.updates ? update(call, array) : call->door->leave(&call->given, array, &call->arrays))
        return TSR_SETTLED;
    *status = fetch(call, array);
    tsr_device_array_unref(array);
    return TSR_HAND_OVER;
}

static tsr_settlement settle(tsr_call *call, tsr_status *status)
{
    if (call->remote.compressed)
        return TSR_SETTLED;
    if (!call->remote.stays || !call->remote.may_stay)
        return TSR_HAND_OVER;
    return tsr_is_masked(call->product.op) ? settle_masked(call, status) : settle_dense(call, status);
}

/* ---- operands that were used ---- */

static void note_use(const tsr_call *call, const tsr_view *v, const void *handle, bool read)
{
    const bool whole = read && v->x && !v->iso && (double)v->nrows * (double)v->ncols >= least_places();
    if (whole && handle != call->given.C && call->decision.backend->arrays)
        call->door->note_use(handle);
}

static void use(tsr_call *call)
{
    const tsr_product *p = &call->product;
    if (p->op != TSR_OP_MASKED_DOT)
        note_use(call, &p->b, call->b.handle, tsr_reads_b(p));
    if (p->op == TSR_OP_SDDMM)
        note_use(call, &p->a, call->a.handle, tsr_reads_a(p));
    const tsr_object *const objects[] = {&call->a, &call->b, &call->mask};
    for (int k = 0; k < 3; k++) {
        tsr_contents_use(objects[k]->array);
        tsr_contents_use(objects[k]->compressed);
    }
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    *text = '\0';
    if (call->product.m > 0)
        tsr_engine_describe(text, size, &call->product);
}

const tsr_operation tsr_product_operation = {.resolve = resolve, .decide = decide, .reserve = reserve, .run = run,
                                             .settle = settle, .use = use, .drop = drop, .describe = describe,
                                             .may_wait = true};
