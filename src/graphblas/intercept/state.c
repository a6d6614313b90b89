/* What starts and ends the drop-in door: GrB_init, GrB_finalize, fork; what frees device memory in between.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "src/engine/call/attempt.h"
#include "src/engine/call/start.h"
#include "src/graphblas/intercept/container.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/memory/block_cache.h"
#include "src/graphblas/intercept/memory/pins.h"
#include "src/graphblas/intercept/options.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/savings.h"
#include "src/runtime/trace.h"

typedef void *(*malloc_fn)(size_t);
typedef void (*free_fn)(void *);

/* ---- fork: results are complete before, the child only forwards ---- */

static void before_fork(void)
{
    if (tsr_door_started()) {
        tsr_backend_gpu_await_start(); /* the loader's lock would stay held in the child */
        tsr_defer_run_all();
        tsr_settle_all();
        tsr_threads_return();
    }
    tsr_pins_before_fork();
}

/* Locks may be held by threads that are not there any more: from here on nothing of ours is touched. */
static void in_forked_child(void)
{
    if (!tsr_door_started())
        return;
    tsr_door_enter_child();
    tsr_blocks_disable();
}

/* Handlers run in reverse order: the trace, which takes its lock, must have registered before us, who may still report. */
static void register_fork(void)
{
    (void) tsr_trace_wanted();
    (void) tsr_savings_wanted();
    (void) pthread_atfork(before_fork, tsr_pins_after_fork, in_forked_child);
}

/* ---- device memory ---- */

static bool forget_array(const void *handle, tsr_record *record)
{
    tsr_device_array *array = tsr_record_device_array(record);
    (void)handle;
    if (array && !tsr_record_is_absent(record))
        tsr_record_set_device_array(record, NULL);
    tsr_device_array_unref(array);
    return array;
}

/* What the host has as well is forgotten, the rest is downloaded first.  False: there was nothing. */
static bool make_room(void)
{
    tsr_defer_run_idle();
    return tsr_table_each(forget_array) > 0;
}

/* ---- init and finalize ---- */

static void start(GrB_Mode mode, const tsr_memory *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork);
    const bool blocking = mode == GrB_BLOCKING || (int) mode == 3; /* GxB_BLOCKING_GPU is not in every header */
    tsr_door_capture(blocking, user);
    tsr_engine_set_make_room(make_room);
    tsr_backend_around_start(tsr_threads_lend, tsr_threads_return);
    if (tsr_config_get()->check)
        tsr_check_start();
    if (tsr_config_get()->mode == TSR_MODE_GPU)
        tsr_busy_add(TSR_BUSY_ARRAYS);
    if (tsr_config_get()->mode != TSR_MODE_CPU)
        (void) tsr_backend_gpu_installed(); /* looks for its file here, not in the first product */
    tsr_container_begin();
    tsr_door_set_started(true);
    tsr_table_begin();
    tsr_engine_begin();
}

static bool switched_off(void)
{
    return !tsr_real_load() || tsr_door_in_child() || tsr_config_get()->mode == TSR_MODE_OFF;
}

static GrB_Info init_with(GrB_Mode mode, malloc_fn user_malloc, void *(*user_calloc)(size_t, size_t),
                          void *(*user_realloc)(void *, size_t), free_fn user_free)
{
    const GrB_Info info = tsr_real.GxB_init(mode, user_malloc, user_calloc, user_realloc, user_free);
    if (info == GrB_SUCCESS && tsr_real_version_agrees())
        start(mode, &(tsr_memory){.allocate = user_malloc, .allocate_copy = user_malloc, .release = user_free, .resize = user_realloc});
    return info;
}

/* The real GrB_init is GxB_init with the C library's functions; ours keep large blocks, which stay the C library's
 * blocks. */
static GrB_Info init_with_blocks(GrB_Mode mode, bool with_realloc)
{
    if (!tsr_blocks_possible())
        return init_with(mode, malloc, NULL, with_realloc ? realloc : NULL, free);
    const GrB_Info info = tsr_real.GxB_init(mode, tsr_block_malloc, NULL, with_realloc ? tsr_block_realloc : NULL,
                                             tsr_block_free);
    if (info == GrB_SUCCESS && tsr_real_version_agrees()) {
        tsr_blocks_enable(tsr_config_get()->mode != TSR_MODE_CPU && tsr_backend_gpu_installed());
        start(mode, &(tsr_memory){.allocate = tsr_block_result, .allocate_copy = tsr_block_malloc, .release = tsr_block_free,
                                  .resize = tsr_block_realloc});
    }
    return info;
}

GrB_Info tsr_state_init(GrB_Mode mode)
{
    if (switched_off())
        return tsr_real.GrB_init(mode);
    return init_with_blocks(mode, true);
}

GrB_Info tsr_state_init_with(GrB_Mode mode, void *(*user_malloc)(size_t), void *(*user_calloc)(size_t, size_t),
                             void *(*user_realloc)(void *, size_t), void (*user_free)(void *))
{
    if (switched_off())
        return tsr_real.GxB_init(mode, user_malloc, user_calloc, user_realloc, user_free);
    if (user_malloc == malloc && user_free == free && (!user_realloc || user_realloc == realloc))
        return init_with_blocks(mode, user_realloc != NULL);
    return init_with(mode, user_malloc, user_calloc, user_realloc, user_free);
}

GrB_Info tsr_state_finalize(void)
{
    if (tsr_door_started()) {
        tsr_defer_end();
        tsr_trace_settle();
        tsr_door_set_started(false);
        const unsigned busy = tsr_busy_end();
        if (busy & TSR_BUSY_CHECK)
            tsr_check_stop();
        if (busy & TSR_BUSY_HANDLES) {
            tsr_held_clear();
            tsr_table_clear();
        }
        tsr_engine_run_ends();
        tsr_backend_gpu_end_start();
        tsr_threads_return();
        tsr_options_end();
        tsr_container_end();
        const GrB_Info info = tsr_real.GrB_finalize();
        tsr_blocks_drain();
        return info;
    }
    return tsr_real.GrB_finalize();
}
