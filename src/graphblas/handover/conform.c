/* In which form SuiteSparse holds a result: what its controls allow, and between its thresholds the form that it was computed in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/conform.h"

#include <string.h>

enum { LISTS = GxB_HYPERSPARSE | GxB_SPARSE };

/* A vector has no list of vectors. */
static int32_t control_of(const tsr_settings *s, int64_t nvec)
{
    const int32_t any = s->control & (LISTS | GxB_BITMAP | GxB_FULL), control = any ? any : GxB_AUTO_SPARSITY;
    return nvec <= 1 && (control & GxB_HYPERSPARSE) ? (control & ~GxB_HYPERSPARSE) | GxB_SPARSE : control;
}

/* In floats, as SuiteSparse counts. */
static float places_of(const tsr_contents_size *size)
{
    return (float)size->vlen * (float)size->nvec;
}

static bool is_whole(const tsr_contents_size *size)
{
    const bool counts = size->vlen > 0 && size->entries % size->vlen == 0 && size->entries / size->vlen == size->nvec;
    return counts || size->vlen == 0 || size->nvec == 0;
}

static bool is_full(const tsr_contents_size *size, int32_t from)
{
    return from == GxB_FULL || (!size->jumbled && is_whole(size));
}

/* What may be a bitmap or lists is one of them by its entries; few enough for lists it is below half of what makes a bitmap. */
static bool becomes_bitmap(const tsr_settings *s, const tsr_contents_size *size, int32_t from)
{
    const float entries = (float)size->entries, limit = (float)s->bitmap_switch;
    if (from == GxB_FULL)
        return true;
    if (from == GxB_BITMAP)
        return !(entries <= limit / 2 * places_of(size));
    return entries > limit * places_of(size) && places_of(size) < 0x1p60f;
}

int32_t tsr_result_form(const tsr_settings *s, const tsr_contents_size *size, int32_t from)
{
    const int32_t control = control_of(s, size->nvec);
    if ((control & GxB_FULL) && is_full(size, from))
        return GxB_FULL;
    if (!(control & LISTS) || ((control & GxB_BITMAP) && becomes_bitmap(s, size, from)))
        return GxB_BITMAP;
    return control & LISTS;
}

int32_t tsr_list_form(const tsr_settings *s, int64_t nvec, int64_t nonempty, int32_t from)
{
    const float most = (float)nvec * (float)s->hyper_switch;
    if (from == GxB_HYPERSPARSE)
        return nvec <= 1 || (float)nonempty > most * 2 ? GxB_SPARSE : GxB_HYPERSPARSE;
    return nvec > 1 && (float)nonempty <= most ? GxB_HYPERSPARSE : GxB_SPARSE;
}

int32_t tsr_arrays_form(const tsr_handover *a)
{
    return a->h && !a->listed ? GxB_HYPERSPARSE : a->p ? GxB_SPARSE : a->b ? GxB_BITMAP : GxB_FULL;
}

/* So many vectors with entries, and no more of them make another form. */
static int64_t enough_vectors(const tsr_settings *s, int64_t nvec)
{
    const float most = (float)nvec * (float)s->hyper_switch * 2;
    return most < (float)nvec ? (int64_t)(most * 1.001F) + 2 : nvec;
}

static void conform_lists(tsr_handover *a, const tsr_settings *s, const tsr_contents_size *size, int32_t wanted, int32_t from, tsr_type type)
{
    const int nthreads = tsr_context_threads();
    if (!a->p && !tsr_arrays_list(a, size->nvec, size->vlen, type, nthreads))
        return;
    if (wanted == LISTS)
        wanted = tsr_list_form(s, size->nvec, tsr_arrays_nonempty(a, enough_vectors(s, size->nvec), nthreads), from);
    if (wanted == GxB_HYPERSPARSE && !a->h)
        (void)tsr_arrays_list_vectors(a, nthreads);
    else if (wanted == GxB_SPARSE && a->h)
        (void)tsr_arrays_all_vectors(a, size->nvec);
}

bool tsr_conform(tsr_handover *a, const tsr_settings *s, tsr_contents_size size, int32_t from, tsr_type type)
{
    const int32_t form = tsr_arrays_form(a);
    size.jumbled = a->p && a->jumbled;
    size.entries = a->p ? (int64_t)a->p[a->nvec] : form == GxB_FULL ? size.nvec * size.vlen : a->nvals;
    const int32_t wanted = tsr_result_form(s, &size, from);
    if (size.jumbled && is_whole(&size) && wanted == GxB_BITMAP)
        return false;
    if (wanted & LISTS)
        conform_lists(a, s, &size, wanted, from, type);
    else if (wanted != form && a->p)
        (void)tsr_arrays_spread(a, size.nvec, size.vlen, type, wanted == GxB_FULL, tsr_context_threads());
    else if (wanted == GxB_FULL)
        tsr_arrays_count(a, size.entries, size.entries);
    else if (form == GxB_FULL && wanted == GxB_BITMAP && tsr_arrays_presence(a, size.entries)) {
        memset(a->b, 1, (size_t)size.entries);
        a->nvals = size.entries;
    }
    return true;
}
