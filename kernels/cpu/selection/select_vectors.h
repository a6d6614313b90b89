/* Selection, vector by vector, by all threads; and the loops that are compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECT_VECTORS_H
#define TSR_SELECT_VECTORS_H

#include "kernels/selection.h"

/* p[v + 1] = entries of vectors [first, v] that stay, v in [first, last). */
typedef void tsr_select_count(const tsr_selection *s, int64_t *p, int64_t first, int64_t last);
/* i and x (NULL: none) of these vectors: entries p[first] to p[last] of the result. */
typedef void tsr_select_fill(const tsr_selection *s, const int64_t *p, void *i, void *x, int64_t first, int64_t last);

void tsr_select_vectors_count(const tsr_selection *s, tsr_select_count *count, int64_t *p, int nthreads);
void tsr_select_vectors_fill(const tsr_selection *s, tsr_select_fill *fill, const int64_t *p, void *i, void *x, int nthreads);

#endif
