/* Two vectors meet in a result of the masked dot product, the inner index ascending: one of them laid out and the other walked, or the shorter
 * searched in the longer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_INTERSECT_H
#define TSR_CPU_MASKED_DOT_INTERSECT_H

#include "kernels/cpu/masked/masked_dot.h"

/* Entries [begin, end) of an operand. */
typedef struct tsr_md_list {
    const tsr_md_vectors *of;
    int64_t begin, end;
} tsr_md_list;

static inline tsr_md_list tsr_md_list_of(const tsr_md_vectors *v, int64_t vector)
{
    return (tsr_md_list){v, tsr_md_start(v, vector), tsr_md_start(v, vector + 1)};
}

static inline int64_t tsr_md_length(tsr_md_list list)
{
    return list.end - list.begin;
}

/* Room for one vector: a byte, 0 or 1, and a value for every value an index can take.  All bytes are 0 where nothing is laid out. */
typedef struct tsr_md_layout {
    uint8_t *mark;
    char *dense;       /* read where mark is 1 only; unused when one value or none is enough */
    tsr_md_list laid;  /* the vector; no entries: nothing is laid out */
    int64_t low, high; /* no index of it is beyond */
} tsr_md_layout;

/* Hits of a list that wait in the buffers of a intersection. */
typedef struct tsr_md_waiting {
    int64_t e, base; /* entry of the mask, first entry of the list */
    int64_t first, hits;
} tsr_md_waiting;

/* Lists whose hits are found, and their values asked for, before any is added. */
#define TSR_MD_WAITING 32

/* What one thread works with. */
typedef struct tsr_md_intersection {
    const tsr_md_job *job;
    tsr_md_fold walked_a, walked_b; /* FOLD: by the operand whose entries are walked */
    tsr_md_waiting waiting[TSR_MD_WAITING];
    int waiting_lists;
    int64_t waiting_hits; /* in place and index */
    uint32_t place[TSR_MD_CHUNK];
    int64_t index[TSR_MD_CHUNK];
} tsr_md_intersection;

void tsr_md_intersection_begin(tsr_md_intersection *intersection, const tsr_md_job *job);

/* Says which vector the layout is about to hold. */
void tsr_md_set_laid(tsr_md_layout *layout, tsr_md_list list);
/* Writes that part of it. */
void tsr_md_lay_out(const tsr_md_job *job, tsr_md_layout *layout, tsr_md_list part);
void tsr_md_clear(tsr_md_layout *layout, tsr_md_list part);

/* x[e] = what the vector that is laid out and one of the other operand make; false: they have no index in common, and x[e] is as before. */
bool tsr_md_intersect_laid(tsr_md_intersection *intersection, const tsr_md_layout *layout, tsr_md_list walked, int64_t e);
/* The same for a list of B, of which present[e] is told at once and x[e] by the time of tsr_md_finish_waiting, before which the layout stays. */
void tsr_md_intersect_soon(tsr_md_intersection *intersection, const tsr_md_layout *layout, tsr_md_list walked, int64_t e);
void tsr_md_finish_waiting(tsr_md_intersection *intersection, const tsr_md_layout *layout);
/* As tsr_md_intersect_laid, of any two that are sorted.  For both nothing waits. */
bool tsr_md_intersect_searched(tsr_md_intersection *intersection, tsr_md_list one, tsr_md_list other, int64_t e);

#endif
