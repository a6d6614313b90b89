/* One intercepted product: match, decide, compute, hand over.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/graphblas/intercept/block_cache.h"
#include "src/graphblas/call.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/pins.h"
#include "src/graphblas/handover/resident.h"
#include "src/graphblas/step.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"
#include "src/runtime/warn.h"
#include "src/policy/placement_history.h"
#include "src/policy/route.h"

/* A product on its way: everything that a deferred run needs. */
typedef struct job {
    tsr_call call;
    tsr_match match;
    tsr_decision decision;
    tsr_handover arrays;
    double pin_ms;    /* spent once on memory that products will use again */
    void *masked_x;   /* masked results before compaction, one per mask entry */
    int8_t *masked_b;
    bool deferred;    /* nobody else can compute it any more */
    bool may_stay;    /* a backend may leave the result where it computed it … */
    void *stays;      /* … and has: */
    uint64_t total;   /* the sum of its entries */
    bool may_keep;    /* a dense result is downloaded, a copy may stay */
    bool values;      /* operands or C are values of a backend: the hooks have not run */
    bool steps;       /* C<M> accum= T may be computed there … */
    tsr_ewise_plan step; /* … so */
    bool trial;    /* … though nobody asked for such a result there before */
    uint64_t key;     /* of products of this kind */
} job;

static void release_records(tsr_request *r)
{
    tsr_record_unref(r->a_matrix);
    tsr_record_unref(r->b_matrix);
    tsr_record_unref(r->mask_matrix);
    r->a_matrix = r->b_matrix = r->mask_matrix = NULL;
}

static void forget(const job *j, void *stays)
{
    if (stays)
        (tsr_is_masked(j->match.request.product.op) ? j->decision.backend->drop : j->decision.backend->arrays->drop)(stays);
}

static void release(job *j)
{
    forget(j, j->stays);
    j->stays = NULL;
    tsr_ewise_plan_release(&j->step);
    tsr_match_release(&j->match);
    tsr_arrays_free(&j->arrays);
    tsr_user_free(j->masked_x);
    tsr_user_free(j->masked_b);
    j->masked_x = NULL;
    j->masked_b = NULL;
    release_records(&j->match.request);
}

/* SuiteSparse 7.4.0 crashes in C<M> += T with a full T (its method 08n), so there a full T is handed over as bitmap. */
static bool keep_presence(const job *j)
{
    return j->match.through_t && j->call.accum && j->call.M;
}

/* Of a dense result. */
static bool is_full(const job *j)
{
    return !keep_presence(j) && tsr_engine_result_full(&j->match.request);
}

/* Memory of the result, in the user's allocator, before anything is computed (a deferred product must not fail later). */
static bool reserve(job *j, bool deferred)
{
    const tsr_product *p = &j->match.request.product;
    const bool masked = tsr_is_masked(p->op);
    tsr_blocks_product((size_t)(masked ? p->mask.nvals : p->m * p->n) * tsr_type_size(p->semiring.type));
    if (!masked)
        return tsr_arrays_dense(&j->arrays, p->m * p->n, p->semiring.type, !is_full(j));
    size_t entries = (size_t)(p->mask.nvals > 0 ? p->mask.nvals : 1);
    j->masked_x = tsr_user_malloc(entries * tsr_type_size(p->semiring.type));
    j->masked_b = tsr_user_malloc(entries);
    if (!j->masked_x || !j->masked_b)
        return false;
    return !deferred || tsr_arrays_sparse(&j->arrays, p, p->mask.nvals);
}

static tsr_status execute(const job *j, tsr_result *result)
{
    return j->deferred ? tsr_engine_execute_surely(&j->match.request, &j->decision, result)
                       : tsr_engine_execute(&j->match.request, &j->decision, result);
}

/* The device reads and writes large arrays by itself once they lie in blocks that products have often used; what stays there touches
 * none. */
static void use_operand(const job *j, const tsr_view *v, bool read)
{
    if (read && !v->iso && v->type == j->match.request.product.semiring.type)
        tsr_pins_use(v->x, j->decision.backend);
}

static void use_blocks(job *j)
{
    const tsr_product *p = &j->match.request.product;
    double start = j->decision.timing ? tsr_engine_clock_ms() : 0;
    if (p->op != TSR_OP_MASKED_DOT)
        use_operand(j, &p->b, tsr_reads_b(p));
    if (p->op == TSR_OP_SDDMM)
        use_operand(j, &p->a, tsr_reads_a(p));
    if (!tsr_is_masked(p->op) && !j->may_stay)
        tsr_pins_use(j->arrays.x, j->decision.backend);
    j->pin_ms = j->decision.timing ? tsr_engine_clock_ms() - start : 0;
}

static tsr_status compute_dense(job *j)
{
    tsr_result result = {.x = j->arrays.x, .b = j->arrays.b, .may_stay = j->may_stay, .may_keep = j->may_keep};
    tsr_status status = execute(j, &result);
    j->stays = result.stays;
    if (status != TSR_OK || !j->arrays.b || (j->stays && j->may_stay))
        return status;
    const int64_t places = j->match.request.product.m * j->match.request.product.n;
    tsr_arrays_count(&j->arrays, result.nvals, keep_presence(j) ? INT64_MAX : places);
    return status;
}

static bool compact(job *j)
{
    const tsr_product *p = &j->match.request.product;
    int64_t *offsets = malloc((size_t)(p->mask.nvec + 1) * sizeof *offsets);
    if (!offsets)
        return false;
    int64_t kept = tsr_compact_count(offsets, &p->mask, j->masked_b, p->nthreads);
    bool ok = j->arrays.p || tsr_arrays_sparse(&j->arrays, p, kept);
    if (ok) {
        memcpy(j->arrays.p, offsets, (size_t)(p->mask.nvec + 1) * sizeof *offsets);
        tsr_compact_fill((int64_t *)j->arrays.i, j->arrays.x, offsets, &p->mask, j->masked_b, j->masked_x,
                         tsr_type_size(p->semiring.type), p->nthreads);
        j->arrays.nvals = kept;
        tsr_arrays_drop_empty(&j->arrays);
    }
    free(offsets);
    return ok;
}

/* What stays somewhere is brought here, or computed once more. */
static tsr_status download(job *j, tsr_result *result)
{
    const tsr_backend *backend = j->decision.backend;
    const tsr_product *p = &j->match.request.product;
    const double start = tsr_engine_clock_ms();
    tsr_status status = backend->download(j->stays, result);
    if (status == TSR_OK)
        tsr_contents_report_download(backend, p->semiring.type, p->mask.nvals, result->bytes_moved, tsr_engine_clock_ms() - start);
    backend->drop(j->stays);
    j->stays = NULL;
    return status == TSR_OK ? status : execute(j, result);
}

static tsr_status compute_masked(job *j)
{
    tsr_result result = {.x = j->masked_x, .b = j->masked_b, .may_stay = j->may_stay};
    tsr_status status = j->stays ? download(j, &result) : execute(j, &result);
    j->stays = result.stays;
    j->total = result.total;
    if (status == TSR_OK && !j->stays && !compact(j))
        status = TSR_OUT_OF_MEMORY;
    return status;
}

static tsr_status compute(job *j)
{
    if (!j->stays)
        use_blocks(j);
    return tsr_is_masked(j->match.request.product.op) ? compute_masked(j) : compute_dense(j);
}

/* Before a result of one value is handed over; of an empty one it counts, too. */
static void unify(job *j)
{
    if (j->match.iso)
        tsr_arrays_unify(&j->arrays, tsr_type_size(j->match.request.product.semiring.type), &j->match.one);
}

/* A deferred product has no other place to go: SuiteSparse's arguments may be gone by now. */
static void run_deferred(void *closure)
{
    job *j = closure;
    tsr_status status = compute(j);
    unify(j);
    if (status != TSR_OK || tsr_finish_direct(&j->call, &j->match, &j->arrays, false) != GrB_SUCCESS) {
        tsr_warn_once("deferred", "a deferred product could not be computed (status %d)", (int)status);
        abort();
    }
    release(j);
    free(j);
}

static void cancel_deferred(void *closure)
{
    release(closure);
    free(closure);
}

/* C += T in T's own array. */
static void add_c(job *j)
{
    const tsr_product *p = &j->match.request.product;
    tsr_engine_add_to(j->arrays.x, p->semiring.type, j->match.c.x, j->match.c.iso, p->m * p->n, p->nthreads);
    j->match.through_t = false;
}

/* Only a hand-over that cannot fail may wait. */
static bool may_wait(const job *j)
{
    int32_t control = GxB_AUTO_SPARSITY;
    if (tsr_door_blocking() || j->match.through_t)
        return false;
    return tsr_real.GxB_Matrix_Option_get_INT32(j->call.C, GxB_SPARSITY_CONTROL, &control) == GrB_SUCCESS &&
           control == GxB_AUTO_SPARSITY;
}

/* A, B or M, freed by the program since: the mask says which entries a result has that stays, and all three what they are, should it
 * be lost there. */
static void drop_operand(const void *handle)
{
    GrB_Matrix object = (GrB_Matrix)handle;
    tsr_real.GrB_Matrix_free(&object);
}

static bool defer(const job *j)
{
    job *kept = malloc(sizeof *kept);
    if (!kept)
        return false;
    *kept = *j;
    kept->deferred = true;
    const tsr_call *c = &j->call;
    kept->may_stay = false;
    tsr_deferred d = {.target = c->C, .operands = {c->A, c->B, c->M}, .run = run_deferred, .cancel = cancel_deferred, .closure = kept,
                      .counted = j->stays, .type = j->match.request.product.semiring.type, .total = j->total,
                      .only_value = j->stays, .drop = j->stays ? drop_operand : NULL};
    if (tsr_defer(&d))
        return true;
    free(kept);
    return false;
}

/* The result stays on the device until somebody wants to see it; what the device has of the operands is theirs alone.  False: it was
 * brought here, or *status says why not. */
static bool leave_there(job *j, tsr_status *status)
{
    const tsr_product *p = &j->match.request.product;
    release_records(&j->match.request);
    if (tsr_arrays_sparse(&j->arrays, p, p->mask.nvals) && defer(j))
        return true;
    tsr_arrays_free(&j->arrays);
    j->may_stay = false;
    *status = compute_masked(j);
    return false;
}

/* ---- dense results that stay as values ---- */

static double least_places(void)
{
    const tsr_config *config = tsr_config_get();
    return tsr_placement_least(config->min_work, config->mode == TSR_MODE_GPU);
}

static bool large(const tsr_product *p)
{
    return (double)p->m * (double)p->n >= least_places();
}

static uint64_t key_of(const job *j)
{
    const tsr_product *p = &j->match.request.product;
    const uint64_t parts[] = {(uint64_t)p->op, (uint64_t)p->semiring.add, (uint64_t)p->semiring.mul, (uint64_t)p->semiring.type,
                              (uint64_t)p->m, (uint64_t)p->n, (uint64_t)p->k, (uint64_t)p->a.nvals, j->match.through_t};
    return tsr_placement_key(parts, sizeof parts / sizeof *parts);
}

/* C<M> accum= T there.  What only the host has of C and M must be worth bringing: a mask alone is, T would have to come here to meet it;
 * C, where such results are used there, which is tried now and then. */
static bool look_at_step(job *j)
{
    const tsr_call *c = &j->call;
    const tsr_type type = j->match.request.product.semiring.type;
    const tsr_ewise_call call = {.name = c->name, .C = c->C, .M = c->M, .accum = c->accum, .desc = c->desc, .vector = c->vector,
                                .step = {.op = TSR_EWISE_IDENTITY, .type = type, .result = type}};
    const bool full = is_full(j);
    if (!tsr_ewise_plan_look(&j->step, &call, &full))
        return false;
    const tsr_inspected *old = &j->step.c, *mask = &j->step.m;
    const bool free_old = !old->given || old->value || (old->view.iso && old->view.format == TSR_FULL);
    const bool wanted = j->values || tsr_placement_stays(j->key) || (free_old && (!mask->given || mask->value));
    j->trial = !wanted && (!old->given || tsr_placement_keeps(j->key));
    return wanted || j->trial;
}

/* Where may the result be?  Before the product is routed: what need not be downloaded counts. */
static void plan_stay(job *j)
{
    const tsr_product *p = &j->match.request.product;
    if (tsr_is_masked(p->op) || tsr_config_get()->defer || !tsr_contents_allowed_inside() || !large(p) ||
        !tsr_contents_possible() || !tsr_contents_may_wait(j->call.C))
        return;
    j->key = key_of(j);
    if (j->match.through_t)
        j->may_stay = j->steps = look_at_step(j);
    else
        j->may_stay = j->values || tsr_placement_stays(j->key);
    j->may_keep = !j->may_stay && !j->match.through_t && tsr_placement_keeps(j->key);
    j->match.request.c_stays = j->may_stay && !j->trial;
}

static tsr_device_array *value_of(job *j, bool full)
{
    const tsr_product *p = &j->match.request.product;
    const bool turned = j->match.swapped;
    const tsr_device_array_facts facts = {.backend = j->decision.backend, .type = p->semiring.type, .nrows = turned ? p->n : p->m,
                                   .ncols = turned ? p->m : p->n, .by_col = j->match.c_by_col, .full = full,
                                   .iso = j->match.request.iso, .one = j->match.one, .origin = j->steps ? 0 : j->key};
    void *stays = j->stays;
    j->stays = NULL;
    return tsr_device_array_new(&facts, stays);
}

static tsr_status fetch_value(job *j, tsr_device_array *value)
{
    tsr_result result = {.x = j->arrays.x, .b = j->arrays.b};
    const tsr_backend_arrays *arrays = j->decision.backend->arrays;
    tsr_status status = arrays->download(tsr_device_array_kept(value), &result, j->match.request.product.nthreads);
    if (status == TSR_OK && j->arrays.b)
        tsr_arrays_count(&j->arrays, result.nvals, keep_presence(j) ? INT64_MAX : tsr_device_array_places(value));
    return status;
}

/* C is the value from now on, or what C<M> accum= makes of it.  False: it was brought here, or *status says why not. */
static bool leave_value(job *j, tsr_status *status)
{
    tsr_device_array *value = value_of(j, !j->arrays.b);
    *status = value ? TSR_OK : TSR_OUT_OF_MEMORY;
    if (!value)
        return false;
    if (j->steps) {
        j->step.x.value = value;
        j->step.backend = j->decision.backend;
        j->step.key = j->key;
        if (tsr_ewise_plan_finish(&j->step) == TSR_OK)
            return true;
        j->step.x.value = NULL;
    } else if (tsr_contents_put(j->call.C, j->call.vector, value, &j->arrays)) {
        return true;
    }
    *status = fetch_value(j, value);
    tsr_device_array_unref(value);
    return false;
}

static GrB_Info hand_over(job *j)
{
    if (j->match.add_c && !j->arrays.b)
        add_c(j);
    unify(j);
    return j->match.through_t ? tsr_finish_through_t(&j->call, &j->match, &j->arrays)
                              : tsr_finish_direct(&j->call, &j->match, &j->arrays, true);
}

static GrB_Info finish(job *j)
{
    const bool full = !j->arrays.b;
    const GrB_Info info = hand_over(j);
    if (info == GrB_SUCCESS && j->stays && j->may_keep) {
        tsr_device_array *value = value_of(j, full);
        if (value)
            tsr_contents_keep(j->call.C, value);
    }
    return info;
}

/* C and M as the host must have them: the hooks may not have run, and what was brought of C is stale soon.  False: they are lost. */
static bool download_target(const job *j)
{
    (j->match.through_t ? tsr_will_write : tsr_will_replace)(j->call.C);
    tsr_will_read(j->call.M);
    return !tsr_is_lost(j->call.C) && !tsr_is_lost(j->call.M);
}

static void note_use(const job *j, const tsr_view *v, const void *handle, bool read)
{
    const bool whole = read && v->x && !v->iso && (double)v->nrows * (double)v->ncols >= least_places();
    if (whole && handle != j->call.C && j->decision.backend->arrays)
        tsr_contents_note_use(handle);
}

static void use_operands(const job *j)
{
    const tsr_product *p = &j->match.request.product;
    if (p->op != TSR_OP_MASKED_DOT)
        note_use(j, &p->b, j->match.b_handle, tsr_reads_b(p));
    if (p->op == TSR_OP_SDDMM)
        note_use(j, &p->a, j->match.a_handle, tsr_reads_a(p));
    tsr_device_array *const both[] = {j->match.a_value, j->match.b_value};
    for (int k = 0; k < 2; k++) {
        if (both[k])
            tsr_contents_use(both[k]);
    }
}

/* true: *info is the result of the call. */
static bool compute_now(GrB_Info *info, job *j)
{
    const bool masked = tsr_is_masked(j->match.request.product.op);
    bool waits = may_wait(j), deferred = waits && tsr_config_get()->defer;
    bool done = reserve(j, deferred);
    *info = GrB_SUCCESS;
    if (done && deferred && defer(j))
        return true;
    if (masked)
        j->may_stay = waits && !j->values && j->decision.backend->download;
    tsr_status status = done ? compute(j) : TSR_OUT_OF_MEMORY;
    done = status == TSR_OK && j->stays && j->may_stay && (masked ? leave_there(j, &status) : leave_value(j, &status));
    if (status == TSR_OK)
        use_operands(j);
    if (done && masked)
        return true;
    if (!done && status == TSR_OK && download_target(j))
        *info = finish(j);
    else if (!done)
        status = TSR_DECLINED;
    release(j);
    return status == TSR_OK;
}

static void report_forward(const job *j, const char *reason)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[160] = "";
    if (j->match.request.product.m > 0)
        tsr_engine_describe(pattern, sizeof pattern, &j->match.request.product);
    tsr_engine_report_forward(j->call.name, pattern, reason);
}

/* Calls that will certainly be forwarded get away with a few loads. */
static const char *not_ours(const tsr_call *call)
{
    const tsr_config *config = tsr_config_get();
    tsr_semiring unused;
    if (config->mode == TSR_MODE_OFF)
        return "mode=off";
    if (config->disabled & call->disable_bit)
        return "disabled";
    return tsr_match_semiring(&unused, call->semiring) ? NULL : call->semiring ? "semiring not known" : "a handle is null";
}

/* What is built of an operand that is about to be overwritten would be stale. */
static tsr_record *record_of(const job *j, const void *handle)
{
    return handle == j->call.C ? NULL : tsr_table_get(handle, true);
}

static void find_records(job *j)
{
    tsr_request *r = &j->match.request;
    if (tsr_is_dense_product(&r->product))
        return; /* nothing is kept of full operands */
    r->a_matrix = record_of(j, j->match.a_handle);
    if (!tsr_is_masked(r->product.op))
        return;
    r->b_matrix = record_of(j, j->match.b_handle);
    r->mask_matrix = record_of(j, j->call.M);
}

static GrB_Info call_aloud(const tsr_call *c)
{
    if (!c->vector)
        return tsr_real.GrB_mxm(c->C, c->M, c->accum, c->semiring, c->A, c->B, c->desc);
    GrB_Vector w = (GrB_Vector)c->C, mask = (GrB_Vector)c->M, u = (GrB_Vector)c->B;
    return c->flip ? tsr_real.GrB_vxm(w, mask, c->accum, c->semiring, u, c->A, c->desc)
                   : tsr_real.GrB_mxv(w, mask, c->accum, c->semiring, c->A, u, c->desc);
}

static GrB_Info call_real(const tsr_call *c)
{
    tsr_quiet_pause();
    const GrB_Info info = call_aloud(c);
    tsr_quiet_resume();
    return info;
}

/* The real library computes what the router leaves to it; here, if its time is worth knowing. */
static bool forward(GrB_Info *info, job *j)
{
    report_forward(j, j->decision.reason);
    release(j);
    if (j->decision.timing)
        *info = call_real(&j->call);
    return j->decision.timing != 0;
}

static void run_hooks(const tsr_call *c)
{
    TSR_HOOK_WRITE(c->C);
    TSR_HOOK_READ(c->M);
    TSR_HOOK_READ(c->A);
    TSR_HOOK_READ(c->B);
}

/* As forward; whether the GPU is missed is what is found out. */
static bool watch(GrB_Info *info, job *j)
{
    run_hooks(&j->call);
    if (tsr_is_lost(j->call.C) || tsr_is_lost(j->call.M))
        return false;
    report_forward(j, j->decision.reason);
    const double start = tsr_engine_clock_ms();
    *info = call_real(&j->call);
    tsr_engine_observe(&j->match.request, &j->decision, tsr_engine_clock_ms() - start);
    return true;
}

/* No entry of A meets more entries of B than C has columns (C NULL: one). */
static bool work_of_a(double *work, GrB_Matrix A, GrB_Matrix C)
{
    GrB_Index entries, columns = 1;
    if (tsr_real.GrB_Matrix_nvals(&entries, A) != GrB_SUCCESS || (C && tsr_real.GrB_Matrix_ncols(&columns, C) != GrB_SUCCESS))
        return false;
    *work = (double)(int64_t)entries * (double)(int64_t)columns;
    return true;
}

/* The trace wants to know more of it. */
bool tsr_is_small(GrB_Matrix A, GrB_Matrix C, bool masked)
{
    double work;
    return !tsr_burbles && work_of_a(&work, A, C) && tsr_engine_hopeless(work, masked) && !tsr_trace_wanted();
}

/* No entry of B meets more of A than C has rows, either. */
static bool most_work(double *work, const tsr_call *c)
{
    GrB_Index entries, rows;
    if (!work_of_a(work, c->A, c->vector ? NULL : c->C))
        return false;
    if (c->vector)
        return true;
    if (tsr_real.GrB_Matrix_nvals(&entries, c->B) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&rows, c->C) != GrB_SUCCESS)
        return false;
    const double of_b = (double)entries * (double)rows;
    *work = of_b < *work ? of_b : *work;
    return true;
}

/* Sizes tell that it is below min_work, before anything is looked at; the trace wants to know more of it. */
static bool hopeless(const tsr_call *c)
{
    double work;
    return !tsr_trace_wanted() && most_work(&work, c) && tsr_engine_hopeless(work, c->M && !c->vector);
}

/* B, which the host holds sparse, becomes a value. */
static bool bring_sparse(job *j)
{
    tsr_match *m = &j->match;
    tsr_request *r = &m->request;
    const tsr_view held = r->b_transposed ? tsr_view_transposed(r->sparse) : r->sparse;
    m->b_value = tsr_contents_find(m->b_handle);
    if (!m->b_value && tsr_contents_upload(&m->b_value, m->b_handle, &held, j->decision.backend, &r->brought) != TSR_OK)
        return false;
    r->product.b_value = tsr_device_array_kept(m->b_value);
    r->product.b.x = NULL;
    return true;
}

static double waiting_places(const job *j, const void *handle)
{
    const tsr_product *p = &j->match.request.product;
    return handle && tsr_form_waits(handle) ? (double)p->m * (double)p->n : 0;
}

/* values: operands are taken from a backend where it keeps them; only that backend computes then.  *away: what the time of another is
 * remembered by. */
static bool try_with(GrB_Info *info, const tsr_call *call, bool values, uint64_t *away)
{
    const char *why = values ? NULL : tsr_match_forms(call);
    if (why) {
        tsr_engine_report_forward(call->name, "", why);
        return false;
    }
    job j = {.call = *call, .values = values};
    why = tsr_match_call(&j.match, call, values);
    if (!why && tsr_engine_too_small(&j.match.request.product))
        why = "below min_work";
    if (why) {
        if (!values)
            report_forward(&j, why);
        release(&j);
        return false;
    }
    if (j.match.unmasked)
        j.call.M = NULL;
    find_records(&j);
    if (tsr_is_dense_product(&j.match.request.product) && !values && tsr_engine_gpu_multiplies(&j.match.request) && tsr_dense_there(info, call)) {
        release(&j);
        return true;
    }
    plan_stay(&j);
    j.match.request.b_away = j.match.b_value && tsr_defer_is_target(j.match.b_handle);
    j.match.request.waiting = waiting_places(&j, call->C) + (call->M == call->C ? 0 : waiting_places(&j, call->M));
    j.match.request.direct = tsr_pins_noted(j.match.request.product.b.x);
    tsr_engine_decide(&j.match.request, &j.decision);
    const bool there = j.decision.backend && j.decision.backend->arrays;
    if (values && !there && j.decision.observed_ms >= 0) {
        const bool done = watch(info, &j);
        release(&j);
        return done;
    }
    if (values && !(there && (!j.match.request.b_sparse || bring_sparse(&j)))) {
        *away = there ? 0 : j.decision.away;
        release(&j);
        return false;
    }
    double start = j.decision.timing ? tsr_engine_clock_ms() : 0;
    bool done = j.decision.backend ? compute_now(info, &j) : forward(info, &j);
    if (done && j.decision.timing && *info == GrB_SUCCESS)
        tsr_engine_learn(&j.decision, tsr_engine_clock_ms() - start - j.pin_ms);
    return done;
}

/* ... or will have one. */
static bool has_value(const void *handle)
{
    if (tsr_contents_noted(handle))
        return true;
    tsr_device_array *value = tsr_contents_find_dense(handle);
    tsr_device_array_unref(value);
    return value;
}

static bool narrow(GrB_Matrix handle)
{
    GrB_Index nrows, ncols;
    return tsr_real.GrB_Matrix_nrows(&nrows, handle) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, handle) == GrB_SUCCESS &&
           tsr_match_narrow((double)nrows, (double)ncols);
}

/* To look at a sparse vector sorts it.  So only where its entries, should they have 64 times the average degree, are much work it is
 * looked at for a GPU that does not run yet: the share of A's entries that they meet then. */
static double met_share(const tsr_call *c)
{
    GrB_Index entries, length;
    const tsr_config *config = tsr_config_get();
    if (!c->vector || config->mode != TSR_MODE_AUTO || config->eager || tsr_contents_possible() || !tsr_match_held_sparse(c->B) ||
        tsr_real.GrB_Matrix_nvals(&entries, c->B) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&length, c->B) != GrB_SUCCESS)
        return 1;
    const double share = 64.0 * (double)entries / (double)length;
    return share < 1 ? share : 1;
}

/* Few of the multiply-adds that a narrow matrix might have it does have: by default only what is far from hopeless is looked at. */
static bool spreads_much(const tsr_call *c)
{
    double work;
    const double share = c->vector || tsr_config_get()->mode == TSR_MODE_GPU ? met_share(c) : 0.01;
    return most_work(&work, c) && !tsr_engine_hopeless(work * share, false);
}

/* Is there a vector, or a matrix of few rows or columns, and a GPU that it might be brought to, or may there be one? */
static bool may_be_brought(const tsr_call *c)
{
    return (tsr_contents_possible() || tsr_backend_gpu_unasked()) && (c->vector || narrow(c->A) || narrow(c->B));
}

/* Is it sparse on the host? */
static bool may_spread(const tsr_call *c)
{
    return spreads_much(c) && tsr_match_held_sparse(c->B) && (c->vector || tsr_match_held_sparse(c->A));
}

/* Is its result iso and so much to do that the GPU may be missed? */
static bool may_be_watched(const tsr_call *c)
{
    double work;
    tsr_semiring s;
    if (tsr_config_get()->mode != TSR_MODE_AUTO || !tsr_match_semiring(&s, c->semiring) || s.add == TSR_ADD_PLUS || s.mul != TSR_MUL_PAIR)
        return false;
    return most_work(&work, c) && work * met_share(c) >= TSR_OBSERVED_LEAST;
}

/* Does something of it live with a backend, which would have to be downloaded otherwise or spares a way there?  Or might it? */
static bool of_values(const tsr_call *c)
{
    if (tsr_config_get()->defer || !tsr_contents_allowed_inside())
        return false;
    return ((tsr_busy() & TSR_BUSY_ARRAYS) &&
            (has_value(c->A) || has_value(c->B) || (has_value(c->C) && (c->accum || c->M || tsr_defer_is_target(c->C))))) ||
           (may_be_brought(c) && (may_spread(c) || may_be_watched(c)));
}

static bool try_quietly(GrB_Info *info, const tsr_call *call)
{
    const bool busy = tsr_busy();
    if (!busy && hopeless(call))
        return false;
    tsr_caller = call->name;
    const bool there = of_values(call);
    uint64_t away = 0;
    if (tsr_try_dense(info, call, there) || (there && try_with(info, call, true, &away)))
        return true;
    const double start = away ? tsr_engine_clock_ms() : 0;
    run_hooks(call);
    if ((tsr_busy() & TSR_BUSY_LOST) && (tsr_is_lost(call->C) || tsr_is_lost(call->M)))
        return false;
    if (!(busy && hopeless(call)) && try_with(info, call, false, NULL))
        return true;
    if (away) {
        *info = call_real(call);
        tsr_engine_learn_away(away, tsr_engine_clock_ms() - start);
    }
    return away;
}

static bool try_call(GrB_Info *info, const tsr_call *call)
{
    const char *why = not_ours(call);
    if (why) {
        tsr_engine_report_forward(call->name, "", why);
        return false;
    }
    tsr_quiet_begin();
    const bool done = try_quietly(info, call);
    tsr_quiet_end();
    return done;
}

bool tsr_try_mxm(GrB_Info *info, GrB_Matrix C, const GrB_Matrix M, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Matrix B, const GrB_Descriptor desc)
{
    return try_call(info, &(tsr_call){.name = "GrB_mxm", .C = C, .M = M, .A = A, .B = B, .accum = accum,
                                      .semiring = semiring, .desc = desc, .disable_bit = TSR_DISABLE_MXM});
}

bool tsr_try_mxv(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Matrix A, const GrB_Vector u, const GrB_Descriptor desc)
{
    return try_call(info, &(tsr_call){.name = "GrB_mxv", .C = (GrB_Matrix)w, .M = (GrB_Matrix)mask, .A = A,
                                      .B = (GrB_Matrix)u, .accum = accum, .semiring = semiring, .desc = desc,
                                      .vector = true, .disable_bit = TSR_DISABLE_MXV});
}

bool tsr_try_vxm(GrB_Info *info, GrB_Vector w, const GrB_Vector mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
                 const GrB_Vector u, const GrB_Matrix A, const GrB_Descriptor desc)
{
    return try_call(info, &(tsr_call){.name = "GrB_vxm", .C = (GrB_Matrix)w, .M = (GrB_Matrix)mask, .A = A,
                                      .B = (GrB_Matrix)u, .accum = accum, .semiring = semiring, .desc = desc,
                                      .vector = true, .flip = true, .disable_bit = TSR_DISABLE_VXM});
}
