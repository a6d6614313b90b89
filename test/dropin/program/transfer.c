/* Moving arrays in and out: unpack and pack, export and import in every format, copies, serialized blobs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { CSR, CSC, HYPER_CSR, HYPER_CSC, BITMAP_R, BITMAP_C, FULL_R, FULL_C, FORMATS };

typedef struct arrays {
    GrB_Index *p, *h, *i;
    int8_t *b;
    void *x;
    GrB_Index p_size, h_size, i_size, b_size, x_size, nvec, nvals;
    bool iso, jumbled;
} arrays;

static GrB_Info unpack(int format, GrB_Matrix A, arrays *a, bool sorted)
{
    bool *jumbled = sorted ? NULL : &a->jumbled;
    switch (format) {
        case CSR:
            return GxB_Matrix_unpack_CSR(A, &a->p, &a->i, &a->x, &a->p_size, &a->i_size, &a->x_size, &a->iso, jumbled,
                                         NULL);
        case CSC:
            return GxB_Matrix_unpack_CSC(A, &a->p, &a->i, &a->x, &a->p_size, &a->i_size, &a->x_size, &a->iso, jumbled,
                                         NULL);
        case HYPER_CSR:
            return GxB_Matrix_unpack_HyperCSR(A, &a->p, &a->h, &a->i, &a->x, &a->p_size, &a->h_size, &a->i_size,
                                              &a->x_size, &a->iso, &a->nvec, jumbled, NULL);
        case HYPER_CSC:
            return GxB_Matrix_unpack_HyperCSC(A, &a->p, &a->h, &a->i, &a->x, &a->p_size, &a->h_size, &a->i_size,
                                              &a->x_size, &a->iso, &a->nvec, jumbled, NULL);
        case BITMAP_R:
            return GxB_Matrix_unpack_BitmapR(A, &a->b, &a->x, &a->b_size, &a->x_size, &a->iso, &a->nvals, NULL);
        case BITMAP_C:
            return GxB_Matrix_unpack_BitmapC(A, &a->b, &a->x, &a->b_size, &a->x_size, &a->iso, &a->nvals, NULL);
        case FULL_R: return GxB_Matrix_unpack_FullR(A, &a->x, &a->x_size, &a->iso, NULL);
        default: return GxB_Matrix_unpack_FullC(A, &a->x, &a->x_size, &a->iso, NULL);
    }
}

static GrB_Info pack(int format, GrB_Matrix A, arrays *a)
{
    switch (format) {
        case CSR:
            return GxB_Matrix_pack_CSR(A, &a->p, &a->i, &a->x, a->p_size, a->i_size, a->x_size, a->iso, a->jumbled,
                                       NULL);
        case CSC:
            return GxB_Matrix_pack_CSC(A, &a->p, &a->i, &a->x, a->p_size, a->i_size, a->x_size, a->iso, a->jumbled,
                                       NULL);
        case HYPER_CSR:
            return GxB_Matrix_pack_HyperCSR(A, &a->p, &a->h, &a->i, &a->x, a->p_size, a->h_size, a->i_size, a->x_size,
                                            a->iso, a->nvec, a->jumbled, NULL);
        case HYPER_CSC:
            return GxB_Matrix_pack_HyperCSC(A, &a->p, &a->h, &a->i, &a->x, a->p_size, a->h_size, a->i_size, a->x_size,
                                            a->iso, a->nvec, a->jumbled, NULL);
        case BITMAP_R:
            return GxB_Matrix_pack_BitmapR(A, &a->b, &a->x, a->b_size, a->x_size, a->iso, a->nvals, NULL);
        case BITMAP_C:
            return GxB_Matrix_pack_BitmapC(A, &a->b, &a->x, a->b_size, a->x_size, a->iso, a->nvals, NULL);
        case FULL_R: return GxB_Matrix_pack_FullR(A, &a->x, a->x_size, a->iso, NULL);
        default: return GxB_Matrix_pack_FullC(A, &a->x, a->x_size, a->iso, NULL);
    }
}

/* Write through the arrays while they are ours. */
static void overwrite(arrays *a, int type)
{
    int v = 1 + rng_below(5);
    GrB_Index n = a->x_size / type_size(type);
    if (a->iso && n > 1) n = 1;
    for (GrB_Index k = 0; k < n; k++) value_put(type, a->x, (int64_t)k, v);
}

static int usable_format(const object *A, GrB_Index nvals)
{
    bool full = nvals == (GrB_Index)A->nrows * (GrB_Index)A->ncols;
    return rng_below(full ? FORMATS : FULL_R);
}

static void unpack_pack(void)
{
    object *A = pool_any_matrix(), *C = A;
    arrays a = {0};
    GrB_Index nvals = 0;
    operand(A);
    without_hyper(A, true);
    GrB_Matrix_nvals(&nvals, A->m);
    int format = usable_format(A, nvals);
    GrB_Info info = unpack(format, A->m, &a, rng_chance(50));
    if (info != GrB_SUCCESS) return report("unpack", info, A);
    report("unpacked", info, A);
    if (rng_chance(35)) overwrite(&a, A->type);
    if (rng_chance(30)) C = pool_matrix(A->nrows, A->ncols, A->type, WANT_ANY);
    info = pack(format, C->m, &a);
    C->b = A->b;
    if (C->b.mag < 3) C->b = (bound){3, 1, C->b.special};
    C->dense = A->dense;
    if (C != A) A->dense = false;
    report("pack", info, C);
}

/* Export frees the handle; import makes another one. */
static void export_import(void)
{
    object *A = pool_any_matrix();
    arrays a = {0};
    GrB_Type type;
    GrB_Index nrows, ncols;
    GrB_Info info;
    bool by_row = rng_chance(50);
    operand(A);
    without_hyper(A, false);
    if (by_row)
        info = GxB_Matrix_export_CSR(&A->m, &type, &nrows, &ncols, &a.p, &a.i, &a.x, &a.p_size, &a.i_size, &a.x_size,
                                     &a.iso, &a.jumbled, NULL);
    else
        info = GxB_Matrix_export_BitmapC(&A->m, &type, &nrows, &ncols, &a.b, &a.x, &a.b_size, &a.x_size, &a.iso,
                                         &a.nvals, NULL);
    report_text("export", info);
    if (info != GrB_SUCCESS) return;
    if (by_row)
        info = GxB_Matrix_import_CSR(&A->m, type, nrows, ncols, &a.p, &a.i, &a.x, a.p_size, a.i_size, a.x_size, a.iso,
                                     a.jumbled, NULL);
    else
        info = GxB_Matrix_import_BitmapC(&A->m, type, nrows, ncols, &a.b, &a.x, a.b_size, a.x_size, a.iso, a.nvals,
                                         NULL);
    report("import", info, A);
}

static void vector_unpack_pack(void)
{
    object *u = pool_any_vector();
    arrays a = {0};
    bool bitmap = rng_chance(50);
    operand(u);
    GrB_Info info = bitmap ? GxB_Vector_unpack_Bitmap(u->v, &a.b, &a.x, &a.b_size, &a.x_size, &a.iso, &a.nvals, NULL)
                           : GxB_Vector_unpack_CSC(u->v, &a.i, &a.x, &a.i_size, &a.x_size, &a.iso, &a.nvals, NULL,
                                                   NULL);
    if (info != GrB_SUCCESS) return report("vec_unpack", info, u);
    if (rng_chance(35)) {
        overwrite(&a, u->type);
        if (u->b.mag < 3) u->b = (bound){3, 1, u->b.special};
    }
    info = bitmap ? GxB_Vector_pack_Bitmap(u->v, &a.b, &a.x, a.b_size, a.x_size, a.iso, a.nvals, NULL)
                  : GxB_Vector_pack_CSC(u->v, &a.i, &a.x, a.i_size, a.x_size, a.iso, a.nvals, false, NULL);
    report("vec_pack", info, u);
}

static void copy_out_and_in(void)
{
    object *A = pool_any_matrix();
    GrB_Format format = rng_chance(50) ? GrB_CSR_FORMAT : GrB_CSC_FORMAT;
    GrB_Index np = 0, ni = 0, nx = 0;
    GrB_Matrix C = NULL;
    operand(A);
    without_hyper(A, false);
    GrB_Matrix_exportSize(&np, &ni, &nx, format, A->m);
    GrB_Index *p = calloc(np + 1, sizeof *p), *i = calloc(ni + 1, sizeof *i);
    void *x = calloc(nx + 1, type_size(A->type));
    report_text("export_copy", mat_export_copy(A->type, p, i, x, &np, &ni, &nx, format, A->m));
    GrB_Info info = mat_import_copy(A->type, &C, (GrB_Index)A->nrows, (GrB_Index)A->ncols, p, i, x, np, ni, nx, format);
    if (info == GrB_SUCCESS) object_replace(A, C);
    free(p);
    free(i);
    free(x);
    report("import_copy", info, A);
}

static void serialize(void)
{
    object *A = pool_any_matrix();
    GrB_Index size = 0, nvals = 0;
    GrB_Matrix C = NULL;
    operand(A);
    without_hyper(A, false);
    GrB_Matrix_nvals(&nvals, A->m);
    if (nvals == 0) return report_text("skip", GrB_SUCCESS); /* 7.4.0 cannot always read back an empty one */
    object_wait(A);
    GrB_Matrix_serializeSize(&size, A->m);
    void *blob = calloc(1, size + 1);
    GrB_Info info = GrB_Matrix_serialize(blob, &size, A->m);
    report_text("serialize", info);
    if (rng_chance(50)) tame(A); /* the blob must hold what was there before */
    info = GrB_Matrix_deserialize(&C, type_handle(A->type), blob, size);
    if (info == GrB_SUCCESS) object_replace(A, C);
    A->b = (bound){201, 201, true};
    A->hyper = false;
    free(blob);
    report("deserialize", info, A);
}

void op_transfer(void)
{
    static void (*const ops[])(void) = {unpack_pack, unpack_pack, unpack_pack, export_import, vector_unpack_pack,
                                        copy_out_and_in, serialize};
    ops[rng_below(7)]();
}
