/* What forwarded calls ask first: has any hook something to do, and with this handle?
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/hooks.h"

unsigned tsr_busy_bits;
uint32_t tsr_filter[TSR_FILTER_SIZE];
static const uint32_t every_handle[TSR_FILTER_SIZE] = {[0 ... TSR_FILTER_SIZE - 1] = 1};
const uint32_t *tsr_hits = tsr_filter;

void tsr_busy_add(unsigned bits)
{
    if (bits & ~(unsigned)TSR_BUSY_HANDLES)
        __atomic_store_n(&tsr_hits, every_handle, __ATOMIC_RELEASE);
    __atomic_fetch_or(&tsr_busy_bits, bits, __ATOMIC_RELEASE);
}

unsigned tsr_busy_end(void)
{
    const unsigned busy = __atomic_exchange_n(&tsr_busy_bits, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&tsr_hits, tsr_filter, __ATOMIC_RELAXED);
    return busy;
}

void tsr_filter_add(const void *handle)
{
    __atomic_fetch_add(tsr_filter_slot(handle), 1, __ATOMIC_RELAXED);
    if (!(tsr_busy() & TSR_BUSY_HANDLES))
        tsr_busy_add(TSR_BUSY_HANDLES);
}

void tsr_filter_remove(const void *handle)
{
    __atomic_fetch_sub(tsr_filter_slot(handle), 1, __ATOMIC_RELAXED);
}
