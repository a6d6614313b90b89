/* When CUDA is started.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/start.h"

#include <stdatomic.h>
#include <stdint.h>

#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/policy/history/start_history.h"
#include "src/policy/history/stay_history.h"
#include "src/policy/history/timing_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/past_runs.h"

/* ---- as earlier runs of the command had it ---- */

enum { MANY_CALLS = 64 }; /* on the device: of most nothing is known but that they went there */

static _Atomic int64_t gain_us; /* lost before it ran, gained since */
static atomic_int device_calls;
static atomic_bool early;
static atomic_int told; /* tsr_past_runs */

static bool may_start_early(void)
{
    const tsr_config *config = tsr_config_get();
    return config->mode == TSR_MODE_AUTO && !(config->disabled & TSR_DISABLE_EARLY_START) && !tsr_engine_by_reference();
}

/* A driver that the program has loaded before is the program's own: when that starts is its business. */
static void tell(tsr_past_runs known)
{
    const int before = atomic_exchange(&told, (int)known);
    if (before != (int)known && may_start_early() && !tsr_backend_gpu_in_use())
        tsr_past_runs_keep(known);
}

static void gain(double ms)
{
    const int64_t more = ms > 0 ? (int64_t)(1e3 * ms) : 0, all = atomic_fetch_add_explicit(&gain_us, more, memory_order_relaxed) + more;
    if (tsr_start_tells(1e-3 * (double)all) && atomic_load_explicit(&told, memory_order_relaxed) == TSR_PAST_UNKNOWN)
        tell(TSR_PAST_GAINED);
}

static void start_early(void)
{
    if (!may_start_early() || !tsr_backend_gpu_unasked() || tsr_backend_gpu_in_use())
        return;
    const tsr_past_runs known = tsr_past_runs_known();
    atomic_store(&told, (int)known);
    if (known == TSR_PAST_UNKNOWN)
        return;
    if (known == TSR_PAST_STAYED)
        tsr_stay_expect();
    atomic_store(&early, true);
    tsr_backend_gpu_start();
}

void tsr_engine_begin(void)
{
    tsr_timing_begin();
    start_early();
}

void tsr_engine_gpu_ran(const tsr_decision *d)
{
    atomic_fetch_add_explicit(&device_calls, 1, memory_order_relaxed);
    if (d->forward_ms > 0 && d->predicted_ms >= 0)
        gain(d->forward_ms - d->predicted_ms);
    if (atomic_load_explicit(&told, memory_order_relaxed) == TSR_PAST_GAINED && tsr_stay_has_settled() && !tsr_stay_has_returned())
        tell(TSR_PAST_STAYED);
}

void tsr_engine_run_ends(void)
{
    const bool enough = atomic_load(&device_calls) >= MANY_CALLS || tsr_start_was_worth(1e-3 * (double)atomic_load(&gain_us));
    if (atomic_exchange(&early, false) && !enough)
        tell(TSR_PAST_UNKNOWN);
    else if (atomic_load(&told) == TSR_PAST_STAYED && tsr_stay_has_returned())
        tell(TSR_PAST_GAINED);
}

/* ---- as this run has it ---- */

bool tsr_engine_may_start_gpu(void)
{
    return tsr_config_get()->mode == TSR_MODE_AUTO && !tsr_engine_by_reference() && tsr_backend_gpu_unasked();
}

bool tsr_engine_starts_gpu(double gain_ms, double expected_calls)
{
    const tsr_start start = tsr_start_pays(gain_ms, expected_calls, tsr_engine_run_ms());
    gain(gain_ms);
    if (start == TSR_START_AHEAD)
        tsr_backend_gpu_start();
    return start == TSR_START_NOW || tsr_backend_gpu_asked();
}

void tsr_engine_start_gpu_for(double gain_ms)
{
    if (tsr_backend_gpu_asked())
        return;
    gain(gain_ms);
    if (tsr_start_pays(gain_ms, 0, tsr_engine_run_ms()) != TSR_START_NOT)
        tsr_backend_gpu_start();
}
