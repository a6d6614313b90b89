/* Entries of the mask that are put aside and computed by column, for masked_dot_rows.c and masked_dot_values.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_COLUMNS_H
#define TSR_CPU_MASKED_DOT_COLUMNS_H

#include "kernels/cpu/masked/masked_dot.h"

/* Entry e of the mask: the r-th stored row of A meets the c-th stored list of B. */
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
/* Computes n entries that meet one list of B, as `thread`. */
typedef void tsr_md_column_work(void *context, int64_t thread, const tsr_md_deferred *list, int64_t n);
/* Hands all entries of the deferrals of `threads` threads over, ordered by list. */
tsr_status tsr_md_columns(const tsr_md_job *job, const tsr_md_deferral *deferrals, int threads, tsr_md_column_work *work, void *context);

/* The n entries of a list are counted, by marks (k bytes) that are 0 before and after. */
void tsr_md_count_column(const tsr_md_job *job, uint8_t *mark, const tsr_md_deferred *list, int64_t n);

#endif
