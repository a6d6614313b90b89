/* Results become GraphBLAS objects: hand-over of arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FINISH_H
#define TSR_FINISH_H

#include "src/graphblas/intercept/door.h"

/* The arrays of C, which is a bitmap held by_col and not iso; C is empty then.  false: nothing has changed. */
bool tsr_arrays_take(tsr_handover *arrays, GrB_Matrix C, bool vector, bool by_col);

/* Settings of an object that a pack resets. */
typedef struct tsr_settings {
    int32_t control;
    double hyper_switch, bitmap_switch;
} tsr_settings;
#define TSR_SWITCH_UNKNOWN (-1.0)

tsr_settings tsr_settings_read(GrB_Matrix C);
bool tsr_settings_kept(GrB_Matrix C, const tsr_settings *settings); /* C has them */
GrB_Info tsr_settings_restore(GrB_Matrix C, const tsr_settings *settings, bool conform);

/* T = arrays, O(1); T keeps its name and what else is no tsr_settings (extras.h), and nothing but a name is allocated.  by_col: how they are
 * held. */
GrB_Info tsr_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays);

/* The same, and C has these settings.  conform: let SuiteSparse choose the format that its rules ask for, which may allocate. */
GrB_Info tsr_finish_arrays(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *settings, bool conform);

/* C = a dense result held by_col, keeping its own settings, conforming. */
GrB_Info tsr_finish_conforming(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays);

/* The same, without conforming: it cannot fail.  control: the sparsity control that C has from now on, which
 * allows the arrays as they are. */
GrB_Info tsr_finish_dense(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, int32_t control);

#endif
