/* Contents that stay on the device, whatever their form (tessera/values.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_CONTENTS_H
#define TSR_CUDA_CONTENTS_H

#include <stdatomic.h>

#include "backends/cuda/device/context.h"

/* The first member of every form. */
typedef struct tsr_cuda_contents {
    tsr_cuda_dead dead; /* once everybody has dropped it */
    atomic_int refs;
    /* To the host; nvals and bytes_moved are 0 before.  tsr_cuda_all.busy is held; nothing is under way when it returns. */
    tsr_status (*download)(void *contents, tsr_download *to);
} tsr_cuda_contents;

/* One reference. */
void tsr_cuda_contents_start(tsr_cuda_contents *c, tsr_status (*download)(void *contents, tsr_download *to), void (*free)(void *contents));
void tsr_cuda_contents_again(tsr_cuda_contents *c); /* one reference more */
void tsr_cuda_contents_drop(void *contents);        /* one less; on any thread */

#endif
