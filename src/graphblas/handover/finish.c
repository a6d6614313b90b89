/* Results become GraphBLAS objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/finish.h"

#include "src/graphblas/intercept/container.h"
#include "src/graphblas/handover/extras.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/graphblas/match/match.h"

/* ---- entries in any order ---- */

bool tsr_gave_jumbled;

/* SuiteSparse does that whenever it needs them sorted, as here, to find one; GrB_wait would also end the operand's error text. */
void tsr_sort_operand(const void *handle)
{
    bool value;
    if (handle)
        (void)tsr_real.GrB_Matrix_extractElement_BOOL(&value, (GrB_Matrix)(uintptr_t)handle, 0, 0);
}

/* ---- packing ---- */

bool tsr_arrays_take(tsr_handover *a, GrB_Matrix C, bool vector, bool by_col)
{
    GrB_Index b_bytes = 0, x_bytes = 0, nvals = 0;
    bool iso = false;
    *a = (tsr_handover){.memory = &tsr_door_memory};
    const GrB_Info info =
        vector ? tsr_real.GxB_Vector_unpack_Bitmap((GrB_Vector)C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL)
        : by_col ? tsr_real.GxB_Matrix_unpack_BitmapC(C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL)
                 : tsr_real.GxB_Matrix_unpack_BitmapR(C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL);
    a->b_bytes = b_bytes;
    a->x_bytes = x_bytes;
    a->nvals = (int64_t)nvals;
    return info == GrB_SUCCESS;
}

static GrB_Info pack_vector(GrB_Vector v, tsr_handover *a)
{
    if (!a->b)
        return tsr_real.GxB_Vector_pack_Full(v, &a->x, a->x_bytes, a->iso, NULL);
    return tsr_real.GxB_Vector_pack_Bitmap(v, &a->b, &a->x, a->b_bytes, a->x_bytes, a->iso, (GrB_Index)a->nvals, NULL);
}

static GrB_Info pack_dense(GrB_Matrix T, tsr_handover *a, bool by_col)
{
    GrB_Index n = (GrB_Index)a->nvals;
    if (!a->b)
        return by_col ? tsr_real.GxB_Matrix_pack_FullC(T, &a->x, a->x_bytes, a->iso, NULL)
                      : tsr_real.GxB_Matrix_pack_FullR(T, &a->x, a->x_bytes, a->iso, NULL);
    return by_col ? tsr_real.GxB_Matrix_pack_BitmapC(T, &a->b, &a->x, a->b_bytes, a->x_bytes, a->iso, n, NULL)
                  : tsr_real.GxB_Matrix_pack_BitmapR(T, &a->b, &a->x, a->b_bytes, a->x_bytes, a->iso, n, NULL);
}

static GrB_Info pack_sparse(GrB_Matrix T, tsr_handover *a, bool by_col)
{
    GrB_Index nvec = (GrB_Index)a->nvec;
    if (!a->h)
        return by_col ? tsr_real.GxB_Matrix_pack_CSC(T, &a->p, &a->i, &a->x, a->p_bytes, a->i_bytes, a->x_bytes, a->iso, a->jumbled, NULL)
                      : tsr_real.GxB_Matrix_pack_CSR(T, &a->p, &a->i, &a->x, a->p_bytes, a->i_bytes, a->x_bytes, a->iso, a->jumbled, NULL);
    return by_col ? tsr_real.GxB_Matrix_pack_HyperCSC(T, &a->p, &a->h, &a->i, &a->x, a->p_bytes, a->h_bytes, a->i_bytes,
                                                      a->x_bytes, a->iso, nvec, a->jumbled, NULL)
                  : tsr_real.GxB_Matrix_pack_HyperCSR(T, &a->p, &a->h, &a->i, &a->x, a->p_bytes, a->h_bytes, a->i_bytes,
                                                      a->x_bytes, a->iso, nvec, a->jumbled, NULL);
}

/* Orientation: that of C for a dense result, the mask's for a sparse one. */
static GrB_Info pack_arrays(GrB_Matrix T, bool vector, bool by_col, tsr_handover *a)
{
    if (a->p && a->jumbled)
        __atomic_store_n(&tsr_gave_jumbled, true, __ATOMIC_RELAXED);
    if (a->p && a->narrow)
        return tsr_container_load(T, vector, by_col, a);
    if (a->p)
        return pack_sparse(T, a, by_col); /* that of a vector would allocate */
    return vector ? pack_vector((GrB_Vector)T, a) : pack_dense(T, a, by_col);
}

GrB_Info tsr_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *a)
{
    tsr_extras extras;
    tsr_extras_read(&extras, T);
    const GrB_Info info = pack_arrays(T, vector, by_col, a), restored = tsr_extras_restore(T, &extras);
    return info == GrB_SUCCESS ? restored : info;
}

tsr_settings tsr_settings_read(GrB_Matrix C)
{
    tsr_settings s = {GxB_AUTO_SPARSITY, TSR_SWITCH_UNKNOWN, TSR_SWITCH_UNKNOWN};
    tsr_option_get_int32(C, GxB_SPARSITY_CONTROL, &s.control);
    tsr_option_get_fp64(C, GxB_HYPER_SWITCH, &s.hyper_switch);
    tsr_option_get_fp64(C, GxB_BITMAP_SWITCH, &s.bitmap_switch);
    return s;
}

static GrB_Info set_control(GrB_Matrix C, int32_t control)
{
    const GrB_Info info = tsr_option_set_int32(C, GxB_SPARSITY_CONTROL, control);
    return info == GrB_OUT_OF_MEMORY ? GrB_SUCCESS : info; /* it is set, and C as it was */
}

/* To set one of them makes C conform to all: meanwhile C may have no other form than it has.  conforms: it need not be asked to. */
static GrB_Info restore(GrB_Matrix C, bool vector, const tsr_settings *s, bool conforms)
{
    tsr_settings now = tsr_settings_read(C);
    const bool hyper = !vector && s->hyper_switch != TSR_SWITCH_UNKNOWN && now.hyper_switch != s->hyper_switch;
    const bool bitmap = s->bitmap_switch != TSR_SWITCH_UNKNOWN && now.bitmap_switch != s->bitmap_switch;
    if (hyper || bitmap) {
        now.control = tsr_match_sparsity(C);
        tsr_option_set_int32(C, GxB_SPARSITY_CONTROL, now.control);
    }
    if (hyper)
        tsr_option_set_fp64(C, GxB_HYPER_SWITCH, s->hyper_switch);
    if (bitmap)
        tsr_option_set_fp64(C, GxB_BITMAP_SWITCH, s->bitmap_switch);
    return now.control == s->control && conforms ? GrB_SUCCESS : set_control(C, s->control);
}

GrB_Info tsr_block(GrB_Matrix C)
{
    return tsr_door_blocking() ? tsr_real.GrB_Matrix_wait(C, GrB_MATERIALIZE) : GrB_SUCCESS;
}

GrB_Info tsr_settings_restore(GrB_Matrix C, bool vector, const tsr_settings *s)
{
    return restore(C, vector, s, true);
}

static bool size_of(tsr_contents_size *size, GrB_Matrix C, bool vector, bool by_col)
{
    GrB_Index nrows, ncols = 1;
    if (tsr_real.GrB_Matrix_nrows(&nrows, C) != GrB_SUCCESS || (!vector && tsr_real.GrB_Matrix_ncols(&ncols, C) != GrB_SUCCESS))
        return false;
    const bool columns = vector || by_col;
    *size = (tsr_contents_size){.nvec = (int64_t)(columns ? ncols : nrows), .vlen = (int64_t)(columns ? nrows : ncols)};
    return true;
}

/* GxB_SPARSITY_CONTROL's bits: in which forms SuiteSparse would hold what is held in `form`.  0: it does not say. */
static int32_t wanted_form(GrB_Matrix C, bool vector, int32_t form)
{
    const tsr_settings settings = tsr_settings_read(C);
    int32_t format = GxB_BY_COL;
    GrB_Index entries;
    tsr_contents_size size;
    const bool known = tsr_option_get_int32(C, GxB_FORMAT, &format) == GrB_SUCCESS && size_of(&size, C, vector, format == GxB_BY_COL) &&
                       tsr_real.GrB_Matrix_nvals(&entries, C) == GrB_SUCCESS;
    if (!known)
        return 0;
    size.entries = (int64_t)entries;
    return tsr_result_form(&settings, &size, form);
}

bool tsr_has_its_form(GrB_Matrix C, bool vector)
{
    const int32_t form = tsr_match_sparsity(C);
    return wanted_form(C, vector, form) & form;
}

GrB_Info tsr_settings_settle(GrB_Matrix C, bool vector, const tsr_settings *s, bool lists_too)
{
    const GrB_Info info = tsr_settings_restore(C, vector, s);
    const int32_t form = tsr_match_sparsity(C);
    if (info != GrB_SUCCESS || (form != GxB_BITMAP && !lists_too))
        return info;
    const int32_t wanted = wanted_form(C, vector, form);
    const bool stays = form == GxB_BITMAP ? wanted & form : wanted != GxB_FULL;
    return stays ? info : set_control(C, s->control);
}

bool tsr_conform_to(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *settings)
{
    tsr_contents_size size;
    tsr_type type;
    return !tsr_match_object_type(&type, C) || !size_of(&size, C, vector, by_col) ||
           tsr_conform(arrays, settings, size, tsr_arrays_form(arrays), type);
}

GrB_Info tsr_finish_arrays(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *s)
{
    const bool conforms = tsr_conform_to(C, vector, by_col, arrays, s);
    GrB_Info info = tsr_pack(C, vector, by_col, arrays);
    if (info == GrB_SUCCESS)
        info = restore(C, vector, s, conforms);
    return info == GrB_SUCCESS ? tsr_block(C) : info;
}

GrB_Info tsr_finish_own(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays)
{
    const tsr_settings s = tsr_settings_read(C);
    return tsr_finish_arrays(C, vector, by_col, arrays, &s);
}
