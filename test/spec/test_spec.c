/* Products through Tessera against the dense mimic: every type x semiring x orientation x mask x accumulator x
 * descriptor, on random small matrices.  TESSERA_TEST_SEED changes the matrices.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <dlfcn.h>
#include <math.h>

#include <cmocka.h>

#include "../dropin/routed.h"
#include "objects.h"
#include "../seed.h"

enum { CALL_MXM, CALL_MXV, CALL_VXM };
enum { SHAPE_SPMM, SHAPE_DENSE_FIRST, SHAPE_SDDMM, SHAPE_DOT, SHAPE_DENSE, SHAPES };
enum { CASES_PER_SEMIRING = 24, CASES_OF_ERRORS = 200 };

typedef GrB_Info (*mxm_function)(GrB_Matrix, const GrB_Matrix, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix,
                                 const GrB_Matrix, const GrB_Descriptor);

static const char *const monoid_names[] = {"plus", "min", "max", "any", "lor"};
static const char *const op_names[] = {"times", "first", "second", "pair", "plus", "land", "minus", "min", "max"};
static uint64_t first_seed;

/* ---- one random case ---- */

typedef struct problem {
    uint64_t seed;
    int call, shape, values;
    dense A, B, M, C;
    product_case p;
} problem;

static void describe(const problem *t)
{
    const product_case *p = &t->p;
    print_error("seed %llu call %d shape %d values %d: %s_%s type %d, A %d (%dx%d), B %d (%dx%d), C %d (%dx%d), "
                "mask %d%s%s%s, accum %d of type %d%s%s\n", (unsigned long long)t->seed, t->call, t->shape, t->values,
                monoid_names[p->mon], op_names[p->op], p->type, t->A.type, t->A.nrows, t->A.ncols, t->B.type,
                t->B.nrows, t->B.ncols, t->C.type, t->C.nrows, t->C.ncols, p->M ? t->M.type : -1,
                p->comp ? " comp" : "", p->structural ? " structural" : "", p->replace ? " replace" : "", p->accum,
                p->accum_type, p->t0 ? " t0" : "", p->t1 ? " t1" : "");
}

static int any_type(int likely)
{
    return rng_chance(65) ? likely : rng_below(NTYPES);
}

/* A type that holds every value of `likely` unchanged in sums: the mimic does not round between operations. */
static int result_type(const problem *t)
{
    return t->values == VALUES_RANDOM || t->values == VALUES_SPECIAL ? t->p.type : any_type(t->p.type);
}

static void choose_flags(problem *t)
{
    static const int accums[] = {OP_PLUS, OP_PLUS, OP_MIN, OP_MAX, OP_FIRST, OP_SECOND, OP_MINUS, OP_PAIR};
    product_case *p = &t->p;
    bool masked = t->shape == SHAPE_SDDMM || t->shape == SHAPE_DOT || rng_chance(35);
    p->t0 = rng_chance(30);
    p->t1 = rng_chance(30);
    p->replace = rng_chance(30);
    p->structural = rng_chance(50);
    p->comp = masked && rng_chance(t->shape == SHAPE_SDDMM || t->shape == SHAPE_DOT ? 5 : 25);
    p->accum = rng_chance(35) ? accums[rng_below(8)] : -1;
    p->accum_type = result_type(t);
    p->M = masked ? &t->M : NULL;
}

static void choose_operands(problem *t)
{
    static const bool dense_a[SHAPES] = {false, true, true, false, true}, dense_b[SHAPES] = {true, false, true, false, true};
    product_case *p = &t->p;
    int m = 1 + rng_below(DENSE_MAX), k = 1 + rng_below(DENSE_MAX);
    int n = t->call == CALL_MXM ? 1 + rng_below(DENSE_MAX) : 1;
    int a = dense_a[t->shape] ? 100 : 5 + rng_below(50);
    int b = !dense_b[t->shape] ? 5 + rng_below(50) : t->shape == SHAPE_DENSE || rng_chance(70) ? 100 : 75;
    bool exact = t->values == VALUES_DYADIC || t->values == VALUES_ISO;
    dense_random(&t->A, exact ? any_type(p->type) : p->type, p->t0 ? k : m, p->t0 ? m : k, a, t->values);
    dense_random(&t->B, exact ? any_type(p->type) : p->type, p->t1 ? n : k, p->t1 ? k : n, b, t->values);
    dense_random(&t->M, rng_below(NTYPES), m, n, 10 + rng_below(60), VALUES_DYADIC);
    dense_random(&t->C, result_type(t), m, n, rng_chance(50) ? 0 : 40, t->values);
    p->A = &t->A;
    p->B = &t->B;
}

static void make_problem(problem *t, uint64_t seed, int mon, int op, int type, int values)
{
    rng_seed(seed);
    *t = (problem){.seed = seed, .values = values, .p = {.mon = mon, .op = op, .type = type}};
    t->call = rng_below(10) < 6 ? CALL_MXM : 1 + rng_below(2);
    t->shape = t->call == CALL_MXM ? rng_below(SHAPES) : SHAPE_SPMM;
    choose_flags(t);
    if (t->call != CALL_MXM) t->p.t1 = false;
    choose_operands(t);
}

/* ---- running it ---- */

static void mask_format(GrB_Matrix M) /* never full: 7.4.0 may crash there */
{
    GxB_Matrix_Option_set(M, GxB_SPARSITY_CONTROL, rng_chance(80) ? GxB_SPARSE : GxB_SPARSE | GxB_BITMAP);
}

static GrB_BinaryOp accum_of(const product_case *p)
{
    return p->accum >= 0 ? binary_op(p->accum, p->accum_type) : NULL;
}

static GrB_Info run_mxm(const problem *t, mxm_function mxm, dense *result)
{
    const product_case *p = &t->p;
    bool plain = rng_chance(5);
    GrB_Matrix A = matrix_of(&t->A, plain), B = matrix_of(&t->B, plain), C = matrix_of(&t->C, plain);
    GrB_Matrix M = p->M ? matrix_of(&t->M, plain) : NULL;
    if (M) mask_format(M);
    GrB_Info info = mxm(C, M, accum_of(p), semiring(p->mon, p->op, p->type, rng_chance(50)), A, B,
                        descriptor(p->replace, p->comp, p->structural, p->t0, p->t1));
    dense_of_matrix(result, C, t->C.type);
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&B);
    GrB_Matrix_free(&C);
    GrB_Matrix_free(&M);
    return info;
}

/* vxm with the transpose and the operator turned round is the same product. */
static int reversed_op(int op)
{
    return op == OP_FIRST ? OP_SECOND : op == OP_SECOND ? OP_FIRST : op;
}

static GrB_Info run_vector(const problem *t, dense *result)
{
    const product_case *p = &t->p;
    GrB_Matrix A = matrix_of(&t->A, rng_chance(5));
    GrB_Vector u = vector_of(&t->B), w = vector_of(&t->C), mask = p->M ? vector_of(&t->M) : NULL;
    bool reversed = t->call == CALL_VXM;
    GrB_Semiring s = semiring(p->mon, reversed ? reversed_op(p->op) : p->op, p->type, rng_chance(50));
    GrB_Descriptor desc = descriptor(p->replace, p->comp, p->structural, !reversed && p->t0, reversed && !p->t0);
    if (mask) GxB_Vector_Option_set(mask, GxB_SPARSITY_CONTROL, GxB_SPARSE | GxB_BITMAP);
    GrB_Info info = reversed ? GrB_vxm(w, mask, accum_of(p), s, u, A, desc)
                             : GrB_mxv(w, mask, accum_of(p), s, A, u, desc);
    dense_of_vector(result, w, t->C.type);
    GrB_Matrix_free(&A);
    GrB_Vector_free(&u);
    GrB_Vector_free(&w);
    GrB_Vector_free(&mask);
    return info;
}

static void run(const problem *t, dense *result)
{
    GrB_Info info = t->call == CALL_MXM ? run_mxm(t, GrB_mxm, result) : run_vector(t, result);
    if (info != GrB_SUCCESS) describe(t);
    assert_int_equal(info, GrB_SUCCESS);
}

/* ---- exact comparison ---- */

static void check_exact(const problem *t)
{
    dense expected = t->C, result;
    dense_multiply(&expected, &t->p);
    run(t, &result);
    for (int i = 0; i < expected.nrows; i++)
        for (int j = 0; j < expected.ncols; j++) {
            cell e = expected.at[i][j], r = result.at[i][j];
            if (cell_equal(expected.type, e, r)) continue;
            describe(t);
            fail_msg("C(%d,%d): expected %s %lld %.17Lg, got %s %lld %.17Lg", i, j, e.there ? "entry" : "none",
                     (long long)e.i, e.f, r.there ? "entry" : "none", (long long)r.i, r.f);
        }
}

static void check_semiring(int mon, int op, int type)
{
    static problem t;
    for (int k = 0; k < CASES_PER_SEMIRING; k++) {
        uint64_t seed = first_seed * 1000003 + (uint64_t)((mon * 16 + op) * 16 + type) * 1000 + (uint64_t)k;
        make_problem(&t, seed, mon, op, type, mon == MON_ANY || k % 5 == 0 ? VALUES_ISO : VALUES_DYADIC);
        check_exact(&t);
    }
}

static void check_type(int type)
{
    for (int mon = MON_PLUS; mon <= MON_LOR; mon++) {
        if (!monoid(mon, type)) continue;
        for (int op = OP_TIMES; op <= OP_LAND; op++) check_semiring(mon, op, type);
    }
}

/* ---- floating point: not less accurate than SuiteSparse; NaN and infinities where it has them ---- */

static mxm_function real_mxm(void)
{
    void *library = dlopen(REAL_GRAPHBLAS, RTLD_LAZY | RTLD_NOLOAD);
    mxm_function mxm = library ? (mxm_function)dlsym(library, "GrB_mxm") : NULL;
    assert_true(mxm && mxm != GrB_mxm);
    return mxm;
}

static void exact_of(const problem *t, dense *exact)
{
    product_case p = t->p;
    p.unrounded = true;
    *exact = t->C;
    dense_multiply(exact, &p);
}

static long double unit(int type, long double f)
{
    return type == T_FP32 ? nextafterf((float)fabsl(f), INFINITY) - (float)fabsl(f)
                          : nextafter((double)fabsl(f), INFINITY) - (double)fabsl(f);
}

/* Largest errors of entries. */
typedef struct errors {
    long double ours, theirs;
} errors;

static errors errors_of(const problem *t)
{
    dense exact, ours, theirs;
    errors worst = {0, 0};
    exact_of(t, &exact);
    run_mxm(t, real_mxm(), &theirs);
    run(t, &ours);
    for (int i = 0; i < exact.nrows; i++)
        for (int j = 0; j < exact.ncols; j++) {
            cell e = exact.at[i][j], o = ours.at[i][j], s = theirs.at[i][j];
            if (o.there != e.there) describe(t);
            assert_true(o.there == e.there && s.there == e.there);
            if (!e.there) continue;
            worst.ours = fmaxl(worst.ours, fabsl(o.f - e.f));
            worst.theirs = fmaxl(worst.theirs, fabsl(s.f - e.f));
        }
    return worst;
}

/* The worst of many products with values below 4, whose sums pass 16: a few small ones may be rounded luckily. */
static void check_accuracy(int type, int op)
{
    static problem t, worst;
    errors most = {0, 0};
    for (int k = 0; k < CASES_OF_ERRORS; k++) {
        make_problem(&t, first_seed * 77 + (uint64_t)(type * 8 + op) * 1000 + (uint64_t)k, MON_PLUS, op, type, VALUES_RANDOM);
        if (t.call != CALL_MXM) continue;
        const errors e = errors_of(&t);
        worst = e.ours > most.ours ? t : worst;
        most = (errors){fmaxl(most.ours, e.ours), fmaxl(most.theirs, e.theirs)};
    }
    const long double allowed = 2 * most.theirs + unit(type, 16);
    if (most.ours > allowed) describe(&worst);
    assert_true(most.ours <= allowed);
}

static void test_accuracy(void **state)
{
    (void)state;
    for (int type = T_FP32; type <= T_FP64; type++)
        for (int op = OP_TIMES; op <= OP_PLUS; op++) check_accuracy(type, op);
}

static bool same_class(long double x, long double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabsl(x - y) <= 1e-5L * (fabsl(x) + fabsl(y)) + 1e26L;
}

static long double rounded(int type, long double x)
{
    return type == T_FP32 ? (long double)(float)x : (long double)(double)x;
}

/* Sums that overflow on their way depend on the order, and on whether a product is rounded before it is added (FMA): only where
 * SuiteSparse's result is that of the exact sum must it be ours. */
static void check_special(const problem *t)
{
    dense exact, ours, theirs;
    exact_of(t, &exact);
    run_mxm(t, real_mxm(), &theirs);
    run(t, &ours);
    for (int i = 0; i < ours.nrows; i++)
        for (int j = 0; j < ours.ncols; j++) {
            cell o = ours.at[i][j], s = theirs.at[i][j], e = exact.at[i][j];
            if (o.there == s.there && (!o.there || same_class(o.f, s.f) || !same_class(s.f, rounded(exact.type, e.f)))) continue;
            describe(t);
            fail_msg("C(%d,%d): SuiteSparse has %d %Lg, Tessera %d %Lg", i, j, s.there, s.f, o.there, o.f);
        }
}

static void test_special_values(void **state)
{
    static problem t;
    (void)state;
    for (int type = T_FP32; type <= T_FP64; type++)
        for (int op = OP_TIMES; op <= OP_LAND; op++)
            for (int k = 0; k < CASES_OF_ERRORS; k++) {
                make_problem(&t, first_seed * 79 + (uint64_t)(type * 8 + op) * 1000 + (uint64_t)k, MON_PLUS, op, type,
                             VALUES_SPECIAL);
                if (t.call == CALL_MXM) check_special(&t);
            }
}

/* NaN loses, and is the result where there is nothing else; infinities at either end change nothing (docs/numerics.md). */
static void test_extremes_of_nan(void **state)
{
    static problem t;
    (void)state;
    for (int type = T_FP32; type <= T_FP64; type++)
        for (int mon = MON_MIN; mon <= MON_MAX; mon++)
            for (int k = 0; k < CASES_OF_ERRORS; k++) {
                make_problem(&t, first_seed * 81 + (uint64_t)(type * 4 + mon) * 1000 + (uint64_t)k, mon, k % 2 ? OP_PLUS : OP_SECOND, type,
                             VALUES_SPECIAL);
                if (t.p.accum < 0) check_exact(&t);
            }
}

/* ---- integers that overflow: sums wrap ---- */

static void test_wrapping(void **state)
{
    static problem t;
    (void)state;
    for (int type = T_INT8; type <= T_UINT64; type++)
        for (int mon = MON_PLUS; mon <= MON_MAX; mon++)
            for (int k = 0; k < CASES_PER_SEMIRING; k++) {
                make_problem(&t, first_seed * 83 + (uint64_t)(type * 4 + mon) * 1000 + (uint64_t)k, mon, k % 5, type,
                             VALUES_RANDOM);
                check_exact(&t);
            }
}

/* ---- operators that are others on bool ---- */

static GrB_Matrix random_bools(int chance)
{
    GrB_Matrix X;
    GrB_Matrix_new(&X, GrB_BOOL, DENSE_MAX, DENSE_MAX);
    for (GrB_Index i = 0; i < DENSE_MAX; i++)
        for (GrB_Index j = 0; j < DENSE_MAX; j++)
            if (rng_chance(chance)) GrB_Matrix_setElement_BOOL(X, rng_chance(20), i, j);
    return X;
}

/* x / y is x. */
static void test_division_on_bool(void **state)
{
    const GrB_BinaryOp ops[] = {GrB_DIV_BOOL, GxB_RDIV_BOOL};
    (void)state;
    rng_seed(first_seed);
    for (int k = 0; k < 2; k++) {
        GrB_Matrix A = random_bools(20), B = random_bools(100), ours = random_bools(0), theirs = random_bools(0);
        GrB_Semiring lor;
        const int before = routed_products();
        GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE);
        assert_int_equal(GrB_Semiring_new(&lor, GrB_LOR_MONOID_BOOL, ops[k]), GrB_SUCCESS);
        assert_int_equal(GrB_mxm(ours, NULL, NULL, lor, A, B, NULL), GrB_SUCCESS);
        assert_int_equal(real_mxm()(theirs, NULL, NULL, lor, A, B, NULL), GrB_SUCCESS);
        for (GrB_Index i = 0; i < DENSE_MAX; i++)
            for (GrB_Index j = 0; j < DENSE_MAX; j++) {
                bool our = false, their = false;
                const GrB_Info there = GrB_Matrix_extractElement_BOOL(&our, ours, i, j);
                assert_int_equal(GrB_Matrix_extractElement_BOOL(&their, theirs, i, j), there);
                assert_int_equal(our, their);
            }
        assert_int_equal(routed_products(), before + 1);
        GrB_Semiring_free(&lor);
        for (int m = 0; m < 4; m++) GrB_Matrix_free((GrB_Matrix *[]){&A, &B, &ours, &theirs}[m]);
    }
}

/* ---- one vector, and a hypersparse mask without any: SuiteSparse wants room for two offsets all the same ---- */

static GrB_Matrix empty_hypersparse(void)
{
    GrB_Matrix M;
    GrB_Index *p = calloc(2, sizeof *p), *h = calloc(1, sizeof *h), *i = calloc(1, sizeof *i);
    void *x = calloc(1, sizeof(int64_t));
    GrB_Matrix_new(&M, GrB_INT64, 1, 2);
    assert_int_equal(GxB_Matrix_pack_HyperCSR(M, &p, &h, &i, &x, 2 * sizeof *p, sizeof *h, sizeof *i, sizeof(int64_t), false, 0, false,
                                              NULL), GrB_SUCCESS);
    return M;
}

static void test_empty_hypersparse_mask(void **state)
{
    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        GrB_Matrix A, B, C, M = empty_hypersparse(), *const others[] = {&A, &B, &C};
        GrB_Index nvals;
        const int before = routed_products();
        for (int k = 0; k < 3; k++) {
            GrB_Matrix_new(others[k], GrB_INT16, k == 1 ? 2 : 1, 2);
            GxB_Matrix_Option_set(*others[k], GxB_SPARSITY_CONTROL, GxB_SPARSE);
            GrB_Matrix_setElement_INT16(*others[k], 3, 0, 0);
        }
        GrB_Matrix_setElement_INT16(B, 4, 1, 0); /* objects of one value, and diagonal ones, are left to SuiteSparse */
        GrB_Matrix_setElement_INT16(C, 4, 0, 1);
        assert_int_equal(GrB_mxm(C, M, NULL, GrB_MIN_SECOND_SEMIRING_INT16, A, B, replace ? GrB_DESC_RT1 : GrB_DESC_T1), GrB_SUCCESS);
        assert_int_equal(GrB_Matrix_nvals(&nvals, C), GrB_SUCCESS);
        assert_int_equal(nvals, replace ? 0 : 2);
        assert_int_equal(routed_products(), before + 1);
        for (int k = 0; k < 3; k++) GrB_Matrix_free(others[k]);
        GrB_Matrix_free(&M);
    }
}

#define TYPE_TEST(N, T, C)                                                                                             \
    static void test_##T(void **state)                                                                                 \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        check_type(N);                                                                                                 \
    }
EACH_TYPE(TYPE_TEST)

/* ---- cmocka ---- */

static int start(void **state)
{
    (void)state;
    first_seed = test_seed();
    print_message("seed %llu\n", (unsigned long long)first_seed);
    GrB_Info info = GrB_init(GrB_NONBLOCKING);
    GxB_Global_Option_set(GxB_HYPER_SWITCH, GxB_NEVER_HYPER);
    operators_init();
    return info;
}

static int stop(void **state)
{
    (void)state;
    operators_free();
    GrB_Info info = GrB_finalize();
    int routed = routed_products();
    remove_trace();
    print_message("%d products were routed\n", routed);
    return info != GrB_SUCCESS || routed < 4000;
}

int main(void)
{
#define TYPE_ENTRY(N, T, C) cmocka_unit_test(test_##T),
    const struct CMUnitTest tests[] = {EACH_TYPE(TYPE_ENTRY) cmocka_unit_test(test_accuracy),
                                       cmocka_unit_test(test_special_values), cmocka_unit_test(test_extremes_of_nan),
                                       cmocka_unit_test(test_wrapping),
                                       cmocka_unit_test(test_division_on_bool), cmocka_unit_test(test_empty_hypersparse_mask)};
    force_tessera();
    return cmocka_run_group_tests_name("spec", tests, start, stop);
}
