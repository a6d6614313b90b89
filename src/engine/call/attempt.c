/* Asking a device twice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/attempt.h"

#include <stdatomic.h>

#include "src/runtime/backends.h"

static _Atomic(bool (*)(void)) make_room;

void tsr_engine_set_make_room(bool (*function)(void))
{
    atomic_store(&make_room, function);
}

bool tsr_engine_make_room(void)
{
    bool (*function)(void) = atomic_load(&make_room);
    return function && function();
}

tsr_status tsr_engine_outcome(tsr_status status)
{
    if (status == TSR_INTERNAL_ERROR)
        tsr_backend_gpu_off();
    return status;
}
