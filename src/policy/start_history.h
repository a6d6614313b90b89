/* What has been lost so far without a GPU that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_START_HISTORY_H
#define TSR_START_HISTORY_H

#include <stdbool.h>

/* A product would gain so many ms on a GPU that runs.  To start it costs as much as many products gain: it is started when so much has been
 * lost without it, or at once by a product that gains as much, or is expected often enough. */
bool tsr_start_pays(double gain_ms, double expected_calls);

#endif
