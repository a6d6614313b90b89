/* Products that are places: who reaches a vertex from a frontier, by every such semiring that stays on a device, against a double loop.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "test/seed.h"
#include "routed.h"

enum { N = 700, DEGREE = 5, ROUNDS = 3 };

typedef enum choice { ANY, LEAST, GREATEST } choice;

/* A semiring whose products are the place of the frontier's entry, plus offset. */
typedef struct kind {
    GrB_Monoid monoid;
    GrB_BinaryOp op;
    GrB_Type type;
    choice choice;
    int64_t offset;
} kind;

static bool edge[N][N], in_frontier[N], closed[N];

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static GrB_Matrix random_graph(void)
{
    GrB_Matrix A;
    memset(edge, 0, sizeof edge);
    ok(GrB_Matrix_new(&A, GrB_BOOL, N, N));
    for (int e = 0; e < DEGREE * N; e++) {
        const int i = rand() % N, j = rand() % (e % 3 ? N : N / 10); /* some are met by many */
        edge[i][j] = true;
        ok(GrB_Matrix_setElement_BOOL(A, true, (GrB_Index)i, (GrB_Index)j));
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* One of `gap` places has an entry; its value means nothing. */
static GrB_Vector random_vector(bool *present, GrB_Type type, int gap, int sparsity)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, type, N));
    ok(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, sparsity));
    for (int k = 0; k < N; k++) {
        present[k] = rand() % gap == 0;
        if (present[k])
            ok(GrB_Vector_setElement_INT64(v, rand() % 100, (GrB_Index)k));
    }
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

/* Who reaches j?  -1: nobody. */
static int64_t reached_from(int j, bool last)
{
    int64_t found = -1;
    for (int k = 0; k < N && (last || found < 0); k++)
        found = in_frontier[k] && edge[k][j] ? k : found;
    return found;
}

static void check(const GrB_Vector w, const kind *how)
{
    for (int j = 0; j < N; j++) {
        int64_t got = -1;
        const int64_t expected = closed[j] ? -1 : reached_from(j, how->choice == GREATEST);
        const GrB_Info info = GrB_Vector_extractElement_INT64(&got, w, (GrB_Index)j);
        assert_int_equal(info, expected < 0 ? GrB_NO_VALUE : GrB_SUCCESS);
        if (expected < 0)
            continue;
        got -= how->offset;
        if (how->choice == ANY)
            assert_true(got >= 0 && got < N && in_frontier[got] && edge[got][j]);
        else
            assert_int_equal(got, expected);
    }
}

/* w<!visited,replace> = the frontier times A, pushed, or pulled by A'. */
static void search(const kind *how, const GrB_Matrix A, const GrB_Matrix AT, int gap, int sparsity, bool pull)
{
    GrB_Semiring semiring;
    GrB_Vector w, u = random_vector(in_frontier, how->type, gap, sparsity), visited = random_vector(closed, GrB_BOOL, 2, GxB_BITMAP);
    ok(GrB_Semiring_new(&semiring, how->monoid, how->op));
    ok(GrB_Vector_new(&w, how->type, N));
    if (pull)
        ok(GrB_mxv(w, visited, NULL, semiring, AT, u, GrB_DESC_RSC));
    else
        ok(GrB_vxm(w, visited, NULL, semiring, u, A, GrB_DESC_RSC));
    check(w, how);
    ok(GrB_Vector_free(&w));
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&visited));
    ok(GrB_Semiring_free(&semiring));
}

static void test_every_semiring(void **state)
{
    (void)state;
    const kind kinds[] = {
        {GxB_ANY_INT32_MONOID, GxB_SECONDI_INT32, GrB_INT32, ANY, 0},      {GxB_ANY_INT64_MONOID, GxB_SECONDI1_INT64, GrB_INT64, ANY, 1},
        {GrB_MIN_MONOID_INT32, GxB_SECONDI_INT32, GrB_INT32, LEAST, 0},    {GrB_MIN_MONOID_INT64, GxB_FIRSTJ1_INT64, GrB_INT64, LEAST, 1},
        {GrB_MAX_MONOID_INT32, GxB_FIRSTJ1_INT32, GrB_INT32, GREATEST, 1}, {GrB_MAX_MONOID_INT64, GxB_FIRSTJ_INT64, GrB_INT64, GREATEST, 0}};
    const int before = routed_products();
    int searches = 0;
    for (int round = 0; round < ROUNDS; round++) {
        GrB_Matrix AT, A = random_graph();
        ok(GrB_Matrix_new(&AT, GrB_BOOL, N, N));
        ok(GrB_transpose(AT, NULL, NULL, A, NULL));
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++, searches += 3) {
            search(&kinds[k], A, AT, 50, GxB_SPARSE, false);
            search(&kinds[k], A, AT, 3, GxB_BITMAP, true);
            search(&kinds[k], A, AT, 1, GxB_AUTO_SPARSITY, true);
        }
        ok(GrB_Matrix_free(&A));
        ok(GrB_Matrix_free(&AT));
    }
    if (getenv("TEST_MODE"))
        assert_true(routed_products() >= before + searches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_semiring)};
    srand((unsigned)test_seed());
    force_tessera();
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
