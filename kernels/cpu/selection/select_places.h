/* The part of selection (kernels/selection.h) that goes by places.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECT_PLACES_H
#define TSR_SELECT_PLACES_H

#include "kernels/selection.h"

void tsr_select_places_count(const tsr_selection *s, int64_t *p, int nthreads);
void tsr_select_places_fill(const tsr_selection *s, const int64_t *p, int64_t *i, void *x, int nthreads);

#endif
