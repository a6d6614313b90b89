/* Do two arrays of arrays share a byte?
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/sparse_blas/native.h"

static uintptr_t end_of(const tsr_span *s)
{
    return s->begin + (size_t)(s->count - 1) * s->period + s->length;
}

/* Blocks of one larger matrix may lie between each other's rows. */
bool tsr_native_overlap(tsr_span a, tsr_span b)
{
    if (!a.count || !b.count || !a.length || !b.length || a.begin >= end_of(&b) || b.begin >= end_of(&a)) {
        return false;
    }
    const size_t period = a.count > 1 ? a.period : b.period;
    if (b.count > 1 && b.period != period) {
        return true;
    }
    const size_t after = b.begin >= a.begin ? (b.begin - a.begin) % period : period - 1 - (a.begin - b.begin - 1) % period;
    return after < a.length || after + b.length > period;
}

tsr_span tsr_native_span(const void *data, int64_t n, size_t size)
{
    return (tsr_span){(uintptr_t)data, (size_t)n * size, (size_t)n * size, 1};
}

bool tsr_native_overlaps_pattern(tsr_span written, const tsr_view *a)
{
    return tsr_native_overlap(written, tsr_native_span(a->p, a->nvec + 1, sizeof *a->p)) ||
           tsr_native_overlap(written, tsr_native_span(a->i, a->nvals, a->index_size));
}

bool tsr_native_overlaps_matrix(tsr_span written, const tsr_sparse *a, int64_t values)
{
    const void *x = a->device_values ? a->device_values : a->view.x;
    return tsr_native_overlaps_pattern(written, &a->view) ||
           (!a->view.iso && tsr_native_overlap(written, tsr_native_span(x, values, tsr_type_size(a->view.type))));
}
