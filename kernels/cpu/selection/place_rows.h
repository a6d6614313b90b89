/* The loops of a selection by place, compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLACE_ROWS_H
#define TSR_PLACE_ROWS_H

#include "kernels/cpu/common/template.h"
#include "kernels/cpu/selection/select_vectors.h"

typedef struct tsr_place_loops {
    tsr_select_count *count;
    tsr_select_fill *fill;
} tsr_place_loops;

TSR_DECLARE_ISA(extern const tsr_place_loops, tsr_place_loops);

#endif
