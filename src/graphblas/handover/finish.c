/* Results become GraphBLAS objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/handover/finish.h"

#include <string.h>

static void *room(size_t *bytes, int64_t count, size_t size)
{
    *bytes = (size_t)(count > 0 ? count : 1) * size;
    return tsr_user_malloc(*bytes);
}

bool tsr_arrays_dense(tsr_handover *a, int64_t count, tsr_type type, bool present)
{
    *a = (tsr_handover){.nvals = count};
    a->x = room(&a->x_bytes, count, tsr_type_size(type));
    if (present)
        a->b = room(&a->b_bytes, count, 1);
    if (a->x && (a->b || !present))
        return true;
    tsr_arrays_free(a);
    return false;
}

bool tsr_arrays_presence(tsr_handover *a, int64_t count)
{
    if (!a->b)
        a->b = room(&a->b_bytes, count, 1);
    return a->b;
}

/* Room for two offsets at least: GB_import wants them where C has one vector, also when a hypersparse one has none. */
bool tsr_arrays_compressed(tsr_handover *a, int64_t nvec, int64_t nvals, tsr_type type)
{
    *a = (tsr_handover){.nvals = nvals, .nvec = nvec};
    a->x = room(&a->x_bytes, nvals, tsr_type_size(type));
    a->i = room(&a->i_bytes, nvals, sizeof(GrB_Index));
    a->p = room(&a->p_bytes, (nvec > 0 ? nvec : 1) + 1, sizeof(GrB_Index));
    if (a->x && a->i && a->p) {
        a->p[0] = a->p[1] = 0;
        return true;
    }
    tsr_arrays_free(a);
    return false;
}

void tsr_arrays_compact(tsr_handover *sparse, tsr_handover *bitmap, int64_t nvec, int64_t vlen, tsr_type type, int nthreads)
{
    tsr_compact_bitmap((int64_t *)sparse->p, (int64_t *)sparse->i, sparse->x, bitmap->b, bitmap->x, tsr_type_size(type), nvec, vlen,
                       nthreads);
    tsr_arrays_free(bitmap);
}

bool tsr_arrays_take(tsr_handover *a, GrB_Matrix C, bool vector, bool by_col)
{
    GrB_Index b_bytes = 0, x_bytes = 0, nvals = 0;
    bool iso = false;
    *a = (tsr_handover){0};
    const GrB_Info info =
        vector ? tsr_real.GxB_Vector_unpack_Bitmap((GrB_Vector)C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL)
        : by_col ? tsr_real.GxB_Matrix_unpack_BitmapC(C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL)
                 : tsr_real.GxB_Matrix_unpack_BitmapR(C, &a->b, &a->x, &b_bytes, &x_bytes, &iso, &nvals, NULL);
    a->b_bytes = b_bytes;
    a->x_bytes = x_bytes;
    a->nvals = (int64_t)nvals;
    return info == GrB_SUCCESS;
}

void tsr_arrays_count(tsr_handover *a, int64_t nvals, int64_t count)
{
    a->nvals = nvals;
    if (nvals < count)
        return;
    tsr_user_free(a->b);
    a->b = NULL;
}

static const char *first_value(const tsr_handover *a, size_t size)
{
    const int8_t *first = a->b ? memchr(a->b, 1, a->b_bytes) : NULL;
    if (a->nvals == 0 || (a->b && !first))
        return NULL;
    return (const char *)a->x + (first ? (size_t)(first - a->b) * size : 0);
}

void tsr_arrays_unify(tsr_handover *a, size_t size, const void *one)
{
    const void *value = one ? one : first_value(a, size);
    void *x = value ? tsr_user_malloc(size) : NULL;
    if (!x)
        return;
    memcpy(x, value, size);
    tsr_user_free(a->x);
    a->x = x;
    a->x_bytes = size;
    a->iso = true;
}

bool tsr_arrays_sparse(tsr_handover *a, const tsr_product *p, int64_t most)
{
    const tsr_view *mask = &p->mask;
    if (!tsr_arrays_compressed(a, mask->nvec, most, p->semiring.type))
        return false;
    if (mask->format != TSR_HYPERSPARSE)
        return true;
    a->h = room(&a->h_bytes, mask->nvec, sizeof(GrB_Index));
    if (!a->h) {
        tsr_arrays_free(a);
        return false;
    }
    memcpy(a->h, mask->h, (size_t)mask->nvec * sizeof *a->h);
    return true;
}

void tsr_arrays_drop_empty(tsr_handover *a)
{
    if (a->h)
        a->nvec = tsr_compact_vectors((int64_t *)a->p, (int64_t *)a->h, a->nvec);
}

void tsr_arrays_free(tsr_handover *a)
{
    tsr_user_free(a->x);
    tsr_user_free(a->b);
    tsr_user_free(a->p);
    tsr_user_free(a->h);
    tsr_user_free(a->i);
    *a = (tsr_handover){0};
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
        return by_col ? tsr_real.GxB_Matrix_pack_CSC(T, &a->p, &a->i, &a->x, a->p_bytes, a->i_bytes, a->x_bytes, a->iso, false, NULL)
                      : tsr_real.GxB_Matrix_pack_CSR(T, &a->p, &a->i, &a->x, a->p_bytes, a->i_bytes, a->x_bytes, a->iso, false, NULL);
    return by_col ? tsr_real.GxB_Matrix_pack_HyperCSC(T, &a->p, &a->h, &a->i, &a->x, a->p_bytes, a->h_bytes, a->i_bytes,
                                                      a->x_bytes, a->iso, nvec, false, NULL)
                  : tsr_real.GxB_Matrix_pack_HyperCSR(T, &a->p, &a->h, &a->i, &a->x, a->p_bytes, a->h_bytes, a->i_bytes,
                                                      a->x_bytes, a->iso, nvec, false, NULL);
}

/* T = arrays, O(1) and without allocation.  Orientation: that of C for a dense result, the mask's for a sparse one. */
GrB_Info tsr_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *a)
{
    if (a->p)
        return pack_sparse(T, a, by_col); /* that of a vector would allocate */
    return vector ? pack_vector((GrB_Vector)T, a) : pack_dense(T, a, by_col);
}

tsr_settings tsr_settings_read(GrB_Matrix C)
{
    tsr_settings s = {GxB_AUTO_SPARSITY, 0, 0};
    tsr_real.GxB_Matrix_Option_get_INT32(C, GxB_SPARSITY_CONTROL, &s.control);
    tsr_real.GxB_Matrix_Option_get_FP64(C, GxB_HYPER_SWITCH, &s.hyper_switch);
    tsr_real.GxB_Matrix_Option_get_FP64(C, GxB_BITMAP_SWITCH, &s.bitmap_switch);
    return s;
}

GrB_Info tsr_settings_restore(GrB_Matrix C, const tsr_settings *s, bool conform)
{
    const tsr_settings now = tsr_settings_read(C);
    GrB_Info info = GrB_SUCCESS;
    if (!conform && now.control != s->control) /* first: then the switches change nothing */
        info = tsr_real.GxB_Matrix_Option_set_INT32(C, GxB_SPARSITY_CONTROL, s->control);
    if (now.hyper_switch != s->hyper_switch)
        tsr_real.GxB_Matrix_Option_set_FP64(C, GxB_HYPER_SWITCH, s->hyper_switch);
    if (now.bitmap_switch != s->bitmap_switch)
        tsr_real.GxB_Matrix_Option_set_FP64(C, GxB_BITMAP_SWITCH, s->bitmap_switch);
    return conform ? tsr_real.GxB_Matrix_Option_set_INT32(C, GxB_SPARSITY_CONTROL, s->control) : info;
}

GrB_Info tsr_finish_arrays(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *s, bool conform)
{
    GrB_Info info = tsr_pack(C, vector, by_col, arrays);
    if (info == GrB_SUCCESS)
        info = tsr_settings_restore(C, s, conform);
    return info;
}

GrB_Info tsr_finish_conforming(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays)
{
    const tsr_settings s = tsr_settings_read(C);
    return tsr_finish_arrays(C, vector, by_col, arrays, &s, true);
}

GrB_Info tsr_finish_dense(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, int32_t control)
{
    tsr_settings s = tsr_settings_read(C);
    s.control = control;
    return tsr_finish_arrays(C, vector, by_col, arrays, &s, false);
}
