/* Arrays of elementwise steps and reductions (tessera/values.h), and what one does with them: shared by the CUDA kernels and their
 * plain C twins.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ELEMENTS_H
#define TSR_ELEMENTS_H

#include "tessera/values.h"

/* The arrays of one value. */
typedef struct tsr_elements {
    const void *x;
    const int8_t *present; /* 0/1; NULL: all are */
} tsr_elements;

/* Of one step: operands are found here, not in the tsr_ewise (of which the scalars count).  x.x == NULL: the scalar; likewise y.
 * c.x == NULL: nothing is present.  mask.x == NULL: no mask, or a structural one, of which only mask.present is looked at.
 * z: written, 0 where nothing is present.  z_present: written 0/1; NULL where tsr_ewise_is_full. */
typedef struct tsr_ewise_arrays {
    tsr_elements x, y, c, mask;
    void *z;
    int8_t *z_present;
} tsr_ewise_arrays;

static inline bool tsr_ewise_masked(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    return a->mask.x || a->mask.present || (s->mask && s->mask_complement);
}

/* Is every element of the result present whatever the arrays hold? */
static inline bool tsr_ewise_is_full(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    bool unary = tsr_ewise_is_unary(s->op), c_full = a->c.x && !a->c.present;
    bool all = s->unite ? !a->x.present || !a->y.present : !a->x.present && (unary || !a->y.present);
    all = (all && !s->select) || (s->accumulates && c_full);
    return tsr_ewise_masked(s, a) ? all && c_full && !s->replace : all;
}

#endif
