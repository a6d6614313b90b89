/* Iterators show the arrays of an object; from 10 on offsets and indices have 32 or 64 bits each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/held_arrays.h"

#include "src/graphblas/intercept/door.h"

#if GxB_IMPLEMENTATION_MAJOR < 10
#define INTEGERS(it, name) ((tsr_integers){(it).name, 8})
#else
static tsr_integers either(const uint32_t *narrow, const uint64_t *wide)
{
    return narrow ? (tsr_integers){narrow, 4} : (tsr_integers){wide, 8};
}
#define INTEGERS(it, name) either((it).name##32, (it).name##64)
#endif

bool tsr_held_arrays_read(tsr_held_arrays *c, GrB_Matrix handle)
{
    struct GB_Iterator_opaque it = {.header_size = sizeof it};
    if (tsr_real.GB_Iterator_attach(&it, handle, GxB_NO_FORMAT, NULL) != GrB_SUCCESS)
        return false;
    *c = (tsr_held_arrays){
        .sparsity = it.A_sparsity,
        .by_col = it.by_col,
        .iso = it.iso,
        .vlen = it.avlen,
        .vdim = it.avdim,
        .nvec = it.anvec,
        .places = it.pmax,
        .p = INTEGERS(it, Ap),
        .h = INTEGERS(it, Ah),
        .i = INTEGERS(it, Ai),
        .b = it.Ab,
        .x = it.Ax,
        .type_size = it.type_size,
    };
    return true;
}

bool tsr_integers_wide(const int64_t **wide, tsr_integers list, int64_t count, tsr_copies *copies)
{
    if (list.size == 8 || !list.at)
        *wide = list.at;
    else
        *wide = copies ? tsr_copies_widen(copies, list.at, count) : NULL;
    return !list.at || !copies || *wide;
}
