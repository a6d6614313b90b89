/* Contents that stay on the device: who still needs them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/device/contents.h"

void tsr_cuda_contents_start(tsr_cuda_contents *c, tsr_status (*download)(void *contents, tsr_download *to), void (*free)(void *contents))
{
    *c = (tsr_cuda_contents){.dead = {.free = free, .device = tsr_cuda}, .download = download};
    atomic_init(&c->refs, 1);
}

void tsr_cuda_contents_again(tsr_cuda_contents *c)
{
    atomic_fetch_add(&c->refs, 1);
}

void tsr_cuda_contents_drop(void *contents)
{
    tsr_cuda_contents *c = contents;
    if (!tsr_cuda_alive())
        return; /* in a forked child the locks may be held by threads that are not there any more */
    if (atomic_fetch_sub(&c->refs, 1) == 1)
        tsr_cuda_let_go(&c->dead);
    tsr_cuda_free_dead_unless_busy();
}
