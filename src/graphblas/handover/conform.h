/* In which form SuiteSparse holds a result, by its controls and switches, and arrays that are not an object yet brought into it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HANDOVER_CONFORM_H
#define TSR_HANDOVER_CONFORM_H

#include <math.h>

#include "src/graphblas/intercept/door.h"

/* Settings of an object that a pack resets. */
typedef struct tsr_settings {
    int32_t control;
    double hyper_switch, bitmap_switch;
} tsr_settings;
#define TSR_SWITCH_UNKNOWN (-HUGE_VAL) /* -1 is one: never hypersparse */

/* What the form depends on. */
typedef struct tsr_contents_size {
    int64_t nvec, vlen; /* vectors, and places of each */
    int64_t entries;
    bool jumbled;
} tsr_contents_size;

/* The form (GxB_SPARSE …) that contents get which SuiteSparse has computed in the form `from`.  Of lists it may depend on how many vectors have
 * entries: GxB_HYPERSPARSE + GxB_SPARSE then (tsr_list_form). */
int32_t tsr_result_form(const tsr_settings *settings, const tsr_contents_size *size, int32_t from);

/* ... sparse or hypersparse, of lists that were `from`, if so many vectors have entries. */
int32_t tsr_list_form(const tsr_settings *settings, int64_t nvec, int64_t nonempty, int32_t from);

/* The form of such arrays. */
int32_t tsr_arrays_form(const tsr_handover *arrays);

/* The arrays get the form that SuiteSparse would give them, had it computed them in the form `from`.  Without memory for that they stay what
 * they are.  size.entries and .jumbled are the arrays' own.  False: whole but jumbled lists, which are left to SuiteSparse: it makes a bitmap of
 * them, which would be full had it been told twice. */
bool tsr_conform(tsr_handover *arrays, const tsr_settings *settings, tsr_contents_size size, int32_t from, tsr_type type);

#endif
