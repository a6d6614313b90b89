/* The native door with complex numbers, against loops over small whole numbers, which are added exactly: every way to hold A, transposed and
 * conjugate, both layouts, scalars; sparse times sparse; what is refused.
 *   test_native_complex [device]
 * device: dense operands in device memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/backends.h"
#include "test/device_number.h"
#include "test/unit/seeded.h"
#include "tessera/device.h"
#include "tessera/spgemm.h"

enum { MOST = 40, CASES = 400 };
typedef double complex number;

/* A matrix as a table, whose entries are where `there` says so, and as arrays. */
typedef struct matrix {
    tsr_type type;
    int64_t nrows, ncols, nvals;
    bool by_col, narrow, ones;
    number at[MOST][MOST];
    bool there[MOST][MOST];
    int64_t offsets[MOST + 1], indices[MOST * MOST];
    uint32_t offsets32[MOST + 1], indices32[MOST * MOST];
    double complex wide[MOST * MOST];
    float complex half[MOST * MOST];
    tsr_sparse *sparse;
} matrix;

static number any_number(void)
{
    const double re = (double)draw(7) - 3, im = (double)draw(7) - 3;
    return re + im * I;
}

static number get(const void *x, tsr_type type, int64_t k)
{
    return type == TSR_FC32 ? (number)((const float complex *)x)[k] : ((const double complex *)x)[k];
}

static void put(void *x, tsr_type type, int64_t k, number value)
{
    if (type == TSR_FC32) {
        ((float complex *)x)[k] = (float complex)value;
    } else {
        ((double complex *)x)[k] = value;
    }
}

static void draw_table(matrix *m, int64_t one_in)
{
    for (int64_t r = 0; r < m->nrows; r++) {
        for (int64_t c = 0; c < m->ncols; c++) {
            m->there[r][c] = draw(one_in) == 0;
            m->at[r][c] = m->ones ? 1 : any_number();
        }
    }
}

static void *values_of(matrix *m)
{
    return m->type == TSR_FC32 ? (void *)m->half : (void *)m->wide;
}

static void fill_arrays(matrix *m)
{
    const int64_t vectors = m->by_col ? m->ncols : m->nrows, length = m->by_col ? m->nrows : m->ncols;
    m->nvals = 0;
    for (int64_t v = 0; v < vectors; v++) {
        m->offsets32[v] = (uint32_t)(m->offsets[v] = m->nvals);
        for (int64_t k = 0; k < length; k++) {
            const int64_t r = m->by_col ? k : v, c = m->by_col ? v : k;
            if (m->there[r][c]) {
                put(values_of(m), m->type, m->nvals, m->at[r][c]);
                m->indices32[m->nvals] = (uint32_t)k;
                m->indices[m->nvals++] = k;
            }
        }
    }
    m->offsets32[vectors] = (uint32_t)(m->offsets[vectors] = m->nvals);
}

/* Other values, the same entries. */
static void change_table(matrix *m)
{
    for (int64_t r = 0; r < m->nrows; r++) {
        for (int64_t c = 0; c < m->ncols; c++) {
            m->at[r][c] = any_number();
        }
    }
    fill_arrays(m);
}

static void make_matrix(matrix *m, tsr_type type, int64_t nrows, int64_t ncols)
{
    m->type = type;
    m->nrows = nrows;
    m->ncols = ncols;
    m->by_col = draw(2);
    m->narrow = draw(2);
    m->ones = draw(6) == 0;
    draw_table(m, 1 + draw(8));
    fill_arrays(m);
    const tsr_arrays arrays = {.index_type = m->narrow ? TSR_INDEX_32 : TSR_INDEX_64, .offsets = m->narrow ? (void *)m->offsets32 : m->offsets,
                               .indices = m->narrow ? (void *)m->indices32 : m->indices, .type = type, .values = m->ones ? NULL : values_of(m)};
    assert_int_equal((m->by_col ? tsr_sparse_create_csc : tsr_sparse_create_csr)(&m->sparse, nrows, ncols, &arrays, 0), TSR_OK);
}

/* Element (r, c) of op of the table; *there: is there one? */
static number element(const matrix *m, bool transposed, bool conjugate, int64_t r, int64_t c, bool *there)
{
    const int64_t row = transposed ? c : r, column = transposed ? r : c;
    *there = m->there[row][column];
    return !*there ? 0 : conjugate ? conj(m->at[row][column]) : m->at[row][column];
}

/* ---- sparse times dense ---- */

static tsr_dense make_dense(tsr_type type, int64_t nrows, int64_t ncols)
{
    tsr_dense d = {.type = type, .layout = draw(2) ? TSR_COL_MAJOR : TSR_ROW_MAJOR, .nrows = nrows, .ncols = ncols};
    d.ld = (d.layout == TSR_COL_MAJOR ? nrows : ncols) + draw(3);
    const int64_t cells = d.ld * (d.layout == TSR_COL_MAJOR ? ncols : nrows);
    d.data = malloc((size_t)(cells + 1) * sizeof(number));
    for (int64_t k = 0; k < cells; k++) {
        put(d.data, type, k, any_number());
    }
    return d;
}

static int64_t place_of(const tsr_dense *d, int64_t r, int64_t c)
{
    return d->layout == TSR_COL_MAJOR ? c * d->ld + r : r * d->ld + c;
}

static void check_dense(const matrix *a, unsigned flags, number alpha, const tsr_dense *b, number beta, const tsr_dense *before, const tsr_dense *c)
{
    for (int64_t r = 0; r < c->nrows; r++) {
        for (int64_t j = 0; j < c->ncols; j++) {
            number sum = 0;
            for (int64_t k = 0; k < b->nrows; k++) {
                bool there;
                sum += element(a, flags & TSR_TRANSPOSE_A, flags & TSR_CONJUGATE_A, r, k, &there) * get(b->data, b->type, place_of(b, k, j));
            }
            const number expected = alpha * sum + beta * get(before->data, c->type, place_of(c, r, j));
            assert_true(expected == get(c->data, c->type, place_of(c, r, j)));
        }
    }
}

/* ---- operands in device memory ---- */

static const tsr_backend_device *device; /* NULL: they are in host memory */
static int queued;

static size_t bytes_of(const tsr_dense *d)
{
    return (size_t)(d->ld * (d->layout == TSR_COL_MAJOR ? d->ncols : d->nrows)) * (d->type == TSR_FC32 ? 8 : 16);
}

static void copy(void *there, const tsr_dense *d, bool to_device)
{
    const size_t bytes = bytes_of(d);
    const tsr_device_copy c = {there, d->data, bytes, bytes, bytes, 1, to_device, NULL};
    assert_int_equal(device->copy(&c), TSR_OK);
}

/* The operand where the library is to find it. */
static tsr_dense place(const tsr_dense *d)
{
    tsr_dense placed = *d;
    if (device) {
        assert_int_equal(device->allocate(&placed.data, bytes_of(d) + 16, device_number), TSR_OK);
        placed.memory = TSR_MEMORY_DEVICE;
        copy(placed.data, d, true);
    }
    return placed;
}

static void fetch(const tsr_dense *placed, const tsr_dense *d)
{
    if (device) {
        copy(placed->data, d, false);
    }
}

static void leave(const tsr_dense *placed)
{
    if (device) {
        device->release(placed->data);
    }
}

static tsr_complex scalar(number value)
{
    return (tsr_complex){creal(value), cimag(value)};
}

static void execute(matrix *a, unsigned flags, const tsr_dense *b, tsr_dense *c)
{
    static const number scalars[] = {1, 0, 2, I, -1 - 2 * I};
    const number alpha = scalars[draw(5)], beta = scalars[draw(5)];
    const size_t cells = (size_t)(c->ld * (c->layout == TSR_COL_MAJOR ? c->ncols : c->nrows) + 1);
    tsr_dense before = *c;
    tsr_plan *plan;
    before.data = malloc(cells * sizeof(number));
    memcpy(before.data, c->data, cells * (c->type == TSR_FC32 ? 8 : 16) - 8);
    const tsr_dense from = place(b), to = place(c);
    assert_int_equal(tsr_plan_create(&plan, c->ncols == 1 ? TSR_OP_SPMV : TSR_OP_SPMM, tsr_default_semiring(a->type), a->sparse, &from, &to, flags), TSR_OK);
    assert_non_null(strstr(tsr_plan_explain(plan), "cpu:spmm_complex"));
    queued += tsr_plan_is_asynchronous(plan);
    assert_int_equal(tsr_execute_complex(plan, scalar(alpha), a->sparse, &from, scalar(beta), &to, NULL), TSR_OK);
    fetch(&to, c);
    check_dense(a, flags, alpha, b, beta, &before, c);
    if (!a->ones && cimag(alpha) == 0) { /* other values, which the plan does not hold; a real scalar */
        change_table(a);
        assert_int_equal(tsr_sparse_values_changed(a->sparse), TSR_OK);
        assert_int_equal(tsr_execute(plan, creal(alpha), a->sparse, &from, 0, &to, NULL), TSR_OK);
        fetch(&to, c);
        check_dense(a, flags, alpha, b, 0, &before, c);
    }
    tsr_plan_destroy(plan);
    leave(&from);
    leave(&to);
    free(before.data);
}

static void test_products(void **state)
{
    (void)state;
    static matrix a;
    static const int64_t widths[] = {1, 2, 3, 4, 5, 8, 16, 17, 33};
    for (int k = 0; k < CASES; k++) {
        const tsr_type type = draw(2) ? TSR_FC32 : TSR_FC64;
        make_matrix(&a, type, draw(MOST), draw(MOST));
        const unsigned flags = (draw(2) ? TSR_TRANSPOSE_A : 0) | (draw(2) ? TSR_CONJUGATE_A : 0);
        const int64_t m = flags & TSR_TRANSPOSE_A ? a.ncols : a.nrows, n = widths[draw(9)];
        tsr_dense b = make_dense(type, flags & TSR_TRANSPOSE_A ? a.nrows : a.ncols, n), c = make_dense(type, m, n);
        execute(&a, flags, &b, &c);
        free(b.data);
        free(c.data);
        tsr_sparse_destroy(a.sparse);
    }
    assert_true(!device || queued > CASES / 3);
}

/* The oracle computes the same. */
static void test_reference(void **state)
{
    assert_int_equal(tsr_set_option("kernel", "ref"), TSR_OK);
    test_products(state);
    assert_int_equal(tsr_set_option("kernel", ""), TSR_OK);
}

/* Infinity and NaN stay in their rows, and alpha = 0 does not look at them. */
static void test_not_finite(void **state)
{
    (void)state;
    const int64_t offsets[] = {0, 1, 2}, indices[] = {0, 1};
    double complex values[] = {1, 1}, c[] = {1, 1};
    double b[] = {INFINITY, 0, 2, 3}; /* two numbers: not all compilers have CMPLX */
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FC64, .values = values};
    const tsr_dense db = {.data = b, .type = TSR_FC64, .layout = TSR_COL_MAJOR, .nrows = 2, .ncols = 1, .ld = 2};
    tsr_dense dc = db;
    tsr_sparse *a;
    tsr_plan *plan;
    dc.data = c;
    assert_int_equal(tsr_sparse_create_csr(&a, 2, 2, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMV, tsr_default_semiring(TSR_FC64), a, &db, &dc, 0), TSR_OK);
    assert_int_equal(tsr_execute(plan, 0, a, &db, 2, &dc, NULL), TSR_OK);
    assert_true(c[0] == 2 && c[1] == 2);
    c[0] = c[1] = NAN;
    assert_int_equal(tsr_execute(plan, 1, a, &db, 0, &dc, NULL), TSR_OK);
    assert_true(creal(c[0]) == INFINITY && c[1] == 2 + 3 * I);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* ---- sparse times sparse ---- */

/* A copy there of `bytes` bytes. */
static void *there_of(const void *host, size_t bytes)
{
    void *there;
    const tsr_device_copy c = {NULL, (void *)(uintptr_t)host, bytes, bytes, bytes, 1, true, NULL};
    tsr_device_copy to = c;
    assert_int_equal(device->allocate(&there, bytes + 16, device_number), TSR_OK);
    to.device = there;
    assert_int_equal(device->copy(&to), TSR_OK);
    return there;
}

static void fetch_bytes(void *host, void *there, size_t bytes)
{
    const tsr_device_copy c = {there, host, bytes, bytes, bytes, 1, false, NULL};
    assert_int_equal(device->copy(&c), TSR_OK);
}

/* Other arrays of the same matrix, in device memory. */
typedef struct placed {
    void *offsets, *indices, *values;
} placed;

static placed place_matrix(matrix *m)
{
    const int64_t vectors = m->by_col ? m->ncols : m->nrows;
    const size_t index = m->narrow ? 4 : 8, value = m->type == TSR_FC32 ? 8 : 16;
    const placed there = {there_of(m->narrow ? (void *)m->offsets32 : m->offsets, (size_t)(vectors + 1) * index),
                          there_of(m->narrow ? (void *)m->indices32 : m->indices, (size_t)m->nvals * index),
                          m->ones ? NULL : there_of(values_of(m), (size_t)m->nvals * value)};
    const tsr_arrays arrays = {.index_type = m->narrow ? TSR_INDEX_32 : TSR_INDEX_64, .offsets = there.offsets, .indices = there.indices,
                               .type = m->type, .values = there.values, .memory = TSR_MEMORY_DEVICE};
    tsr_sparse_destroy(m->sparse);
    assert_int_equal((m->by_col ? tsr_sparse_create_csc : tsr_sparse_create_csr)(&m->sparse, m->nrows, m->ncols, &arrays, 0), TSR_OK);
    return there;
}

static void leave_matrix(const placed *there)
{
    device->release(there->offsets);
    device->release(there->indices);
    if (there->values) {
        device->release(there->values);
    }
}

/* The program's own kernel changes them: nobody is told. */
static void change_values(matrix *m, const placed *there)
{
    const size_t bytes = (size_t)m->nvals * (m->type == TSR_FC32 ? 8 : 16);
    if (there->values && bytes) {
        change_table(m);
        const tsr_device_copy c = {there->values, values_of(m), bytes, bytes, bytes, 1, true, NULL};
        assert_int_equal(device->copy(&c), TSR_OK);
    }
}

/* C, and its values alone. */
typedef struct sparse_result {
    int64_t p[MOST + 1], i[MOST * MOST];
    double complex x[MOST * MOST], again[MOST * MOST];
} sparse_result;

static void compute_sparse(const tsr_spgemm_plan *plan, tsr_type type, bool by_col, sparse_result *c)
{
    int64_t m, n, nvals;
    assert_int_equal(tsr_spgemm_plan_size(plan, &m, &n, &nvals), TSR_OK);
    if (!device) {
        assert_int_equal(tsr_spgemm_execute(plan, TSR_INDEX_64, c->p, c->i, c->x), TSR_OK);
        assert_int_equal(tsr_spgemm_execute_values(plan, c->again), TSR_OK);
        return;
    }
    const bool narrow = draw(2);
    const size_t index = narrow ? 4 : 8, vectors = (size_t)(by_col ? n : m) + 1, entries = (size_t)nvals, value = type == TSR_FC32 ? 8 : 16;
    void *p = there_of(c->i, vectors * index), *i = there_of(c->i, entries * index), *x = there_of(c->x, entries * value);
    assert_int_equal(tsr_spgemm_execute_device(plan, narrow ? TSR_INDEX_32 : TSR_INDEX_64, p, i, x, NULL), TSR_OK);
    fetch_bytes(c->x, x, entries * value);
    assert_int_equal(tsr_spgemm_execute_device(plan, TSR_INDEX_64, NULL, NULL, x, NULL), TSR_OK);
    fetch_bytes(c->again, x, entries * value);
    fetch_bytes(c->p, p, vectors * index);
    fetch_bytes(c->i, i, entries * index);
    for (size_t e = entries; narrow && e-- > 0;) {
        c->i[e] = ((const uint32_t *)c->i)[e];
    }
    for (size_t v = vectors; narrow && v-- > 0;) {
        c->p[v] = ((const uint32_t *)c->p)[v];
    }
    device->release(p);
    device->release(i);
    device->release(x);
}

static void check_sparse(const matrix *a, const matrix *b, unsigned flags, const tsr_spgemm_plan *plan, int64_t m, int64_t n, int64_t k)
{
    static sparse_result got;
    int64_t e = 0;
    const bool by_col = flags & TSR_SPGEMM_BY_COLUMN;
    compute_sparse(plan, a->type, by_col, &got);
    for (int64_t v = 0; v < (by_col ? n : m); v++) {
        assert_int_equal(got.p[v], e);
        for (int64_t w = 0; w < (by_col ? m : n); w++) {
            number sum = 0;
            bool met = false;
            for (int64_t q = 0; q < k; q++) {
                bool first, second;
                const number l = element(a, flags & TSR_SPGEMM_TRANSPOSE_A, flags & TSR_SPGEMM_CONJUGATE_A, by_col ? w : v, q, &first);
                const number r = element(b, flags & TSR_SPGEMM_TRANSPOSE_B, flags & TSR_SPGEMM_CONJUGATE_B, q, by_col ? v : w, &second);
                met = met || (first && second);
                sum += first && second ? l * r : 0;
            }
            if (met) {
                assert_int_equal(got.i[e], w);
                assert_true(get(got.x, a->type, e) == sum && get(got.again, a->type, e) == sum);
                e++;
            }
        }
    }
}

static void test_sparse_products(void **state)
{
    (void)state;
    static matrix a, b;
    for (int turn = 0; turn < CASES / 2; turn++) {
        const tsr_type type = draw(2) ? TSR_FC32 : TSR_FC64;
        const unsigned flags = (unsigned)draw(32);
        const int64_t m = draw(MOST), n = draw(MOST), k = draw(MOST);
        const bool turned_a = flags & TSR_SPGEMM_TRANSPOSE_A, turned_b = flags & TSR_SPGEMM_TRANSPOSE_B;
        tsr_spgemm_plan *plan;
        make_matrix(&a, type, turned_a ? k : m, turned_a ? m : k);
        make_matrix(&b, type, turned_b ? n : k, turned_b ? k : n);
        const bool in_place = device && draw(3) > 0; /* else operands are in host memory */
        const placed there[] = {in_place ? place_matrix(&a) : (placed){0}, in_place ? place_matrix(&b) : (placed){0}};
        assert_int_equal(tsr_spgemm_plan_create(&plan, tsr_default_semiring(type), a.sparse, b.sparse, flags), TSR_OK);
        check_sparse(&a, &b, flags, plan, m, n, k);
        for (int again = 0; again < 3 && in_place; again++) {
            change_values(&a, &there[0]);
            change_values(&b, &there[1]);
            check_sparse(&a, &b, flags, plan, m, n, k);
        }
        tsr_spgemm_plan_destroy(plan);
        if (in_place) {
            leave_matrix(&there[0]);
            leave_matrix(&there[1]);
        }
        tsr_sparse_destroy(a.sparse);
        tsr_sparse_destroy(b.sparse);
    }
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    const int64_t offsets[] = {0, 1}, indices[] = {0};
    double complex values[2] = {1, 1}, data[2];
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FC64, .values = values};
    tsr_dense d = {.data = data, .type = TSR_FC64, .nrows = 1, .ncols = 1, .ld = 1}, real = d;
    tsr_sparse *a;
    tsr_plan *plan;
    tsr_spgemm_plan *sparse_plan;
    real.type = TSR_FP64;
    assert_int_equal(tsr_sparse_create_csr(&a, 1, 1, &arrays, 0), TSR_OK);
    const tsr_semiring complex_min = {TSR_FC64, TSR_ADD_MIN, TSR_MUL_TIMES}, narrow = tsr_default_semiring(TSR_FC32);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, complex_min, a, &d, &d, 0), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SDDMM, tsr_default_semiring(TSR_FC64), a, &d, &d, 0), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FC64), a, &real, &d, 0), TSR_NOT_SUPPORTED);
    assert_non_null(strstr(tsr_last_error(), "not typecast"));
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, &real, &real, 0), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_spgemm_plan_create(&sparse_plan, narrow, a, a, 0), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_spgemm_plan_create(&sparse_plan, complex_min, a, a, 0), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_spgemm_plan_create(&sparse_plan, tsr_default_semiring(TSR_FP64), a, a, 0), TSR_NOT_SUPPORTED);
    tsr_sparse_destroy(a);
}

/* A plan of real numbers has no imaginary scalars, and takes conjugates, which are the same. */
static void test_real_plan(void **state)
{
    (void)state;
    const int64_t offsets[] = {0, 1}, indices[] = {0};
    double values[] = {3}, b[] = {2}, c[] = {0};
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FP64, .values = values};
    tsr_dense db = {.data = b, .type = TSR_FP64, .nrows = 1, .ncols = 1, .ld = 1}, dc = db;
    tsr_sparse *a;
    tsr_plan *plan;
    dc.data = c;
    assert_int_equal(tsr_sparse_create_csr(&a, 1, 1, &arrays, 0), TSR_OK);
    assert_int_equal(tsr_plan_create(&plan, TSR_OP_SPMM, tsr_default_semiring(TSR_FP64), a, &db, &dc, TSR_CONJUGATE_A), TSR_OK);
    assert_int_equal(tsr_execute_complex(plan, (tsr_complex){1, 1}, a, &db, (tsr_complex){0}, &dc, NULL), TSR_NOT_SUPPORTED);
    assert_int_equal(tsr_execute_complex(plan, (tsr_complex){2, 0}, a, &db, (tsr_complex){0}, &dc, NULL), TSR_OK);
    assert_true(c[0] == 12);
    tsr_plan_destroy(plan);
    tsr_sparse_destroy(a);
}

/* 77 without one. */
static int main_on_device(const char *which)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_products, set_seed), cmocka_unit_test_setup(test_sparse_products, set_seed)};
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->device || !take_device_number(gpu->device, which)) {
        printf("no device\n");
        return 77;
    }
    device = gpu->device;
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "device") == 0) {
        return main_on_device(argc > 2 ? argv[2] : NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_products, set_seed), cmocka_unit_test_setup(test_reference, set_seed),
        cmocka_unit_test_setup(test_sparse_products, set_seed), cmocka_unit_test(test_not_finite), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_real_plan)};
    return cmocka_run_group_tests(tests, tell_seed, NULL);
}
