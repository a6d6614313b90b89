/* The life of a call: matched where its operands are, or on the host; decided, run, settled, or left to the door's library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/split.h"
#include "src/engine/call/clock.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/call/report.h"
#include "src/engine/call/start.h"
#include "src/engine/engine.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/product.h"
#include "src/engine/product/savings.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/savings.h"

/* ---- the other library ---- */

static void report_forward(const tsr_call *call, const char *reason, double ms)
{
    if (!tsr_trace_wanted())
        return;
    char pattern[160] = "";
    if (call->operation)
        call->operation->describe(pattern, sizeof pattern, call);
    tsr_engine_report_forward(call->given.name, pattern, reason, ms);
}

/* How long it took. */
static double forward_ms(tsr_call *call, const char *reason)
{
    const double start = tsr_engine_clock_ms();
    call->info = call->door->forward(&call->given);
    const double ms = tsr_engine_clock_ms() - start;
    report_forward(call, reason, ms);
    return ms;
}

/* It computes what is left to it; from here, if its time is worth knowing. */
static bool forward(tsr_call *call, const char *reason)
{
    if (!call->decision.timing && (!tsr_trace_wanted() || !call->door->download(&call->given)))
        return false;
    forward_ms(call, reason);
    return true;
}

/* ... and from here as well if a GPU is started for what it takes without. */
static bool forward_for_now(tsr_call *call, const char *reason)
{
    if (!call->waits_for_gpu || !tsr_engine_may_start_gpu() || !call->door->download(&call->given))
        return forward(call, reason);
    tsr_engine_lost(forward_ms(call, reason));
    return true;
}

bool tsr_engine_forward(const tsr_door *door, const tsr_arguments *given, const char *reason, int *info)
{
    tsr_call call = {.given = *given, .door = door};
    const bool done = forward(&call, reason);
    *info = done ? call.info : *info;
    return done;
}

/* The same; how much time is lost without the GPU is what is found out. */
static bool observe(tsr_call *call)
{
    if (!call->door->download(&call->given))
        return false;
    tsr_engine_observe(call, &call->decision, forward_ms(call, call->decision.reason));
    return true;
}

bool tsr_engine_forward_push(const tsr_door *door, const tsr_arguments *given, const tsr_frontier *f, const char *reason, int *info)
{
    tsr_call call = {.given = *given, .door = door};
    if (!door->download(given))
        return false;
    tsr_engine_observe_push(f, forward_ms(&call, reason));
    *info = call.info;
    return true;
}

/* ---- the result ---- */

/* C += T in T's own array. */
static void add_c(tsr_call *call)
{
    const tsr_product *p = &call->product;
    tsr_engine_add_to(call->arrays.x, p->semiring.type, call->c.x, call->c.iso, p->m * p->n, p->nthreads);
    call->through_t = false;
}

static void hand_over(tsr_call *call)
{
    const bool full = !call->arrays.b;
    if (call->add_c && full)
        add_c(call);
    tsr_call_unify(call);
    call->info = call->door->hand_over(call);
    if (call->info != 0 || !call->remote.stays)
        return;
    tsr_device_array *array = tsr_engine_result_array(call, full);
    if (array)
        call->door->keep(call->given.C, array);
    tsr_device_array_unref(array);
}

static void report(const tsr_call *call, double ms)
{
    const tsr_decision *d = &call->decision;
    char pattern[160];
    call->operation->describe(pattern, sizeof pattern, call);
    tsr_engine_report(d->backend, call->remote.kernel ? call->remote.kernel : call->operation->kernel,
                      (tsr_trace_record){.call = call->given.name, .pattern = pattern, .reason = *d->reason ? d->reason : NULL,
                                         .measured_ms = ms, .other_ms = call->other_ms, .bytes_moved = call->moved + call->update.moved});
}

static tsr_status run(tsr_call *call, tsr_settlement *settled)
{
    const tsr_operation *operation = call->operation;
    const double start = operation->kernel && tsr_trace_wanted() ? tsr_engine_clock_ms() : 0;
    *settled = TSR_HAND_OVER;
    tsr_status status = operation->run(call);
    if (status == TSR_OK && operation->settle)
        *settled = operation->settle(call, &status);
    if (status == TSR_OK && operation->use)
        operation->use(call);
    if (status == TSR_OK && operation->kernel && tsr_trace_wanted())
        report(call, tsr_engine_clock_ms() - start);
    return status;
}

/* True: call->info is the result of the call.  The references are gone. */
static bool compute(tsr_call *call)
{
    const tsr_operation *operation = call->operation;
    tsr_settlement settled = TSR_HAND_OVER;
    const bool refused = call->given.C && call->door->is_read_only(call->given.C);
    const bool reserved = !refused && (!operation->reserve || operation->reserve(call));
    if (reserved && operation->may_wait && tsr_config_get()->defer && call->door->may_wait(call) && tsr_call_defer(call))
        return true;
    tsr_status status = reserved ? run(call, &settled) : TSR_OUT_OF_MEMORY;
    if (settled == TSR_WAITS)
        return true;
    if (settled == TSR_HAND_OVER && status == TSR_OK && call->door->yield(call))
        hand_over(call);
    else if (settled == TSR_HAND_OVER)
        status = TSR_DECLINED;
    if (status == TSR_OK && call->decision.backend && call->decision.backend != tsr_backend_cpu())
        tsr_engine_gpu_ran(&call->decision);
    tsr_call_release(call);
    return status == TSR_OK;
}

/* ---- one attempt ---- */

/* *forwarded: what the time of another that computes it is remembered by. */
static bool leave(tsr_call *call, uint64_t *forwarded)
{
    bool done = false;
    if (!call->in_place)
        done = forward(call, call->decision.reason);
    else if (call->decision.observed_ms >= 0)
        done = observe(call);
    else
        *forwarded = call->decision.forwarded;
    tsr_call_release(call);
    return done;
}

/* In place, only a device that has such operands goes on from here. */
static bool is_computed(const tsr_call *call)
{
    return call->decision.backend && (!call->in_place || call->decision.backend->arrays);
}

bool tsr_engine_run(tsr_call *call)
{
    tsr_team_begin();
    call->why = call->operation->resolve(call);
    if (!call->why)
        call->operation->decide(call);
    if (call->why || !is_computed(call)) {
        tsr_call_release(call);
        return false;
    }
    const bool done = compute(call);
    if (!done)
        call->why = "the backend declined";
    return done;
}

/* ---- products ---- */

/* Full times full on a device.  in_place: because it has one of them. */
static bool run_full(int *info, const tsr_door *door, const tsr_arguments *given, bool in_place)
{
    tsr_call call = {.given = *given, .door = door, .in_place = in_place};
    *info = 0;
    const bool done = !tsr_config_get()->defer && door->allows_devices() && door->match_full(&call) && tsr_engine_run(&call);
    if (done && tsr_savings_wanted())
        tsr_savings_computed(0, -1);
    return done;
}

/* Whoever waits for a device computes nothing. */
static double took_ms(const tsr_call *call, const tsr_stopwatch *start)
{
    const bool device = call->decision.backend != tsr_backend_cpu();
    return device ? tsr_engine_clock_ms() - start->clock_ms : tsr_engine_work_ms(start, call->product.nthreads);
}

/* What SuiteSparse would take, if somebody wants to know: asked before the product is timed. */
static void estimate_other(tsr_call *call)
{
    if (tsr_savings_wanted())
        call->other_ms = tsr_engine_other_ms(call);
}

static bool compute_product(tsr_call *call)
{
    if (!tsr_savings_wanted())
        return compute(call);
    const tsr_stopwatch start = tsr_engine_stopwatch();
    const bool done = compute(call);
    if (done)
        tsr_savings_computed(took_ms(call, &start), call->other_ms);
    return done;
}

static bool attempt(int *info, tsr_call *call, uint64_t *forwarded)
{
    const tsr_arguments given = call->given;
    const double begun = call->in_place && !given.vector ? tsr_engine_clock_ms() : 0;
    const char *why = call->door->match(call);
    if (why) {
        const bool done = !call->in_place && forward_for_now(call, why);
        tsr_call_release(call);
        *info = done ? call->info : *info;
        return done;
    }
    call->operation->resolve(call);
    if (!call->in_place && tsr_is_dense_product(&call->product) && tsr_engine_gpu_multiplies(call) &&
        run_full(info, call->door, &given, false)) {
        tsr_call_release(call);
        return true;
    }
    call->operation->decide(call);
    const bool computed = is_computed(call), timed = call->decision.timing;
    if (computed)
        estimate_other(call);
    const double start = timed ? tsr_engine_clock_ms() : 0, busy = timed ? tsr_engine_busy_ms() : 0;
    const bool done = computed ? compute_product(call) : leave(call, forwarded);
    *info = call->info;
    if (done && computed && begun > 0)
        tsr_engine_frontier_moved(call, tsr_engine_clock_ms() - begun);
    if (done && timed && call->info == 0)
        tsr_engine_learn(&call->decision, tsr_engine_clock_ms() - start - call->pin_ms, tsr_engine_busy_ms() - busy);
    return done;
}

static bool attempt_in_place(int *info, const tsr_door *door, const tsr_arguments *given, uint64_t *forwarded)
{
    tsr_call call = {.given = *given, .door = door, .in_place = true};
    return attempt(info, &call, forwarded);
}

static bool attempt_on_host(int *info, const tsr_door *door, const tsr_arguments *given)
{
    tsr_call call = {.given = *given, .door = door};
    return attempt(info, &call, NULL);
}

bool tsr_engine_call_on_device(const tsr_door *door, const tsr_arguments *given, int *info)
{
    uint64_t forwarded = 0;
    tsr_team_begin();
    return attempt_in_place(info, door, given, &forwarded);
}

bool tsr_engine_call(const tsr_door *door, const tsr_arguments *given, int *info)
{
    uint64_t forwarded = 0;
    tsr_team_begin();
    const bool in_place = !given->here && door->concerns_device(door, given);
    if (((in_place || tsr_config_get()->mode == TSR_MODE_GPU) && run_full(info, door, given, true)) ||
        (in_place && attempt_in_place(info, door, given, &forwarded)))
        return true;
    const double start = forwarded ? tsr_engine_clock_ms() : 0;
    if (!door->download(given))
        return false;
    if (door->pays(given) && attempt_on_host(info, door, given))
        return true;
    if (!forwarded)
        return false;
    *info = door->forward(given);
    tsr_engine_learn_forwarded(forwarded, tsr_engine_clock_ms() - start);
    return true;
}
