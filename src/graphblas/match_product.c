/* From a GraphBLAS call to a product in normal form.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/product.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/start.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/operands.h"
#include "src/engine/product/product.h"
#include "src/engine/product/sparse_product.h"
#include "src/graphblas/handover/contents.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/options.h"
#include "src/policy/price/route.h"
#include "src/policy/price/sparse_product.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

enum {
    COMPRESS_COLUMNS = 8, /* a bitmap is turned into entries for a product with so many */
    MOSTLY_EMPTY = 8,     /* places a dense C may have for each entry that it may get … */
    FEW_PLACES = 1 << 18  /* … unless it has no more than these */
};

/* Where the reading of one call stands. */
typedef struct matcher {
    tsr_call *out;
    tsr_arguments *call; /* what is given; a mask that says nothing goes */
    tsr_view a, b, m; /* op(A), op(B), M: transposes already resolved */
    int64_t nrows, ncols; /* of C */
    tsr_type c_type;
    tsr_type a_type, b_type, m_type; /* known before the operands are read */
    bool values; /* operands are taken where they are */
    bool m_true; /* M is full, of one value that is not 0 */
} matcher;

static bool is_dense(const tsr_view *v)
{
    return v->format == TSR_FULL || v->format == TSR_BITMAP;
}

/* Shape, orientation and type of C, without finishing its pending work: its content may be about to be replaced. */
static const char *read_output(matcher *s)
{
    GrB_Matrix C = s->call->C;
    GrB_Index nrows, ncols;
    int32_t format;
    if (tsr_real.GrB_Matrix_nrows(&nrows, C) != GrB_SUCCESS || tsr_real.GrB_Matrix_ncols(&ncols, C) != GrB_SUCCESS ||
        tsr_option_get_int32(C, GxB_FORMAT, &format) != GrB_SUCCESS)
        return "C is not a valid object";
    s->nrows = (int64_t)nrows;
    s->ncols = (int64_t)ncols;
    s->out->c_by_col = format == GxB_BY_COL;
    if (!tsr_match_object_type(&s->c_type, C))
        return "C is not of a built-in real type";
    return NULL;
}

/* Transposes of the descriptor.  mxv: INP0 concerns A.  vxm arrives as (A, u) with A to be transposed unless INP1 says so. */
static void resolve_transposes(matcher *s)
{
    const tsr_modifiers *mod = &s->out->mod;
    bool ta = s->call->flip ? !mod->tran1 : mod->tran0;
    bool tb = !s->call->vector && mod->tran1;
    if (ta)
        s->a = tsr_view_transposed(s->a);
    if (tb)
        s->b = tsr_view_transposed(s->b);
    s->out->a.transposed = ta;
    s->out->b.transposed = tb;
}

/* A dense operand that products have taken from the host before; then `v` has its type. */
static bool worth_uploading(tsr_view *v, GrB_Matrix handle)
{
    const tsr_backend *gpu = is_dense(v) && !v->iso && tsr_contents_noted(handle) ? tsr_backend_gpu() : NULL;
    return gpu && gpu->arrays && tsr_match_object_type(&v->type, handle);
}

/* Deferred products may have to run before the host's arrays are read. */
static bool inspect(const matcher *s, tsr_view *v, tsr_object *object, void *handle)
{
    object->handle = handle;
    object->array = s->values ? tsr_contents_dense(s->out->door, handle) : NULL;
    if (object->array) {
        *v = tsr_device_array_view(object->array);
        return true;
    }
    if (s->values)
        tsr_will_inspect(handle);
    if (tsr_is_lost(handle) || !tsr_match_held(v, handle, &object->copies))
        return false;
    if (s->values && worth_uploading(v, handle) &&
        tsr_contents_upload(object, v, s->out->door, tsr_backend_gpu(), &s->out->moved) == TSR_OK)
        *v = tsr_device_array_view(object->array);
    return true;
}

static bool both_full(const matcher *s)
{
    return s->a.format == TSR_FULL && s->b.format == TSR_FULL;
}

/* What only a device has, and sparse. */
static bool inspect_where_it_is(const matcher *s, tsr_view *v, tsr_object *object, void *handle)
{
    const bool compressed = s->values && tsr_object_take_compressed(object, s->out->door, handle);
    if (compressed)
        *v = object->view;
    return compressed || inspect(s, v, object, handle);
}

/* What M has one entry of is not held as one value. */
static bool has_true_value(const matcher *s, const tsr_device_array *array)
{
    const tsr_device_array_facts *about = array ? tsr_device_array_about(array) : NULL;
    static const uint64_t zero;
    tsr_type type;
    if (about)
        return about->iso && !about->lone && about->one != 0;
    return s->m.iso && tsr_match_object_type(&type, s->call->M) && memcmp(s->m.x, &zero, tsr_type_size(type)) != 0;
}

static const char *read_operands(matcher *s)
{
    const tsr_arguments *c = s->call;
    if (!inspect_where_it_is(s, &s->a, &s->out->a, c->A) || !inspect_where_it_is(s, &s->b, &s->out->b, c->B))
        return "an operand is not a valid object";
    tsr_object mask = {0}; /* a dense one is not read here */
    const bool valid = !c->M || inspect_where_it_is(s, &s->m, &mask, c->M);
    s->m_true = valid && c->M && s->m.format == TSR_FULL && has_true_value(s, mask.array);
    s->out->mask.copies = mask.copies;
    s->out->mask.compressed = mask.compressed;
    mask.copies.first = NULL;
    mask.compressed = NULL;
    tsr_object_release(&mask);
    if (!valid)
        return "the mask is not a valid object";
    return NULL;
}

static const char *check_shapes(const matcher *s)
{
    if (s->a.ncols != s->b.nrows || s->nrows != s->a.nrows || s->ncols != s->b.ncols)
        return "dimensions do not match";
    if (s->call->M && (s->m.nrows != s->nrows || s->m.ncols != s->ncols))
        return "dimensions of the mask do not match";
    if (s->nrows == 0 || s->ncols == 0 || s->a.ncols == 0)
        return "empty";
    return NULL;
}

/* vxm calls mul with the vector first; places of the vector's entries are the same in both. */
static bool match_semiring(matcher *s)
{
    const tsr_arguments *c = s->call;
    tsr_call *out = s->out;
    tsr_semiring *semiring = &out->product.semiring;
    if (!tsr_match_semiring(semiring, c->semiring))
        return out->positions = s->values && c->vector && tsr_match_positions(semiring, &out->offset, c->semiring);
    if (c->flip)
        semiring->mul = tsr_mul_swapped(semiring->mul);
    return true;
}

static const char *check_operators(matcher *s)
{
    const tsr_arguments *c = s->call;
    if (!c->C || !c->A || !c->B || !c->semiring)
        return "a handle is null";
    if (!match_semiring(s))
        return "semiring not known";
    if (c->accum && !tsr_match_accum(c->accum))
        return "accum operator not known";
    return tsr_match_descriptor(&s->out->mod, c->desc);
}

/* ... and no GPU that runs, and no test, wants them. */
static bool few_are_wanted(const tsr_arguments *c)
{
    GrB_Index nrows, ncols;
    if (tsr_config_get()->mode == TSR_MODE_GPU || tsr_config_forces_cpu() || tsr_contents_possible())
        return false;
    return tsr_real.GrB_Matrix_nrows(&nrows, c->C) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, c->C) == GrB_SUCCESS &&
           tsr_few_vectors((double)nrows, (double)ncols);
}

static bool by_row(void *matrix)
{
    int32_t format;
    return tsr_option_get_int32(matrix, GxB_FORMAT, &format) == GrB_SUCCESS && format == GxB_BY_ROW;
}

/* Rows that meet rows: SuiteSparse merges their lists, and sorts them for it as well. */
static bool merges(const tsr_arguments *c, const tsr_modifiers *mod)
{
    return mod->tran1 && !mod->tran0 && by_row(c->A) && by_row(c->B);
}

/* However small (tests). */
static bool takes_all(void)
{
    return tsr_config_forces_cpu() || (tsr_config_get()->mode == TSR_MODE_GPU && tsr_config_get()->min_work == 0);
}

/* Of a sparse product, were the entries spread evenly. */
static bool few_products(const tsr_arguments *c)
{
    GrB_Index of_a, of_b, inner;
    if (takes_all() || tsr_real.GrB_Matrix_nvals(&of_a, c->A) != GrB_SUCCESS ||
        tsr_real.GrB_Matrix_nvals(&of_b, c->B) != GrB_SUCCESS || tsr_real.GrB_Matrix_nrows(&inner, c->B) != GrB_SUCCESS || inner == 0)
        return false;
    const bool sorts = tsr_may_be_jumbled(c->A) || tsr_may_be_jumbled(c->B);
    return tsr_sparse_product_is_small((double)of_a * ((double)of_b / (double)inner), sorts ? (double)of_a : 0,
                                       sorts && c->A != c->B ? (double)of_b : 0);
}

static bool has_few(const tsr_arguments *c)
{
    GrB_Index nrows, ncols;
    return tsr_real.GrB_Matrix_nrows(&nrows, c->C) == GrB_SUCCESS && tsr_real.GrB_Matrix_ncols(&ncols, c->C) == GrB_SUCCESS &&
           tsr_match_narrow((double)nrows, (double)ncols);
}

/* A bitmap or full mask is looked up place by place: then everything must be held alike.  Few rows or columns wait for a GPU. */
static bool may_sieve(const tsr_arguments *c, const tsr_modifiers *mod)
{
    const bool row = by_row(c->C);
    return !mod->tran0 && !mod->tran1 && by_row(c->M) == row && by_row(c->A) == row && by_row(c->B) == row &&
           (takes_all() || !has_few(c) || !(tsr_contents_possible() || tsr_engine_may_start_gpu()));
}

static const char few_masked[] = "few rows or columns under a mask", not_listed[] = "mask is complemented or dense";

/* Why it is forwarded, where the forms say so: of what is sparse on the host the kernels take few combinations.  Asked before arrays are
 * inspected, which would sort them. */
static const char *match_forms(const tsr_arguments *c)
{
    tsr_modifiers mod;
    if (!c->C || !c->A || !c->B || tsr_match_dense(c->B) || (!c->vector && tsr_match_dense(c->A)))
        return NULL;
    if (c->vector)
        return "sparse vector";
    if (!c->M)
        return few_products(c) ? "few products of sparse operands" : NULL;
    const char *why = tsr_match_descriptor(&mod, c->desc);
    if (why)
        return why;
    const bool dense = tsr_match_dense(c->M);
    if ((dense && !may_sieve(c, &mod)) || ((dense || mod.mask_comp) && few_products(c)))
        return not_listed;
    if (dense || mod.mask_comp)
        return NULL;
    return few_are_wanted(c) && !merges(c, &mod) ? few_masked : NULL;
}

static const char *read_types(matcher *s)
{
    const tsr_arguments *c = s->call;
    if (!tsr_match_object_type(&s->a_type, c->A) || !tsr_match_object_type(&s->b_type, c->B))
        return "an operand is not of a built-in real type";
    return !c->M || tsr_match_object_type(&s->m_type, c->M) ? NULL : "the mask is not of a built-in real type";
}

static void set_types(matcher *s)
{
    if (!s->out->a.array)
        s->a.type = s->a_type;
    if (!s->out->b.array)
        s->b.type = s->b_type;
    s->m.type = s->m_type;
}

/* C' = B' A' instead of C = A B: the same arrays seen the other way round. */
static void swap_product(matcher *s)
{
    tsr_call *call = s->out;
    tsr_view a = tsr_view_transposed(s->b), b = tsr_view_transposed(s->a);
    s->a = a;
    s->b = b;
    tsr_device_array *of_a = s->out->a.array;
    s->out->a.array = s->out->b.array;
    s->out->b.array = of_a;
    tsr_device_array *compressed = s->out->a.compressed;
    s->out->a.compressed = s->out->b.compressed;
    s->out->b.compressed = compressed;
    s->m = tsr_view_transposed(s->m);
    bool of_b = call->a.transposed;
    call->a.transposed = !call->b.transposed;
    call->b.transposed = !of_b;
    s->out->swapped = true;
    call->product.semiring.mul = tsr_mul_swapped(call->product.semiring.mul);
}

static bool usable_mask(const matcher *s)
{
    return s->call->M && !s->out->mod.mask_comp && !is_dense(&s->m);
}

static bool is_narrow(const tsr_view *v)
{
    return tsr_match_narrow((double)v->nrows, (double)v->ncols);
}

/* A vector that the host holds sparse may be uploaded as a bitmap; so may a narrow matrix, unless a mask names the few entries wanted. */
static bool may_spread(const matcher *s)
{
    if (!s->values || !tsr_is_compressed(&s->a) || !tsr_is_compressed(&s->b) || s->out->b.compressed || (s->out->a.compressed && !s->call->vector))
        return false;
    return s->call->vector || (!usable_mask(s) && (is_narrow(&s->a) || is_narrow(&s->b)));
}

static void spread(matcher *s)
{
    if (!s->call->vector && !is_narrow(&s->b))
        swap_product(s);
    const tsr_view v = s->out->sparse = s->b;
    s->out->b_sparse = true;
    s->b = (tsr_view){.format = TSR_BITMAP, .type = v.type, .by_col = v.by_col, .nrows = v.nrows, .ncols = v.ncols,
                      .nvec = v.by_col ? v.ncols : v.nrows, .vlen = v.vlen, .ld = v.vlen, .nvals = v.nvals, .x = v.x};
}

/* ---- bitmaps ---- */

static double share_present(const tsr_view *v)
{
    return (double)v->nvals / ((double)v->nrows * (double)v->ncols);
}

/* SuiteSparse walks over every place of a bitmap.  The emptier of two is computed with by its entries. */
static bool compress_a(const matcher *s)
{
    return s->b.format == TSR_FULL || s->call->vector || (s->a.format == TSR_BITMAP && share_present(&s->a) <= share_present(&s->b));
}

static bool may_compress(const matcher *s, const tsr_view *v, double columns)
{
    const bool pays = columns >= COMPRESS_COLUMNS && !tsr_engine_hopeless((double)v->nvals * columns, false);
    return v->format == TSR_BITMAP && v->nvals > 0 && !s->values && (pays || takes_all());
}

/* 9.4.5 adds some products of bitmaps wrongly to C (7.4.0 and 10.5.1 do not; random_program --seed 3): its programs get what they would. */
static bool adds_otherwise(const matcher *s)
{
    return GxB_IMPLEMENTATION_MAJOR == 9 && s->call->accum;
}

/* Bitmap times bitmap or full, where no sparse mask says which entries are wanted. */
static void compress(matcher *s)
{
    if (!is_dense(&s->a) || !is_dense(&s->b) || both_full(s) || usable_mask(s) || adds_otherwise(s))
        return;
    const bool a = compress_a(s);
    if (may_compress(s, a ? &s->a : &s->b, a ? (double)s->b.ncols : (double)s->a.nrows))
        (void)tsr_operands_compress(a ? &s->a : &s->b, a ? &s->out->a.copies : &s->out->b.copies, s->out->mod.nthreads);
}

/* Of sparse operands, C as large as it turns out. */
static bool makes_sparse(const matcher *s)
{
    const tsr_modifiers *mod = &s->out->mod;
    if (!s->call->M)
        return !mod->mask_comp;
    return is_dense(&s->m) ? may_sieve(s->call, mod) && !tsr_has_compressed(s->out) : mod->mask_comp;
}

static const char *choose_op(matcher *s)
{
    if (may_spread(s))
        spread(s);
    compress(s);
    bool dense_a = is_dense(&s->a), dense_b = is_dense(&s->b);
    tsr_op *op = &s->out->product.op;
    if (dense_a != dense_b) {
        if (dense_a && s->call->vector)
            return "sparse vector";
        if (dense_a)
            swap_product(s);
        *op = s->b.ncols == 1 ? TSR_OP_SPMV : TSR_OP_SPMM;
        return NULL;
    }
    if (s->call->vector)
        return dense_a ? "dense times dense" : "sparse vector";
    if (!usable_mask(s) && both_full(s)) {
        *op = TSR_OP_SPMM;
        return NULL;
    }
    if (!dense_a && makes_sparse(s)) {
        s->out->operation = &tsr_sparse_product_operation;
        return s->values && !tsr_has_compressed(s->out) ? "operands are on the host" : NULL;
    }
    if (!usable_mask(s))
        return dense_a ? "dense times dense" : s->call->M ? "mask is complemented or dense" : "sparse times sparse without a mask";
    if (dense_a && (s->a.format != TSR_FULL || s->b.format != TSR_FULL))
        return "bitmap times bitmap";
    *op = dense_a ? TSR_OP_SDDMM : TSR_OP_MASKED_DOT;
    return NULL;
}

static bool reaches_by_row(const tsr_view *a, int64_t enough)
{
    for (int64_t v = 0; v < a->nvec && enough > 0; v++)
        enough -= tsr_view_start(a, v) < tsr_view_start(a, v + 1);
    return enough <= 0;
}

static bool reaches_by_col(const tsr_view *a, int64_t enough)
{
    const tsr_integers i = {a->i, a->index_size};
    uint64_t *seen = calloc((size_t)a->nrows / 64 + 1, sizeof *seen);
    if (!seen)
        return false;
    for (int64_t e = 0; e < a->nvals && enough > 0; e++) {
        const uint64_t row = (uint64_t)tsr_integer(i, e), bit = 1ull << (row & 63);
        enough -= !(seen[row >> 6] & bit);
        seen[row >> 6] |= bit;
    }
    free(seen);
    return enough <= 0;
}

/* Do so many rows of A have entries?  Counted only where C is far larger than A. */
static bool reaches(const tsr_product *p, int64_t enough)
{
    const tsr_view *a = &p->a;
    if (!tsr_is_compressed(a))
        return true;
    if (!a->p) /* only a device knows */
        return a->nvals >= enough;
    if (a->nvals < enough || (a->format == TSR_HYPERSPARSE && !a->by_col && a->nvec < enough))
        return false;
    return p->n <= MOSTLY_EMPTY || (a->by_col ? reaches_by_col(a, enough) : reaches_by_row(a, enough));
}

/* Is C as large already, and stays so? */
static bool joins_dense(const matcher *s)
{
    const tsr_arguments *c = s->call;
    return (c->accum || c->M) && ((tsr_match_sparsity(c->C) & (GxB_BITMAP | GxB_FULL)) || tsr_contents_only(s->out->door, c->C));
}

/* A dense C far larger than its entries can be: SuiteSparse would keep it sparse. */
static bool mostly_empty(const matcher *s)
{
    const tsr_product *p = &s->out->product;
    const double places = (double)p->m * (double)p->n;
    if (places <= FEW_PLACES)
        return false;
    const bool few_wanted = usable_mask(s) && (double)s->m.nvals < places / MOSTLY_EMPTY;
    return (few_wanted || !reaches(p, p->m / MOSTLY_EMPTY)) && !joins_dense(s);
}

static bool too_large(const tsr_product *p)
{
    return (double)p->m * (double)p->n * (double)tsr_type_size(p->semiring.type) > 0x1p44;
}

static bool is_compressed(const matcher *s, const void *handle)
{
    tsr_device_array *array = s->out->door->compressed(handle);
    tsr_device_array_unref(array);
    return array;
}

/* Does nothing of C stay? */
static bool c_is_replaced(const matcher *s)
{
    const tsr_modifiers *mod = &s->out->mod;
    return !s->call->accum && (!s->call->M || mod->replace || (s->call->C == s->call->M && mod->mask_struct && !mod->mask_comp));
}

/* SuiteSparse 7.4.0 takes the only place of T for one value of all: C<M> = T where M lets nothing pass is empty then, and still sums up to T. */
static bool is_masked_place(const matcher *s)
{
    const tsr_product *p = &s->out->product;
    return s->call->M && p->m == 1 && p->n == 1;
}

/* Is anything left to do after T = A*B is known? */
static bool needs_t(const matcher *s)
{
    const tsr_arguments *c = s->call;
    const tsr_modifiers *mod = &s->out->mod;
    const tsr_product *p = &s->out->product;
    if (c->accum || s->c_type != p->semiring.type)
        return true;
    const bool sparse_c = s->out->operation == &tsr_sparse_product_operation;
    if (!tsr_is_masked(p->op) && (!sparse_c || !c->M))
        return c->M != NULL || mod->mask_comp;
    GrB_Index nvals = 0;
    bool c_empty = c_is_replaced(s) || (tsr_real.GrB_Matrix_nvals(&nvals, c->C) == GrB_SUCCESS && nvals == 0);
    if (sparse_c)
        return !c_empty;
    bool same_orientation = (p->mask.by_col != s->out->swapped) == s->out->c_by_col;
    return !c_empty || !same_orientation;
}

/* C accum= T, all of one type, C full and held the way T will be: with plus, or with the monoid of the product, no third matrix is needed. */
static void match_full_c(matcher *s)
{
    const tsr_arguments *c = s->call;
    tsr_call *out = s->out;
    const tsr_semiring semiring = out->product.semiring;
    if (!c->accum || c->M || out->mod.mask_comp || tsr_is_masked(out->product.op) || s->c_type != semiring.type || !tsr_match_dense(c->C) ||
        !tsr_match_view(&out->c, c->C) || out->c.format != TSR_FULL || out->c.by_col != out->c_by_col)
        return;
    out->add_c = tsr_match_plus(c->accum, s->c_type);
    out->joins_c = tsr_match_monoid(c->accum, semiring);
}

/* SuiteSparse 7.4.0 crashes in C<M> += T with a full mask and a full T, which its own product never comes to. */
static bool faulty_finish(const matcher *s)
{
    return s->out->operation != &tsr_sparse_product_operation && s->call->accum && s->call->M && s->m.format == TSR_FULL;
}

/* Of what only a device has, and sparse, it computes products with what is dense, and with what is sparse under any sparse mask. */
static const char *check_compressed(const matcher *s)
{
    const tsr_call *out = s->out;
    const bool sparse_c = out->operation == &tsr_sparse_product_operation, dense_b = !sparse_c && !tsr_is_masked(out->product.op);
    if (!tsr_has_compressed(out) || sparse_c || out->product.op == TSR_OP_MASKED_DOT || (dense_b && !out->b.compressed))
        return NULL;
    return "a sparse operand is on the device only";
}

static bool wants_cast(const matcher *s)
{
    const tsr_product *p = &s->out->product;
    const bool b_on_device = p->b_value || s->out->b_sparse || (s->out->b.compressed && !p->b.iso);
    return ((p->a_value || (s->out->a.compressed && !p->a.iso)) && tsr_reads_a(p) && p->a.type != p->semiring.type) ||
           (b_on_device && tsr_reads_b(p) && p->b.type != p->semiring.type);
}

/* Only which entries there are counts of b. */
static void forget_values(matcher *s)
{
    if (!s->out->b_sparse)
        s->out->sparse = s->b;
    s->b.type = s->out->product.semiring.type;
    s->b.iso = false;
}

static const char *fill_product(matcher *s)
{
    if (faulty_finish(s))
        return "accum under a full mask";
    tsr_call *out = s->out;
    tsr_product *p = &out->product;
    if (out->positions)
        forget_values(s);
    p->m = s->a.nrows;
    p->n = s->b.ncols;
    p->k = s->a.ncols;
    p->a = s->a;
    p->b = s->b;
    p->mask = s->m;
    p->mask_structural = out->mod.mask_struct;
    p->mask_complement = s->call->M && out->mod.mask_comp;
    p->c_by_col = out->c_by_col != out->swapped;
    p->nthreads = out->mod.nthreads;
    p->a_value = out->a.array ? tsr_device_array_kept(out->a.array) : NULL;
    p->b_value = out->b.array ? tsr_device_array_kept(out->b.array) : NULL;
    if (wants_cast(s))
        return "a value that stays with a backend is not cast";
    const bool sparse_c = out->operation == &tsr_sparse_product_operation;
    bool dense_c = !tsr_is_masked(p->op);
    if (!dense_c) {
        p->c_by_col = p->mask.by_col;
        if (!c_is_replaced(s) || !is_compressed(s, s->call->C))
            tsr_will_inspect(s->call->C);
    } else if (sparse_c) {
        if (!c_is_replaced(s) || !is_compressed(s, s->call->C))
            tsr_will_inspect(s->call->C);
    } else if ((too_large(p) || mostly_empty(s))) {
        return "C would be mostly empty";
    } else if (is_masked_place(s)) {
        return "one place under a mask";
    }
    out->t_by_col = dense_c ? out->c_by_col : p->mask.by_col;
    if (!sparse_c)
        p->nthreads = tsr_engine_useful_threads(p);
    out->through_t = needs_t(s);
    if (sparse_c && tsr_has_compressed(out) && out->through_t)
        return "a sparse operand is on the device only, and more is to be done with T";
    out->a.handle = out->swapped ? s->call->B : s->call->A;
    out->b.handle = out->swapped ? s->call->A : s->call->B;
    const char *why = tsr_match_one_value(out);
    if (why)
        return why;
    if (!s->values && !sparse_c && !out->one_value)
        match_full_c(s);
    out->may_forward = true;
    return NULL;
}

/* A mask with every entry, whose values do not count or are all true, says nothing; complemented it lets nothing pass. */
static bool passes_all(const matcher *s)
{
    return s->call->M && s->m.format == TSR_FULL && (s->out->mod.mask_struct || s->m_true);
}

static const char *match(tsr_call *call)
{
    matcher s = {.call = &call->given, .out = call, .values = call->in_place};
    const char *why;
    if ((why = check_operators(&s)) || (why = read_types(&s)) || (why = read_output(&s)) || (why = read_operands(&s)))
        return why;
    set_types(&s);
    const bool unmasked = passes_all(&s);
    if (unmasked && call->mod.mask_comp)
        return "the mask lets nothing pass";
    resolve_transposes(&s);
    if ((why = check_shapes(&s)))
        return why;
    call->mask.handle = call->given.M;
    if (unmasked)
        call->given.M = NULL;
    if ((why = choose_op(&s)) || (why = check_compressed(&s)) || (why = fill_product(&s)))
        return why;
    if (tsr_has_compressed(call) && tsr_config_get()->min_work < 0)
        return NULL; /* something would have to be downloaded */
    return tsr_engine_too_small(&call->product) ? "below min_work" : NULL;
}

const char *tsr_match_product(tsr_call *call)
{
    const char *why = call->in_place ? NULL : match_forms(&call->given);
    call->operation = &tsr_product_operation;
    call->waits_for_gpu = why == few_masked || (why == not_listed && has_few(&call->given));
    return why ? why : match(call);
}

bool tsr_match_full_product(tsr_call *call)
{
    const tsr_arguments *given = &call->given;
    tsr_semiring s;
    if (given->vector || !given->B || !given->semiring || !tsr_match_semiring(&s, given->semiring) || s.add != TSR_ADD_PLUS ||
        s.mul != TSR_MUL_TIMES || (s.type != TSR_FP32 && s.type != TSR_FP64) || tsr_match_descriptor(&call->mod, given->desc))
        return false;
    call->of.full.type = s.type;
    call->operation = &tsr_full_product_operation;
    return true;
}
