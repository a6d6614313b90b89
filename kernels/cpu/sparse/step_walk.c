/* Whose entries an operation on few sparse vectors walks over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/step.h"
#include "src/base/types.h"

bool tsr_mask_is_listed(const tsr_few_step *s)
{
    return s->has_mask && tsr_is_compressed(&s->mask) && !s->step.mask_complement;
}

tsr_walk tsr_walk_of(const tsr_few_step *s)
{
    const bool x = s->has_x && tsr_is_compressed(&s->x), y = s->has_y && tsr_is_compressed(&s->y);
    if (x && (!y || s->x.nvals <= s->y.nvals) && !(tsr_mask_is_listed(s) && s->mask.nvals < s->x.nvals))
        return TSR_WALK_X;
    if (y && !(tsr_mask_is_listed(s) && s->mask.nvals < s->y.nvals))
        return TSR_WALK_Y;
    return tsr_mask_is_listed(s) ? TSR_WALK_MASK : TSR_WALK_ALL;
}

const tsr_view *tsr_view_of(const tsr_few_step *s, tsr_walk over)
{
    return over == TSR_WALK_MASK ? &s->mask : over == TSR_WALK_X ? &s->x : &s->y;
}

bool tsr_same_list(const tsr_view *v, const tsr_view *walked)
{
    return tsr_is_compressed(v) && v->i == walked->i && v->p[0] == walked->p[0] && v->nvals == walked->nvals;
}
