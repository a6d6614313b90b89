/* Pairs of short lists, counted (masked_dot_short.c); the form that uses them: masked_dot_lists.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_SHORT_H
#define TSR_CPU_MASKED_DOT_SHORT_H

#include "kernels/cpu/common/template.h"

enum {
    TSR_MD_SHORT_MOST = 512, /* pairs in one go */
    TSR_MD_HITS_MOST = 256
};

/* Ascending lists of two matrices and a mask whose indices name lists of B: all offsets of one width, all indices of one; indices and rows are
 * below 2^31. */
typedef struct tsr_md_short {
    const void *a_p, *b_p, *m_p;
    const int64_t *m_h;
    const void *a_i, *b_i, *m_i;
    int64_t nvals; /* of the mask */
    int64_t a_nvals, b_nvals;
    bool wide, narrow_offsets;
    bool far; /* lists of B may be in no cache */
} tsr_md_short;

/* counts[e - begin] for each entry of the mask in [begin, end), TSR_MD_SHORT_MOST at most; `begin` is one of the stored row v. */
typedef void tsr_md_short_function(uint32_t *counts, const tsr_md_short *s, int64_t v, int64_t begin, int64_t end);
TSR_DECLARE_ISA(tsr_md_short_function, tsr_md_count_short);

/* Entries that two lists have in common, ascending: of A by index[], of B by place[], both counted from the beginning of the list. */
typedef struct tsr_md_hits {
    int64_t index[TSR_MD_HITS_MOST + 8]; /* room for one block more */
    uint32_t place[TSR_MD_HITS_MOST + 8];
} tsr_md_hits;

/* Finds all `wanted` that there are. */
typedef void tsr_md_hits_function(tsr_md_hits *out, const void *a, int64_t na, const void *b, int64_t nb, bool wide, int64_t wanted);
TSR_DECLARE_ISA(tsr_md_hits_function, tsr_md_find_hits);

#endif
