/* One product by SuiteSparse:GraphBLAS, from the same operands as our backends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/peer.h"

#include <GraphBLAS.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    tsr_peer_work peer;
    tsr_op op;
    GrB_Semiring semiring;
    GrB_Matrix a, b, mask, c;
    GrB_Vector u, w;
} work;

static GrB_Type type_of(tsr_type type)
{
    return type == TSR_FP32 ? GrB_FP32 : type == TSR_FP64 ? GrB_FP64 : type == TSR_INT64 ? GrB_INT64 : GrB_BOOL;
}

static size_t size_of(tsr_type type)
{
    return type == TSR_FP32 ? sizeof(float) : type == TSR_BOOL ? sizeof(bool) : sizeof(double);
}

static GrB_Semiring semiring_of(tsr_semiring s)
{
    if (s.add != TSR_ADD_PLUS) {
        return NULL;
    }
    if (s.type == TSR_INT64) {
        return s.mul == TSR_MUL_PAIR ? GxB_PLUS_PAIR_INT64 : NULL;
    }
    if (s.type != TSR_FP32 && s.type != TSR_FP64) {
        return NULL;
    }
    bool narrow = s.type == TSR_FP32;
    return s.mul == TSR_MUL_TIMES    ? (narrow ? GrB_PLUS_TIMES_SEMIRING_FP32 : GrB_PLUS_TIMES_SEMIRING_FP64)
           : s.mul == TSR_MUL_SECOND ? (narrow ? GxB_PLUS_SECOND_FP32 : GxB_PLUS_SECOND_FP64)
                                     : NULL;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, from, bytes);
    }
    return copy;
}

/* GraphBLAS takes the arrays over when it succeeds.  A pattern becomes iso. */
static bool make_sparse(GrB_Matrix *out, const tsr_view *v)
{
    GrB_Index np = (GrB_Index)(v->nvec + 1) * sizeof(GrB_Index), ni = (GrB_Index)v->nvals * sizeof(GrB_Index);
    GrB_Index nx = (GrB_Index)(v->x ? v->nvals : 1) * size_of(v->type);
    static const int64_t one_integer = 1;
    static const float one_single = 1;
    static const double one_double = 1;
    const void *one = v->type == TSR_FP32 ? (const void *)&one_single : v->type == TSR_FP64 ? (const void *)&one_double : &one_integer;
    GrB_Index *p = copy_of(v->p, np), *i = copy_of(v->i, ni);
    void *x = copy_of(v->x ? v->x : one, nx);
    GrB_Info (*take)(GrB_Matrix *, GrB_Type, GrB_Index, GrB_Index, GrB_Index **, GrB_Index **, void **, GrB_Index, GrB_Index, GrB_Index,
                     bool, bool, const GrB_Descriptor) = v->by_col ? GxB_Matrix_import_CSC : GxB_Matrix_import_CSR;
    bool made = p && i && x && take(out, type_of(v->type), (GrB_Index)v->nrows, (GrB_Index)v->ncols, &p, &i, &x, np, ni, nx, !v->x, false,
                                    NULL) == GrB_SUCCESS;
    if (!made) {
        free(p);
        free(i);
        free(x);
    }
    return made;
}

static bool make_full(GrB_Matrix *out, const tsr_view *v)
{
    GrB_Index nx = (GrB_Index)v->nvals * size_of(v->type);
    void *x = copy_of(v->x, nx);
    GrB_Info (*take)(GrB_Matrix *, GrB_Type, GrB_Index, GrB_Index, void **, GrB_Index, bool, const GrB_Descriptor) =
        v->by_col ? GxB_Matrix_import_FullC : GxB_Matrix_import_FullR;
    bool made = x && take(out, type_of(v->type), (GrB_Index)v->nrows, (GrB_Index)v->ncols, &x, nx, false, NULL) == GrB_SUCCESS;
    if (!made) {
        free(x);
    }
    return made;
}

static bool make_vector(GrB_Vector *out, const tsr_view *v)
{
    GrB_Index nx = (GrB_Index)v->nvals * size_of(v->type);
    void *x = copy_of(v->x, nx);
    bool made = x && GxB_Vector_import_Full(out, type_of(v->type), (GrB_Index)v->nrows, &x, nx, false, NULL) == GrB_SUCCESS;
    if (!made) {
        free(x);
    }
    return made;
}

static bool make_operands(work *w, const tsr_product *p)
{
    GrB_Type type = type_of(p->semiring.type);
    GrB_Index m = (GrB_Index)p->m, n = (GrB_Index)p->n;
    if (p->op == TSR_OP_SPMV) {
        return make_sparse(&w->a, &p->a) && make_vector(&w->u, &p->b) && GrB_Vector_new(&w->w, type, m) == GrB_SUCCESS;
    }
    bool made = GrB_Matrix_new(&w->c, type, m, n) == GrB_SUCCESS;
    if (p->op == TSR_OP_SPMM) {
        return made && make_sparse(&w->a, &p->a) && make_full(&w->b, &p->b);
    }
    made = made && make_sparse(&w->mask, &p->mask);
    return made && (p->op == TSR_OP_SDDMM ? make_full(&w->a, &p->a) && make_full(&w->b, &p->b)
                                          : make_sparse(&w->a, &p->a) && make_sparse(&w->b, &p->b));
}

static void close_work(tsr_peer_work *peer)
{
    work *w = (work *)peer;
    GrB_Matrix *matrices[] = {&w->a, &w->b, &w->mask, &w->c};
    GrB_Vector *vectors[] = {&w->u, &w->w};
    for (int k = 0; k < 4; k++) {
        GrB_Matrix_free(matrices[k]);
    }
    for (int k = 0; k < 2; k++) {
        GrB_Vector_free(vectors[k]);
    }
    free(w);
}

static tsr_peer_work *open_work(const tsr_product *p)
{
    work *w = calloc(1, sizeof *w);
    if (!w) {
        return NULL;
    }
    w->peer = (tsr_peer_work){0, -1, ""};
    w->op = p->op;
    w->semiring = semiring_of(p->semiring);
    if (!w->semiring || !make_operands(w, p)) {
        close_work(&w->peer);
        return NULL;
    }
    return &w->peer;
}

static bool run_work(tsr_peer_work *peer)
{
    work *w = (work *)peer;
    if (w->op == TSR_OP_SPMV) {
        return GrB_mxv(w->w, NULL, NULL, w->semiring, w->a, w->u, NULL) == GrB_SUCCESS &&
               GrB_Vector_wait(w->w, GrB_MATERIALIZE) == GrB_SUCCESS;
    }
    GrB_Descriptor descriptor = w->mask ? GrB_DESC_S : NULL;
    return GrB_mxm(w->c, w->mask, NULL, w->semiring, w->a, w->b, descriptor) == GrB_SUCCESS &&
           GrB_Matrix_wait(w->c, GrB_MATERIALIZE) == GrB_SUCCESS;
}

static double value_of(tsr_peer_work *peer, int64_t row, int64_t col)
{
    work *w = (work *)peer;
    double value = 0;
    GrB_Info found = w->op == TSR_OP_SPMV ? GrB_Vector_extractElement_FP64(&value, w->w, (GrB_Index)row)
                                          : GrB_Matrix_extractElement_FP64(&value, w->c, (GrB_Index)row, (GrB_Index)col);
    return found == GrB_SUCCESS ? value : 0;
}

__attribute__((visibility("default"))) const tsr_peer *tsr_peer_get(void);

const tsr_peer *tsr_peer_get(void)
{
    static char version[32];
    static const tsr_peer all = {TSR_PEER_API_VERSION, version, open_work, run_work, value_of, close_work};
    int number[3] = {0};
    if (GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS || GxB_Global_Option_get(GxB_LIBRARY_VERSION, number) != GrB_SUCCESS) {
        return NULL;
    }
    snprintf(version, sizeof version, "%d.%d.%d", number[0], number[1], number[2]);
    return &all;
}
