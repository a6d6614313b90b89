/* Product and mask are symmetric: of a pair of results one is computed and copied to the other (masked_dot_values.c, masked_dot_rows.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_MASKED_DOT_MIRROR_H
#define TSR_CPU_MASKED_DOT_MIRROR_H

#include "kernels/cpu/masked/masked_dot.h"

/* Pairs of no longer lists are sooner computed twice. */
enum { TSR_MD_MIRRORED_LEAST = 24 };

typedef enum tsr_md_side { TSR_MD_BOTH, TSR_MD_COMPUTED, TSR_MD_COPIED } tsr_md_side;

/* Of entry (r, c), where so many entries of a row and of a list meet: the longer one of a pair is laid out, so it is computed there. */
static inline tsr_md_side tsr_md_side_of(int64_t r, int64_t c, int64_t row, int64_t list)
{
    if ((row > list ? row : list) <= TSR_MD_MIRRORED_LEAST || r == c)
        return TSR_MD_BOTH;
    return row > list || (row == list && r > c) ? TSR_MD_COMPUTED : TSR_MD_COPIED;
}

/* Copies results of entries that are TSR_MD_COMPUTED to their mirror images, as far as the mask has them and lets them pass: *copied are. */
tsr_status tsr_md_copy_to_mirrors(const tsr_md_job *job, int64_t *copied);

#endif
