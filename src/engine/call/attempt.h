/* Asking a device twice.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_ATTEMPT_H
#define TSR_ENGINE_ATTEMPT_H

#include "tessera/backend.h"

/* What frees device memory when there is not enough; true: something was freed. */
void tsr_engine_set_make_room(bool (*make_room)(void));
bool tsr_engine_make_room(void);

/* A device that has failed is switched off. */
tsr_status tsr_engine_outcome(tsr_status status);

/* The status of `work`, an expression that asks a device: once more with more room where memory was short. */
#define TSR_ATTEMPT(work)                                             \
    ({                                                                \
        tsr_status attempted_ = (work);                               \
        if (attempted_ == TSR_OUT_OF_MEMORY && tsr_engine_make_room()) \
            attempted_ = (work);                                      \
        tsr_engine_outcome(attempted_);                               \
    })

#endif
