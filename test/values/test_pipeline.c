/* Loops whose results stay with a backend: what moves in each iteration, and that the numbers are right.  FAKE or the emulated plug-in.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <GraphBLAS.h>

#include "../dropin/routed.h"

enum { N = 400, ITERATIONS = 8 };
static const float damping = 0.85f;

static GrB_Matrix A;
static GrB_Vector degree;
static float weight[N][N], degree_of[N];

static void ok(GrB_Info info)
{
    assert_int_equal(info, GrB_SUCCESS);
}

static int make(void **state)
{
    (void)state;
    srand(3);
    memset(weight, 0, sizeof weight);
    ok(GrB_Matrix_new(&A, GrB_BOOL, N, N));
    ok(GrB_Vector_new(&degree, GrB_FP32, N));
    for (int i = 0; i < N; i++) {
        degree_of[i] = 0;
        for (int j = 0; j < N; j++)
            if (i != j && (rand() % 20 == 0 || j == (i + 1) % N)) {
                weight[i][j] = 1;
                degree_of[i]++;
                ok(GrB_Matrix_setElement_BOOL(A, true, (GrB_Index)i, (GrB_Index)j));
            }
        degree_of[i] /= damping;
        ok(GrB_Vector_setElement_FP32(degree, degree_of[i], (GrB_Index)i));
    }
    ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    ok(GrB_Vector_wait(degree, GrB_MATERIALIZE));
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ok(GrB_Matrix_free(&A));
    ok(GrB_Vector_free(&degree));
    return 0;
}

/* Bytes moved, of the records after the first `skip`; *records: how many there are. */
static int64_t moved_since(int skip, int *records)
{
    FILE *file = fopen(trace_name, "r");
    char line[4096];
    int64_t bytes = 0;
    *records = 0;
    while (file && fgets(line, sizeof line, file)) {
        const char *moved = strstr(line, "\"bytes_moved\":");
        if (moved && (*records)++ >= skip) bytes += atoll(moved + strlen("\"bytes_moved\":"));
    }
    if (file) fclose(file);
    return bytes;
}

/* LAGraph's PageRank of the GAP benchmark, one iteration: r = teleport + A' (t ./ d), t = |t - r|. */
static void iterate(GrB_Vector *t, GrB_Vector *r, GrB_Vector w, float *difference)
{
    const GrB_Vector old = *t;
    *t = *r;
    *r = old;
    ok(GrB_Vector_eWiseMult_BinaryOp(w, NULL, NULL, GrB_DIV_FP32, *t, degree, NULL));
    ok(GrB_Vector_assign_FP32(*r, NULL, NULL, (1 - damping) / N, GrB_ALL, N, NULL));
    ok(GrB_mxv(*r, NULL, GrB_PLUS_FP32, GxB_PLUS_SECOND_FP32, A, w, GrB_DESC_T0));
    ok(GrB_Vector_assign(*t, NULL, GrB_MINUS_FP32, *r, GrB_ALL, N, NULL));
    ok(GrB_Vector_apply(*t, NULL, NULL, GrB_ABS_FP32, *t, NULL));
    ok(GrB_Vector_reduce_FP32(difference, NULL, GrB_PLUS_MONOID_FP32, *t, NULL));
}

static double iterate_plain(double t[N], double r[N])
{
    double difference = 0;
    for (int j = 0; j < N; j++) {
        t[j] = r[j];
        r[j] = (1 - damping) / N;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) r[j] += weight[i][j] != 0 ? t[i] / degree_of[i] : 0;
    for (int j = 0; j < N; j++) difference += fabs(t[j] - r[j]);
    return difference;
}

static void test_pagerank(void **state)
{
    (void)state;
    GrB_Vector t, r, w;
    static double plain_t[N], plain_r[N];
    int records = 0, before = 0;
    ok(GrB_Vector_new(&t, GrB_FP32, N));
    ok(GrB_Vector_new(&r, GrB_FP32, N));
    ok(GrB_Vector_new(&w, GrB_FP32, N));
    ok(GrB_Vector_assign_FP32(r, NULL, NULL, 1.0f / N, GrB_ALL, N, NULL));
    for (int i = 0; i < N; i++) plain_r[i] = 1.0 / N;
    for (int k = 0; k < ITERATIONS; k++) {
        float difference = 0;
        moved_since(0, &before);
        iterate(&t, &r, w, &difference);
        assert_true(fabs(difference - iterate_plain(plain_t, plain_r)) < 1e-5);
        const int64_t moved = moved_since(before, &records);
        assert_int_equal(records - before, 7); /* the product and what adds it to r are two */
        if (k >= 1) assert_true(moved <= 16); /* the sum */
    }
    for (int i = 0; i < N; i++) {
        float x = 0;
        ok(GrB_Vector_extractElement_FP32(&x, r, (GrB_Index)i));
        assert_true(fabs(x - plain_r[i]) < 1e-6);
    }
    moved_since(0, &before);
    assert_int_equal(before, records + 1); /* it was downloaded once */
    ok(GrB_Vector_free(&t));
    ok(GrB_Vector_free(&r));
    ok(GrB_Vector_free(&w));
}

static GrB_Matrix full_matrix(int rows, int columns)
{
    GrB_Matrix M;
    ok(GrB_Matrix_new(&M, GrB_FP32, (GrB_Index)rows, (GrB_Index)columns));
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            ok(GrB_Matrix_setElement_FP32(M, (float)(i % 7 - j % 5), (GrB_Index)i, (GrB_Index)j));
    ok(GrB_Matrix_wait(M, GrB_MATERIALIZE));
    return M;
}

static double layer(int i, int j, int width)
{
    double sum = 0;
    for (int k = 0; k < N; k++)
        for (int l = 0; weight[i][k] != 0 && l < width; l++) sum += (k % 7 - l % 5) * (double)(l % 7 - j % 5);
    return sum > 0 ? sum : 0;
}

/* H = max (A X W, 0): a sparse product, a dense one, an elementwise one. */
static void test_gcn_layer(void **state)
{
    (void)state;
    enum { WIDTH = 9, OUT = 4 };
    GrB_Matrix X = full_matrix(N, WIDTH), W = full_matrix(WIDTH, OUT), T, H;
    GrB_Index nvals = 0;
    int before, records;
    ok(GrB_Matrix_new(&T, GrB_FP32, N, WIDTH));
    ok(GrB_Matrix_new(&H, GrB_FP32, N, OUT));
    for (int k = 0; k < 3; k++) {
        moved_since(0, &before);
        ok(GrB_mxm(T, NULL, NULL, GxB_PLUS_SECOND_FP32, A, X, NULL));
        ok(GrB_mxm(H, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP32, T, W, NULL));
        ok(GrB_Matrix_apply_BinaryOp2nd_FP32(H, NULL, NULL, GrB_MAX_FP32, H, 0, NULL));
        ok(GrB_Matrix_nvals(&nvals, H));
        assert_int_equal(nvals, N * OUT);
        const int64_t moved = moved_since(before, &records);
        assert_true(k < 2 || moved == 0); /* X is uploaded for good when it is wanted again */
    }
    for (int i = 0; i < N; i += 13)
        for (int j = 0; j < OUT; j++) {
            float x = -1;
            ok(GrB_Matrix_extractElement_FP32(&x, H, (GrB_Index)i, (GrB_Index)j));
            assert_true(x == (float)layer(i, j, WIDTH));
        }
    GrB_Matrix *const all[] = {&X, &W, &T, &H};
    for (int k = 0; k < 4; k++) ok(GrB_Matrix_free(all[k]));
}

static GrB_Vector sparse_vector(GrB_Type type)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, type, N));
    ok(GxB_Vector_Option_set(v, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    return v;
}

static int length(int i, int j)
{
    return 1 + (7 * i + 13 * j) % 50;
}

enum { FAR = 1 << 20 };

/* Until nothing changes. */
static void paths_plain(int *path)
{
    bool changed = true;
    for (int i = 0; i < N; i++) path[i] = i == 0 ? 0 : FAR;
    while (changed) {
        changed = false;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (weight[i][j] != 0 && path[i] + length(i, j) < path[j]) {
                    path[j] = path[i] + length(i, j);
                    changed = true;
                }
    }
}

/* The inner loop of delta-stepping: vectors held sparse are never downloaded. */
static void test_shortest_paths(void **state)
{
    (void)state;
    GrB_Matrix W;
    GrB_Vector path, bucket = sparse_vector(GrB_INT32), request = sparse_vector(GrB_INT32), less = sparse_vector(GrB_BOOL);
    GrB_Index left = 1;
    static int plain[N];
    int rounds = 0, before, records;
    ok(GrB_Matrix_new(&W, GrB_INT32, N, N));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (weight[i][j] != 0) ok(GrB_Matrix_setElement_INT32(W, length(i, j), (GrB_Index)i, (GrB_Index)j));
    ok(GrB_Vector_new(&path, GrB_INT32, N));
    ok(GrB_Vector_assign_INT32(path, NULL, NULL, FAR, GrB_ALL, N, NULL));
    ok(GrB_Vector_setElement_INT32(path, 0, 0));
    ok(GrB_Vector_setElement_INT32(bucket, 0, 0));
    for (; left > 0; rounds++) {
        moved_since(0, &before);
        ok(GrB_vxm(request, NULL, NULL, GrB_MIN_PLUS_SEMIRING_INT32, bucket, W, NULL));
        ok(GrB_Vector_eWiseMult_BinaryOp(less, NULL, NULL, GrB_LT_INT32, request, path, NULL));
        ok(GrB_Vector_select_BOOL(less, NULL, NULL, GrB_VALUEEQ_BOOL, less, true, NULL));
        ok(GrB_Vector_select_INT32(bucket, less, NULL, GrB_VALUELT_INT32, request, FAR, GrB_DESC_RS));
        ok(GrB_Vector_assign(path, less, NULL, request, GrB_ALL, N, GrB_DESC_S));
        ok(GrB_Vector_nvals(&left, bucket));
        const int64_t moved = moved_since(before, &records);
        assert_int_equal(records - before, 5);
        assert_true(rounds == 0 || moved == 0);
    }
    paths_plain(plain);
    assert_true(rounds > 3);
    for (int i = 0; i < N; i++) {
        int x = -1;
        ok(GrB_Vector_extractElement_INT32(&x, path, (GrB_Index)i));
        assert_int_equal(x, plain[i]);
    }
    GrB_Vector *const all[] = {&path, &bucket, &request, &less};
    for (int k = 0; k < 4; k++) ok(GrB_Vector_free(all[k]));
    ok(GrB_Matrix_free(&W));
}

enum { SOURCES = 32 };

/* Shortest paths to each vertex. */
static void count_paths_plain(int source, double *count)
{
    static int distance[N];
    for (int j = 0; j < N; j++) distance[j] = -1, count[j] = 0;
    distance[source] = 0;
    count[source] = 1;
    bool found = true;
    for (int d = 0; found; d++) {
        found = false;
        for (int i = 0; i < N; i++)
            for (int j = 0; distance[i] == d && j < N; j++)
                if (weight[i][j] != 0 && (distance[j] < 0 || distance[j] == d + 1)) {
                    distance[j] = d + 1;
                    count[j] += count[i];
                    found = true;
                }
    }
}

/* The first half of batched betweenness: what the program wrote goes there as its entries, though it is held as bitmap; nothing else moves. */
static void test_batched_paths(void **state)
{
    (void)state;
    GrB_Matrix paths, frontier;
    GrB_Index left = 1;
    static double plain[N];
    int rounds = 0, before, records, status = 0;
    ok(GrB_Matrix_new(&paths, GrB_FP64, SOURCES, N));
    ok(GrB_Matrix_new(&frontier, GrB_FP64, SOURCES, N));
    ok(GxB_Matrix_Option_set(paths, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    for (GrB_Index s = 0; s < SOURCES; s++) {
        ok(GrB_Matrix_setElement_FP64(paths, 1, s, 11 * s));
        ok(GrB_Matrix_setElement_FP64(frontier, 1, s, 11 * s));
    }
    for (; left > 0; rounds++) {
        moved_since(0, &before);
        ok(GxB_Matrix_Option_set(frontier, GxB_SPARSITY_CONTROL, rounds % 2 ? GxB_BITMAP : GxB_SPARSE));
        ok(GrB_mxm(frontier, paths, NULL, GxB_PLUS_FIRST_FP64, frontier, A, GrB_DESC_RSC));
        ok(GrB_Matrix_assign(paths, NULL, GrB_PLUS_FP64, frontier, GrB_ALL, SOURCES, GrB_ALL, N, NULL));
        ok(GrB_Matrix_nvals(&left, frontier));
        const int64_t moved = moved_since(before, &records);
        assert_int_equal(records - before, 3);
        assert_true(moved <= (rounds == 0 ? 1 << 16 : 0)); /* A and 64 entries; a bitmap has 115,200 bytes */
    }
    assert_true(rounds > 2);
    ok(GxB_Matrix_Option_get(paths, GxB_SPARSITY_STATUS, &status));
    assert_int_equal(status, GxB_FULL);
    for (GrB_Index s = 0; s < SOURCES; s++) {
        count_paths_plain((int)(11 * s), plain);
        for (int j = 0; j < N; j++) {
            double x = -1;
            ok(GrB_Matrix_extractElement_FP64(&x, paths, s, (GrB_Index)j));
            assert_true(x == plain[j]);
        }
    }
    ok(GrB_Matrix_free(&paths));
    ok(GrB_Matrix_free(&frontier));
}

/* Rows and columns of what is there are added up there, whatever their number; nothing moves. */
static void test_sums_of_rows(void **state)
{
    (void)state;
    enum { WIDTH = 9 };
    GrB_Matrix X = full_matrix(N, WIDTH), T;
    GrB_Vector most, sum;
    int before, records;
    ok(GrB_Matrix_new(&T, GrB_FP32, N, WIDTH));
    ok(GrB_Vector_new(&most, GrB_FP32, N));
    ok(GrB_Vector_new(&sum, GrB_FP32, WIDTH));
    ok(GrB_mxm(T, NULL, NULL, GxB_PLUS_SECOND_FP32, A, X, NULL));
    moved_since(0, &before);
    ok(GrB_Matrix_select_FP32(T, NULL, NULL, GrB_VALUENE_FP32, T, 0, NULL)); /* a bitmap */
    ok(GrB_Matrix_reduce_Monoid(most, NULL, NULL, GrB_MAX_MONOID_FP32, T, NULL));
    ok(GrB_Matrix_reduce_BinaryOp(sum, NULL, NULL, GrB_PLUS_FP32, T, GrB_DESC_T0));
    assert_int_equal(moved_since(before, &records), 0);
    assert_int_equal(records - before, 3);
    double total[WIDTH] = {0};
    for (int i = 0; i < N; i++) {
        float x = 0, greatest = -INFINITY;
        for (int j = 0; j < WIDTH; j++) {
            float t = 0;
            for (int k = 0; k < N; k++) t += weight[i][k] != 0 ? (float)(k % 7 - j % 5) : 0;
            if (t != 0 && t > greatest) greatest = t;
            total[j] += t;
        }
        assert_int_equal(GrB_Vector_extractElement_FP32(&x, most, (GrB_Index)i), isinf(greatest) ? GrB_NO_VALUE : GrB_SUCCESS);
        assert_true(isinf(greatest) || x == greatest);
    }
    for (int j = 0; j < WIDTH; j++) {
        float x = 0;
        ok(GrB_Vector_extractElement_FP32(&x, sum, (GrB_Index)j));
        assert_true(x == (float)total[j]);
    }
    ok(GrB_Matrix_free(&X));
    ok(GrB_Matrix_free(&T));
    ok(GrB_Vector_free(&most));
    ok(GrB_Vector_free(&sum));
}

/* Hooking and shortcutting of components: what the least label among neighbours and their parents is.  `hooks` has an entry (parent (j), j) for
 * each j, its arrays being the program's between two rounds. */
typedef struct forest {
    GrB_Vector parent, least, grand, next;
    GrB_Matrix hooks;
    GrB_Index *p, *i;
    void *x;
} forest;

static GrB_Vector own_numbers(void)
{
    GrB_Vector v;
    ok(GrB_Vector_new(&v, GrB_UINT32, N));
    for (GrB_Index i = 0; i < N; i++) ok(GrB_Vector_setElement_UINT32(v, (uint32_t)(i * 7 % N), i));
    ok(GrB_Vector_wait(v, GrB_MATERIALIZE));
    return v;
}

static void make_forest(forest *f)
{
    f->parent = own_numbers();
    f->least = own_numbers();
    f->grand = own_numbers();
    ok(GrB_Vector_new(&f->next, GrB_UINT32, N));
    ok(GrB_Matrix_new(&f->hooks, GrB_BOOL, N, N));
    f->p = malloc((N + 1) * sizeof *f->p);
    f->i = malloc(N * sizeof *f->i);
    f->x = calloc(1, sizeof(bool));
    for (GrB_Index k = 0; k <= N; k++) f->p[k] = k;
    for (GrB_Index k = 0; k < N; k++) f->i[k] = k * 7 % N;
}

static void hook(forest *f)
{
    GrB_Index p_bytes = (N + 1) * sizeof *f->p, i_bytes = N * sizeof *f->i, x_bytes = sizeof(bool), n = N;
    bool iso = true, jumbled = false;
    ok(GrB_mxv(f->least, NULL, GrB_MIN_UINT32, GrB_MIN_SECOND_SEMIRING_UINT32, A, f->grand, NULL));
    ok(GxB_Matrix_pack_CSC(f->hooks, &f->p, &f->i, &f->x, p_bytes, i_bytes, x_bytes, iso, jumbled, NULL));
    ok(GrB_mxv(f->parent, NULL, GrB_MIN_UINT32, GrB_MIN_SECOND_SEMIRING_UINT32, f->hooks, f->least, NULL));
    ok(GxB_Matrix_unpack_CSC(f->hooks, &f->p, &f->i, &f->x, &p_bytes, &i_bytes, &x_bytes, &iso, &jumbled, NULL));
    ok(GrB_Vector_eWiseAdd_BinaryOp(f->parent, NULL, GrB_MIN_UINT32, GrB_MIN_UINT32, f->least, f->grand, NULL));
    ok(GrB_Vector_extractTuples_UINT64(NULL, f->i, &n, f->parent));
    ok(GrB_Vector_extract(f->next, NULL, NULL, f->parent, f->i, N, NULL));
    const GrB_Vector old = f->grand;
    f->grand = f->next;
    f->next = old;
}

static uint32_t least(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

static void hook_plain(uint32_t parent[N], uint32_t low[N], uint32_t grand[N])
{
    uint32_t hooked[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (weight[i][j] != 0) low[i] = least(low[i], grand[j]);
    memcpy(hooked, parent, sizeof hooked);
    for (int j = 0; j < N; j++) hooked[parent[j]] = least(hooked[parent[j]], low[j]);
    for (int i = 0; i < N; i++) parent[i] = least(hooked[i], least(low[i], grand[i]));
    for (int i = 0; i < N; i++) grand[i] = parent[parent[i]];
}

static bool keeps_lists;

/* The list of the program crosses three times, with the matrix's offsets; no vector does.  Numbers come as 32-bit ones.  A backend that keeps lists
 * knows what it has downloaded, and uploads nothing. */
static void test_components(void **state)
{
    (void)state;
    enum { ROUNDS = 4, LISTS = (N + 1) * 8 + N * (4 + 8 + 8), NUMBERS = N * 4 };
    forest f;
    uint32_t parent[N], low[N], grand[N];
    int before, records;
    make_forest(&f);
    for (uint32_t i = 0; i < N; i++) parent[i] = low[i] = grand[i] = i * 7 % N;
    for (int round = 0; round < ROUNDS; round++) {
        moved_since(0, &before);
        hook(&f);
        hook_plain(parent, low, grand);
        const int64_t moved = moved_since(before, &records);
        if (round > 0) assert_in_range(moved, NUMBERS, LISTS);
        if (round > 1 && keeps_lists) assert_int_equal(moved, NUMBERS);
    }
    for (GrB_Index i = 0; i < N; i++) {
        uint32_t x = N, y = N;
        assert_int_equal(f.i[i], parent[i]);
        ok(GrB_Vector_extractElement_UINT32(&x, f.parent, i));
        ok(GrB_Vector_extractElement_UINT32(&y, f.grand, i));
        assert_true(x == parent[i] && y == grand[i]);
    }
    ok(GrB_Vector_free(&f.parent));
    ok(GrB_Vector_free(&f.least));
    ok(GrB_Vector_free(&f.grand));
    ok(GrB_Vector_free(&f.next));
    ok(GrB_Matrix_free(&f.hooks));
    free(f.p);
    free(f.i);
    free(f.x);
}

/* The strictly lower part of A with its vertices in another order, and back. */
static GrB_Matrix lower_part(const GrB_Index order[N])
{
    GrB_Matrix T, L;
    ok(GrB_Matrix_new(&T, GrB_BOOL, N, N));
    ok(GrB_Matrix_new(&L, GrB_BOOL, N, N));
    ok(GrB_Matrix_extract(T, NULL, NULL, A, order, N, order, N, NULL));
    ok(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, T, -1, NULL));
    ok(GrB_Matrix_free(&T));
    return L;
}

/* What is selected again of the same matrix is on the device already, until the matrix or the order changes. */
static void test_selected_again(void **state)
{
    (void)state;
    enum { ROUNDS = 7, CHANGED = 3, ORDERED = 5 };
    GrB_Vector u, w;
    GrB_Index order[N];
    int before, records;
    int64_t first = 0;
    for (GrB_Index i = 0; i < N; i++) order[i] = i * 7 % N;
    ok(GrB_Vector_new(&u, GrB_FP32, N));
    ok(GrB_Vector_new(&w, GrB_FP32, N));
    ok(GrB_Vector_assign_FP32(u, NULL, NULL, 1, GrB_ALL, N, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        GrB_Matrix L;
        if (round == ORDERED) {
            order[0] = 7 % N;
            order[1] = 0;
        }
        if (round == CHANGED) {
            weight[N - 1][0] = weight[N - 1][1] = weight[N - 1][2] = 1;
            for (GrB_Index j = 0; j < 3; j++) ok(GrB_Matrix_setElement_BOOL(A, true, N - 1, j));
            ok(GrB_Matrix_wait(A, GrB_MATERIALIZE));
        }
        L = lower_part(order);
        moved_since(0, &before);
        ok(GrB_mxv(w, NULL, NULL, GxB_PLUS_SECOND_FP32, L, u, NULL));
        const int64_t moved = moved_since(before, &records);
        first = round == 0 ? moved : first;
        if (round == CHANGED || round == ORDERED) assert_true(first == 0 ? moved == 0 : moved > 0);
        else if (round > 0) assert_int_equal(moved, 0);
        for (int i = 0; i < N; i++) {
            float x = 0, sum = 0;
            for (int j = 0; j < i; j++) sum += weight[order[i]][order[j]];
            assert_int_equal(GrB_Vector_extractElement_FP32(&x, w, (GrB_Index)i), sum > 0 ? GrB_SUCCESS : GrB_NO_VALUE);
            assert_true(x == sum);
        }
        ok(GrB_Matrix_free(&L));
    }
    ok(GrB_Vector_free(&u));
    ok(GrB_Vector_free(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pagerank, make, drop),
        cmocka_unit_test_setup_teardown(test_gcn_layer, make, drop),
        cmocka_unit_test_setup_teardown(test_shortest_paths, make, drop),
        cmocka_unit_test_setup_teardown(test_batched_paths, make, drop),
        cmocka_unit_test_setup_teardown(test_sums_of_rows, make, drop),
        cmocka_unit_test_setup_teardown(test_components, make, drop),
        cmocka_unit_test_setup_teardown(test_selected_again, make, drop),
    };
    if (!use_backend()) return 77;
    keeps_lists = strstr(getenv("TESSERA_PLUGIN_DIR"), "emulated"); /* the plug-in, and short ones */
    return cmocka_run_group_tests(tests, start_session, stop_session);
}
