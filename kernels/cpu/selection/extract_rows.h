/* The loops of an extraction, compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EXTRACT_ROWS_H
#define TSR_EXTRACT_ROWS_H

#include "kernels/cpu/common/template.h"
#include "kernels/selection.h"

/* Vectors with at most so many entries are sorted by counting, for each, how many come before it. */
enum { TSR_RANKED = 64 };

typedef struct tsr_extract_loops {
    /* p[k + 1] = entries of vector k of T, k in [first, last). */
    void (*count)(const tsr_extraction *e, int64_t *p, int64_t first, int64_t last);
    /* i and x of these vectors; scratch: two elements for each entry of the longest. */
    void (*fill)(const tsr_extraction *e, const int64_t *p, void *i, void *x, int64_t first, int64_t last, uint64_t *scratch);
} tsr_extract_loops;

TSR_DECLARE_ISA(extern const tsr_extract_loops, tsr_extract_loops);

#endif
