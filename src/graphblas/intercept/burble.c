/* The burble of the real library tells the program's calls: what we ask and set beside them is done with it off.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"

bool tsr_burbles;
_Thread_local int tsr_quiet_depth __attribute__((tls_model("initial-exec")));

static int quiet_threads;

void tsr_burble_changed(void)
{
    int32_t on = 0;
    if (tsr_real.GxB_Global_Option_get_INT32(GxB_BURBLE, &on) == GrB_SUCCESS)
        __atomic_store_n(&tsr_burbles, on != 0, __ATOMIC_RELAXED);
}

static void silence(void)
{
    if (__atomic_fetch_add(&quiet_threads, 1, __ATOMIC_ACQ_REL) == 0)
        tsr_real.GxB_Global_Option_set_INT32(GxB_BURBLE, false);
}

static void let_print(void)
{
    if (__atomic_fetch_sub(&quiet_threads, 1, __ATOMIC_ACQ_REL) == 1)
        tsr_real.GxB_Global_Option_set_INT32(GxB_BURBLE, true);
}

void tsr_quiet_enter(void)
{
    if (tsr_quiet_depth++ == 0)
        silence();
}

void tsr_quiet_leave(void)
{
    if (--tsr_quiet_depth == 0)
        let_print();
}

void tsr_quiet_pause(void)
{
    if (TSR_UNLIKELY(tsr_quiet_depth))
        let_print();
}

void tsr_quiet_resume(void)
{
    if (TSR_UNLIKELY(tsr_quiet_depth))
        silence();
}
