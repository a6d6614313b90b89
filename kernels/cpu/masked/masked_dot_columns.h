/* Entries of the mask that are computed by column (masked_dot_columns.c), for masked_dot_rows.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_COLUMNS_H
#define TSR_CPU_MASKED_DOT_COLUMNS_H

#include "kernels/cpu/masked/masked_dot.h"

/* Entry e of the mask: row r of A meets list c of B. */
typedef struct tsr_md_deferred {
    int64_t e;
    uint32_t r, c;
} tsr_md_deferred;

/* Those of one thread.  The list is the caller's to free. */
typedef struct tsr_md_deferral {
    tsr_md_deferred *list;
    int64_t count, room;
} tsr_md_deferral;

/* Appends; false: no memory. */
bool tsr_md_defer(tsr_md_deferral *deferral, tsr_md_deferred entry);
/* Computes all entries of the deferrals of `threads` threads, whose marks (k bytes each) are 0 before and after. */
tsr_status tsr_md_columns(const tsr_md_job *job, const tsr_md_deferral *deferrals, uint8_t *const *marks, int threads);

#endif
