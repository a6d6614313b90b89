/* The process as the door finds it: started or not, a forked child; what GrB_init said about mode and allocator; who calls on this thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

_Thread_local int tsr_depth __attribute__((tls_model("initial-exec")));
_Thread_local const char *tsr_caller __attribute__((tls_model("initial-exec")));

/* Written once by the GrB_init that succeeds, before `started` is released. */
static struct {
    bool blocking;
    tsr_memory user; /* NULL: the C library's */
} captured;
static bool started;  /* between GrB_init and GrB_finalize, everything on */
static bool in_child;

void tsr_door_capture(bool blocking, const tsr_memory *user)
{
    captured.blocking = blocking;
    captured.user = *user;
}

void tsr_door_set_started(bool now)
{
    __atomic_store_n(&started, now, __ATOMIC_RELEASE);
}

bool tsr_door_started(void)
{
    return __atomic_load_n(&started, __ATOMIC_ACQUIRE);
}

void tsr_door_enter_child(void)
{
    __atomic_store_n(&in_child, true, __ATOMIC_RELAXED);
    __atomic_store_n(&started, false, __ATOMIC_RELAXED);
    tsr_busy_end();
}

bool tsr_door_blocking(void)
{
    return captured.blocking;
}

bool tsr_door_in_child(void)
{
    return __atomic_load_n(&in_child, __ATOMIC_RELAXED);
}

bool tsr_may_route(void)
{
    return __atomic_load_n(&started, __ATOMIC_ACQUIRE) && tsr_depth == 0 && tsr_config_get()->mode != TSR_MODE_OFF;
}

/* ---- the program's allocator ---- */

static void note_device(size_t size)
{
    if (size < TSR_BLOCKS_MIN || !tsr_backend_gpu_asked())
        return;
    if (tsr_backend_gpu())
        tsr_blocks_device_is_used();
    else
        tsr_blocks_no_device();
}

void *tsr_user_malloc(size_t size)
{
    note_device(size);
    return captured.user.allocate ? captured.user.allocate(size) : malloc(size);
}

static void *malloc_copy(size_t size)
{
    note_device(size);
    return captured.user.allocate_copy ? captured.user.allocate_copy(size) : malloc(size);
}

void *tsr_user_resize(void *block, size_t size)
{
    if (!block)
        return tsr_user_malloc(size);
    if (!captured.user.allocate)
        return realloc(block, size);
    return captured.user.resize ? captured.user.resize(block, size) : NULL;
}

void tsr_user_free(void *block)
{
    (captured.user.release ? captured.user.release : free)(block);
}

const tsr_memory tsr_door_memory = {.allocate = tsr_user_malloc, .allocate_copy = malloc_copy, .release = tsr_user_free, .resize = tsr_user_resize};
