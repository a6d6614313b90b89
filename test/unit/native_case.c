/* One random product through the native door, compared with loops over small whole numbers, which every type adds
 * exactly. SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/native_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/runtime/backends.h"
#include "tessera/device.h"

static const size_t type_size[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2};

/* ---- random numbers ---- */

static uint64_t next(uint64_t *s)
{
    *s += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *s;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t below(uint64_t *s, int64_t n)
{
    return (int64_t)(next(s) % (uint64_t)n);
}

/* ---- elements of any type ---- */

static double get(const void *x, tsr_type type, int64_t k)
{
    if (tsr_is_half(type)) {
        const uint16_t bits = ((const uint16_t *)x)[k];
        return (double)(type == TSR_FP16 ? tsr_float_of_fp16(bits) : tsr_float_of_bf16(bits));
    }
    switch (type) {
    case TSR_BOOL: return ((const bool *)x)[k];
    case TSR_INT8: return ((const int8_t *)x)[k];
    case TSR_INT16: return ((const int16_t *)x)[k];
    case TSR_INT32: return ((const int32_t *)x)[k];
    case TSR_INT64: return (double)((const int64_t *)x)[k];
    case TSR_UINT8: return ((const uint8_t *)x)[k];
    case TSR_UINT16: return ((const uint16_t *)x)[k];
    case TSR_UINT32: return ((const uint32_t *)x)[k];
    case TSR_UINT64: return (double)((const uint64_t *)x)[k];
    case TSR_FP32: return ((const float *)x)[k];
    default: return ((const double *)x)[k];
    }
}

static void set(void *x, tsr_type type, int64_t k, double v)
{
    int64_t whole = isfinite(v) ? (int64_t)v : 0;
    if (tsr_is_half(type)) {
        tsr_round_values((uint16_t *)x + k, tsr_number_of(type), &v, TSR_FP64, 1, 1);
        return;
    }
    switch (type) {
    case TSR_BOOL: ((bool *)x)[k] = v != 0; break;
    case TSR_INT8: case TSR_UINT8: ((uint8_t *)x)[k] = (uint8_t)whole; break;
    case TSR_INT16: case TSR_UINT16: ((uint16_t *)x)[k] = (uint16_t)whole; break;
    case TSR_INT32: case TSR_UINT32: ((uint32_t *)x)[k] = (uint32_t)whole; break;
    case TSR_INT64: case TSR_UINT64: ((uint64_t *)x)[k] = (uint64_t)whole; break;
    case TSR_FP32: ((float *)x)[k] = (float)v; break;
    default: ((double *)x)[k] = v; break;
    }
}

/* The identity of a monoid, as the value stored in C. */
static void set_identity(void *x, const tsr_semiring *s, int64_t k)
{
    static const uint64_t most[TSR_TYPE_COUNT] = {1, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX, UINT8_MAX, UINT16_MAX,
                                                  UINT32_MAX, UINT64_MAX, 0, 0};
    bool real = s->type == TSR_FP32 || s->type == TSR_FP64, is_signed = s->type >= TSR_INT8 && s->type <= TSR_INT64;
    if (s->add != TSR_ADD_MIN && s->add != TSR_ADD_MAX) {
        set(x, s->type, k, 0);
    } else if (real) {
        set(x, s->type, k, s->add == TSR_ADD_MIN ? INFINITY : -INFINITY);
    } else {
        uint64_t bits = s->add == TSR_ADD_MIN ? most[s->type] : is_signed ? ~most[s->type] : 0;
        memcpy((char *)x + (size_t)k * type_size[s->type], &bits, type_size[s->type]);
    }
}

/* ---- one case ---- */

typedef struct matrix {
    tsr_dense d;
    int64_t cells; /* of the array, padding included */
} matrix;

typedef struct product {
    uint64_t random;
    tsr_op op;
    tsr_semiring s;
    int64_t m, n, k; /* of the product */
    int64_t nrows, ncols, nvals;
    bool by_col, transpose, pattern, copy, narrow;
    int base; /* of offsets and indices, while the library sees them */
    tsr_type a_type;
    int64_t *offsets, *indices;
    void *values;
    void *offsets32, *indices32;
    matrix first, second; /* B, C or X, Y */
    void *result;         /* SDDMM: values of C */
    double alpha, beta;
    char *message;
    size_t message_size;
} product;

static int64_t random_size(uint64_t *s)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65, 100};
    return sizes[below(s, sizeof sizes / sizeof sizes[0])];
}

static double random_value(product *p)
{
    return (double)below(&p->random, 5);
}

static bool is_real(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64;
}

/* For what a product must not look at. */
static double unread_value(tsr_type type)
{
    return is_real(type) || tsr_is_half(type) ? NAN : 99;
}

static void choose_semiring(product *p)
{
    p->s.type = (tsr_type)below(&p->random, TSR_TYPE_COUNT);
    p->s.add = (tsr_add)below(&p->random, TSR_ADD_LOR);
    p->s.mul = (tsr_mul)below(&p->random, TSR_MUL_COUNT);
    if (p->s.type == TSR_BOOL) {
        p->s.add = below(&p->random, 2) ? TSR_ADD_LOR : TSR_ADD_ANY;
        p->s.mul = TSR_MUL_AND;
    } else if (below(&p->random, 2)) {
        p->s = (tsr_semiring){p->s.type, TSR_ADD_PLUS, TSR_MUL_TIMES};
    }
    p->alpha = 1;
    p->beta = 0;
    if (is_real(p->s.type) && p->s.add == TSR_ADD_PLUS && below(&p->random, 2)) {
        static const double scalars[] = {0, 1, 0.5, -2};
        p->alpha = scalars[below(&p->random, 4)];
        p->beta = scalars[below(&p->random, 4)];
    }
}

static void choose_pattern(product *p)
{
    int64_t vectors = p->by_col ? p->ncols : p->nrows, length = p->by_col ? p->nrows : p->ncols;
    int64_t density = below(&p->random, 4), shift = below(&p->random, 3);
    p->offsets = calloc((size_t)vectors + 1, sizeof *p->offsets);
    p->indices = calloc((size_t)(vectors * length) + 1, sizeof *p->indices);
    for (int64_t v = 0; v < vectors; v++) {
        int64_t one_in = density == 0 ? 1 : v == 0 ? 1 : density * density * 4;
        bool empty = density > 0 && below(&p->random, 4) == 0;
        for (int64_t i = 0; i < length && !empty; i++) {
            int64_t index = shift == 0 ? length - 1 - i : i; /* falling: an unsorted vector */
            if (below(&p->random, one_in) == 0) {
                p->indices[p->nvals++] = index;
            }
        }
        p->offsets[v + 1] = p->nvals;
    }
}

static void *narrow(const int64_t *wide, int64_t count)
{
    uint32_t *to = calloc((size_t)count + 1, sizeof *to);
    for (int64_t k = 0; k < count; k++) {
        to[k] = (uint32_t)wide[k];
    }
    return to;
}

static void count_from(int base, int64_t *indices, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        indices[k] += base;
    }
}

static tsr_type random_type(product *p)
{
    return below(&p->random, 3) == 0 ? (tsr_type)below(&p->random, TSR_TYPE_COUNT) : p->s.type;
}

static void choose_sparse(product *p)
{
    p->transpose = p->op != TSR_OP_SDDMM && below(&p->random, 3) == 0;
    p->nrows = p->transpose ? p->k : p->m;
    p->ncols = p->op == TSR_OP_SDDMM ? p->n : p->transpose ? p->m : p->k;
    p->by_col = below(&p->random, 2);
    p->narrow = below(&p->random, 2);
    p->copy = below(&p->random, 3) == 0;
    p->pattern = below(&p->random, 3) == 0;
    p->a_type = random_type(p);
    choose_pattern(p);
    p->values = calloc((size_t)p->nvals + 1, 8);
    const bool unread = p->alpha == 0 || p->op == TSR_OP_SDDMM;
    for (int64_t k = 0; k < p->nvals; k++) {
        set(p->values, p->a_type, k, unread ? unread_value(p->a_type) : random_value(p));
    }
    int64_t vectors = p->by_col ? p->ncols : p->nrows;
    p->base = (int)below(&p->random, 2);
    count_from(p->base, p->offsets, vectors + 1);
    count_from(p->base, p->indices, p->nvals);
    p->offsets32 = narrow(p->offsets, vectors + 1);
    p->indices32 = narrow(p->indices, p->nvals);
}

/* Of a dense operand that is read: now and then of 16 bits. */
static tsr_type random_dense_type(product *p)
{
    return below(&p->random, 4) ? random_type(p) : below(&p->random, 2) ? TSR_FP16 : TSR_BF16;
}

static int64_t place(const tsr_dense *d, int64_t row, int64_t col)
{
    return d->layout == TSR_ROW_MAJOR ? row * d->ld + col : col * d->ld + row;
}

static matrix random_dense(product *p, tsr_type type, int64_t nrows, int64_t ncols, bool unread)
{
    const tsr_layout layout = below(&p->random, 2) ? TSR_ROW_MAJOR : TSR_COL_MAJOR;
    matrix x = {.d = {.type = type, .layout = layout, .nrows = nrows, .ncols = ncols}};
    bool by_row = x.d.layout == TSR_ROW_MAJOR;
    x.d.ld = (by_row ? ncols : nrows) + (below(&p->random, 2) ? below(&p->random, 5) : 0);
    x.cells = x.d.ld * (by_row ? nrows : ncols);
    x.d.data = calloc((size_t)x.cells + 1, 8);
    for (int64_t k = 0; k < x.cells; k++) {
        set(x.d.data, type, k, unread_value(type)); /* padding: never read, never written */
    }
    for (int64_t r = 0; r < nrows && !unread; r++) {
        for (int64_t c = 0; c < ncols; c++) {
            set(x.d.data, type, place(&x.d, r, c), random_value(p));
        }
    }
    return x;
}

static void choose(product *p)
{
    p->m = random_size(&p->random);
    p->k = random_size(&p->random);
    p->n = p->op == TSR_OP_SPMV ? 1 : random_size(&p->random);
    choose_semiring(p);
    choose_sparse(p);
    bool sddmm = p->op == TSR_OP_SDDMM;
    const tsr_type first = native_case_on_device && below(&p->random, 2) ? p->s.type : random_dense_type(p);
    const bool no_terms = p->alpha == 0, no_result = p->beta == 0;
    p->first = sddmm ? random_dense(p, first, p->m, p->k, no_terms) : random_dense(p, first, p->k, p->n, no_terms);
    p->second = sddmm ? random_dense(p, random_dense_type(p), p->k, p->n, no_terms) : random_dense(p, p->s.type, p->m, p->n, no_result);
    p->result = calloc((size_t)p->nvals + 1, 8);
    for (int64_t k = 0; k < p->nvals; k++) {
        set(p->result, p->s.type, k, no_result ? unread_value(p->s.type) : random_value(p));
    }
}

static void release(product *p)
{
    free(p->offsets);
    free(p->indices);
    free(p->values);
    free(p->offsets32);
    free(p->indices32);
    free(p->first.d.data);
    free(p->second.d.data);
    free(p->result);
}

/* ---- the oracle ---- */

/* A value as the semiring sees it: typecast first. */
static double cast(const product *p, double v)
{
    return p->s.type == TSR_BOOL ? v != 0 : v;
}

static double multiply(const product *p, double x, double y)
{
    x = cast(p, x);
    y = cast(p, y);
    switch (p->s.mul) {
    case TSR_MUL_TIMES: return x * y;
    case TSR_MUL_FIRST: return x;
    case TSR_MUL_SECOND: return y;
    case TSR_MUL_PAIR: return 1;
    case TSR_MUL_PLUS: return x + y;
    default: return x != 0 && y != 0;
    }
}

/* One place of the result: the terms met, and for ANY which values are allowed (bit v: value v). */
typedef struct sum {
    double value;
    bool present;
    uint64_t any;
} sum;

static void take(const product *p, sum *s, double term)
{
    if (!s->present) {
        s->value = term;
    } else if (p->s.add == TSR_ADD_PLUS) {
        s->value += term;
    } else if (p->s.add == TSR_ADD_MIN) {
        s->value = term < s->value ? term : s->value;
    } else if (p->s.add == TSR_ADD_MAX) {
        s->value = term > s->value ? term : s->value;
    } else if (p->s.add == TSR_ADD_LOR) {
        s->value = s->value != 0 || term != 0;
    }
    s->present = true;
    s->any |= term >= 0 && term < 64 ? UINT64_C(1) << (unsigned)term : 0;
}

static double value_at(const product *p, int64_t e)
{
    return p->pattern ? 1 : get(p->values, p->a_type, e);
}

/* Does `found` (element k of x) equal the place, given what C held before? */
static bool agrees(const product *p, const void *x, int64_t k, const sum *s, double before)
{
    char expected[16] = {0};
    if (p->alpha == 1 && p->beta == 0) {
        if (!s->present) {
            set_identity(expected, &p->s, 0);
        } else if (p->s.add == TSR_ADD_ANY) {
            double found = get(x, p->s.type, k);
            return found >= 0 && found < 64 && (s->any >> (unsigned)found & 1);
        } else {
            set(expected, p->s.type, 0, s->value);
        }
    } else {
        set(expected, p->s.type, 0, (p->alpha != 0 && s->present ? p->alpha * s->value : 0) + (p->beta != 0 ? p->beta * before : 0));
        if (get(expected, p->s.type, 0) == 0 && get(x, p->s.type, k) == 0) {
            return true; /* the sign of zero is free */
        }
    }
    return memcmp(expected, (const char *)x + (size_t)k * type_size[p->s.type], type_size[p->s.type]) == 0;
}

static sum *multiply_out(const product *p)
{
    sum *sums = calloc((size_t)(p->m * p->n) + 1, sizeof *sums);
    int64_t vectors = p->by_col ? p->ncols : p->nrows;
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t e = p->offsets[v]; e < p->offsets[v + 1]; e++) {
            bool flip = p->by_col != p->transpose;
            int64_t i = flip ? p->indices[e] : v, k = flip ? v : p->indices[e];
            for (int64_t j = 0; j < p->n; j++) {
                double y = get(p->first.d.data, p->first.d.type, place(&p->first.d, k, j));
                take(p, &sums[i * p->n + j], multiply(p, value_at(p, e), y));
            }
        }
    }
    return sums;
}

static bool complain(const product *p, const char *what, int64_t where)
{
    snprintf(p->message, p->message_size,
             "%s at %lld: op %d type %d add %d mul %d m %lld k %lld n %lld nvals %lld alpha %g beta %g "
             "by_col %d transpose %d pattern %d narrow %d a_type %d first %d second %d", what, (long long)where, p->op, p->s.type,
                 p->s.add,
             p->s.mul, (long long)p->m, (long long)p->k, (long long)p->n, (long long)p->nvals, p->alpha, p->beta,
                 p->by_col,
             p->transpose, p->pattern, p->narrow, p->a_type, p->first.d.type, p->second.d.type);
    return false;
}

/* C against the sums; cells beside C must be as `before`. */
static bool compare_dense(const product *p, const void *before)
{
    const tsr_dense *c = &p->second.d;
    sum *sums = multiply_out(p);
    char *touched = calloc((size_t)p->second.cells + 1, 1);
    bool good = true;
    for (int64_t i = 0; i < p->m && good; i++) {
        for (int64_t j = 0; j < p->n && good; j++) {
            int64_t at = place(c, i, j);
            touched[at] = 1;
            if (!agrees(p, c->data, at, &sums[i * p->n + j], get(before, c->type, at))) {
                good = complain(p, "wrong value", i * p->n + j);
            }
        }
    }
    size_t size = type_size[c->type];
    for (int64_t k = 0; k < p->second.cells && good; k++) {
        if (!touched[k] && memcmp((const char *)before + (size_t)k * size, (const char *)c->data + (size_t)k * size,
                                  size) != 0) {
            good = complain(p, "padding written", k);
        }
    }
    free(touched);
    free(sums);
    return good;
}

static sum dot(const product *p, int64_t i, int64_t j)
{
    sum s = {0};
    for (int64_t k = 0; k < p->k; k++) {
        double x = get(p->first.d.data, p->first.d.type, place(&p->first.d, i, k));
        double y = get(p->second.d.data, p->second.d.type, place(&p->second.d, k, j));
        take(p, &s, multiply(p, x, y));
    }
    return s;
}

static bool compare_sampled(const product *p, const void *before)
{
    int64_t vectors = p->by_col ? p->ncols : p->nrows;
    for (int64_t v = 0; v < vectors; v++) {
        for (int64_t e = p->offsets[v]; e < p->offsets[v + 1]; e++) {
            int64_t i = p->by_col ? p->indices[e] : v, j = p->by_col ? v : p->indices[e];
            sum s = dot(p, i, j);
            if (!agrees(p, p->result, e, &s, get(before, p->s.type, e))) {
                return complain(p, "wrong value", e);
            }
        }
    }
    return true;
}

/* ---- arrays in device memory ---- */

bool native_case_on_device;
int native_case_which;
int native_case_asynchronous;

static const tsr_backend_device *device(void)
{
    return tsr_backend_gpu()->device;
}

static bool copy(void *on_device, void *host, size_t bytes, bool to_device)
{
    const tsr_device_copy c = {.device = on_device, .host = host, .device_pitch = bytes, .host_pitch = bytes, .width = bytes, .height = 1,
                               .to_device = to_device};
    return device()->copy(&c) == TSR_OK;
}

/* A copy on the device, maybe `shift` bytes past an aligned place. */
static void *upload(const void *host, size_t bytes, size_t shift)
{
    void *p = NULL;
    if (device()->allocate(&p, bytes + shift + 16, native_case_which) != TSR_OK || !copy((char *)p + shift, (void *)(uintptr_t)host, bytes, true)) {
        abort();
    }
    return (char *)p + shift;
}

/* An array that the library is given, and where it came from. */
typedef struct placed {
    void *host, *there;
    size_t bytes, shift;
} placed;

static placed place_array(product *p, void *host, size_t bytes, bool on_device)
{
    placed it = {host, host, bytes, 0};
    if (on_device && host) {
        it.shift = below(&p->random, 4) ? 0 : 8;
        it.there = upload(host, bytes, it.shift);
    }
    return it;
}

static bool take_back(const placed *it, bool contents)
{
    bool good = true;
    if (it->there != it->host) {
        good = !contents || copy(it->there, it->host, it->bytes, false);
        device()->release((char *)it->there - it->shift);
    }
    return good;
}

/* ---- through the library ---- */

static tsr_status execute(product *p, tsr_sparse *a, const tsr_plan *plan, const tsr_dense *first, const tsr_dense *second, void *result)
{
    if (p->op == TSR_OP_SDDMM) {
        return tsr_execute_sddmm(plan, p->alpha, first, second, p->beta, a, result, NULL);
    }
    return tsr_execute(plan, p->alpha, a, first, p->beta, second, NULL);
}

static tsr_status compute_there(product *p, tsr_sparse *a, const tsr_dense *first, const tsr_dense *second, void *result)
{
    tsr_plan *plan = NULL;
    tsr_status status = tsr_plan_create(&plan, p->op, p->s, a, first, second, p->transpose ? TSR_TRANSPOSE_A : 0);
    if (status == TSR_OK) {
        native_case_asynchronous += tsr_plan_is_asynchronous(plan);
        status = execute(p, a, plan, first, second, result);
    }
    tsr_plan_destroy(plan);
    return status;
}

static tsr_status compute(product *p, tsr_sparse *a)
{
    const bool first_there = native_case_on_device && below(&p->random, 4), second_there = native_case_on_device && below(&p->random, 4);
    tsr_dense first = p->first.d, second = p->second.d;
    placed x = place_array(p, first.data, (size_t)p->first.cells * type_size[first.type], first_there);
    placed y = place_array(p, second.data, (size_t)p->second.cells * type_size[second.type], second_there);
    placed values = place_array(p, p->result, (size_t)p->nvals * type_size[p->s.type], first_there);
    first.data = x.there;
    first.memory = first_there ? TSR_MEMORY_DEVICE : TSR_MEMORY_HOST;
    second.data = y.there;
    second.memory = second_there ? TSR_MEMORY_DEVICE : TSR_MEMORY_HOST;
    tsr_status status = compute_there(p, a, &first, &second, values.there);
    const bool back[] = {take_back(&x, false), take_back(&y, true), take_back(&values, true)};
    return status == TSR_OK && !(back[1] && back[2]) ? TSR_INTERNAL_ERROR : status;
}

static tsr_status run(product *p)
{
    tsr_sparse *a = NULL;
    const bool there = native_case_on_device && below(&p->random, 2);
    const size_t index_size = p->narrow ? 4 : 8, vectors = (size_t)(p->by_col ? p->ncols : p->nrows);
    placed offsets = place_array(p, p->narrow ? p->offsets32 : p->offsets, (vectors + 1) * index_size, there);
    placed indices = place_array(p, p->narrow ? p->indices32 : p->indices, (size_t)p->nvals * index_size, there);
    placed values = place_array(p, p->pattern ? NULL : p->values, (size_t)p->nvals * type_size[p->a_type], there);
    tsr_arrays arrays = {.index_type = p->narrow ? TSR_INDEX_32 : TSR_INDEX_64, .offsets = offsets.there, .indices = indices.there,
                         .type = p->a_type, .values = values.there, .memory = there ? TSR_MEMORY_DEVICE : TSR_MEMORY_HOST, .index_base = p->base};
    tsr_status (*create)(tsr_sparse **, int64_t, int64_t, const tsr_arrays *, unsigned) =
        p->by_col ? tsr_sparse_create_csc : tsr_sparse_create_csr;
    tsr_status status = create(&a, p->nrows, p->ncols, &arrays, p->copy ? TSR_COPY : 0);
    if (status == TSR_OK && below(&p->random, 2)) {
        status = tsr_sparse_hint(a, p->op, p->n, 1e6, TSR_PRECISION_EXACT, true);
    }
    if (status == TSR_OK) {
        status = compute(p, a);
    }
    tsr_sparse_destroy(a);
    take_back(&offsets, false);
    take_back(&indices, false);
    take_back(&values, false);
    count_from(-p->base, p->offsets, (int64_t)vectors + 1);
    count_from(-p->base, p->indices, p->nvals);
    return status;
}

bool native_case_passes(tsr_op op, uint64_t seed, char *message, size_t size)
{
    product p = {.op = op, .random = seed, .message = message, .message_size = size};
    choose(&p);
    bool sddmm = op == TSR_OP_SDDMM;
    size_t bytes = (size_t)(sddmm ? p.nvals : p.second.cells) * type_size[p.s.type];
    void *before = malloc(bytes + 1);
    memcpy(before, sddmm ? p.result : p.second.d.data, bytes);
    tsr_status status = run(&p);
    bool good = status == TSR_OK || complain(&p, tsr_status_string(status), 0);
    good = good && (sddmm ? compare_sampled(&p, before) : compare_dense(&p, before));
    free(before);
    release(&p);
    return good;
}
