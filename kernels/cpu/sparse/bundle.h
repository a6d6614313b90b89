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
    bool far; /* u: not in a cache near by */
    uint8_t *present, *open;
    int8_t *b;
    void *x;
} tsr_bundle;

/* Lays places of the operand side by side.  none: the first bytes of it are the identity. */
typedef void tsr_bundle_lays(const tsr_bundle *w, uint64_t none, int64_t first, int64_t last);
TSR_DECLARE_ISA(tsr_bundle_lays, tsr_bundle_lay);

/* Sums up rows [first, last) of A, for all vectors.  Returns how many entries there are. */
typedef struct tsr_bundle_monoid {
    uint64_t (*none)(void); /* the identity, as bits */
    int64_t (*sum)(const tsr_bundle *w, int64_t first, int64_t last);
} tsr_bundle_monoid;

/* That of a semiring; NULL: there is none. */
typedef tsr_bundle_monoid tsr_bundle_find(const tsr_push_semiring *semiring);
TSR_DECLARE_ISA(tsr_bundle_find, tsr_bundle_sums);

#endif
