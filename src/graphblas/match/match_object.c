/* What an object holds, and how; what a descriptor says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/match.h"

bool tsr_match_object_type(tsr_type *type, GrB_Matrix handle)
{
    GrB_Type t;
    return tsr_real.GxB_Matrix_type(&t, handle) == GrB_SUCCESS && tsr_match_type(type, t);
}

int32_t tsr_match_sparsity(GrB_Matrix handle)
{
    int32_t status = 0;
    return handle && tsr_option_get_int32(handle, GxB_SPARSITY_STATUS, &status) == GrB_SUCCESS ? status : 0;
}

bool tsr_match_held_sparse(GrB_Matrix handle)
{
    return tsr_match_sparsity(handle) & (GxB_SPARSE | GxB_HYPERSPARSE);
}

bool tsr_match_dense(GrB_Matrix handle)
{
    GrB_Index nvals, nrows, ncols;
    if (!handle || tsr_real.GrB_Matrix_nvals(&nvals, handle) != GrB_SUCCESS)
        return false;
    const int32_t status = tsr_match_sparsity(handle);
    if (status != GxB_SPARSE)
        return status & (GxB_FULL | GxB_BITMAP);
    return nvals > 0 && tsr_real.GrB_Matrix_nrows(&nrows, handle) == GrB_SUCCESS &&
           tsr_real.GrB_Matrix_ncols(&ncols, handle) == GrB_SUCCESS && nvals / nrows == ncols && nvals % nrows == 0;
}

static tsr_format format_of(int sparsity)
{
    switch (sparsity) {
    case GxB_HYPERSPARSE: return TSR_HYPERSPARSE;
    case GxB_SPARSE: return TSR_SPARSE;
    case GxB_BITMAP: return TSR_BITMAP;
    default: return TSR_FULL;
    }
}

/* Every entry present although held as bitmap or sparse: the values lie in place, so it may be read as full. */
static bool complete(const tsr_view *v)
{
    return v->format != TSR_HYPERSPARSE && v->nvals > 0 && v->nvals / v->vlen == v->nvec && v->nvals % v->vlen == 0;
}

bool tsr_match_arrays(tsr_view *v, tsr_held_arrays *c, GrB_Matrix handle)
{
    if (!tsr_held_arrays_read(c, handle))
        return false;
    *v = (tsr_view){
        .format = format_of(c->sparsity),
        .by_col = c->by_col,
        .iso = c->iso,
        .index_size = c->i.at ? c->i.size : 8,
        .nrows = c->by_col ? c->vlen : c->vdim,
        .ncols = c->by_col ? c->vdim : c->vlen,
        .nvec = c->nvec,
        .vlen = c->vlen,
        .ld = c->vlen,
        .nvals = c->places,
        .b = c->b,
        .i = c->i.at,
        .x = c->x,
    };
    GrB_Index nvals;
    if (v->format == TSR_BITMAP) {
        if (tsr_real.GrB_Matrix_nvals(&nvals, handle) != GrB_SUCCESS)
            return false;
        v->nvals = (int64_t)nvals;
    }
    if (complete(v)) {
        v->format = TSR_FULL;
        v->b = NULL;
    }
    return true;
}

bool tsr_match_held(tsr_view *v, GrB_Matrix handle, tsr_copies *copies)
{
    tsr_held_arrays c;
    if (!tsr_match_arrays(v, &c, handle))
        return false;
    v->p = c.p.at;
    v->narrow_offsets = c.p.at && c.p.size == 4;
    return tsr_integers_wide(&v->h, c.h, c.nvec, copies);
}

bool tsr_match_contents(tsr_view *v, GrB_Matrix handle, tsr_copies *copies)
{
    tsr_held_arrays c;
    return tsr_match_arrays(v, &c, handle) && tsr_integers_wide(&v->p, c.p, c.nvec + 1, copies) &&
           tsr_integers_wide(&v->h, c.h, c.nvec, copies);
}

bool tsr_match_view(tsr_view *v, GrB_Matrix handle)
{
    return tsr_match_contents(v, handle, NULL);
}

/* What an object takes that nothing was ever put into; 0: not known. */
static size_t bytes_of_a_new_one(bool vector)
{
    static atomic_size_t known[2];
    size_t bytes = atomic_load(&known[vector]);
    GrB_Matrix new = NULL;
    if (bytes)
        return bytes;
    const GrB_Type type = tsr_type_handle(TSR_BOOL);
    const GrB_Info info = vector ? tsr_real.GrB_Vector_new((GrB_Vector *)&new, type, 2) : tsr_real.GrB_Matrix_new(&new, type, 2, 2);
    if (info == GrB_SUCCESS && tsr_real.GxB_Matrix_memoryUsage(&bytes, new) == GrB_SUCCESS)
        atomic_store(&known[vector], bytes);
    if (new)
        tsr_real.GrB_Matrix_free(&new);
    return bytes;
}

bool tsr_match_new(GrB_Matrix C, bool vector)
{
    size_t bytes = 0;
    return tsr_match_held_sparse(C) && tsr_real.GxB_Matrix_memoryUsage(&bytes, C) == GrB_SUCCESS && bytes <= bytes_of_a_new_one(vector);
}

/* THREADS times how many; none: as many as everybody. */
enum { REPLACE = 1, COMPLEMENT = 2, STRUCTURE = 4, TRANSPOSE_0 = 8, TRANSPOSE_1 = 16, THREADS = 32, MOST_THREADS = 1 << 20 };

static bool is_set(GrB_Descriptor desc, GrB_Desc_Field field, int32_t wanted)
{
    int32_t v = 0;
    return tsr_real.GxB_Desc_get_INT32(desc, field, &v) == GrB_SUCCESS && v == wanted;
}

static bool read_descriptor(unsigned *fact, GrB_Descriptor desc)
{
    int32_t mask = 0, threads = 0;
    if (tsr_real.GxB_Desc_get_INT32(desc, GrB_MASK, &mask) != GrB_SUCCESS)
        return false;
    const bool both = mask == (int32_t)GrB_COMP + (int32_t)GrB_STRUCTURE;
    *fact = (is_set(desc, GrB_OUTP, GrB_REPLACE) ? REPLACE : 0) | (both || mask == GrB_COMP ? COMPLEMENT : 0) |
            (both || mask == GrB_STRUCTURE ? STRUCTURE : 0) | (is_set(desc, GrB_INP0, GrB_TRAN) ? TRANSPOSE_0 : 0) |
            (is_set(desc, GrB_INP1, GrB_TRAN) ? TRANSPOSE_1 : 0);
#if GxB_IMPLEMENTATION_MAJOR < 8 /* later descriptors have no threads */
    tsr_real.GxB_Desc_get_INT32(desc, GxB_DESCRIPTOR_NTHREADS, &threads);
#endif
    if (threads > 0)
        *fact += THREADS * (unsigned)(threads < MOST_THREADS ? threads : MOST_THREADS);
    return true;
}

/* False: not valid. */
static bool know_descriptor(unsigned *fact, GrB_Descriptor desc)
{
    *fact = 0;
    if (!desc || tsr_memo_find(fact, TSR_MEMO_DESCRIPTOR, desc))
        return true;
    if (!read_descriptor(fact, desc))
        return false;
    tsr_memo_keep(TSR_MEMO_DESCRIPTOR, desc, *fact);
    return true;
}

const char *tsr_match_descriptor(tsr_modifiers *mod, GrB_Descriptor desc)
{
    unsigned fact;
    *mod = (tsr_modifiers){0};
    if (!know_descriptor(&fact, desc))
        return "descriptor not valid";
    const int threads = fact < THREADS ? tsr_context_threads() : (int)(fact / THREADS);
    *mod = (tsr_modifiers){.replace = fact & REPLACE, .mask_comp = fact & COMPLEMENT, .mask_struct = fact & STRUCTURE,
                           .tran0 = fact & TRANSPOSE_0, .tran1 = fact & TRANSPOSE_1, .nthreads = threads};
    return NULL;
}
