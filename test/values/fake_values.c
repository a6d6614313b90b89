/* A plug-in that keeps dense values in plain C, far away from the arrays that they came from: the test double of a device.
 * fake_fail (n, status) makes the nth call from now on fail, -n that one and all after it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_values.h"
#include "kernels/kernels.h"
#include "src/base/types.h"
#include "src/runtime/backends.h"

TSR_PUBLIC const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
TSR_PUBLIC int tsr_backend_score(const tsr_backend_options *options);
TSR_PUBLIC long fake_alive(void);
TSR_PUBLIC long fake_calls(void);
TSR_PUBLIC void fake_fail(long at, int status);

/* ---- failures ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long calls, fail_at, alive;
static tsr_status fail_status = TSR_OK;

void fake_fail(long at, int status)
{
    pthread_mutex_lock(&lock);
    calls = 0;
    fail_at = at;
    fail_status = (tsr_status)status;
    pthread_mutex_unlock(&lock);
}

static tsr_status may_fail(void)
{
    pthread_mutex_lock(&lock);
    calls++;
    bool fails = fail_at > 0 ? calls == fail_at : fail_at < 0 && calls >= -fail_at;
    tsr_status status = fails ? fail_status : TSR_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

long fake_calls(void)
{
    return calls;
}

long fake_alive(void)
{
    return __atomic_load_n(&alive, __ATOMIC_RELAXED);
}

/* ---- values ---- */

fake_value *fake_new(int64_t count, tsr_type type, bool present)
{
    fake_value *v = calloc(1, sizeof *v);
    *v = (fake_value){.count = count, .type = type, .x = calloc((size_t)count + 1, tsr_type_size(type)),
                      .b = present ? calloc((size_t)count + 1, 1) : NULL};
    __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
    return v;
}

/* What is left behind is not what it was. */
void fake_free(fake_value *v)
{
    memset(v->x, 0xa5, (size_t)v->count * tsr_type_size(v->type));
    free(v->x);
    free(v->b);
    free(v);
    __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
}

static void forget(void *value)
{
    fake_free(value);
}

static int64_t bytes_of(const fake_value *v)
{
    return v->count * (int64_t)(tsr_type_size(v->type) + (v->b ? 1 : 0));
}

/* Sparse on the host, a bitmap here. */
static fake_value *spread(const tsr_view *view, int64_t *bytes_moved)
{
    size_t size = tsr_type_size(view->type);
    fake_value *v = fake_new(view->nrows * view->ncols, view->type, true);
    const uint32_t *narrow = view->i;
    const int64_t *wide = view->i;
    for (int64_t k = 0; k < view->nvec; k++)
        for (int64_t e = tsr_view_start(view, k); e < tsr_view_start(view, k + 1); e++) {
            int64_t at = (view->h ? view->h[k] : k) * view->vlen + (view->index_size == 4 ? narrow[e] : wide[e]);
            memcpy((char *)v->x + (size_t)at * size, (const char *)view->x + (view->iso ? 0 : (size_t)e * size), size);
            v->b[at] = 1;
        }
    *bytes_moved = (view->nvec + 1) * 8 + view->nvals * (int64_t)(8 + (view->iso ? 0 : size));
    return v;
}

static tsr_status upload(const tsr_view *view, int nthreads, void **value, int64_t *bytes_moved)
{
    (void)nthreads;
    tsr_status status = may_fail();
    if (status != TSR_OK)
        return status;
    size_t size = tsr_type_size(view->type);
    if (tsr_is_compressed(view)) {
        *value = spread(view, bytes_moved);
        return TSR_OK;
    }
    fake_value *v = fake_new(view->nvec * view->vlen, view->type, view->format == TSR_BITMAP);
    for (int64_t k = 0; k < v->count; k++) {
        int64_t at = k / view->vlen * view->ld + k % view->vlen;
        memcpy((char *)v->x + (size_t)k * size, (const char *)view->x + (view->iso ? 0 : (size_t)at * size), size);
        if (v->b)
            v->b[k] = view->b[at];
    }
    *value = v;
    *bytes_moved = view->iso ? (int64_t)size : bytes_of(v);
    return TSR_OK;
}

static tsr_status step(const tsr_ewise *s, void **value)
{
    tsr_status status = may_fail();
    if (status == TSR_OK)
        *value = fake_step(s);
    return status;
}

static tsr_status reduce(void *value, tsr_type type, tsr_reduce_op op, void *scalar, bool *any)
{
    tsr_status status = may_fail();
    if (status == TSR_OK)
        *any = fake_reduce(value, type, op, scalar);
    return status;
}

static tsr_status sums(const tsr_sums *s, void **value)
{
    tsr_status status = may_fail();
    if (status == TSR_OK)
        *value = fake_sums(s);
    return status;
}

static tsr_status cast(void *value, tsr_type from, tsr_type to, void **result)
{
    const fake_value *v = value;
    tsr_status status = may_fail();
    if (v->type != from)
        abort();
    if (status == TSR_OK)
        *result = fake_cast(v, to);
    return status;
}

static tsr_status turn(void *value, int64_t vectors, int64_t length, void **result)
{
    const fake_value *v = value;
    tsr_status status = may_fail();
    if (v->count != vectors * length)
        abort();
    if (status == TSR_OK)
        *result = fake_turn(v, vectors, length);
    return status;
}

static tsr_status places(const tsr_places *p, void **value)
{
    tsr_status status = may_fail();
    if (status == TSR_OK)
        *value = fake_places(p);
    return status;
}

static tsr_status gather(void *value, const tsr_indices *from, int nthreads, void **result, int64_t *bytes_moved)
{
    tsr_status status = may_fail();
    (void)nthreads;
    *bytes_moved = from->list ? from->count * (int64_t)sizeof(uint32_t) : 0;
    if (status == TSR_OK)
        *result = fake_gather(value, from);
    return status;
}

static tsr_status scatter(void *value, const tsr_indices *to, int64_t count, int nthreads, void **result, int64_t *bytes_moved)
{
    tsr_status status = may_fail();
    (void)nthreads;
    *bytes_moved = to->list ? to->count * (int64_t)sizeof(uint32_t) : 0;
    if (status != TSR_OK)
        return status;
    *result = fake_scatter(value, to, count);
    return *result ? TSR_OK : TSR_DECLINED;
}

static bool present(const fake_value *v, int64_t k)
{
    return !v->b || v->b[k];
}

static tsr_status count(void *value, int64_t *nvals)
{
    const fake_value *v = value;
    *nvals = 0;
    for (int64_t k = 0; k < v->count; k++)
        *nvals += present(v, k);
    return may_fail();
}

static tsr_status wait_for(void *value)
{
    (void)value;
    return may_fail();
}

static int64_t copy_out(const fake_value *v, void *x, int8_t *b)
{
    int64_t nvals = 0;
    memcpy(x, v->x, (size_t)v->count * tsr_type_size(v->type));
    for (int64_t k = 0; k < v->count; k++) {
        if (b)
            b[k] = present(v, k);
        else if (!present(v, k))
            abort();
        nvals += present(v, k);
    }
    return nvals;
}

static int64_t copy_numbers(const fake_value *v, uint64_t *numbers)
{
    const uint32_t *from = v->x;
    for (int64_t k = 0; k < v->count; k++)
        numbers[k] = from[k];
    return v->count;
}

static tsr_status fetch(void *value, tsr_download *to)
{
    tsr_status status = may_fail();
    if (status != TSR_OK && status != TSR_DECLINED) /* what is there can be had, or the device is lost */
        return status;
    to->nvals = !to->x && to->i ? copy_numbers(value, to->i) : copy_out(value, to->x, to->b);
    to->bytes_moved = bytes_of(value);
    return TSR_OK;
}

static double element(const fake_value *v, int64_t row, int64_t column, int64_t nrows, int64_t ncols, bool by_col)
{
    int64_t at = by_col ? column * nrows + row : row * ncols + column;
    return v->type == TSR_FP32 ? (double)((const float *)v->x)[at] : ((const double *)v->x)[at];
}

static tsr_status multiply(const tsr_dense_product *p, void **value)
{
    tsr_status status = may_fail();
    if (status != TSR_OK)
        return status;
    fake_value *c = fake_new(p->m * p->n, p->type, false);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < p->k; k++)
                sum += element(p->a, i, k, p->m, p->k, p->a_by_col) * element(p->b, k, j, p->k, p->n, p->b_by_col);
            int64_t at = p->c_by_col ? j * p->m + i : i * p->n + j;
            if (p->type == TSR_FP32)
                ((float *)c->x)[at] = (float)sum;
            else
                ((double *)c->x)[at] = sum;
        }
    *value = c;
    return TSR_OK;
}

/* ---- products, by the reference ---- */

static bool supports(const tsr_product *p)
{
    return tsr_backend_cpu()->supports(p);
}

static void see(tsr_view *view, const fake_value *v)
{
    if (!v)
        return;
    view->x = v->x;
    view->b = v->b;
    view->format = v->b ? TSR_BITMAP : TSR_FULL;
}

static bool is_dense(const tsr_product *p)
{
    return p->op == TSR_OP_SPMM || p->op == TSR_OP_SPMV;
}

static tsr_status stay(const tsr_product *p, tsr_result *result)
{
    fake_value *c = fake_new(p->m * p->n, p->semiring.type, result->b);
    tsr_result inner = {.x = c->x, .b = c->b};
    tsr_status status = tsr_ref_execute(p, &inner);
    if (status != TSR_OK) {
        forget(c);
        return status;
    }
    result->nvals = inner.nvals;
    result->stays = c;
    return TSR_OK;
}

/* Sums of pairs of integers, as the plug-in leaves them there. */
static bool is_count(const tsr_product *p)
{
    const tsr_semiring s = p->semiring;
    return p->op == TSR_OP_MASKED_DOT && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_PAIR && s.type != TSR_BOOL && s.type != TSR_FP32 &&
           s.type != TSR_FP64;
}

static uint64_t total_of(const fake_value *v)
{
    uint64_t total = 0;
    for (int64_t k = 0; k < v->count; k++)
        total += present(v, k) ? ((const uint64_t *)v->x)[k] : 0;
    return total;
}

/* One value per entry of the mask; the total in 64 bits. */
static tsr_status stay_masked(const tsr_product *p, tsr_result *result)
{
    tsr_product wide = *p;
    wide.semiring.type = TSR_UINT64;
    fake_value *c = fake_new(p->mask.nvals, p->semiring.type, true), *sums = fake_new(p->mask.nvals, TSR_UINT64, true);
    tsr_status status = tsr_ref_execute(p, &(tsr_result){.x = c->x, .b = c->b});
    if (status == TSR_OK)
        status = tsr_ref_execute(&wide, &(tsr_result){.x = sums->x, .b = sums->b});
    result->total = total_of(sums);
    result->stays = status == TSR_OK ? c : NULL;
    if (status != TSR_OK)
        fake_free(c);
    fake_free(sums);
    return status;
}

static tsr_status execute(const tsr_product *product, tsr_result *result)
{
    tsr_product p = *product;
    tsr_status status = may_fail();
    if (status != TSR_OK)
        return status;
    if ((p.a_value && p.a.x) || (p.b_value && p.b.x))
        abort();
    see(&p.a, p.a_value);
    see(&p.b, p.b_value);
    p.a_value = p.b_value = NULL;
    if (is_dense(&p) && (result->may_stay || result->may_keep))
        status = stay(&p, result);
    else if (is_count(&p) && result->may_stay)
        return stay_masked(&p, result);
    else
        status = tsr_ref_execute(&p, result);
    if (status == TSR_OK && result->stays && !result->may_stay)
        result->nvals = copy_out(result->stays, result->x, result->b);
    result->bytes_moved = product->b_value ? 0 : p.k * p.n * (int64_t)tsr_type_size(p.semiring.type);
    return status;
}

static const char *kernel_name(const tsr_product *product)
{
    (void)product;
    return "loop";
}

const tsr_backend *tsr_backend_init(const tsr_backend_options *options)
{
    static const tsr_backend_contents contents = {.upload = upload, .download = fetch, .drop = forget};
    static const tsr_backend_arrays arrays = {.step = step, .reduce = reduce, .multiply = multiply, .sums = sums, .cast = cast, .turn = turn,
                                              .places = places, .gather = gather, .scatter = scatter, .count = count, .wait = wait_for};
    static const tsr_backend backend = {.api_version = TSR_BACKEND_API_VERSION, .name = "fake", .supports = supports, .execute = execute,
                                        .kernel_name = kernel_name, .contents = &contents, .arrays = &arrays};
    (void)options;
    return &backend;
}

int tsr_backend_score(const tsr_backend_options *options)
{
    (void)options;
    return 1;
}
