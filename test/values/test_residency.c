/* What is computed where its operands are: forms, sparse operands, loops that move there and back, results of one value.
 * SPDX-License-Identifier: Apache-2.0 */
#include "residency.h"

#include <dlfcn.h>

/* A sparse operand and a sparse mask go there; what is there is not downloaded for them. */
static void sparse_operands_come(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), few, v = filled(1), empty;
    GrB_Index n = 0;
    OK(GrB_Vector_new(&few, GrB_FP64, N));
    OK(GrB_Vector_new(&empty, GrB_FP64, N));
    for (GrB_Index i = 5; i < 8; i++) OK(GrB_Vector_setElement_FP64(few, 10, i));
    OK(GrB_Vector_eWiseAdd_BinaryOp(v, NULL, NULL, GrB_PLUS_FP64, few, few, NULL));
    REQUIRE(steps() == 1);
    twice(v, u);
    OK(GrB_Vector_assign(v, NULL, GrB_PLUS_FP64, few, GrB_ALL, N, NULL));
    OK(GrB_Vector_eWiseAdd_BinaryOp(v, NULL, NULL, GrB_PLUS_FP64, v, empty, NULL));
    OK(GrB_Vector_eWiseMult_BinaryOp(u, few, NULL, GrB_TIMES_FP64, v, few, GrB_DESC_RS));
    OK(GrB_Vector_assign_FP64(v, few, NULL, -1, GrB_ALL, N, GrB_DESC_SC));
    OK(GrB_Vector_nvals(&n, u));
    REQUIRE(steps() == 6 && downloads() == 0 && n == 3);
    REQUIRE(at(u, 6) == 220 && at(v, 6) == 22 && at(v, 4) == -1 && downloads() == 2);
    int status = 0;
    OK(GxB_Vector_Option_get(u, GxB_SPARSITY_STATUS, &status)); /* as SuiteSparse would hold three entries */
    REQUIRE(status == GxB_SPARSE);
    OK(GrB_Vector_eWiseMult_BinaryOp(v, NULL, NULL, GrB_TIMES_FP64, v, u, NULL)); /* but the bitmap is there still */
    REQUIRE(steps() == 7 && downloads() == 2 && at(v, 6) == 4840);
    OK(GrB_finalize());
}

/* A sparse vector goes there for a product, and what is held sparse stays there. */
static void sparse_vector_multiplies(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A;
    GrB_Vector few, w;
    GrB_Index n = 0;
    int status = 0;
    OK(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Matrix_setElement_FP64(A, 2, i, (i + 1) % N));
    OK(GrB_Vector_new(&few, GrB_FP64, N));
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GxB_Vector_Option_set(few, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index i = 5; i < 8; i++) OK(GrB_Vector_setElement_FP64(few, 10, i));
    OK(GrB_vxm(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, few, A, NULL));
    OK(GrB_vxm(w, few, NULL, GrB_MIN_PLUS_SEMIRING_FP64, w, A, GrB_DESC_RSC));
    OK(GrB_mxv(w, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, A, few, NULL));
    OK(GrB_Vector_nvals(&n, w));
    REQUIRE(n == 5 && downloads() == 0 && records("\"suitesparse\"") == 0);
    OK(GxB_Vector_Option_get(w, GxB_SPARSITY_STATUS, &status));
    REQUIRE(downloads() == 1 && status == GxB_SPARSE);
    REQUIRE(at(w, 4) == 20 && at(w, 6) == 20 && at(w, 8) == 14 && at(w, 9) == 14);
    OK(GrB_finalize());
}

/* Paths of one step more from each of a few sources, one per row (turned: per column): what the mask lacks. */
static void follow(GrB_Matrix F, GrB_Matrix paths, GrB_Matrix A, bool turned)
{
    if (turned) OK(GrB_mxm(F, paths, NULL, GxB_PLUS_SECOND_FP64, A, F, GrB_DESC_RSCT0));
    else OK(GrB_mxm(F, paths, NULL, GxB_PLUS_FIRST_FP64, F, A, GrB_DESC_RSC));
}

/* Sparse matrices of few rows or columns go there like vectors, hypersparse ones too, and stay. */
static void narrow_matrices_multiply(void)
{
    enum { SOURCES = 3 };
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A, F, paths;
    OK(GrB_Matrix_new(&A, GrB_BOOL, N, N));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Matrix_setElement_BOOL(A, true, i, (i + 1) % N));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Matrix_setElement_BOOL(A, true, i, (i + 2) % N));
    for (int form = 0; form < 8; form++) {
        const bool turned = form & 1;
        const GrB_Index m = turned ? N : SOURCES, n = turned ? SOURCES : N;
        const int before = downloads(), others = records("\"suitesparse\"");
        GrB_Index entries = 0;
        double x = 0;
        OK(GrB_Matrix_new(&F, GrB_FP64, m, n));
        OK(GxB_Matrix_Option_set(F, GxB_FORMAT, form & 2 ? GxB_BY_COL : GxB_BY_ROW));
        OK(GxB_Matrix_Option_set(F, GxB_SPARSITY_CONTROL, form & 4 ? GxB_HYPERSPARSE : GxB_SPARSE));
        for (GrB_Index s = 0; s < SOURCES; s += 2) OK(GrB_Matrix_setElement_FP64(F, 1, turned ? 10 * s : s, turned ? s : 10 * s));
        OK(GrB_Matrix_dup(&paths, F));
        OK(GxB_Matrix_Option_set(paths, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
        OK(GxB_Matrix_Option_set(F, GxB_SPARSITY_CONTROL, GxB_SPARSE));
        for (int k = 0; k < 3; k++) {
            follow(F, paths, A, turned);
            OK(GrB_Matrix_assign(paths, NULL, GrB_PLUS_FP64, F, GrB_ALL, m, GrB_ALL, n, NULL));
        }
        OK(GrB_Matrix_nvals(&entries, F));
        REQUIRE(entries == 4 && downloads() == before && records("\"suitesparse\"") == others);
        REQUIRE(form_of(F, GxB_SPARSITY_STATUS) == GxB_SPARSE);
        OK(GrB_Matrix_extractElement_FP64(&x, F, turned ? 25 : 2, turned ? 2 : 25)); /* by 23, to which two paths lead, and 24 */
        REQUIRE(x == 3);
        OK(GrB_Matrix_extractElement_FP64(&x, paths, turned ? 24 : 2, turned ? 2 : 24));
        REQUIRE(x == 1 && downloads() == before + 2);
        OK(GrB_Matrix_free(&F));
        OK(GrB_Matrix_free(&paths));
    }
    OK(GrB_finalize());
}

enum { BIG = 3000, DEGREE = 200, FEW = 5, MANY = 2500 };

/* Edges from each vertex to itself and the degree - 1 behind it, longer by one each. */
static GrB_Matrix ring(int degree)
{
    const size_t count = (size_t)BIG * (size_t)degree;
    GrB_Index *i = malloc(count * sizeof *i), *j = malloc(count * sizeof *j);
    int32_t *x = malloc(count * sizeof *x);
    GrB_Matrix A;
    REQUIRE(i && j && x);
    for (size_t k = 0; k < count; k++) {
        i[k] = k / (size_t)degree;
        j[k] = (k / (size_t)degree + k % (size_t)degree) % BIG;
        x[k] = (int32_t)(k % (size_t)degree);
    }
    OK(GrB_Matrix_new(&A, GrB_INT32, BIG, BIG));
    OK(GrB_Matrix_build_INT32(A, i, j, x, count, NULL));
    free(i);
    free(j);
    free(x);
    return A;
}

static void start_auto(void)
{
    setenv("TESSERA_MODE", "auto", 1);
    setenv("TESSERA_EAGER", "1", 1);
    OK(GrB_init(GrB_NONBLOCKING));
}

/* Of sparse vectors, which nothing else calls there, only those with many entries; our kernels push the others here. */
static void large_frontiers_go(void)
{
    start_auto();
    GrB_Matrix A = ring(DEGREE);
    GrB_Vector u, w;
    GrB_Index n = 0;
    int32_t path = 0;
    OK(GrB_Vector_new(&u, GrB_INT32, BIG));
    OK(GrB_Vector_new(&w, GrB_INT32, BIG));
    OK(GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index k = 0; k < FEW; k++) OK(GrB_Vector_setElement_INT32(u, 7, k));
    OK(GrB_vxm(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, u, A, NULL));
    OK(GrB_Vector_nvals(&n, w));
    REQUIRE(n == DEGREE + FEW - 1 && records("\"cpu:push\"") == 1 && routed_products() == 1);
    for (GrB_Index k = 0; k < MANY; k++) OK(GrB_Vector_setElement_INT32(u, 7, k));
    OK(GrB_vxm(w, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, u, A, NULL));
    OK(GrB_Vector_nvals(&n, w));
    REQUIRE(n == MANY + DEGREE - 1 && records("\"cpu:push\"") == 1 && routed_products() > 1);
    OK(GrB_Vector_extractElement_INT32(&path, w, MANY + 1));
    REQUIRE(path == 9);
    OK(GrB_finalize());
}

/* Results of one value and a pattern: SuiteSparse's time is not predicted, so that only a GPU without which enough time was lost gets them, at
 * once in this mode.  The vertices reached by the ring's edges go there and back, pushed and pulled. */
static void searches_go(void)
{
    enum { WIDE = 400 };
    start_auto();
    GrB_Matrix A = ring(WIDE);
    GrB_Vector level, frontier;
    GrB_Index n = 0;
    int32_t last = 0;
    OK(GrB_Vector_new(&level, GrB_INT32, BIG));
    OK(GrB_Vector_new(&frontier, GrB_BOOL, BIG));
    OK(GrB_Vector_setElement_BOOL(frontier, true, 7));
    for (int depth = 0; depth < 4; depth++) {
        OK(GrB_Vector_assign_INT32(level, frontier, NULL, depth, GrB_ALL, BIG, GrB_DESC_S));
        OK(GxB_Vector_Option_set(frontier, GxB_SPARSITY_CONTROL, depth % 2 ? GxB_BITMAP : GxB_SPARSE));
        if (depth % 2)
            OK(GrB_mxv(frontier, level, NULL, GxB_ANY_PAIR_BOOL, A, frontier, GrB_DESC_RSCT0));
        else
            OK(GrB_vxm(frontier, level, NULL, GxB_ANY_PAIR_BOOL, frontier, A, GrB_DESC_RSC));
        OK(GrB_Vector_nvals(&n, frontier));
        REQUIRE(n == WIDE - 1);
    }
    REQUIRE(records("SuiteSparse measured") == 4 && records("\"iso result") == 0);
    OK(GrB_Vector_nvals(&n, level));
    OK(GrB_Vector_extractElement_INT32(&last, level, 7 + 3 * (WIDE - 1)));
    REQUIRE(n == 3 * (WIDE - 1) + 1 && last == 3);
    GrB_Matrix small = ring(DEGREE); /* not worth a look at the clock */
    OK(GrB_mxv(frontier, NULL, NULL, GxB_ANY_PAIR_BOOL, small, frontier, NULL));
    REQUIRE(records("SuiteSparse measured") == 4 && records("\"iso result") == 1);
    OK(GrB_finalize());
}

/* F has FEW entries in as many rows, and is held sparse; C is empty. */
static void few_entries(GrB_Matrix *F, GrB_Matrix *C, GrB_Index rows)
{
    OK(GrB_Matrix_new(F, GrB_INT32, rows, BIG));
    OK(GrB_Matrix_new(C, GrB_INT32, rows, BIG));
    OK(GxB_Matrix_Option_set(*F, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index k = 0; k < FEW; k++) OK(GrB_Matrix_setElement_INT32(*F, 7, k, k));
}

/* ... and so of narrow matrices; few entries meet many where these are hubs. */
static void large_matrices_go(void)
{
    enum { ROWS = 40 };
    start_auto();
    GrB_Matrix A = ring(DEGREE), F, C;
    GrB_Index n = 0;
    int32_t path = 0;
    few_entries(&F, &C, ROWS);
    OK(GrB_mxm(C, F, NULL, GrB_MIN_PLUS_SEMIRING_INT32, F, A, GrB_DESC_RSC));
    OK(GrB_Matrix_nvals(&n, C));
    REQUIRE(n == FEW * (DEGREE - 1) && records("\"cpu:push\"") == 1 && routed_products() == 1);
    for (GrB_Index k = 0; k < ROWS * MANY; k++) OK(GrB_Matrix_setElement_INT32(F, 7, k / MANY, k % MANY));
    OK(GrB_mxm(C, F, NULL, GrB_MIN_PLUS_SEMIRING_INT32, F, A, GrB_DESC_RSC));
    OK(GrB_Matrix_nvals(&n, C));
    REQUIRE(n == ROWS * (DEGREE - 1) && records("\"cpu:push\"") == 1 && routed_products() > 1);
    OK(GrB_Matrix_extractElement_INT32(&path, C, ROWS - 1, MANY + 1));
    REQUIRE(path == 9);
    OK(GrB_finalize());
}

/* FEW entries in as many rows of F, pushed: is it right? */
static void push_few(GrB_Matrix A, GrB_Index rows)
{
    GrB_Matrix F, C;
    GrB_Index n = 0;
    int32_t path = 0;
    few_entries(&F, &C, rows);
    OK(GrB_mxm(C, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, F, A, NULL));
    OK(GrB_Matrix_nvals(&n, C));
    OK(GrB_Matrix_extractElement_INT32(&path, C, FEW - 1, FEW + 1));
    REQUIRE(n == FEW * DEGREE && path == 9);
    OK(GrB_Matrix_free(&F));
    OK(GrB_Matrix_free(&C));
}

/* What the library remembers (src/policy/history/frontier_history.h). */
typedef union history {
    void *address;
    uint64_t (*kind)(double, double, double);
    void (*pushed)(uint64_t, double, double);
    bool (*on_device)(uint64_t);
} history;

static history history_function(const char *name)
{
    void *core = dlopen("libtessera-core.so.0", RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(core);
    const history function = {dlsym(core, name)};
    REQUIRE(function.address);
    return function;
}

/* Few entries are pushed on the host, until that has lost time that a device would have spared. */
static void searches_begin_where_no_time_is_lost(void)
{
    enum { ROWS = 40 };
    start_auto();
    GrB_Matrix A = ring(DEGREE), B;
    const history pushed = history_function("tsr_frontier_pushed"), on_device = history_function("tsr_frontier_on_device");
    const uint64_t kind = history_function("tsr_frontier_kind").kind((double)BIG * DEGREE, 2.0 * BIG, ROWS);
    OK(GrB_Matrix_new(&B, GrB_INT32, BIG, ROWS));
    OK(GrB_Matrix_assign_INT32(B, NULL, NULL, 1, GrB_ALL, BIG, GrB_ALL, ROWS, NULL));
    OK(GrB_mxm(B, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, A, B, NULL)); /* the device runs */
    push_few(A, ROWS);
    REQUIRE(records("\"cpu:push\"") == 1 && !on_device.on_device(kind));
    for (int k = 0; k < 2; k++) pushed.pushed(kind, 1000, .1);
    REQUIRE(on_device.on_device(kind));
    const int before = routed_products();
    push_few(A, ROWS);
    REQUIRE(records("\"cpu:push\"") == 1 && routed_products() > before);
    OK(GrB_finalize());
}

/* A bitmap that got its last entries one by one stays one when an operator is applied in place.  Under a full mask SuiteSparse 7.4.0
 * would crash here. */
static void applied_in_place(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector m, a, b = filled(1), c;
    int status = 0;
    OK(GrB_Vector_new(&m, GrB_BOOL, N));
    for (GrB_Index i = 1; i < N; i++) OK(GrB_Vector_setElement_BOOL(m, true, i));
    OK(GrB_Vector_wait(m, GrB_MATERIALIZE));
    OK(GrB_Vector_setElement_BOOL(m, true, 0));
    OK(GrB_Vector_apply(m, NULL, NULL, GrB_IDENTITY_BOOL, m, NULL));
    OK(GxB_Vector_Option_get(m, GxB_SPARSITY_STATUS, &status));
    REQUIRE(status == GxB_BITMAP);
    OK(GrB_Vector_new(&a, GrB_FP64, N));
    OK(GrB_Vector_new(&c, GrB_FP64, N));
    OK(GrB_Vector_setElement_FP64(a, 3, 7));
    OK(GrB_Vector_assign_FP64(c, NULL, NULL, 1, GrB_ALL, N, NULL));
    OK(GrB_Vector_eWiseMult_BinaryOp(c, m, GrB_PLUS_FP64, GrB_TIMES_FP64, a, b, NULL));
    REQUIRE(at(c, 7) == 25 && at(c, 8) == 1);
    OK(GrB_finalize());
}

/* N x 3, rows i, 2 i, 4 i, computed there. */
static GrB_Matrix three_columns(void)
{
    GrB_Matrix A;
    OK(GrB_Matrix_new(&A, GrB_FP64, N, 3));
    for (GrB_Index i = 0; i < N; i++)
        for (GrB_Index j = 0; j < 3; j++) OK(GrB_Matrix_setElement_FP64(A, (double)(i << j) / 2, i, j));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(A, NULL, NULL, GrB_TIMES_FP64, A, 2, NULL));
    return A;
}

static void sums_of_rows_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = three_columns();
    GrB_Vector v = filled(1), w;
    GrB_Index n = 0;
    OK(GrB_Vector_new(&w, GrB_FP64, 3));
    OK(GrB_Matrix_reduce_Monoid(v, NULL, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, A, NULL));
    OK(GrB_Matrix_reduce_Monoid(w, NULL, NULL, GrB_PLUS_MONOID_FP64, A, GrB_DESC_T0));
    REQUIRE(records(":reduce") == 2 && downloads() == 0);
    REQUIRE(at(v, 0) == 1 && at(v, 5) == 6 + 35 && at(w, 2) == 4 * (N * (N - 1) / 2) && downloads() == 2);
    OK(GrB_Vector_clear(v));
    OK(GrB_Matrix_reduce_Monoid(v, w, NULL, GrB_PLUS_MONOID_FP64, A, NULL) == GrB_DIMENSION_MISMATCH ? GrB_SUCCESS : GrB_PANIC);
    const int before = downloads();
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(A, NULL, NULL, GrB_TIMES_FP64, A, 0.5, NULL));
    OK(GrB_Matrix_reduce_Monoid(v, NULL, NULL, GrB_MAX_MONOID_FP64, A, NULL));
    REQUIRE(records(":reduce") == 3 && downloads() == before && at(v, 5) == 10);
    OK(GrB_Matrix_select_FP64(A, NULL, NULL, GrB_VALUEGT_FP64, A, 0, NULL));
    OK(GrB_Matrix_reduce_Monoid(v, NULL, NULL, GrB_PLUS_MONOID_FP64, A, NULL)); /* one row is empty */
    OK(GrB_Vector_nvals(&n, v));
    REQUIRE(records(":reduce") == 4 && downloads() == before + 1 && n == N - 1 && at(v, 2) == 7);
    OK(GrB_finalize());
}

static double entry(GrB_Matrix A, GrB_Index i, GrB_Index j)
{
    double x = -1;
    return GrB_Matrix_extractElement_FP64(&x, A, i, j) == GrB_NO_VALUE ? -1 : x;
}

/* Another type, held otherwise, transposed, selected and numbered by place; what is out of reach is downloaded. */
static void other_forms_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = three_columns(), B, C, D;
    OK(GrB_Matrix_new(&B, GrB_UINT8, 3, N));
    OK(GrB_Matrix_new(&C, GrB_FP64, N, 3));
    OK(GrB_Matrix_new(&D, GrB_INT32, N, 3));
    OK(GxB_Matrix_Option_set(C, GxB_FORMAT, GxB_BY_COL));
    OK(GrB_transpose(B, NULL, NULL, A, NULL));
    OK(GrB_Matrix_eWiseAdd_BinaryOp(C, NULL, NULL, GrB_PLUS_FP64, A, B, GrB_DESC_T1));
    OK(GrB_Matrix_select_INT64(C, NULL, NULL, GrB_TRIL, C, -1, NULL));
    OK(GrB_Matrix_apply_IndexOp_INT64(D, NULL, NULL, GrB_DIAGINDEX_INT64, C, 1, NULL));
    REQUIRE(steps() == 5 && downloads() == 0);
    REQUIRE(entry(B, 2, 20) == 80 && entry(B, 2, N - 1) == 255 && entry(C, 20, 2) == 160 && entry(C, 2, 2) == -1);
    REQUIRE(entry(D, 20, 2) == -19 && entry(D, 1, 2) == -1 && downloads() == 3);
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(C, NULL, NULL, GrB_TIMES_FP64, C, 2, NULL));
    OK(GrB_Matrix_select_INT64(C, NULL, NULL, GrB_ROWGT, C, INT64_MIN, NULL)); /* so is y */
    REQUIRE(downloads() == 4 && records("not computed on the device") == 1 && entry(C, 20, 2) == 320);
    OK(GrB_finalize());
}

/* By default calls go where an operand is; results that are read on the host at once are soon computed there. */
static void habits(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1), w = filled(2);
    twice(v, u);
    REQUIRE(tsr_set_option("mode", "auto") == TSR_OK && steps() == 1);
    twice(w, w); /* only the host has it */
    REQUIRE(steps() == 1);
    for (int k = 0; k < 30; k++) {
        twice(w, v);
        REQUIRE(at(w, 3) == 12);
    }
    REQUIRE(steps() >= 3 && steps() <= 5);
    const int before = steps();
    for (int k = 0; k < 10; k++) OK(GrB_Vector_eWiseAdd_BinaryOp(w, NULL, NULL, GrB_PLUS_FP64, v, v, NULL)); /* another kind, not read */
    REQUIRE(steps() == before + 10 && at(w, 3) == 12);
    OK(GrB_finalize());
}

/* Personalised PageRank by default: what the loop adds to starts on the host in every round, until that is noticed. */
static void accumulating_loop_settles(void)
{
    enum { VERTICES = 6000, SPREAD = 100, SEEDS = 16, ROUNDS = 8, SETTLED = 5 };
    setenv("TESSERA_MODE", "auto", 1);
    setenv("TESSERA_EAGER", "1", 1);
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1));
    GrB_Matrix A, R, T, W, jump, old;
    int before = 0, homes_before = 0;
    float change = 0;
    OK(GrB_Matrix_new(&A, GrB_FP32, VERTICES, VERTICES));
    for (GrB_Index k = 0; k < VERTICES * SPREAD; k++)
        OK(GrB_Matrix_setElement_FP32(A, 1.0f / SPREAD, (k / SPREAD + k % SPREAD * 7) % VERTICES, k / SPREAD));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    GrB_Matrix *const full[] = {&R, &T, &W, &jump};
    for (int k = 0; k < 4; k++) {
        OK(GrB_Matrix_new(full[k], GrB_FP32, VERTICES, SEEDS));
        OK(GrB_Matrix_assign_FP32(*full[k], NULL, NULL, 0, GrB_ALL, VERTICES, GrB_ALL, SEEDS, NULL));
        for (GrB_Index s = 0; s < SEEDS; s++) OK(GrB_Matrix_setElement_FP32(*full[k], 0.25f, s * 31, s));
        OK(GrB_Matrix_wait(*full[k], GrB_MATERIALIZE));
    }
    for (int round = 0; round < ROUNDS; round++) {
        before = round == SETTLED ? steps() : before;
        homes_before = round == SETTLED ? downloads() : homes_before;
        old = R, R = T, T = old;
        OK(GrB_Matrix_apply_BinaryOp2nd_FP32(W, NULL, NULL, GrB_TIMES_FP32, T, 0.75f, NULL));
        OK(GrB_Matrix_assign(R, NULL, NULL, jump, GrB_ALL, VERTICES, GrB_ALL, SEEDS, NULL));
        OK(GrB_mxm(R, NULL, GrB_PLUS_FP32, GrB_PLUS_TIMES_SEMIRING_FP32, A, W, NULL));
        OK(GrB_Matrix_assign(T, NULL, GrB_MINUS_FP32, R, GrB_ALL, VERTICES, GrB_ALL, SEEDS, NULL));
        OK(GrB_Matrix_reduce_FP32(&change, NULL, GrB_PLUS_MONOID_FP32, T, NULL));
    }
    REQUIRE(steps() == before + 4 * (ROUNDS - SETTLED) && downloads() == homes_before);
    GrB_Index n = 0;
    float sum = 0;
    OK(GrB_Matrix_nvals(&n, R));
    OK(GrB_Matrix_reduce_FP32(&sum, NULL, GrB_PLUS_MONOID_FP32, R, NULL));
    REQUIRE(n == VERTICES * SEEDS && sum > 0.25f * SEEDS * 3.5f && sum < 0.25f * SEEDS * 4.0f);
    OK(GrB_finalize());
}

/* ---- what no step may do ---- */

/* Declined or invalid: the real library's codes and results. */
static void odd_calls(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1), shorter, other;
    OK(GrB_Vector_new(&shorter, GrB_FP64, N - 1));
    OK(GrB_Vector_new(&other, GrB_INT32, N));
    twice(v, u);
    REQUIRE(GrB_Vector_apply(shorter, NULL, NULL, GrB_ABS_FP64, v, NULL) == GrB_DIMENSION_MISMATCH);
    REQUIRE(GrB_Vector_apply(NULL, NULL, NULL, GrB_ABS_FP64, v, NULL) == GrB_NULL_POINTER);
    REQUIRE(GrB_Vector_apply(v, NULL, NULL, NULL, v, NULL) == GrB_NULL_POINTER);
    twice(v, u);
    OK(GrB_Vector_apply(other, NULL, GrB_MAX_FP64, GrB_ABS_FP64, v, NULL)); /* the trace says why v is downloaded */
    REQUIRE(records("accumulator of another type") == 1);
    int32_t x = 0;
    OK(GrB_Vector_extractElement_INT32(&x, other, 6));
    REQUIRE(x == 12);
    twice(v, u);
    OK(GrB_Vector_assign_FP64(v, NULL, NULL, -1, (GrB_Index[]){2, 3}, 2, NULL)); /* not everywhere */
    REQUIRE(at(v, 1) == 2 && at(v, 2) == -1 && at(v, 3) == -1 && at(v, 4) == 8);
    double sum = 1;
    float narrow = 0;
    twice(v, u);
    OK(GrB_Vector_reduce_FP64(&sum, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, v, NULL));
    OK(GrB_Vector_reduce_FP32(&narrow, NULL, GrB_MAX_MONOID_FP64, v, NULL));
    REQUIRE(sum == 1 + N * (N - 1.0) && narrow == 2 * (N - 1));
    OK(GrB_Vector_select_FP64(v, NULL, NULL, GrB_VALUELT_FP64, v, -5, NULL)); /* nothing */
    OK(GrB_Vector_reduce_FP64(&sum, NULL, GrB_MIN_MONOID_FP64, v, NULL));
    REQUIRE(sum > 1e300);
    OK(GrB_finalize());
}

static bool is_iso(GrB_Vector v)
{
    bool iso = false;
    OK(GxB_Vector_iso(&iso, v));
    return iso;
}

/* What is downloaded is iso where it would be so without us, whatever was done to it there. */
static void is_downloaded_iso(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), v = filled(1), w;
    GrB_Matrix A;
    OK(GrB_Vector_apply(v, NULL, NULL, GxB_ONE_FP64, u, NULL));
    twice(v, v);
    REQUIRE(is_iso(v) && at(v, 7) == 2 && steps() == 2);
    OK(GrB_Vector_assign_FP64(v, NULL, GrB_PLUS_FP64, 5, GrB_ALL, N, NULL));
    REQUIRE(!is_iso(v) && at(v, 7) == 7);
    OK(GrB_Vector_select_FP64(v, NULL, NULL, GrB_VALUEGE_FP64, u, 100, NULL));
    OK(GrB_Vector_assign_FP64(v, v, NULL, 1, GrB_ALL, N, GrB_DESC_S));
    REQUIRE(is_iso(v) && at(v, 100) == 1);
    OK(GrB_Matrix_new(&A, GrB_FP64, N, N));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Matrix_setElement_FP64(A, (double)i, i, i * 7 % N));
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GrB_mxv(w, NULL, NULL, GxB_ANY_PAIR_FP64, A, u, NULL));
    twice(w, w);
    REQUIRE(is_iso(w) && at(w, 9) == 2);
    OK(GrB_mxv(w, NULL, NULL, GxB_MIN_PLUS_FP64, A, u, NULL));
    REQUIRE(!is_iso(w));
    for (int k = 0; k < 2; k++) { /* a sum, no product of two entries */
        GrB_Matrix X, Y;
        const GrB_Type type = k ? GrB_INT32 : GrB_FP32;
        OK(GrB_Matrix_new(&X, type, 20, 30));
        OK(GrB_Matrix_new(&Y, type, 30, 20));
        OK(GrB_Matrix_assign_FP64(X, NULL, NULL, 2, GrB_ALL, 20, GrB_ALL, 30, NULL));
        OK(GrB_Matrix_assign_FP64(Y, NULL, NULL, 3, GrB_ALL, 30, GrB_ALL, 20, NULL));
        OK(GrB_Matrix_free(&A));
        OK(GrB_Matrix_new(&A, type, 20, 20));
        OK(GrB_mxm(A, NULL, NULL, k ? GrB_PLUS_TIMES_SEMIRING_INT32 : GrB_PLUS_TIMES_SEMIRING_FP32, X, Y, NULL));
        double x = 0;
        bool iso = false;
        OK(GxB_Matrix_iso(&iso, A));
        OK(GrB_Matrix_extractElement_FP64(&x, A, 3, 4));
        REQUIRE(iso && x == 180);
    }
    OK(GrB_finalize());
}

/* A list of these entries, i at place i; it is not told to be iso. */
static GrB_Vector listed(GrB_Index from, GrB_Index to)
{
    const GrB_Index n = to - from;
    GrB_Vector v;
    GrB_Index *i = calloc(n, sizeof *i);
    double *x = calloc(n, sizeof *x);
    REQUIRE(i && x);
    for (GrB_Index k = 0; k < n; k++) x[k] = (double)(i[k] = from + k);
    OK(GrB_Vector_new(&v, GrB_FP64, N));
    OK(GxB_Vector_Option_set(v, GxB_BITMAP_SWITCH, 0)); /* with a bitmap it would be one once it is finished */
    OK(GxB_Vector_pack_CSC(v, &i, (void **)&x, n * sizeof *i, n * sizeof *x, false, n, false, NULL));
    return v;
}

/* What SuiteSparse asks of an object is asked of it as it was before it went there. */
static void iso_as_it_was_held(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u = filled(0), w, zero = listed(0, 1), few = listed(5, 9);
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GrB_Vector_assign_FP64(w, u, NULL, 2, GrB_ALL, N, NULL)); /* all but one */
    REQUIRE(is_iso(w));
    OK(GrB_Vector_assign_FP64(w, zero, GrB_PLUS_FP64, 1, GrB_ALL, N, NULL));
    REQUIRE(!is_iso(w) && at(w, 7) == 2);
    OK(GrB_Vector_removeElement(few, 6));
    OK(GrB_Vector_apply(few, u, NULL, GxB_ONE_FP64, u, GrB_DESC_R));
    REQUIRE(is_iso(few) && at(few, 7) == 1 && steps() == 3); /* the three calls: of none it depends on values that only a device has */
    OK(GrB_Vector_assign_FP64(w, NULL, NULL, 2, GrB_ALL, N, NULL));
    OK(GrB_Vector_assign_FP64(w, u, NULL, 5, GrB_ALL, N, GrB_DESC_SC)); /* nowhere */
    REQUIRE(!is_iso(w) && at(w, 7) == 2);
    GrB_Vector lone = listed(3, 4);
    OK(GrB_Vector_assign_FP64(lone, u, NULL, 3, GrB_ALL, N, NULL)); /* its one entry had that value, but C was not held iso */
    REQUIRE(!is_iso(lone) && at(lone, 7) == 3 && steps() > 2);
    GrB_Vector taken, single = listed(3, 4);
    const GrB_Index again[] = {3, 5, 3};
    OK(GrB_Vector_new(&taken, GrB_FP64, 3));
    OK(GrB_Vector_extract(taken, NULL, NULL, single, again, 3, NULL));
    REQUIRE(!is_iso(taken) && at(taken, 2) == 3);
    GrB_Vector own;
    OK(GrB_Vector_new(&own, GrB_FP64, N));
    OK(GxB_Vector_Option_set(own, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Vector_setElement_FP64(own, (double)i, i));
    OK(GrB_Vector_wait(own, GrB_MATERIALIZE));
    OK(GrB_Vector_apply_BinaryOp2nd_FP64(own, NULL, GrB_ONEB_FP64, GrB_PLUS_FP64, own, 2, NULL)); /* pairs, of C's own lists */
    REQUIRE(is_iso(own) && at(own, 7) == 1);
    OK(GrB_finalize());
}

/* T without entries leaves what is pending of C, of one value, as it is. */
static void iso_of_pending_entries(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector w, none;
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GrB_Vector_new(&none, GrB_FP64, N));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index i = 3; i < 6; i++) OK(GrB_Vector_setElement_FP64(w, 2, i));
    OK(GrB_Vector_apply_BinaryOp2nd_FP64(w, w, NULL, GrB_MINUS_FP64, none, 1, GrB_DESC_SC));
    REQUIRE(is_iso(w) && at(w, 4) == 2);
    OK(GrB_finalize());
}

/* C in lists of every entry is added to T of one value, as full matrices are, if it is the mask, too. */
static void iso_of_a_sum(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector w;
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GrB_Vector_assign_FP64(w, NULL, NULL, 3, GrB_ALL, N, NULL));
    OK(GrB_Vector_apply(w, w, GrB_MINUS_FP64, GxB_ONE_FP64, w, GrB_DESC_R));
    REQUIRE(is_iso(w) && at(w, 7) == 2);
    OK(GrB_Vector_apply(w, w, GrB_MAX_FP64, GxB_ONE_FP64, w, NULL));
    REQUIRE(is_iso(w) && at(w, 7) == 2);
    OK(GrB_finalize());
}

/* A list of places leaves all others, also where the descriptor says that C is replaced. */
static void places_replace_nothing_else(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    const GrB_Index places[] = {7, 2, 5};
    GrB_Vector w = listed(5, 9), dense = filled(0), ones;
    OK(GrB_Vector_new(&ones, GrB_FP64, 3));
    OK(GrB_Vector_assign_FP64(ones, NULL, NULL, 1, GrB_ALL, 3, NULL));
    OK(GxB_Vector_subassign(w, NULL, NULL, ones, places, 3, GrB_DESC_RS));
    OK(GrB_Vector_assign(dense, NULL, NULL, ones, places, 3, GrB_DESC_RS));
    REQUIRE(steps() > 0 && !is_iso(w) && at(w, 7) == 1 && at(w, 2) == 1 && at(w, 6) == 6 && at(w, 8) == 8);
    REQUIRE(!is_iso(dense) && at(dense, 7) == 1 && at(dense, 6) == 6);
    OK(GrB_finalize());
}

static bool gives_ones(GrB_Matrix A, GrB_Matrix B, bool add, GrB_Descriptor desc)
{
    GrB_Matrix C;
    bool iso = false;
    OK(GrB_Matrix_new(&C, GrB_FP64, 20, 20));
    OK(GrB_Matrix_assign_FP64(C, NULL, NULL, 1, GrB_ALL, 20, GrB_ALL, 20, NULL));
    OK(GrB_Matrix_setElement_FP64(C, 4, 0, 1)); /* full before and not iso: the loop writes to it */
    OK(add ? GrB_Matrix_eWiseAdd_BinaryOp(C, NULL, NULL, GrB_ONEB_FP64, A, B, desc)
           : GrB_Matrix_eWiseMult_BinaryOp(C, NULL, NULL, GrB_ONEB_FP64, A, B, desc));
    OK(GxB_Matrix_iso(&iso, C));
    OK(GrB_Matrix_free(&C));
    return iso;
}

/* 7.4 computes pairs of full matrices in a loop that leaves them not iso, also where it has turned one of a sum before. */
static void pairs_of_turned_matrices(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A, B;
    OK(GrB_Matrix_new(&A, GrB_FP64, 20, 20));
    OK(GrB_Matrix_assign_FP64(A, NULL, NULL, 2, GrB_ALL, 20, GrB_ALL, 20, NULL));
    OK(GrB_Matrix_setElement_FP64(A, 3, 0, 1));
    OK(GrB_Matrix_dup(&B, A));
    REQUIRE(!gives_ones(A, B, true, NULL) && !gives_ones(A, B, true, GrB_DESC_T0) && !gives_ones(A, B, true, GrB_DESC_T1));
    REQUIRE(gives_ones(A, B, true, GrB_DESC_T0T1));
    REQUIRE(!gives_ones(A, B, false, NULL) && gives_ones(A, B, false, GrB_DESC_T1) && gives_ones(A, B, false, GrB_DESC_T0T1));
    OK(GrB_finalize());
}

/* Bools that are compared as numbers stay there; what is left of two values is not iso, as without us. */
static void compared_bools_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    const GrB_IndexUnaryOp ops[] = {GrB_VALUEEQ_INT32, GrB_VALUENE_INT32, GrB_VALUELT_INT32, GrB_VALUELE_INT32, GrB_VALUEGT_INT32, GrB_VALUEGE_INT32};
    GrB_Vector u = filled(0), less, kept;
    OK(GrB_Vector_new(&less, GrB_BOOL, N));
    OK(GrB_Vector_new(&kept, GrB_BOOL, N));
    const int before = records("cuda:fetch") + records("fake:fetch");
    for (int y = -1; y <= 2; y++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            const bool passes[6][2] = {{0 == y, 1 == y}, {0 != y, 1 != y}, {0 < y, 1 < y}, {0 <= y, 1 <= y}, {0 > y, 1 > y}, {0 >= y, 1 >= y}};
            OK(GrB_Vector_apply_BinaryOp2nd_FP64(less, NULL, NULL, GrB_LT_FP64, u, 100, NULL));
            OK(GrB_Vector_select_INT32(kept, NULL, NULL, ops[k], less, y, NULL));
            double count = -1;
            OK(GrB_Vector_reduce_FP64(&count, NULL, GrB_PLUS_MONOID_FP64, kept, NULL));
            REQUIRE(count == (passes[k][1] ? 100 : 0));
            REQUIRE(records("operand does not fit") == 0);
            GrB_Index n = 0;
            OK(GrB_Vector_nvals(&n, kept));
            REQUIRE(n == (passes[k][1] ? 100u : 0u) + (passes[k][0] ? N - 100u : 0u));
            REQUIRE(!is_iso(kept));
        }
    REQUIRE(records("cuda:fetch") + records("fake:fetch") > before); /* is_iso looked */
    OK(GrB_finalize());
}

TEST(is_downloaded_iso)
TEST(iso_as_it_was_held)

/* C of one value without an entry: SuiteSparse assigns to it, keeps the value assigned, and asks for it later. */
static void iso_of_an_empty_target(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector w, m;
    GrB_Scalar s;
    OK(GrB_Vector_new(&w, GrB_FP32, N));
    OK(GrB_Vector_new(&m, GrB_FP64, N));
    OK(GrB_Scalar_new(&s, GrB_FP32));
    OK(GrB_Scalar_setElement_FP32(s, 0));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GrB_Vector_assign_FP32(w, NULL, NULL, -1, GrB_ALL, N, NULL));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Vector_removeElement(w, i));
    OK(GrB_Vector_wait(w, GrB_MATERIALIZE));
    for (GrB_Index i = 0; i < 3; i++) OK(GrB_Vector_setElement_FP64(m, 1, i));
    OK(GrB_Vector_assign_Scalar(w, w, GrB_PLUS_FP32, s, GrB_ALL, N, GrB_DESC_RS));
    OK(GrB_Vector_assign_FP64(w, m, GrB_MAX_INT32, 1, GrB_ALL, N, NULL));
    REQUIRE(is_iso(w) && at(w, 2) == 1);
    OK(GrB_finalize());
}

/* w<!w> = T of several values, would it not come out empty: w keeps its one. */
static void iso_left_by_nothing(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A;
    GrB_Vector u, w;
    OK(GrB_Matrix_new(&A, GrB_FP64, N, N));
    OK(GrB_Vector_new(&u, GrB_FP64, N));
    OK(GrB_Vector_new(&w, GrB_FP64, N));
    OK(GxB_Vector_Option_set(u, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GxB_Vector_Option_set(w, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    for (GrB_Index i = 8; i < N; i++) OK(GrB_Matrix_setElement_FP64(A, (double)i, i, (i + 1) % N));
    OK(GrB_Vector_setElement_FP64(u, 1, 7));
    for (GrB_Index i = 0; i < 3; i++) OK(GrB_Vector_setElement_FP64(w, 2.5, i));
    OK(GrB_Vector_wait(w, GrB_MATERIALIZE));
    OK(GrB_vxm(w, w, NULL, GxB_PLUS_SECOND_FP64, u, A, GrB_DESC_SC));
    REQUIRE(is_iso(w) && at(w, 2) == 2.5);
    OK(GrB_finalize());
}

/* .5 as a GrB_Scalar is false to a selection by bools: the library makes an integer of it first. */
static void boxed_halves_select(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Vector u;
    GrB_Scalar half;
    GrB_Index n = 0;
    OK(GrB_Vector_new(&u, GrB_BOOL, N));
    OK(GrB_Scalar_new(&half, GrB_FP32));
    OK(GrB_Scalar_setElement_FP32(half, .5f));
    for (GrB_Index i = 0; i < N; i++) OK(GrB_Vector_setElement_BOOL(u, i < 10, i));
    OK(GrB_Vector_select_Scalar(u, NULL, NULL, GrB_VALUENE_BOOL, u, half, NULL));
    OK(GrB_Vector_nvals(&n, u));
    REQUIRE(n == 10);
    OK(GrB_finalize());
}
TEST(iso_of_an_empty_target)
TEST(boxed_halves_select)
TEST(iso_left_by_nothing)
TEST(iso_of_pending_entries)
TEST(iso_of_a_sum)
TEST(places_replace_nothing_else)
TEST(pairs_of_turned_matrices)
TEST(compared_bools_stay)
TEST(sparse_operands_come)
TEST(sparse_vector_multiplies)
TEST(narrow_matrices_multiply)
TEST(large_frontiers_go)
TEST(searches_go)
TEST(searches_begin_where_no_time_is_lost)
TEST(large_matrices_go)
TEST(applied_in_place)
TEST(sums_of_rows_stay)
TEST(other_forms_stay)
TEST(habits)
TEST(accumulating_loop_settles)
TEST(odd_calls)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_downloaded_iso),
        cmocka_unit_test(test_iso_as_it_was_held),
        cmocka_unit_test(test_iso_of_pending_entries),
        cmocka_unit_test(test_iso_of_an_empty_target),
        cmocka_unit_test(test_iso_left_by_nothing),
        cmocka_unit_test(test_boxed_halves_select),
        cmocka_unit_test(test_iso_of_a_sum),
        cmocka_unit_test(test_places_replace_nothing_else),
        cmocka_unit_test(test_pairs_of_turned_matrices),
        cmocka_unit_test(test_compared_bools_stay),
        cmocka_unit_test(test_sparse_operands_come),
        cmocka_unit_test(test_sparse_vector_multiplies),
        cmocka_unit_test(test_narrow_matrices_multiply),
        cmocka_unit_test(test_large_frontiers_go),
        cmocka_unit_test(test_searches_go),
        cmocka_unit_test(test_searches_begin_where_no_time_is_lost),
        cmocka_unit_test(test_large_matrices_go),
        cmocka_unit_test(test_applied_in_place),
        cmocka_unit_test(test_sums_of_rows_stay),
        cmocka_unit_test(test_other_forms_stay),
        cmocka_unit_test(test_habits),
        cmocka_unit_test(test_accumulating_loop_settles),
        cmocka_unit_test(test_odd_calls),
    };
    if (!use_backend()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
