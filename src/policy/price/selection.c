/* Which selections, extractions and gathers of host arrays our CPU kernels do sooner than SuiteSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/selection.h"

bool tsr_select_pays(double entries, double vectors, bool placed)
{
    return placed ? entries >= TSR_PLACES_LEAST && vectors <= 4 * entries : entries >= TSR_SELECT_LEAST && vectors <= entries;
}

/* A result of many places is joined to C by SuiteSparse. */
bool tsr_function_product_pays(double entries, double length)
{
    return entries >= TSR_FUNCTION_LEAST && length <= 2 * entries;
}

/* ns of a thread for an entry (R-MAT 17 to 20, 2 and 16 threads). */
double tsr_pick_host_ms(const tsr_pick_features *f)
{
    const double entry = f->extracts ? 16.0 : 3.5, threads = f->nthreads > 0 ? (double)f->nthreads : 1;
    return f->entries * entry / threads * 1e-6;
}

/* The table of targets has the length of a vector: it must be little beside the entries. */
bool tsr_extract_pays(const tsr_extract_features *f)
{
    return (f->permutes || f->listed) && f->entries >= TSR_SELECT_LEAST && f->length <= 16 * f->entries && 8 * f->wanted >= f->vectors;
}
