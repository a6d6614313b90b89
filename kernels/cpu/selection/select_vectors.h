/* Selection, vector by vector: the loops of which there are several, compiled once per instruction set, and who shares their work out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECT_VECTORS_H
#define TSR_SELECT_VECTORS_H

#include "kernels/selection.h"

typedef struct tsr_select_loops {
    /* p[v + 1] = entries of vectors [first, v] that stay, v in [first, last). */
    void (*count)(const tsr_selection *s, int64_t *p, int64_t first, int64_t last);
    /* i and x (NULL: none) of these vectors: entries p[first] to p[last] of the result. */
    void (*fill)(const tsr_selection *s, const int64_t *p, void *i, void *x, int64_t first, int64_t last);
} tsr_select_loops;

void tsr_select_vectors_count(const tsr_selection *s, tsr_select_loops loops, int64_t *p, int nthreads);
void tsr_select_vectors_fill(const tsr_selection *s, tsr_select_loops loops, const int64_t *p, void *i, void *x, int nthreads);

#endif
