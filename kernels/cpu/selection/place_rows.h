/* The loops of a selection by place, compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLACE_ROWS_H
#define TSR_PLACE_ROWS_H

#include "kernels/cpu/common/template.h"
#include "kernels/selection.h"

typedef struct tsr_place_loops {
    /* p[v + 1] = entries of vectors [first, v] that stay, v in [first, last). */
    void (*count)(const tsr_selection *s, int64_t *p, int64_t first, int64_t last);
    /* i and x of these vectors: entries p[first] to p[last] of the result. */
    void (*fill)(const tsr_selection *s, const int64_t *p, void *i, void *x, int64_t first, int64_t last);
} tsr_place_loops;

TSR_DECLARE_ISA(extern const tsr_place_loops, tsr_place_loops);

#endif
