/* Few dense vectors side by side (pull.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPARSE_BUNDLE_H
#define TSR_CPU_SPARSE_BUNDLE_H

#include "kernels/cpu/common/template.h"
#include "kernels/sparse_vectors.h"

enum { TSR_BUNDLE_FEW = 4 }; /* lanes; or TSR_PULL_MOST */

/* Element r of place k at [k * lanes + r], the monoid's identity where none is present; bit r of present[k] and open[j]: vector r has one, the
 * mask lets its place j pass. */
typedef struct tsr_bundle {
    const tsr_push *p;
    int64_t lanes;
    void *u;
    uint8_t *present, *open;
    int8_t *b;
    void *x;
} tsr_bundle;

/* Lays places of the operand side by side.  none: the first bytes of it are the identity. */
typedef void tsr_bundle_lays(const tsr_bundle *w, uint64_t none, int64_t first, int64_t last);
TSR_DECLARE_ISA(tsr_bundle_lays, tsr_bundle_lay);

#endif
