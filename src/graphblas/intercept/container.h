/* Sparse results with offsets and indices of 32 bits, which GraphBLAS takes from 10 on, in a container.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CONTAINER_H
#define TSR_CONTAINER_H

#include "src/graphblas/intercept/door.h"

/* After GrB_init: what tsr_container_load needs.  Without memory for it results have 64 bits. */
void tsr_container_begin(void);

/* Would C hold such integers, and could they be loaded? */
bool tsr_container_ready(GrB_Matrix C);

/* T = narrow arrays, as tsr_pack; offsets and names of vectors become narrow on the way, in their own blocks, where they fit. */
GrB_Info tsr_container_load(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays);

/* Before GrB_finalize. */
void tsr_container_end(void);

#endif
