/* What has been lost so far without a GPU that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/history/start_history.h"

#include <math.h>
#include <pthread.h>

#include "src/policy/price/gpu_price.h"

#define CLEARLY 2.0

bool tsr_start_gains(double host_ms, double device_ms)
{
    return host_ms >= CLEARLY * device_ms;
}

bool tsr_start_tells(double gain_ms)
{
    return gain_ms >= CLEARLY * TSR_GPU_START_BESIDE_MS;
}

bool tsr_start_was_worth(double gain_ms)
{
    return gain_ms >= TSR_GPU_START_BESIDE_MS;
}

/* What must have been lost. */
static double beside_ms(double run_ms)
{
    return fmax(TSR_GPU_START_BESIDE_MS - TSR_GPU_START_SHARE * run_ms, TSR_GPU_START_LEAST_MS);
}

/* What was lost, less a share of the time since the last call. */
static double left_ms(double lost, double passed_ms)
{
    return fmax(lost - TSR_GPU_START_GAIN * fmax(passed_ms, 0), 0);
}

tsr_start tsr_start_pays(double gain_ms, double expected_calls, double run_ms)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double lost, last_ms;
    static int calls;
    if (gain_ms <= 0)
        return TSR_START_NOT;
    if (gain_ms >= TSR_GPU_START_MS || (expected_calls > 0 && tsr_worth_building(TSR_GPU_START_MS, 0, gain_ms, expected_calls)))
        return TSR_START_NOW;
    pthread_mutex_lock(&lock);
    lost = left_ms(lost, run_ms - last_ms) + gain_ms;
    last_ms = run_ms;
    const bool alone = calls++ == 0;
    const bool ahead = lost >= (alone ? TSR_GPU_START_BESIDE_MS : beside_ms(run_ms));
    pthread_mutex_unlock(&lock);
    return ahead ? TSR_START_AHEAD : TSR_START_NOT;
}
