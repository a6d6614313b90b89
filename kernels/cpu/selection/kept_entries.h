/* The loops of a selection of which a bit says for every entry whether it stays, compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_KEPT_ENTRIES_H
#define TSR_KEPT_ENTRIES_H

#include "kernels/cpu/common/template.h"
#include "kernels/cpu/selection/select_vectors.h"

enum { TSR_KEPT_BLOCK = 512 }; /* entries */

typedef struct tsr_kept_loops {
    /* Bits of the entries [from, from + n), n at most a block, by place: LT or GE; indices below 2^31.  `from`, a multiple of a block, is one of stored
     * vector v; returns that of the last one.  NULL: with this instruction set vectors are sooner looked at one by one (place_rows.h). */
    int64_t (*place)(const tsr_selection *s, int64_t v, int64_t from, int64_t n);
    /* p[v + 1] = entries from `from`, a multiple of a block, to the end of vector v that stay, v in [first, last); returns those up to `to`. */
    int64_t (*count)(const tsr_selection *s, int64_t *p, int64_t first, int64_t last, int64_t from, int64_t to);
    tsr_select_fill *fill;
} tsr_kept_loops;

TSR_DECLARE_ISA(extern const tsr_kept_loops, tsr_kept_loops);

#endif
