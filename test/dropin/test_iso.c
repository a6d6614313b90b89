/* Which results are iso: those that are with SuiteSparse alone, where C has one value and a mask, an accumulator or an operand leaves it or not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "same.h"

enum { N = 8, CASES = 4000 };

typedef GrB_Info bind_first(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_BinaryOp, double, const GrB_Vector, const GrB_Descriptor);
typedef GrB_Info both(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_BinaryOp, const GrB_Vector, const GrB_Vector, const GrB_Descriptor);
typedef GrB_Info rows(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Monoid, const GrB_Matrix, const GrB_Descriptor);
typedef GrB_Info times(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Semiring, const GrB_Matrix, const GrB_Vector, const GrB_Descriptor);
typedef GrB_Info assign_function(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Vector, const GrB_Index *, GrB_Index, const GrB_Descriptor);
typedef GrB_Info fill(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, double, const GrB_Index *, GrB_Index, const GrB_Descriptor);

/* The calls of one library. */
typedef struct calls {
    bind_first *apply;
    both *add, *mult;
    rows *reduce;
    times *mxv;
    assign_function *assign;
    fill *fill;
} calls;

static calls plain, ours = {GrB_Vector_apply_BinaryOp1st_FP64, GrB_Vector_eWiseAdd_BinaryOp, GrB_Vector_eWiseMult_BinaryOp,
                            GrB_Matrix_reduce_Monoid, GrB_mxv, GrB_Vector_assign, GrB_Vector_assign_FP64};

static int start(void **state)
{
    static const char *const names[] = {"GrB_Vector_apply_BinaryOp1st_FP64", "GrB_Vector_eWiseAdd_BinaryOp", "GrB_Vector_eWiseMult_BinaryOp",
                                        "GrB_Matrix_reduce_Monoid", "GrB_mxv", "GrB_Vector_assign", "GrB_Vector_assign_FP64"};
    void *found[7];
    const int failed = start_session(state);
    for (int k = 0; k < 7; k++) found[k] = of_suitesparse(names[k]);
    memcpy(&plain, found, sizeof plain);
    return failed;
}

/* ---- objects ---- */

typedef enum held { ALL, BITMAP_OF_ALL, LIST_OF_ALL, SOME, LIST_OF_SOME, ONE, NONE, FORMS } held;

/* Of one value, or of several; it is then held as `form` says. */
static GrB_Vector vector(GrB_Type type, held form, bool iso, double value)
{
    static const int control[FORMS] = {GxB_AUTO_SPARSITY, GxB_BITMAP, GxB_SPARSE, GxB_AUTO_SPARSITY, GxB_SPARSE, GxB_SPARSE, GxB_SPARSE};
    const GrB_Index step = form < SOME ? 1 : form == ONE ? N : 3;
    GrB_Vector v;
    ok(GrB_Vector_new(&v, type, N));
    ok(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, control[form]));
    for (GrB_Index i = 0; form != NONE && i < N; i += step) ok(GrB_Vector_setElement_FP64(v, iso ? value : (double)(i % 5), i));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

/* The same for both libraries: Tessera's may wait on a device. */
static GrB_Vector copy(GrB_Vector v)
{
    GrB_Vector c;
    ok(GrB_Vector_dup(&c, v));
    return c;
}

static GrB_Matrix square(void)
{
    GrB_Matrix A;
    ok(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index j = 0; j < N; j++) ok(GrB_Matrix_setElement_FP64(A, (double)(1 + (i + j) % 3), i, j));
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* ---- a call by both ---- */

typedef enum kind { APPLY, ADD, MULT, REDUCE, PULL, ASSIGN, FILL, PATTERN, KINDS } kind;

typedef struct one_call {
    kind kind;
    GrB_BinaryOp op, accum;
    GrB_Descriptor desc;
    bool own_mask, own_operand; /* C is the mask, an operand */
} one_call;

static GrB_Info run(const one_call *r, const calls *of, GrB_Vector c, GrB_Vector other, GrB_Vector a, GrB_Vector b, GrB_Matrix A)
{
    const GrB_Vector m = r->own_mask ? c : other, u = r->own_operand ? c : a;
    switch (r->kind) {
    case APPLY: return of->apply(c, m, r->accum, r->op, 0, u, r->desc);
    case ADD: return of->add(c, m, r->accum, r->op, u, b, r->desc);
    case MULT: return of->mult(c, m, r->accum, r->op, u, b, r->desc);
    case REDUCE: return of->reduce(c, m, r->accum, GrB_MIN_MONOID_FP64, A, r->desc);
    case PULL: return of->mxv(c, m, r->accum, GrB_MIN_PLUS_SEMIRING_FP64, A, u, r->desc);
    case ASSIGN: return of->assign(c, m, r->accum, u, GrB_ALL, N, r->desc);
    case FILL: return of->fill(c, m, r->accum, 1, GrB_ALL, N, r->desc);
    default: return of->mxv(c, m, r->accum, GxB_ANY_PAIR_FP64, A, u, r->desc);
    }
}

/* One entry is one value either way, and how all entries are held on a device is its own affair. */
static bool same(GrB_Vector want, GrB_Vector got)
{
    GrB_Index n, m;
    bool iso[2], same = true;
    ok(GrB_Vector_nvals(&n, want));
    ok(GrB_Vector_nvals(&m, got));
    ok(GxB_Vector_iso(&iso[0], want));
    ok(GxB_Vector_iso(&iso[1], got));
    for (GrB_Index i = 0; i < N; i++) {
        double x = 0, y = 0;
        const GrB_Info is = GrB_Vector_extractElement_FP64(&x, want, i), are = GrB_Vector_extractElement_FP64(&y, got, i);
        same &= is == are && x == y;
    }
    if (n > 1 && iso[0] != iso[1]) fprintf(stderr, "iso %d, expected %d; ", iso[1], iso[0]);
    return same && n == m && (n < 2 || iso[0] == iso[1]);
}

static bool same_by_both(const one_call *r, GrB_Vector c, GrB_Vector m, GrB_Vector a, GrB_Vector b)
{
    GrB_Vector want = copy(c), got = copy(c);
    GrB_Matrix A = square();
    ok(run(r, &plain, want, m, a, b, A));
    ok(run(r, &ours, got, m, a, b, A));
    const bool is_same = same(want, got);
    ok(GrB_Matrix_free(&A));
    ok(GrB_Vector_free(&want));
    ok(GrB_Vector_free(&got));
    return is_same;
}

static void free_all(GrB_Vector c, GrB_Vector m, GrB_Vector a, GrB_Vector b)
{
    ok(GrB_Vector_free(&c));
    ok(GrB_Vector_free(&m));
    ok(GrB_Vector_free(&a));
    ok(GrB_Vector_free(&b));
}

static bool same_of(const one_call *r, GrB_Vector c, GrB_Vector m, GrB_Vector a, GrB_Vector b)
{
    const bool is_same = same_by_both(r, c, m, a, b);
    free_all(c, m, a, b);
    return is_same;
}

/* ---- tests ---- */

/* A product takes a mask that names every place for none, in each form; its complement leaves C as it is. */
static void test_masks_of_every_place(void **state)
{
    (void)state;
    for (held form = ALL; form <= LIST_OF_ALL; form++) {
        const one_call sums = {.kind = REDUCE, .desc = GrB_DESC_C, .own_mask = true}, pattern = {.kind = PATTERN};
        assert_true(same_of(&sums, vector(GrB_INT64, form, true, 3), NULL, NULL, NULL));
        assert_true(same_of(&pattern, vector(GrB_FP64, form, false, 0), vector(GrB_FP64, form, true, 2), vector(GrB_FP64, ALL, false, 0), NULL));
    }
}

/* Values that stand alone in a sum are compared in the operator's type, not in C's. */
static void test_sums_are_compared_in_the_operator_s_type(void **state)
{
    (void)state;
    const one_call land = {.kind = ADD, .op = GrB_LAND};
    assert_true(same_of(&land, vector(GrB_INT8, SOME, true, -1), NULL, vector(GrB_INT8, SOME, true, -1), vector(GrB_BOOL, ALL, true, 1)));
    assert_true(same_of(&land, vector(GrB_INT8, SOME, true, -1), NULL, vector(GrB_INT8, SOME, true, -1), vector(GrB_INT8, ALL, true, 5)));
}

/* C in lists of every place that is its own operand, the second one too: the sum is iso as that of full vectors, and the mask leaves C. */
static void test_c_as_the_second_operand(void **state)
{
    (void)state;
    const one_call least = {.kind = APPLY, .op = GrB_MIN_FP64, .accum = GrB_LOR, .desc = GrB_DESC_S, .own_operand = true};
    for (held form = ALL; form <= LIST_OF_ALL; form++)
        for (held mask = SOME; mask <= NONE; mask++)
            assert_true(same_of(&least, vector(GrB_BOOL, form, true, 1), vector(GrB_FP64, mask, false, 0), NULL, NULL));
}

/* T of one entry counts as one value: C, which has it, stays iso. */
static void test_results_of_one_entry(void **state)
{
    (void)state;
    const one_call first = {.kind = ADD, .op = GrB_FIRST_FP64, .accum = GrB_LOR, .desc = GrB_DESC_C}, least = {.kind = ADD, .op = GrB_MIN_FP64};
    const one_call land = {.kind = MULT, .op = GrB_LAND, .desc = GrB_DESC_C}, sum = {.kind = ADD, .op = GrB_LAND, .accum = GrB_PLUS_FP64};
    assert_true(same_of(&first, vector(GrB_BOOL, BITMAP_OF_ALL, true, 1), vector(GrB_BOOL, BITMAP_OF_ALL, true, 0), vector(GrB_BOOL, NONE, true, 0),
                        vector(GrB_INT8, ONE, true, 1)));
    assert_true(same_of(&least, vector(GrB_BOOL, BITMAP_OF_ALL, true, 1), vector(GrB_BOOL, SOME, true, 1), vector(GrB_FP64, ONE, true, 1),
                        vector(GrB_FP64, NONE, true, 0)));
    assert_true(same_of(&land, vector(GrB_INT8, ALL, true, 0), vector(GrB_FP64, BITMAP_OF_ALL, true, 0), vector(GrB_INT8, ALL, false, 0),
                        vector(GrB_INT8, ONE, true, 1)));
    assert_true(same_of(&sum, vector(GrB_FP64, ALL, true, 0), NULL, vector(GrB_BOOL, ONE, true, 1), vector(GrB_BOOL, ONE, true, 0)));
    /* A list by all under a bitmap, which leaves it one entry. */
    assert_true(same_of(&land, vector(GrB_INT8, ALL, true, 0), vector(GrB_INT8, SOME, false, 0), vector(GrB_FP64, LIST_OF_SOME, false, 0),
                        vector(GrB_FP64, ALL, true, 0)));
}

/* What replaces a dense C is iso where SuiteSparse masks it as it computes it: not a list by all under a longer list, also one that names every
 * place, nor a sum of lists under the complement of one. */
static void test_replaced_results(void **state)
{
    (void)state;
    const GrB_Descriptor descs[] = {GrB_DESC_R, GrB_DESC_RS, GrB_DESC_RC, GrB_DESC_RSC};
    for (kind what = ADD; what <= MULT; what++)
        for (held mask = ALL; mask < FORMS; mask++)
            for (held b = ALL; b < FORMS; b++)
                for (held a = ALL; a < FORMS; a++)
                    for (int k = 0; k < 4; k++) {
                        const one_call r = {.kind = what, .op = GrB_MIN_FP64, .desc = descs[k]};
                        assert_true(same_of(&r, vector(GrB_INT8, BITMAP_OF_ALL, true, 0), vector(GrB_FP64, mask, true, 2),
                                            vector(GrB_INT8, a, true, 1), vector(GrB_BOOL, b, true, 1)));
                    }
}

/* A product of one place that the mask does not let pass: nothing of it is left in C, whose form is full. */
static void test_one_place_under_an_empty_mask(void **state)
{
    (void)state;
    GrB_Vector a = vector(GrB_FP64, ALL, false, 1), c, m;
    GrB_Matrix A;
    double sum;
    bool iso;
    ok(GrB_Vector_new(&c, GrB_FP64, 1));
    ok(GrB_Vector_new(&m, GrB_BOOL, 1));
    ok(GrB_Matrix_new(&A, GrB_FP64, 1, N));
    ok(GxB_Vector_Option_set(c, GxB_SPARSITY_CONTROL, GxB_FULL));
    ok(GxB_Vector_Option_set(m, GxB_SPARSITY_CONTROL, GxB_BITMAP));
    for (GrB_Index k = 0; k < N; k++)
        ok(GrB_Matrix_setElement_FP64(A, (double)k + 1, 0, k));
    ok(GrB_mxv(c, m, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, a, GrB_DESC_S));
    ok(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, c, NULL));
    ok(GxB_Vector_iso(&iso, c));
    assert_true(sum == 0 && !iso);
    ok(GrB_Matrix_free(&A));
    free_all(c, m, a, NULL);
}

/* C in lists, all zeros, is its own mask: nothing passes, and C stays iso. */
static void test_own_mask_of_zeros(void **state)
{
    (void)state;
    const one_call sum = {.kind = MULT, .op = GrB_PLUS_FP64, .own_mask = true};
    assert_true(same_of(&sum, vector(GrB_FP64, LIST_OF_SOME, true, 0), NULL, vector(GrB_FP64, ONE, true, 0),
                        vector(GrB_FP64, BITMAP_OF_ALL, false, 0)));
    assert_true(same_of(&sum, vector(GrB_FP64, LIST_OF_SOME, true, 0), NULL, vector(GrB_FP64, LIST_OF_ALL, true, 2),
                        vector(GrB_FP64, ALL, false, 0)));
}

/* The entries of a in a new vector that is held so, and put into c by their own mask: by a call whose result may be on a device alone. */
static void merge(const calls *of, GrB_Vector c, GrB_Vector a, int32_t control)
{
    GrB_Vector q;
    ok(GrB_Vector_new(&q, GrB_FP64, N));
    ok(GxB_Vector_Option_set(q, GxB_SPARSITY_CONTROL, control));
    ok(of->apply(q, NULL, NULL, GrB_PLUS_FP64, 0, a, NULL));
    ok(of->assign(c, q, NULL, q, GrB_ALL, N, GrB_DESC_S));
    ok(GrB_Vector_free(&q));
}

/* What is assigned is one entry, of C's value or of another one: no contents are downloaded to find that out. */
static void test_one_entry_is_assigned(void **state)
{
    static const int controls[] = {GxB_SPARSE, GxB_BITMAP, GxB_AUTO_SPARSITY};
    (void)state;
    for (int k = 0; k < 12; k++) {
        GrB_Vector c = vector(GrB_FP64, k & 2 ? BITMAP_OF_ALL : ALL, true, 2), a = vector(GrB_FP64, ONE, true, k & 1 ? 2 : 1);
        GrB_Vector want = copy(c), got = copy(c);
        const int fetched = traced(":fetch");
        merge(&plain, want, a, controls[k / 4]);
        merge(&ours, got, a, controls[k / 4]);
        assert_int_equal(traced(":fetch"), fetched);
        assert_true(same(want, got));
        free_all(c, a, want, got);
    }
}

/* However few entries T has, no sum of 1 and 1 is 1: C of one value does not stay so, which a device need not ask. */
static void test_sums_that_fit_nowhere(void **state)
{
    const one_call sum = {.kind = MULT, .op = GrB_TIMES_FP64, .accum = GrB_PLUS_FP64};
    (void)state;
    for (held form = SOME; form <= ONE; form++) {
        const int steps = traced(":step") - traced("cpu:step");
        assert_true(same_of(&sum, vector(GrB_FP64, ALL, true, 1), NULL, vector(GrB_FP64, form, false, 0), vector(GrB_FP64, ALL, false, 0)));
        assert_true(!getenv("TEST_MODE") || traced(":step") - traced("cpu:step") > steps);
    }
}

/* 7.4.0 crashes in C<M> += T with a full T and C in lists. */
static bool crashes(const one_call *r, held c, bool masked)
{
    return r->accum && masked && (c == LIST_OF_ALL || c >= LIST_OF_SOME);
}

/* An operand, the mask or C: how it is held is printed where results differ. */
typedef struct drawn {
    int type, form, iso, value;
} drawn;

static drawn draw_vector(void)
{
    return (drawn){.type = (int)draw(3), .form = (int)draw(FORMS), .iso = draw(4) > 0, .value = (int)draw(4)};
}

static GrB_Vector vector_of(const drawn *d)
{
    static const double values[] = {0, 1, 2, -1};
    const GrB_Type types[] = {GrB_FP64, GrB_INT8, GrB_BOOL};
    return vector(types[d->type], (held)d->form, d->iso, values[d->value]);
}

static bool same_case(void)
{
    const GrB_Descriptor descs[] = {NULL, GrB_DESC_S, GrB_DESC_C, GrB_DESC_SC, GrB_DESC_R, GrB_DESC_RS, GrB_DESC_RC, GrB_DESC_RSC};
    const GrB_BinaryOp ops[] = {GrB_MIN_FP64, GrB_PLUS_FP64, GrB_FIRST_FP64, GrB_SECOND_FP64, GrB_LAND, GrB_ONEB_FP64};
    const GrB_BinaryOp accums[] = {NULL, NULL, GrB_MIN_FP64, GrB_PLUS_FP64, GrB_LOR};
    const bool masked = draw(4) > 0;
    const int op = (int)draw(6), accum = (int)draw(5), flags = masked ? (int)draw(8) : 0;
    const one_call r = {.kind = (kind)draw(KINDS), .op = ops[op], .accum = accums[accum], .desc = descs[flags],
                        .own_mask = masked && draw(4) == 0, .own_operand = draw(4) == 0};
    const bool other = masked && !r.own_mask;
    drawn d[4];
    for (int k = 0; k < 4; k++) d[k] = draw_vector();
    if (crashes(&r, (held)d[0].form, masked)) return true;
    if (same_of(&r, vector_of(&d[0]), other ? vector_of(&d[1]) : NULL, vector_of(&d[2]), vector_of(&d[3]))) return true;
    fprintf(stderr, "kind %d op %d accum %d flags %d mask %s operand %s; type form iso value of c, m, a, b:", r.kind, op, accum, flags,
            other ? "m" : masked ? "c" : "none", r.own_operand ? "c" : "a");
    for (int k = 0; k < 4; k++) fprintf(stderr, " %d %d %d %d%s", d[k].type, d[k].form, d[k].iso, d[k].value, k < 3 ? "," : "\n");
    return false;
}

static void test_whatever_is_drawn(void **state)
{
    (void)state;
    int different = 0;
    if (GxB_IMPLEMENTATION_MAJOR != 7) skip(); /* whose rules these are */
    for (uint64_t k = 0; k < CASES; k++) {
        state_of_draws = k * 0x9E3779B97F4A7C15u;
        different += !same_case();
    }
    assert_int_equal(different, 0);
}

typedef GrB_Info listed_function(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, const GrB_Vector, const GrB_Index *, GrB_Index, const GrB_Descriptor);
typedef GrB_Info assign_value_function(GrB_Vector, const GrB_Vector, const GrB_BinaryOp, double, const GrB_Index *, GrB_Index, const GrB_Descriptor);

static listed_function *listed_of_suitesparse(const char *name)
{
    return (listed_function *)(uintptr_t)of_suitesparse(name);
}

/* As many places as C has, in any order: SuiteSparse takes them for all of C.  A false mask of one value, complemented, is none. */
static void test_lists_of_all_places(void **state)
{
    static const GrB_Index places[2][N] = {{3, 1, 0, 7, 4, 6, 2, 5}, {0, 1, 2, 3, 4, 5, 6, 7}};
    listed_function *const functions[2][2] = {{listed_of_suitesparse("GrB_Vector_assign"), listed_of_suitesparse("GxB_Vector_subassign")},
                                              {GrB_Vector_assign, GxB_Vector_subassign}};
    (void)state;
    for (int k = 0; k < 32; k++) {
        GrB_Vector u = vector(GrB_FP64, ALL, k & 1, 2), m = k & 8 ? vector(GrB_BOOL, LIST_OF_SOME, true, 0) : NULL;
        bool iso[2];
        for (int side = 0; side < 2; side++) {
            GrB_Vector w = vector(GrB_FP64, k & 16 ? BITMAP_OF_ALL : ALL, k & 2, 3);
            ok(functions[side][k >> 2 & 1](w, m, NULL, u, places[k >> 3 & 1], N, m ? GrB_DESC_RC : NULL));
            ok(GxB_Vector_iso(&iso[side], w));
            ok(GrB_Vector_free(&w));
        }
        assert_int_equal(iso[0], iso[1]);
        free_all(u, m, NULL, NULL);
    }
}

/* One entry is extracted from several values: it counts as one value, and C stays iso. */
static void test_one_entry_is_extracted(void **state)
{
    static const GrB_Index pairs[] = {5, 6};
    const GrB_Index range[] = {5, 7};
    (void)state;
    for (int k = 0; k < 8; k++) {
        GrB_Vector u = vector(GrB_FP64, LIST_OF_SOME, false, 0), want = vector(GrB_BOOL, ONE, true, 1), got;
        ok(GrB_Vector_resize(want, k & 1 ? 2 : 3));
        if (k & 2) ok(GxB_Vector_Option_set(want, GxB_SPARSITY_CONTROL, GxB_AUTO_SPARSITY));
        got = copy(want);
        const GrB_Index *list = k & 1 ? pairs : range, n = k & 1 ? 2 : GxB_RANGE;
        const GrB_BinaryOp accum = k & 4 ? GrB_LOR : GrB_LAND;
        ok(listed_of_suitesparse("GrB_Vector_extract")(want, NULL, accum, u, list, n, NULL));
        ok(GrB_Vector_extract(got, NULL, accum, u, list, n, NULL));
        assert_true(same(want, got));
        free_all(u, want, got, NULL);
    }
}

/* C is in lists whatever it has, by its settings, and is cleared: also where a device has not counted its entries. */
static void test_lists_are_replaced(void **state)
{
    assign_value_function *const plain_assign = (assign_value_function *)(uintptr_t)of_suitesparse("GrB_Vector_assign_FP64");
    (void)state;
    for (held form = SOME; form <= ONE; form++) {
        GrB_Vector want = vector(GrB_FP64, form, true, 2), got;
        ok(GxB_Vector_Option_set(want, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        got = copy(want);
        ok(plain.apply(want, NULL, NULL, GrB_PLUS_FP64, 1, want, NULL));
        ok(ours.apply(got, NULL, NULL, GrB_PLUS_FP64, 1, got, NULL));
        ok(plain_assign(want, want, NULL, 1, GrB_ALL, N, GrB_DESC_RC));
        ok(GrB_Vector_assign_FP64(got, got, NULL, 1, GrB_ALL, N, GrB_DESC_RC));
        assert_true(same(want, got));
        free_all(want, got, NULL, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_of_every_place),
        cmocka_unit_test(test_sums_are_compared_in_the_operator_s_type),
        cmocka_unit_test(test_c_as_the_second_operand),
        cmocka_unit_test(test_results_of_one_entry),
        cmocka_unit_test(test_one_entry_is_assigned),
        cmocka_unit_test(test_sums_that_fit_nowhere),
        cmocka_unit_test(test_replaced_results),
        cmocka_unit_test(test_own_mask_of_zeros),
        cmocka_unit_test(test_one_place_under_an_empty_mask),
        cmocka_unit_test(test_lists_of_all_places),
        cmocka_unit_test(test_one_entry_is_extracted),
        cmocka_unit_test(test_lists_are_replaced),
        cmocka_unit_test(test_whatever_is_drawn),
    };
    return cmocka_run_group_tests(tests, start, stop_session);
}
