/* What has been lost so far without a GPU that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/start_history.h"

#include <pthread.h>

#include "src/policy/route.h"

bool tsr_start_pays(double gain_ms, double expected_calls)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double lost;
    if (gain_ms <= 0)
        return false;
    pthread_mutex_lock(&lock);
    lost += gain_ms;
    const bool pays = tsr_worth_building(TSR_GPU_START_MS, lost, gain_ms, expected_calls) || lost >= TSR_GPU_START_MS;
    pthread_mutex_unlock(&lock);
    return pays;
}
