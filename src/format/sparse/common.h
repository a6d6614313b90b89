/* The entries that two sparse matrices have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_COMMON_H
#define TSR_COMMON_H

#include "src/format/sparse/format.h"

/* Of the matrix that has fewer: places[e] is where its entry e is among the entries of the other, -1: nowhere.  p: offsets of the vectors of those
 * that both have. */
typedef struct tsr_common {
    int64_t *places, *p;
} tsr_common;

/* Both compressed, not hypersparse, of the same orientation and shape, indices ascending.  False: out of memory, nothing held. */
bool tsr_common_find(tsr_common *common, const tsr_view *fewer, const tsr_view *more, int nthreads);

/* Their indices, of 32 or 64 bits, and the values of either matrix (NULL: of no interest); room for p's last of each. */
void tsr_common_take(const tsr_common *common, void *i, bool narrow, void *of_fewer, void *of_more, const tsr_view *fewer, const tsr_view *more,
                     int nthreads);

void tsr_common_free(tsr_common *common);

#endif
