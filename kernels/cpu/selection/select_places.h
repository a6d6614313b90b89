/* Selection by place (tsr_selection.placed): the two halves that tsr_cpu_select_count and _fill leave to it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECT_PLACES_H
#define TSR_SELECT_PLACES_H

#include "kernels/selection.h"

void tsr_place_count(const tsr_selection *s, int64_t *p, int nthreads);
void tsr_place_fill(const tsr_selection *s, const int64_t *p, void *i, void *x, int nthreads);

#endif
