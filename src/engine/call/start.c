/* When CUDA is started.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/start.h"

#include "src/engine/call/clock.h"
#include "src/engine/call/host.h"
#include "src/policy/history/start_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

bool tsr_engine_may_start_gpu(void)
{
    return tsr_config_get()->mode == TSR_MODE_AUTO && !tsr_engine_by_reference() && tsr_backend_gpu_unasked();
}

bool tsr_engine_starts_gpu(double gain_ms, double expected_calls)
{
    const tsr_start start = tsr_start_pays(gain_ms, expected_calls, tsr_engine_run_ms());
    if (start == TSR_START_AHEAD)
        tsr_backend_gpu_start();
    return start == TSR_START_NOW || tsr_backend_gpu_asked();
}

void tsr_engine_start_gpu_for(double gain_ms)
{
    if (!tsr_backend_gpu_asked() && tsr_start_pays(gain_ms, 0, tsr_engine_run_ms()) != TSR_START_NOT)
        tsr_backend_gpu_start();
}
