/* Sparse contents that stay on a device: extraction, selection and masked products of them, what is moved for it, and chains of random calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "residency.h"

#include "../dropin/same.h"
#include "../seed.h"

enum { VERTICES = 200, EDGES = 3000 };

/* ---- what is moved ---- */

/* Bytes of all records so far. */
static int64_t bytes_moved(void)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int64_t sum = 0;
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"bytes_moved\":");
        sum += at ? atoll(at + strlen("\"bytes_moved\":")) : 0;
    }
    if (file) fclose(file);
    return sum;
}

static int64_t bytes_before;

static int64_t bytes_since(void)
{
    const int64_t sum = bytes_moved(), since = sum - bytes_before;
    bytes_before = sum;
    return since;
}

/* Symmetric, without loops, of one value. */
static GrB_Matrix graph(void)
{
    GrB_Matrix A;
    GrB_Index i[2 * EDGES], j[2 * EDGES], count = 0;
    GrB_Scalar yes;
    for (int k = 0; k < EDGES; k++) {
        const GrB_Index u = draw(VERTICES) * draw(VERTICES) / VERTICES, v = draw(VERTICES);
        if (u == v) continue;
        i[count] = j[count + 1] = u;
        j[count] = i[count + 1] = v;
        count += 2;
    }
    OK(GrB_Matrix_new(&A, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Scalar_new(&yes, GrB_BOOL));
    OK(GrB_Scalar_setElement_BOOL(yes, true));
    OK(GxB_Matrix_build_Scalar(A, i, j, yes, count));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    GrB_Scalar_free(&yes);
    return A;
}

static void shuffle(GrB_Index *P, GrB_Index n)
{
    for (GrB_Index k = 0; k < n; k++) {
        const GrB_Index other = draw(k + 1);
        P[k] = P[other];
        P[other] = k;
    }
}

/* A(P,P), its parts, C<L> = L U', the sum. */
static int64_t triangles(GrB_Matrix A, const GrB_Index *P)
{
    GrB_Matrix T, L, U, C;
    int64_t sum = 0;
    OK(GrB_Matrix_new(&T, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_new(&L, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_new(&U, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_new(&C, GrB_INT64, VERTICES, VERTICES));
    OK(GrB_Matrix_extract(T, NULL, NULL, A, P, VERTICES, P, VERTICES, NULL));
    OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, T, -1, NULL));
    OK(GrB_Matrix_select_INT64(U, NULL, NULL, GrB_TRIU, T, 1, NULL));
    REQUIRE(entries_of(L) == entries_of(U) && 2 * entries_of(L) == entries_of(T));
    OK(GrB_mxm(C, L, NULL, GxB_PLUS_PAIR_INT64, L, U, GrB_DESC_ST1));
    OK(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    GrB_Matrix_free(&T);
    GrB_Matrix_free(&L);
    GrB_Matrix_free(&U);
    GrB_Matrix_free(&C);
    return sum;
}

/* Of a triangle count only the matrix moves, once, and each new list, once. */
static void only_lists_move(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = graph();
    GrB_Index P[VERTICES], Q[VERTICES];
    shuffle(P, VERTICES);
    shuffle(Q, VERTICES);
    const int64_t list = VERTICES * 4, narrow = (VERTICES + 1) * 4; /* offsets have 32 bits where these are many, on the emulated device */
    const int64_t least = list + narrow + (int64_t)entries_of(A) * 4;
    bytes_since();
    const int64_t first = triangles(A, P), moved = bytes_since();
    REQUIRE(moved == least || moved == least + narrow);
    REQUIRE(triangles(A, Q) == first && bytes_since() == list);
    REQUIRE(triangles(A, P) == first && bytes_since() == 0);
    REQUIRE(records(":extract\"") == 3 && records(":select\"") == 6 && records(":masked") == 3);
    REQUIRE(downloads() == 0 && records("\"cpu:") == 1 && records("\"suitesparse\"") == 0); /* it was built on the host */
    OK(GrB_finalize());
}

/* Who asks for shape, type and size downloads nothing, nor does who frees; who reads an entry does. */
static void answers_cost_nothing(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = graph(), L;
    GrB_Index n = 0;
    GrB_Type type;
    bool x = false;
    OK(GrB_Matrix_new(&L, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, A, -1, NULL));
    OK(GrB_Matrix_nrows(&n, L));
    REQUIRE(n == VERTICES && 2 * entries_of(L) == entries_of(A));
    OK(GxB_Matrix_type(&type, L));
    OK(GrB_Matrix_wait(L, GrB_COMPLETE));
    char name[GxB_MAX_NAME_LEN];
    int32_t format = 0;
    OK(GxB_Matrix_type_name(name, L));
    OK(GxB_Matrix_Option_get(L, GxB_FORMAT, &format));
    REQUIRE(type == GrB_BOOL && strcmp(name, "bool") == 0 && format == GxB_BY_ROW && downloads() == 0);
    GrB_Matrix_free(&L);
    REQUIRE(downloads() == 0);
    OK(GrB_Matrix_new(&L, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, A, -1, NULL));
    REQUIRE(GrB_Matrix_extractElement_BOOL(&x, L, 0, 1) == GrB_NO_VALUE && downloads() == 1);
    OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIU, L, 0, NULL));
    REQUIRE(entries_of(L) == 0 && downloads() == 1);
    OK(GrB_finalize());
}

/* The selection of version 5, by place, is computed where the matrix is, with a thunk or without. */
static void old_selections_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = graph(), B, L, U;
    GrB_Scalar one;
    OK(GrB_Scalar_new(&one, GrB_INT32));
    OK(GrB_Scalar_setElement_INT32(one, 1));
    OK(GrB_Matrix_new(&B, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_new(&L, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_new(&U, GrB_BOOL, VERTICES, VERTICES));
    OK(GrB_Matrix_select_INT64(B, NULL, NULL, GrB_OFFDIAG, A, 0, NULL));
    const int before = records(":select\"");
    OK(GxB_Matrix_select(L, NULL, NULL, GxB_TRIL, B, NULL, NULL));
    OK(GxB_Matrix_select(U, NULL, NULL, GxB_TRIU, B, one, NULL));
    REQUIRE(2 * entries_of(L) == entries_of(A) && entries_of(U) == entries_of(L));
    REQUIRE(records(":select\"") == before + 2 && downloads() == 0);
    OK(GrB_finalize());
}

/* A copy is the same contents, also of a matrix whose places would not fit in any memory, and calls take it where it is. */
static void copies_stay(void)
{
    enum { LARGE = 1 << 21, ENTRIES = 1 << 18 };
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A, L, copy, part;
    GrB_Index *i = malloc(2 * ENTRIES * sizeof *i), *j = i + ENTRIES;
    float *x = malloc(ENTRIES * sizeof *x), first = 0;
    for (GrB_Index k = 0; k < ENTRIES; k++) {
        i[k] = 8 * k + 1;
        j[k] = 7 * k;
        x[k] = (float)k + .5F;
    }
    OK(GrB_Matrix_new(&A, GrB_FP32, LARGE, LARGE));
    OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GrB_Matrix_build_FP32(A, i, j, x, ENTRIES, GrB_PLUS_FP32));
    OK(GrB_Matrix_new(&L, GrB_FP32, LARGE, LARGE));
    OK(GrB_Matrix_new(&part, GrB_FP32, LARGE, LARGE));
    OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, A, 0, NULL));
    bytes_since();
    OK(GrB_Matrix_dup(&copy, L));
    GrB_Matrix_free(&L);
    OK(GrB_Matrix_select_INT64(part, NULL, NULL, GrB_TRIL, copy, -100, NULL));
    REQUIRE(entries_of(copy) == ENTRIES && entries_of(part) > 0 && entries_of(part) < ENTRIES);
    REQUIRE(downloads() == 0 && bytes_since() == 0);
    OK(GrB_Matrix_extractElement_FP32(&first, copy, 9, 7));
    REQUIRE(first == 1.5F && downloads() == 1);
    free(i);
    free(x);
    OK(GrB_finalize());
}

/* C<C> = C C', and what has fewer than two such goes: a loop of which only sizes are read. */
static void trusses_stay(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = graph(), C;
    GrB_Index before = 0, now = entries_of(A);
    int64_t sum = 0;
    OK(GrB_Matrix_new(&C, GrB_UINT32, VERTICES, VERTICES));
    OK(GrB_Matrix_apply(C, NULL, NULL, GxB_ONE_UINT32, A, NULL));
    OK(GrB_Matrix_select_UINT32(C, NULL, NULL, GrB_VALUEGT_UINT32, C, 0, NULL));
    while (now != before) {
        OK(GrB_mxm(C, C, NULL, GxB_PLUS_PAIR_UINT32, C, C, GrB_DESC_ST1));
        OK(GrB_Matrix_select_UINT32(C, NULL, NULL, GrB_VALUEGE_UINT32, C, 2, NULL));
        before = now;
        now = entries_of(C);
    }
    REQUIRE(downloads() == 0 && records(":masked") > 1);
    OK(GrB_Matrix_reduce_INT64(&sum, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    REQUIRE(sum >= 2 * (int64_t)now && now > 0);
    OK(GrB_finalize());
}

static double sum_of(GrB_Vector v)
{
    double sum = 0;
    OK(GrB_Vector_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, v, NULL));
    return sum;
}

/* The light edges of A: those up to `most`. */
static GrB_Matrix up_to(double most, GrB_Matrix A)
{
    GrB_Matrix L;
    OK(GrB_Matrix_new(&L, GrB_FP64, VERTICES, VERTICES));
    OK(GrB_Matrix_select_FP64(L, NULL, NULL, GrB_VALUELE_FP64, A, most, NULL));
    return L;
}

/* A selection on the host that was an operand on the device, made again in auto: the device has it, though A was never there, and gives it. */
static void what_was_made_is_found(void)
{
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix pattern = graph(), A, L;
    GrB_Vector w = NULL, u = NULL;
    OK(GrB_Matrix_new(&A, GrB_FP64, VERTICES, VERTICES));
    OK(GrB_Matrix_apply_IndexOp_INT64(A, NULL, NULL, GrB_COLINDEX_INT64, pattern, 1, NULL));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    OK(GrB_Vector_new(&w, GrB_FP64, VERTICES));
    OK(GrB_Vector_new(&u, GrB_FP64, VERTICES));
    OK(GrB_Vector_assign_FP64(u, NULL, NULL, 1, GrB_ALL, VERTICES, NULL));
    REQUIRE(tsr_set_option("mode", "cpu") == TSR_OK);
    L = up_to(50, A);
    const GrB_Index count = entries_of(L);
    REQUIRE(tsr_set_option("mode", "gpu") == TSR_OK);
    OK(GrB_mxv(w, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, L, u, NULL));
    GrB_Matrix_free(&L);
    REQUIRE(tsr_set_option("mode", "auto") == TSR_OK);
    const int on_host = records("\"cpu:select\""), all = records(":select\"");
    bytes_since();
    L = up_to(50, A);
    REQUIRE(records(":select\"") == all + 1 && records("\"cpu:select\"") == on_host && entries_of(L) == count && bytes_since() == 0);
    double sum = 0, most = 0;
    OK(GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, L, NULL));
    OK(GrB_Matrix_reduce_FP64(&most, NULL, GrB_MAX_MONOID_FP64, L, NULL));
    REQUIRE(downloads() == 0 && most <= 50 && sum == sum_of(w));
    GrB_Matrix other = up_to(60, A); /* A is not there: this is left to the host */
    REQUIRE(entries_of(other) > count && records(":select\"") - records("\"cpu:select\"") == all + 1 - on_host);
    OK(GrB_finalize());
}

TEST(only_lists_move)
TEST(answers_cost_nothing)
TEST(old_selections_stay)
TEST(copies_stay)
TEST(trusses_stay)
TEST(what_was_made_is_found)

/* ---- chains ---- */

enum { OBJECTS = 5, CALLS = 40, CHAINS = 60, MOST = 64, TYPES = 6 };

static GrB_Index n;
static bool picks; /* a chain of extractions and selections of what is sparse: of what products and bitmaps become we do not always know whether
                       it is iso */
static GrB_Matrix want[OBJECTS], got[OBJECTS]; /* by SuiteSparse's own functions, and by ours */

#define BOTH(name, first, ...)                                                                \
    do {                                                                                      \
        __typeof__(&name) real = NULL;                                                        \
        *(void **)&real = of_suitesparse(#name);                                              \
        const GrB_Info info_ = real(want[first], BY_ARGUMENTS(want, __VA_ARGS__));            \
        REQUIRE(name(got[first], BY_ARGUMENTS(got, __VA_ARGS__)) == info_);                   \
    } while (0)
#define BY_ARGUMENTS(pool, call) call(pool)

static GrB_Type type_number(int k)
{
    const GrB_Type types[TYPES] = {GrB_BOOL, GrB_INT64, GrB_FP64, GrB_UINT32, GrB_INT8, GrB_UINT16};
    return types[k];
}

/* Of one value, or of few. */
static void fill(int k)
{
    GrB_Index i[MOST * 8], j[MOST * 8], count = n == 1 ? draw(2) : draw(n * 8);
    double x[MOST * 8];
    GrB_Scalar one;
    for (GrB_Index e = 0; e < count; e++) {
        i[e] = draw(n);
        j[e] = draw(4) ? draw(n) : draw(n) * draw(n) / n;
        x[e] = (double)draw(5);
    }
    const GrB_Type type = type_number((int)draw(TYPES));
    OK(GxB_Global_Option_set(GxB_FORMAT, draw(4) ? GxB_BY_ROW : GxB_BY_COL));
    OK(GrB_Matrix_new(&want[k], type, n, n));
    OK(GrB_Matrix_new(&got[k], type, n, n));
    OK(GrB_Scalar_new(&one, GrB_FP64));
    OK(GrB_Scalar_setElement_FP64(one, 1));
    const bool iso = draw(2);
    for (int both = 0; both < 2; both++) {
        GrB_Matrix *const at = both ? got : want;
        if (iso)
            OK(GxB_Matrix_build_Scalar(at[k], i, j, one, count));
        else
            OK(GrB_Matrix_build_FP64(at[k], i, j, x, count, GrB_SECOND_FP64));
        if (picks)
            OK(GxB_Matrix_Option_set(at[k], GxB_SPARSITY_CONTROL, GxB_SPARSE));
        OK(GrB_Matrix_wait(at[k], GrB_MATERIALIZE));
    }
    GrB_Scalar_free(&one);
}

static void compare(int k)
{
    GrB_Index count[2], *lists[4];
    double *x[2];
    bool iso[2];
    int32_t format[2];
    GrB_Matrix copy; /* of what ours has: it stays where it is */
    OK(GrB_Matrix_dup(&copy, got[k]));
    for (int both = 0; both < 2; both++) {
        GrB_Matrix each = both ? copy : want[k];
        OK(GrB_Matrix_wait(each, GrB_MATERIALIZE));
        OK(GrB_Matrix_nvals(&count[both], each));
        lists[2 * both] = malloc((count[both] + 1) * sizeof(GrB_Index));
        lists[2 * both + 1] = malloc((count[both] + 1) * sizeof(GrB_Index));
        x[both] = malloc((count[both] + 1) * sizeof(double));
        OK(GrB_Matrix_extractTuples_FP64(lists[2 * both], lists[2 * both + 1], x[both], &count[both], each));
        OK(GxB_Matrix_iso(&iso[both], each));
        OK(GxB_Matrix_Option_get(each, GxB_FORMAT, &format[both]));
    }
    REQUIRE(count[0] == count[1] && format[0] == format[1]);
    REQUIRE(count[0] <= 1 || !picks || iso[0] == iso[1]); /* one entry is one value, however it is held */
    REQUIRE(memcmp(lists[0], lists[2], count[0] * sizeof(GrB_Index)) == 0 && memcmp(lists[1], lists[3], count[0] * sizeof(GrB_Index)) == 0);
    REQUIRE(memcmp(x[0], x[1], count[0] * sizeof(double)) == 0);
    for (int each = 0; each < 4; each++)
        free(lists[each]);
    free(x[0]);
    free(x[1]);
    GrB_Matrix_free(&copy);
}

/* Lists of n indices: a permutation, any, all, a range forwards or backwards. */
typedef struct drawn_list {
    GrB_Index numbers[MOST], count;
    const GrB_Index *list;
} drawn_list;

static void draw_list(drawn_list *l)
{
    const uint64_t kind = draw(6);
    l->list = l->numbers;
    l->count = n;
    if (kind < 2)
        shuffle(l->numbers, n);
    else if (kind < 4)
        for (GrB_Index k = 0; k < n; k++)
            l->numbers[k] = draw(n);
    else if (kind == 4)
        l->list = GrB_ALL;
    else {
        l->numbers[GxB_BEGIN] = n - 1;
        l->numbers[GxB_END] = 0;
        l->numbers[GxB_INC] = 1;
        l->count = GxB_BACKWARDS;
    }
}

static void call_extract(int C, int A)
{
    static drawn_list rows, columns;
    draw_list(&rows);
    draw_list(&columns);
    const bool same = draw(2);
    const drawn_list *const of_columns = same ? &rows : &columns;
#define EXTRACT(pool) NULL, NULL, pool[A], rows.list, rows.count, of_columns->list, of_columns->count, NULL
    BOTH(GrB_Matrix_extract, C, EXTRACT);
}

static void call_select(int C, int A)
{
    const GrB_IndexUnaryOp places[] = {GrB_TRIL, GrB_TRIU, GrB_DIAG, GrB_OFFDIAG, GrB_ROWLE, GrB_ROWGT, GrB_COLLE, GrB_COLGT};
    const GrB_IndexUnaryOp op = places[draw(8)];
    const int64_t y = (int64_t)draw(n + 4) - (int64_t)draw(n + 4);
#define SELECT(pool) NULL, NULL, op, pool[A], y, NULL
    BOTH(GrB_Matrix_select_INT64, C, SELECT);
}

static void call_select_value(int C, int A)
{
    const GrB_IndexUnaryOp numbers[] = {GrB_VALUEEQ_FP64, GrB_VALUENE_FP64, GrB_VALUELT_FP64, GrB_VALUELE_FP64, GrB_VALUEGT_FP64, GrB_VALUEGE_FP64};
    const GrB_IndexUnaryOp words[] = {GrB_VALUEEQ_UINT32, GrB_VALUENE_UINT32, GrB_VALUELT_UINT32, GrB_VALUELE_UINT32, GrB_VALUEGT_UINT32,
                                      GrB_VALUEGE_UINT32};
    const GrB_IndexUnaryOp op = draw(2) ? numbers[draw(6)] : words[draw(6)];
    const int64_t y = (int64_t)draw(5);
    BOTH(GrB_Matrix_select_INT64, C, SELECT);
}

static void call_mxm(int C, int A)
{
    const GrB_Semiring semirings[] = {GxB_PLUS_PAIR_INT64, GxB_PLUS_PAIR_UINT32, GrB_PLUS_TIMES_SEMIRING_FP64, GrB_PLUS_TIMES_SEMIRING_INT64,
                                      GrB_MIN_PLUS_SEMIRING_FP64, GxB_PLUS_PAIR_INT8, GxB_PLUS_FIRST_UINT16};
    const GrB_Descriptor descriptors[] = {GrB_DESC_S, GrB_DESC_ST1, GrB_DESC_RS, GrB_DESC_RST1, GrB_DESC_R, GrB_DESC_T1, GrB_DESC_RT0T1};
    const GrB_Semiring semiring = semirings[draw(7)];
    const GrB_Descriptor desc = descriptors[draw(7)];
    const int M = (int)draw(OBJECTS), B = (int)draw(OBJECTS);
#define MXM(pool) pool[M], NULL, semiring, pool[A], pool[B], desc
    BOTH(GrB_mxm, C, MXM);
}

static void call_other(int C, int A)
{
    GrB_Index of_want = 0, of_got = 0;
    int64_t sums[2] = {0, 0};
    switch (draw(12)) {
    case 0:
        OK(GrB_Matrix_nvals(&of_want, want[C]));
        OK(GrB_Matrix_nvals(&of_got, got[C]));
        REQUIRE(of_want == of_got);
        return;
    case 1:
        GrB_Matrix_free(&want[C]);
        GrB_Matrix_free(&got[C]);
        fill(C);
        return;
    case 2: {
#define SET(pool) 3, row, column
        const GrB_Index row = draw(n), column = draw(n);
        BOTH(GrB_Matrix_setElement_INT64, C, SET);
        return;
    }
    case 3:
        OK(GrB_Matrix_reduce_INT64(&sums[0], NULL, GrB_PLUS_MONOID_INT64, want[C], NULL));
        OK(GrB_Matrix_reduce_INT64(&sums[1], NULL, GrB_PLUS_MONOID_INT64, got[C], NULL));
        REQUIRE(sums[0] == sums[1]);
        return;
    case 4: {
#define TRANSPOSE(pool) NULL, NULL, pool[A], NULL
        BOTH(GrB_transpose, C, TRANSPOSE);
        return;
    }
    case 5: {
#define ADD(pool) NULL, NULL, GrB_MAX_INT64, pool[A], pool[C], NULL
        BOTH(GrB_Matrix_eWiseAdd_BinaryOp, C, ADD);
        return;
    }
    case 6: {
#define MULT(pool) NULL, NULL, GrB_TIMES_INT64, pool[A], pool[C], NULL
        BOTH(GrB_Matrix_eWiseMult_BinaryOp, C, MULT);
        return;
    }
    case 7: {
#define APPLY(pool) NULL, NULL, GrB_ABS_INT64, pool[A], NULL
        BOTH(GrB_Matrix_apply, C, APPLY);
        return;
    }
    case 8: {
#define BIND(pool) NULL, NULL, GrB_MINUS_INT64, 3, pool[A], GrB_DESC_T1
        BOTH(GrB_Matrix_apply_BinaryOp1st_INT64, C, BIND);
        return;
    }
    default: compare(C);
    }
}

/* Without a mask, or under the complement of one. */
static void call_product(int C, int A)
{
    const GrB_Semiring semirings[] = {GrB_PLUS_TIMES_SEMIRING_INT64, GxB_PLUS_PAIR_INT64, GxB_ANY_PAIR_BOOL, GrB_MIN_PLUS_SEMIRING_INT64,
                                      GxB_PLUS_FIRST_INT64};
    const GrB_Descriptor descriptors[] = {NULL, GrB_DESC_T0, GrB_DESC_T1}, complements[] = {GrB_DESC_RC, GrB_DESC_RSC, GrB_DESC_RSCT0};
    const GrB_Semiring semiring = semirings[draw(5)];
    const int kind = (int)draw(3), B = (int)draw(OBJECTS), M = (int)draw(OBJECTS);
    if (draw(3)) {
#define PRODUCT(pool) NULL, NULL, semiring, pool[A], pool[B], descriptors[kind]
        BOTH(GrB_mxm, C, PRODUCT);
    } else {
#define HIDDEN(pool) pool[M], NULL, semiring, pool[A], pool[B], complements[kind]
        BOTH(GrB_mxm, C, HIDDEN);
    }
}

static void chains(void)
{
    enum { PICKS = 6 };
    void (*const calls[])(int C, int A) = {call_extract, call_extract, call_select, call_select, call_select_value, call_other,
                                           call_mxm, call_mxm, call_mxm, call_product, call_product, call_other};
    const GrB_Index sizes[] = {1, 5, 20, 33, MOST};
    OK(GrB_init(GrB_NONBLOCKING));
    OK(GxB_Global_Option_set(GxB_NTHREADS, 1));
    for (int chain = 0; chain < CHAINS; chain++) {
        n = sizes[draw(5)];
        picks = draw(2);
        for (int k = 0; k < OBJECTS; k++)
            fill(k);
        for (int call = 0; call < CALLS; call++)
            calls[draw(picks ? PICKS : PICKS + 6)]((int)draw(OBJECTS), (int)draw(OBJECTS));
        for (int k = 0; k < OBJECTS; k++) {
            compare(k);
            GrB_Matrix_free(&want[k]);
            GrB_Matrix_free(&got[k]);
        }
    }
    REQUIRE(records(":extract\"") > CHAINS && records(":select\"") > CHAINS && records(":masked") > CHAINS / 4);
    OK(GrB_finalize());
}

TEST(chains)

/* ---- products, operators, reductions ---- */

/* Not negative, with rows that are empty and one that is full. */
static GrB_Matrix weights(uint64_t seed)
{
    GrB_Matrix A;
    OK(GrB_Matrix_new(&A, GrB_FP64, VERTICES, VERTICES));
    for (GrB_Index e = 0; e < 800; e++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const GrB_Index row = (seed >> 33) % VERTICES, column = (seed >> 13) % VERTICES;
        if (row % 7)
            OK(GrB_Matrix_setElement_FP64(A, (double)(1 + (seed >> 50) % 9), row, column));
    }
    for (GrB_Index column = 0; column < VERTICES; column += 2)
        OK(GrB_Matrix_setElement_FP64(A, 2, 8, column));
    OK(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    OK(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

static GrB_Matrix sparse_result(GrB_Type type)
{
    GrB_Matrix C;
    OK(GrB_Matrix_new(&C, type, VERTICES, VERTICES));
    OK(GxB_Matrix_Option_set(C, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    return C;
}

/* Powers, pruned, compared, squared, turned, scaled and summed: only answers move. */
static double powers(GrB_Matrix A, GrB_Matrix D, GrB_Matrix *kept)
{
    GrB_Matrix C = sparse_result(GrB_FP64), T = sparse_result(GrB_FP64), S = sparse_result(GrB_FP64);
    GrB_Vector rows;
    double sum = 0, most = 0, of_rows = 0;
    OK(GrB_Vector_new(&rows, GrB_FP64, VERTICES));
    OK(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, A, NULL));
    OK(GrB_Matrix_select_FP64(C, NULL, NULL, GrB_VALUEGT_FP64, C, 6, NULL));
    OK(GrB_mxm(C, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, C, A, GrB_DESC_T0));
    OK(GrB_Matrix_eWiseMult_BinaryOp(T, NULL, NULL, GrB_TIMES_FP64, C, A, NULL));
    OK(GrB_Matrix_eWiseAdd_BinaryOp(T, NULL, NULL, GrB_MINUS_FP64, T, C, NULL));
    OK(GrB_Matrix_apply(T, NULL, NULL, GrB_ABS_FP64, T, NULL));
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(T, NULL, NULL, GrB_TIMES_FP64, T, .5, NULL));
    OK(GrB_Matrix_apply_BinaryOp2nd_FP64(T, NULL, NULL, GxB_POW_FP64, T, 2, NULL));
    OK(GrB_transpose(S, NULL, NULL, T, NULL));
    OK(GrB_mxm(S, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, D, S, NULL));
    OK(GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, S, NULL));
    OK(GrB_Matrix_reduce_FP64(&most, NULL, GrB_MAX_MONOID_FP64, S, NULL));
    OK(GrB_Matrix_reduce_Monoid(rows, NULL, NULL, GrB_PLUS_MONOID_FP64, S, NULL));
    OK(GrB_Vector_reduce_FP64(&of_rows, NULL, GrB_PLUS_MONOID_FP64, rows, NULL));
    REQUIRE(of_rows == sum); /* whole numbers and halves */
    GrB_Matrix_free(&C);
    GrB_Matrix_free(&T);
    GrB_Vector_free(&rows);
    *kept = S;
    return sum + most;
}

static GrB_Matrix diagonal(void)
{
    GrB_Matrix D = sparse_result(GrB_FP64);
    for (GrB_Index k = 0; k < VERTICES; k++)
        OK(GrB_Matrix_setElement_FP64(D, (double)(1 + k % 4), k, k));
    OK(GrB_Matrix_wait(D, GrB_MATERIALIZE));
    return D;
}

static GrB_Index tuples(GrB_Matrix A, GrB_Index *i, GrB_Index *j, double *x)
{
    GrB_Index count = VERTICES * VERTICES;
    OK(GrB_Matrix_extractTuples_FP64(i, j, x, &count, A));
    return count;
}

static bool is_same(GrB_Matrix A, GrB_Matrix B)
{
    static GrB_Index i[2][VERTICES * VERTICES], j[2][VERTICES * VERTICES];
    static double x[2][VERTICES * VERTICES];
    const GrB_Index of_a = tuples(A, i[0], j[0], x[0]), of_b = tuples(B, i[1], j[1], x[1]);
    return of_a == of_b && of_a > 0 && memcmp(i[0], i[1], of_a * sizeof *i[0]) == 0 && memcmp(j[0], j[1], of_a * sizeof *j[0]) == 0 &&
           memcmp(x[0], x[1], of_a * sizeof *x[0]) == 0;
}

static void powers_stay(void)
{
    enum { ANSWERS = 256 };
    GrB_Matrix there, here;
    OK(GrB_init(GrB_NONBLOCKING));
    GrB_Matrix A = weights(5), D = diagonal();
    powers(A, D, &there); /* A and D are uploaded */
    GrB_Matrix_free(&there);
    bytes_since();
    const double sum = powers(A, D, &there);
    const int64_t moved = bytes_since();
    if (moved > ANSWERS)
        fprintf(stderr, "%lld bytes moved\n", (long long)moved);
    REQUIRE(moved <= ANSWERS);
    REQUIRE(tsr_set_option("mode", "off") == TSR_OK);
    REQUIRE(powers(A, D, &here) == sum);
    REQUIRE(is_same(here, there));
    GrB_Matrix_free(&A);
    GrB_Matrix_free(&D);
    GrB_Matrix_free(&there);
    GrB_Matrix_free(&here);
    OK(GrB_finalize());
}
TEST(powers_stay)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_only_lists_move), cmocka_unit_test(test_answers_cost_nothing),
                                       cmocka_unit_test(test_old_selections_stay),
                                       cmocka_unit_test(test_copies_stay), cmocka_unit_test(test_what_was_made_is_found),
                                       cmocka_unit_test(test_trusses_stay), cmocka_unit_test(test_powers_stay), cmocka_unit_test(test_chains)};
    state_of_draws = test_seed();
    if (!use_backend())
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
