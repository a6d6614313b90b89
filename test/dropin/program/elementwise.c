/* Everything that works entry by entry: eWise, apply, select, reduce, transpose, Kronecker, concatenation, reshaping.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "program.h"

static int ewise_op(int type)
{
    return type == T_USER ? OP_PLUS : rng_below(OP_ANY);
}

static void care(object *C, object *M, object *A, object *B, bool accum)
{
    operand(A);
    if (B) operand(B);
    if (M) operand_mask(M, accum);
    if (C->vector) return;
    without_hyper(C, false);
    without_hyper(A, false);
    if (B) without_hyper(B, false);
}

static object *maybe_mask(int nrows, int ncols, bool vector)
{
    if (rng_chance(70)) return NULL;
    return vector ? pool_vector(nrows, TYPE_ANY, WANT_ANY) : pool_matrix(nrows, ncols, TYPE_ANY, WANT_ANY);
}

static GrB_Matrix mask_of(const object *M)
{
    return M ? M->m : NULL;
}

static GrB_Descriptor random_descriptor(const object *M, bool t0, bool t1)
{
    return descriptor(rng_chance(25), M && rng_chance(30), rng_chance(50), t0, t1);
}

/* Of op where both have an entry, of either where one has. */
static void bound_of_pairs(object *C, int op, int type, const object *A, const object *B, int accum)
{
    object_bound(C, op_bound(op, bound_cast(A->b, A->type, type), bound_cast(B->b, B->type, type)), T_FP64, accum);
    object_bound(C, A->b, A->type, accum);
    object_bound(C, B->b, B->type, accum);
}

static void ewise_matrix(void)
{
    int m = pool_size(), n = pool_size(), accum_type, type = rng_chance(95) ? random_type() : T_USER;
    bool t0 = rng_chance(20), t1 = rng_chance(20), add = rng_chance(50);
    int want = type == T_USER ? type : TYPE_ANY, op = ewise_op(type);
    object *A = pool_matrix(t0 ? n : m, t0 ? m : n, want, WANT_ANY);
    object *B = pool_matrix(t1 ? n : m, t1 ? m : n, want, WANT_ANY);
    object *C = pool_matrix(m, n, want, WANT_ANY), *M = maybe_mask(m, n, false);
    int accum = random_accum(C, &accum_type);
    care(C, M, A, B, accum >= 0);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL, f = binary_op(op, type);
    GrB_Descriptor desc = random_descriptor(M, t0, t1);
    GrB_Info info = add ? GrB_Matrix_eWiseAdd_BinaryOp(C->m, mask_of(M), acc, f, A->m, B->m, desc)
                        : GrB_Matrix_eWiseMult_BinaryOp(C->m, mask_of(M), acc, f, A->m, B->m, desc);
    bound_of_pairs(C, op, type, A, B, accum);
    report(add ? "ewise_add" : "ewise_mult", info, C);
}

static void ewise_vector(void)
{
    int m = pool_size(), accum_type, type = random_type(), op = ewise_op(type);
    bool add = rng_chance(50);
    object *u = pool_vector(m, TYPE_ANY, WANT_ANY), *v = pool_vector(m, TYPE_ANY, WANT_ANY);
    object *w = pool_vector(m, TYPE_ANY, WANT_ANY), *M = maybe_mask(m, 1, true);
    int accum = random_accum(w, &accum_type);
    care(w, M, u, v, accum >= 0);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL, f = binary_op(op, type);
    GrB_Descriptor desc = random_descriptor(M, false, false);
    GrB_Vector mask = M ? M->v : NULL;
    GrB_Info info = add ? GrB_Vector_eWiseAdd_BinaryOp(w->v, mask, acc, f, u->v, v->v, desc)
                        : GrB_Vector_eWiseMult_BinaryOp(w->v, mask, acc, f, u->v, v->v, desc);
    bound_of_pairs(w, op, type, u, v, accum);
    report(add ? "vec_add" : "vec_mult", info, w);
}

static void apply_matrix(void)
{
    int m = pool_size(), n = pool_size(), accum_type, type = random_type(), which = rng_below(6);
    bool t0 = rng_chance(25), bind = rng_chance(40);
    object *A = pool_matrix(t0 ? n : m, t0 ? m : n, TYPE_ANY, WANT_ANY);
    object *C = rng_chance(25) && !t0 ? A : pool_matrix(m, n, TYPE_ANY, WANT_ANY), *M = maybe_mask(m, n, false);
    int accum = random_accum(C, &accum_type), op = rng_below(OP_ANY);
    any_value y = {.i = 0};
    value_put(type, &y, 0, rng_below(6));
    care(C, M, A, NULL, accum >= 0);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL;
    GrB_Descriptor desc = random_descriptor(M, t0, false);
    GrB_Info info = bind ? mat_bind2(type, C->m, mask_of(M), acc, binary_op(op, type), A->m, &y, desc)
                         : GrB_Matrix_apply(C->m, mask_of(M), acc, plain_unary(which, type), A->m, desc);
    bound a = bound_cast(A->b, A->type, type), small = {3, 1, false};
    object_bound(C, bind ? op_bound(op, a, small) : op_bound(OP_PLUS, a, small), T_FP64, accum);
    report(bind ? "bind2" : "apply", info, C);
}

static void apply_vector(void)
{
    int m = pool_size(), accum_type, type = random_type(), op = rng_below(OP_ANY);
    object *u = pool_vector(m, TYPE_ANY, WANT_ANY), *w = pool_vector(m, TYPE_ANY, WANT_ANY);
    object *M = maybe_mask(m, 1, true);
    int accum = random_accum(w, &accum_type);
    any_value y = {.i = 0};
    value_put(type, &y, 0, rng_below(6));
    care(w, M, u, NULL, accum >= 0);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL;
    GrB_Info info = vec_bind2(type, w->v, M ? M->v : NULL, acc, binary_op(op, type), u->v, &y,
                              random_descriptor(M, false, false));
    object_bound(w, op_bound(op, bound_cast(u->b, u->type, type), (bound){3, 1, false}), T_FP64, accum);
    report("vec_bind2", info, w);
}

static void select_matrix(void)
{
    object *A = pool_any_matrix();
    object *C = rng_chance(40) ? A : pool_matrix(A->nrows, A->ncols, A->type, WANT_ANY);
    bool by_value;
    int which = rng_below(10), type = A->type == T_USER ? T_INT64 : A->type;
    GrB_IndexUnaryOp op = select_op(which, A->type, &by_value);
    any_value y = {.i = 0};
    if (!by_value) type = T_INT64;
    value_put(type, &y, 0, rng_below(5) - (by_value ? 0 : 2));
    care(C, NULL, A, NULL, false);
    GrB_Descriptor desc = descriptor(rng_chance(50), false, false, false, false);
    GrB_Info info = mat_select(type, C->m, NULL, NULL, op, A->m, &y, desc);
    C->dense = false;
    object_bound(C, A->b, A->type, -1);
    report("select", info, C);
}

static void select_vector(void)
{
    object *u = pool_any_vector();
    object *w = rng_chance(40) ? u : pool_vector(u->nrows, u->type, WANT_ANY);
    bool by_value;
    GrB_IndexUnaryOp op = select_op(7 + rng_below(3), u->type, &by_value);
    any_value y = {.i = 0};
    value_put(u->type, &y, 0, rng_below(5));
    operand(u);
    GrB_Info info = vec_select(u->type, w->v, NULL, NULL, op, u->v, &y, NULL);
    w->dense = false;
    object_bound(w, u->b, u->type, -1);
    report("vec_select", info, w);
}

/* A monoid whose result does not depend on the order for A's values. */
static GrB_Monoid safe_monoid(object *A, int *type, int *mon)
{
    static const int mons[] = {MON_PLUS, MON_MIN, MON_MAX, MON_PLUS};
    *type = A->type == T_USER ? T_USER : rng_chance(60) ? A->type : random_type();
    *mon = *type == T_BOOL ? MON_LOR : mons[rng_below(4)];
    if (A->b.special && *type != T_USER) tame(A);
    tame_for(A, *type, 18);
    return monoid(*mon, *type);
}

static void reduce_rows(void)
{
    int m = pool_size(), n = pool_size(), type, mon, accum_type;
    bool t0 = rng_chance(40);
    object *A = pool_matrix(t0 ? n : m, t0 ? m : n, TYPE_ANY, WANT_ANY);
    object *w = pool_vector(m, TYPE_ANY, WANT_ANY), *M = maybe_mask(m, 1, true);
    GrB_Monoid mono = safe_monoid(A, &type, &mon);
    int accum = random_accum(w, &accum_type);
    care(w, M, A, NULL, accum >= 0);
    without_hyper(A, false);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL;
    GrB_Info info = GrB_Matrix_reduce_Monoid(w->v, M ? M->v : NULL, acc, mono, A->m, random_descriptor(M, t0, false));
    bound t = bound_cast(A->b, A->type, type);
    t.mag += 10;
    object_bound(w, t, T_FP64, accum);
    report("reduce_rows", info, w);
}

static void reduce_value(void)
{
    bool vector = rng_chance(30);
    object *A = vector ? pool_any_vector() : pool_any_matrix();
    int type, mon;
    any_value x = {.i = 0};
    GrB_Index n = 0;
    GrB_Monoid mono = safe_monoid(A, &type, &mon);
    operand(A);
    if (vector) GrB_Vector_nvals(&n, A->v);
    else GrB_Matrix_nvals(&n, A->m);
    if (n == 0) return report_text("skip", GrB_SUCCESS); /* 7.4.0: an empty iso bitmap is not the identity */
    GrB_Info info = vector ? vec_reduce_value(type, &x, NULL, mono, A->v)
                           : mat_reduce_value(type, &x, NULL, mono, A->m);
    report_value("reduce", info, type, &x);
}

static void transpose(void)
{
    int m = pool_size(), n = pool_size(), accum_type;
    bool t0 = rng_chance(25);
    object *A = pool_matrix(t0 ? m : n, t0 ? n : m, TYPE_ANY, WANT_ANY);
    object *C = pool_matrix(m, n, TYPE_ANY, WANT_ANY), *M = maybe_mask(m, n, false);
    int accum = random_accum(C, &accum_type);
    care(C, M, A, NULL, accum >= 0);
    GrB_BinaryOp acc = accum >= 0 ? binary_op(accum, accum_type) : NULL;
    GrB_Info info = GrB_transpose(C->m, mask_of(M), acc, A->m, random_descriptor(M, t0, false));
    object_bound(C, A->b, A->type, accum);
    report("transpose", info, C);
}

static void kronecker(void)
{
    object *A = pool_matrix(1 + rng_below(4), 1 + rng_below(4), TYPE_ANY, WANT_ANY);
    object *B = pool_matrix(1 + rng_below(8), 1 + rng_below(8), TYPE_ANY, WANT_ANY);
    int type = random_type(), op = rng_below(6);
    object *C = pool_matrix(A->nrows * B->nrows, A->ncols * B->ncols, TYPE_ANY, WANT_ANY);
    care(C, NULL, A, B, false);
    GrB_Info info = GrB_Matrix_kronecker_BinaryOp(C->m, NULL, NULL, binary_op(op, type), A->m, B->m, NULL);
    object_bound(C, op_bound(op, bound_cast(A->b, A->type, type), bound_cast(B->b, B->type, type)), T_FP64, -1);
    report("kronecker", info, C);
}

/* C = [A B], then split again at another place. */
static void concat_split(void)
{
    int m = pool_size(), n1 = pool_size(), n2 = pool_size(), type = random_type();
    object *A = pool_matrix(m, n1, type, WANT_ANY), *B = pool_matrix(m, n2, type, WANT_ANY);
    GrB_Matrix tiles[2] = {A->m, B->m}, parts[2] = {NULL, NULL}, C = NULL;
    GrB_Index rows[1] = {(GrB_Index)m}, columns[2] = {(GrB_Index)n2, (GrB_Index)n1};
    care(A, NULL, A, B, false);
    GrB_Matrix_new(&C, type_handle(type), (GrB_Index)m, (GrB_Index)(n1 + n2));
    GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    report_text("concat", GxB_Matrix_concat(C, tiles, 1, 2, NULL));
    GrB_Info info = GxB_Matrix_split(parts, 1, 2, rows, columns, C, NULL);
    GrB_Matrix_free(&C);
    if (info == GrB_SUCCESS && B->ncols == n2) object_replace(B, parts[0]);
    else GrB_Matrix_free(&parts[0]);
    GrB_Matrix_free(&parts[1]);
    object_bound(B, A->b, type, -1);
    B->dense = B->hyper = false;
    report("split", info, B);
}

static void diagonal(void)
{
    object *u = pool_any_vector(), *C;
    GrB_Matrix D = NULL;
    operand(u);
    C = pool_matrix(u->nrows, u->nrows, u->type, WANT_ANY);
    GrB_Info info = GrB_Matrix_diag(&D, u->v, 0);
    if (info == GrB_SUCCESS) {
        object_replace(C, D);
        C->b = u->b;
        C->dense = C->hyper = false;
    }
    report("diag", info, C);
    info = GxB_Vector_diag(u->v, C->m, 0, NULL);
    report("vector_diag", info, u);
}

static void reshape(void)
{
    object *A = pool_any_matrix();
    GrB_Matrix C = NULL;
    operand(A);
    without_hyper(A, false);
    GrB_Info info = GxB_Matrix_reshapeDup(&C, A->m, rng_chance(50), (GrB_Index)A->ncols, (GrB_Index)A->nrows, NULL);
    if (info == GrB_SUCCESS) {
        object_replace(A, C);
        int rows = A->nrows;
        A->nrows = A->ncols;
        A->ncols = rows;
    }
    report("reshape", info, A);
}

void op_elementwise(void)
{
    static void (*const ops[])(void) = {
        ewise_matrix, ewise_matrix, ewise_vector, apply_matrix, apply_matrix, apply_vector, select_matrix,
        select_vector, reduce_rows, reduce_value, reduce_value, transpose, kronecker, concat_split, diagonal, reshape};
    ops[rng_below(16)]();
}
