/* Results become GraphBLAS objects: hand-over of arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FINISH_H
#define TSR_FINISH_H

#include "src/graphblas/handover/conform.h"

/* The arrays of C, which is a bitmap held by_col and not iso; C is empty then.  false: nothing has changed. */
bool tsr_arrays_take(tsr_handover *arrays, GrB_Matrix C, bool vector, bool by_col);

tsr_settings tsr_settings_read(GrB_Matrix C);

/* C has them from now on; what conforms to them stays as it is, and nothing is allocated then.  A vector is never hypersparse, whatever it says. */
GrB_Info tsr_settings_restore(GrB_Matrix C, bool vector, const tsr_settings *settings);

/* The same of what SuiteSparse has made of C: it leaves a bitmap where only the entries that it has deleted were many.
 * lists_too: lists of every entry become full; that counts them, and so finishes C. */
GrB_Info tsr_settings_settle(GrB_Matrix C, bool vector, const tsr_settings *settings, bool lists_too);

/* Has C, which is finished, the form that SuiteSparse gives its contents?  What an apply of C to itself leaves as it is may have another one. */
bool tsr_has_its_form(GrB_Matrix C, bool vector);

/* In blocking mode nothing of C is unfinished when the call is done: threads may share it. */
GrB_Info tsr_block(GrB_Matrix C);

/* T = arrays, O(1); T keeps its name and what else is no tsr_settings (extras.h), and nothing but a name is allocated.  by_col: how they are
 * held. */
GrB_Info tsr_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays);

/* The arrays in the form that C has with these settings; false: SuiteSparse is to be told them, whatever it has (conform.h). */
bool tsr_conform_to(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *settings);

/* C = arrays with these settings, in the form that SuiteSparse gives such a result.  It cannot fail for want of memory: the form is another
 * one then. */
GrB_Info tsr_finish_arrays(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *settings);

/* The same with C's own settings. */
GrB_Info tsr_finish_own(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays);

#endif
