/* Options of an object (GxB_SPARSITY_CONTROL, GxB_BITMAP_SWITCH …), whatever the version.  From 10 on GxB_Matrix_Option_get and _set of the real
 * library call functions that we wrap, whose hooks must not run for calls of ours, and make a scalar for each number.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OPTIONS_H
#define TSR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <GraphBLAS.h>

/* As GxB_Matrix_Option_get and _set; *value is as it was where they fail. */
GrB_Info tsr_option_get_int32(GrB_Matrix handle, int field, int32_t *value);
GrB_Info tsr_option_set_int32(GrB_Matrix handle, int field, int32_t value);
GrB_Info tsr_option_get_fp64(GrB_Matrix handle, int field, double *value);
GrB_Info tsr_option_set_fp64(GrB_Matrix handle, int field, double value);

/* From 10 on: does the program have its arrays, which SuiteSparse refuses to write (GxB_IS_READONLY)? */
bool tsr_option_is_read_only(GrB_Matrix handle);

/* Before GrB_finalize. */
void tsr_options_end(void);

#endif
