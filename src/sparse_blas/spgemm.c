/* The native door of sparse times sparse (tessera/spgemm.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "tessera/spgemm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/types.h"
#include "src/runtime/backends.h"
#include "src/sparse_blas/spgemm_plan.h"

static bool is_known(tsr_semiring s)
{
    if (tsr_is_complex(s.type))
        return (unsigned)s.add < TSR_ADD_COUNT && (unsigned)s.mul < TSR_MUL_COUNT;
    return (unsigned)s.type < TSR_TYPE_COUNT && (unsigned)s.add < TSR_ADD_COUNT && (unsigned)s.mul < TSR_MUL_COUNT && tsr_monoid_fits(s);
}

static bool fits_complex(tsr_semiring s, const tsr_sparse *a, const tsr_sparse *b)
{
    if (!tsr_is_complex(s.type))
        return !tsr_is_complex(a->view.type) && !tsr_is_complex(b->view.type);
    return s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && a->view.type == s.type && b->view.type == s.type;
}

tsr_status tsr_spgemm_status(tsr_status status)
{
    if (status == TSR_DECLINED)
        return tsr_native_fail(TSR_NOT_SUPPORTED, "no backend computes the product: its vectors are too long");
    return status == TSR_OUT_OF_MEMORY ? tsr_native_no_memory() : status;
}

/* ---- plans ---- */

static const tsr_spgemm_kernels *kernels(void)
{
    return tsr_backend_cpu()->host->spgemm;
}

static tsr_status count(tsr_spgemm_plan *plan)
{
    tsr_spgemm pattern = plan->product;
    tsr_spgemm_work *work = NULL;
    pattern.pattern = true;
    pattern.a.x = pattern.b.x = NULL;
    pattern.sorted = false;
    const tsr_status status = kernels()->count(&work, &pattern, NULL, &plan->size);
    kernels()->free(work);
    return tsr_spgemm_status(status);
}

static void explain(tsr_spgemm_plan *plan)
{
    const tsr_spgemm *s = &plan->product;
    const char *why = plan->device ? "cuda:spgemm: expected to be faster, both ways counted, or asked for"
                      : tsr_backend_gpu_asked() && tsr_backend_gpu() ? "cpu:spgemm: the GPU is not expected to be faster, both ways counted"
                                                                     : "cpu:spgemm: no GPU is in use";
    snprintf(plan->explanation, sizeof plan->explanation, "sparse product %s, %lld x %lld x %lld, %.0f products in %lld entries -> %s",
             tsr_type_name(s->semiring.type), (long long)s->m, (long long)s->k, (long long)s->n, plan->size.work, (long long)plan->size.nvals, why);
}

const char *tsr_spgemm_plan_explain(const tsr_spgemm_plan *plan)
{
    return plan ? plan->explanation : "";
}

tsr_status tsr_spgemm_plan_create(tsr_spgemm_plan **plan, tsr_semiring semiring, const tsr_sparse *a, const tsr_sparse *b, unsigned flags)
{
    const unsigned all = TSR_SPGEMM_TRANSPOSE_A | TSR_SPGEMM_TRANSPOSE_B | TSR_SPGEMM_BY_COLUMN | TSR_SPGEMM_CONJUGATE_A |
                         TSR_SPGEMM_CONJUGATE_B;
    if (!plan || !a || !b)
        return tsr_native_null(!plan ? "plan" : !a ? "a" : "b");
    if (flags & ~all)
        return tsr_native_fail(TSR_INVALID_VALUE, "flags = %#x has unknown bits", flags);
    if (!is_known(semiring))
        return tsr_native_fail(TSR_INVALID_VALUE, "semiring of type %d, add %d, mul %d is none", (int)semiring.type, (int)semiring.add,
                               (int)semiring.mul);
    if (!fits_complex(semiring, a, b))
        return tsr_native_fail(TSR_NOT_SUPPORTED, "types %d of a, %d of b, %d of the semiring: complex numbers have plus_times of one type",
                               (int)a->view.type, (int)b->view.type, (int)semiring.type);
    const tsr_view va = flags & TSR_SPGEMM_TRANSPOSE_A ? tsr_view_transposed(a->view) : a->view;
    const tsr_view vb = flags & TSR_SPGEMM_TRANSPOSE_B ? tsr_view_transposed(b->view) : b->view;
    if (va.ncols != vb.nrows)
        return tsr_native_fail(TSR_DIMENSION_MISMATCH, "op(A) has %lld columns, op(B) has %lld rows", (long long)va.ncols, (long long)vb.nrows);
    tsr_spgemm_plan *made = calloc(1, sizeof *made);
    if (!made)
        return tsr_native_no_memory();
    made->product = (tsr_spgemm){.semiring = semiring, .m = va.nrows, .n = vb.ncols, .k = va.ncols, .a = va, .b = vb, .sorted = true,
                                 .c_by_col = flags & TSR_SPGEMM_BY_COLUMN, .nthreads = tsr_native_threads()};
    made->a = a;
    made->b = b;
    const tsr_status status = count(made);
    if (status != TSR_OK) {
        free(made);
        return status;
    }
    made->flags = flags;
    made->device = tsr_engine_spgemm_device(&made->product, &made->size);
    made->history = calloc(1, sizeof *made->history);
    if (!made->history) {
        free(made);
        return tsr_native_no_memory();
    }
    pthread_mutex_init(&made->history->lock, NULL);
    explain(made);
    *plan = made;
    return TSR_OK;
}

tsr_status tsr_spgemm_plan_size(const tsr_spgemm_plan *plan, int64_t *nrows, int64_t *ncols, int64_t *nvals)
{
    int64_t unused;
    if (!plan)
        return tsr_native_null("plan");
    *(nrows ? nrows : &unused) = plan->product.m;
    *(ncols ? ncols : &unused) = plan->product.n;
    *(nvals ? nvals : &unused) = plan->size.nvals;
    return TSR_OK;
}

double tsr_spgemm_plan_work(const tsr_spgemm_plan *plan)
{
    return plan ? plan->size.work : 0;
}

void tsr_spgemm_plan_destroy(tsr_spgemm_plan *plan)
{
    if (!plan)
        return;
    tsr_spgemm_history *m = plan->history;
    if (m->on_device)
        m->holder->contents->drop(m->on_device);
    pthread_mutex_destroy(&m->lock);
    free(m->p);
    free(m->own_i);
    free(m);
    free(plan);
}

/* ---- execution ---- */

static void forget_pattern(tsr_spgemm_history *m)
{
    free(m->p);
    free(m->own_i);
    m->p = NULL;
    m->own_i = NULL;
    m->i = NULL;
}

/* False: there is no memory for it. */
static bool keep_pattern(tsr_spgemm_history *m, const int64_t *from, int64_t nvec, const void *indices, size_t index_size, bool borrowed)
{
    const int64_t nvals = from[nvec];
    forget_pattern(m);
    int64_t *p = malloc((size_t)(nvec + 1) * sizeof *p);
    m->own_i = borrowed ? NULL : malloc((size_t)(nvals + 1) * sizeof *m->own_i);
    if (!p || (!borrowed && !m->own_i)) {
        free(p);
        forget_pattern(m);
        return false;
    }
    memcpy(p, from, (size_t)(nvec + 1) * sizeof *p);
    for (int64_t e = 0; !borrowed && e < nvals; e++)
        m->own_i[e] = index_size == 4 ? ((const uint32_t *)indices)[e] : (uint32_t)((const int64_t *)indices)[e];
    m->i = borrowed ? indices : m->own_i;
    m->p = p;
    return true;
}

static bool is_narrow(const tsr_spgemm *s)
{
    return (s->c_by_col ? s->m : s->n) <= (int64_t)UINT32_MAX;
}

/* With values it has now; without memory it is found again. */
static void remember_pattern(const tsr_spgemm_plan *plan, const tsr_spgemm_c *c)
{
    tsr_spgemm_history *m = plan->history;
    if (!m->p && is_narrow(&plan->product))
        keep_pattern(m, c->p, plan->size.nvec, c->i, c->index_size, false);
}

static void copy_pattern(const tsr_spgemm_plan *plan, const tsr_spgemm_c *c)
{
    const tsr_spgemm_history *m = plan->history;
    memcpy(c->p, m->p, (size_t)(plan->size.nvec + 1) * sizeof *c->p);
    if (c->index_size == 4 && c->i != m->i)
        memcpy(c->i, m->i, (size_t)plan->size.nvals * sizeof *m->i);
    for (int64_t e = 0; c->index_size == 8 && e < plan->size.nvals; e++)
        ((int64_t *)c->i)[e] = m->i[e];
}

static tsr_status fill(const tsr_spgemm *product, const tsr_spgemm_c *c)
{
    tsr_spgemm_work *work;
    tsr_spgemm_size size;
    tsr_status status = kernels()->count(&work, product, NULL, &size);
    if (status != TSR_OK)
        return status;
    status = kernels()->fill(work, c);
    kernels()->free(work);
    return status;
}

/* Values alone of a pattern that is not known: both are computed. */
static tsr_status fill_values(const tsr_spgemm_plan *plan, const tsr_spgemm *product, void *x)
{
    const size_t entries = (size_t)(plan->size.nvals > 0 ? plan->size.nvals : 1);
    const tsr_spgemm_c c = {.p = malloc((size_t)(plan->size.nvec + 1) * sizeof *c.p), .i = malloc(entries * 8), .x = x, .index_size = 8};
    const tsr_status status = c.p && c.i ? fill(product, &c) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OK)
        remember_pattern(plan, &c);
    free(c.p);
    free(c.i);
    return status;
}

tsr_status tsr_spgemm_fill_here(const tsr_spgemm_plan *plan, const tsr_spgemm *product, const tsr_spgemm_c *c, bool repeated)
{
    const tsr_spgemm_history *m = plan->history;
    tsr_status status = m->p ? kernels()->again(product, m->p, m->i, c->x) : TSR_DECLINED;
    if (status == TSR_OK && c->p)
        copy_pattern(plan, c);
    if (status == TSR_OK)
        return status;
    if (!c->p)
        return fill_values(plan, product, c->x);
    status = fill(product, c);
    if (status == TSR_OK && repeated)
        remember_pattern(plan, c);
    return status;
}

/* What a device does not finish the CPU computes. */
static tsr_status fill_anywhere(const tsr_spgemm_plan *plan, const tsr_spgemm *product, const tsr_spgemm_c *c)
{
    tsr_spgemm_history *m = plan->history;
    pthread_mutex_lock(&m->lock);
    const bool repeated = tsr_spgemm_is_repeated(m, !c->p);
    tsr_status status = TSR_DECLINED;
    if (plan->device)
        status = tsr_engine_spgemm_on_device(plan->device, product, &plan->size, c, tsr_spgemm_kept(m, plan->device, repeated));
    if (status != TSR_OK)
        status = tsr_spgemm_fill_here(plan, product, c, repeated);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static tsr_status compute(const tsr_spgemm_plan *plan, const tsr_spgemm_c *c)
{
    tsr_spgemm_ready ready;
    tsr_status status = tsr_spgemm_make_ready(&ready, plan, NULL);
    if (status == TSR_OK)
        status = fill_anywhere(plan, &ready.product, c);
    tsr_spgemm_free_ready(&ready);
    return status;
}

tsr_status tsr_spgemm_check_index(const tsr_spgemm_plan *plan, tsr_index_type type)
{
    const bool narrow = type == TSR_INDEX_32, fits = plan->size.nvals <= INT32_MAX && plan->product.m <= UINT32_MAX && plan->product.n <= UINT32_MAX;
    if ((unsigned)type <= TSR_INDEX_64 && (!narrow || fits))
        return TSR_OK;
    return tsr_native_fail(TSR_INVALID_VALUE, "index_type = %d is unknown, or too narrow for %lld entries", (int)type, (long long)plan->size.nvals);
}

tsr_status tsr_spgemm_execute(const tsr_spgemm_plan *plan, tsr_index_type index_type, void *offsets, void *indices, void *values)
{
    const bool narrow = index_type == TSR_INDEX_32;
    uint64_t nothing[2]; /* an array without elements may be NULL */
    if (!plan || !offsets || (plan->size.nvals > 0 && (!indices || !values)))
        return tsr_native_null(!plan ? "plan" : !offsets ? "offsets" : !indices ? "indices" : "values");
    tsr_status status = tsr_spgemm_check_index(plan, index_type);
    if (status != TSR_OK)
        return status;
    const int64_t vectors = plan->size.nvec;
    int64_t *p = narrow ? malloc((size_t)(vectors + 1) * sizeof *p) : offsets;
    if (!p)
        return tsr_native_no_memory();
    const tsr_spgemm_c c = {.p = p, .i = indices ? indices : nothing, .x = values ? values : nothing, .index_size = narrow ? 4 : 8};
    status = tsr_spgemm_status(compute(plan, &c));
    for (int64_t v = 0; narrow && status == TSR_OK && v <= vectors; v++)
        ((uint32_t *)offsets)[v] = (uint32_t)p[v];
    if (narrow)
        free(p);
    return status;
}

tsr_status tsr_spgemm_execute_values(const tsr_spgemm_plan *plan, void *values)
{
    uint64_t nothing[2];
    if (!plan || (!values && plan->size.nvals > 0))
        return tsr_native_null(plan ? "values" : "plan");
    const tsr_spgemm_c c = {.x = values ? values : nothing};
    return tsr_spgemm_status(compute(plan, &c));
}

tsr_status tsr_spgemm_plan_pattern(tsr_spgemm_plan *plan, tsr_index_type index_type, const void *offsets, const void *indices)
{
    static const uint64_t nothing;
    if (!plan || !offsets || (!indices && plan->size.nvals > 0))
        return tsr_native_null(!plan ? "plan" : !offsets ? "offsets" : "indices");
    indices = indices ? indices : &nothing;
    const int64_t nvec = plan->size.nvec;
    if ((unsigned)index_type > TSR_INDEX_64 || tsr_native_index_at(offsets, index_type, nvec) != plan->size.nvals)
        return tsr_native_fail(TSR_INVALID_VALUE, "index_type = %d is unknown, or not %lld entries", (int)index_type, (long long)plan->size.nvals);
    if (!is_narrow(&plan->product))
        return TSR_OK; /* it is found again each time */
    int64_t *p = malloc((size_t)(nvec + 1) * sizeof *p);
    if (!p)
        return tsr_native_no_memory();
    for (int64_t k = 0; k <= nvec; k++)
        p[k] = tsr_native_index_at(offsets, index_type, k);
    pthread_mutex_lock(&plan->history->lock);
    const bool kept = keep_pattern(plan->history, p, nvec, indices, index_type == TSR_INDEX_32 ? 4 : 8, index_type == TSR_INDEX_32);
    pthread_mutex_unlock(&plan->history->lock);
    free(p);
    return kept ? TSR_OK : tsr_native_no_memory();
}

tsr_status tsr_spgemm_execute_new(const tsr_spgemm_plan *plan, tsr_sparse **c)
{
    if (!plan || !c)
        return tsr_native_null(plan ? "c" : "plan");
    const size_t entries = (size_t)(plan->size.nvals > 0 ? plan->size.nvals : 1);
    int64_t *p = malloc((size_t)(plan->size.nvec + 1) * sizeof *p), *i = malloc(entries * sizeof *i);
    void *x = malloc(entries * tsr_type_size(plan->product.semiring.type));
    tsr_status status = p && i && x ? tsr_spgemm_execute(plan, TSR_INDEX_64, p, i, x) : tsr_native_no_memory();
    const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = p, .indices = i, .type = plan->product.semiring.type, .values = x};
    if (status == TSR_OK)
        status = (plan->product.c_by_col ? tsr_sparse_create_csc : tsr_sparse_create_csr)(c, plan->product.m, plan->product.n, &arrays,
                                                                                        TSR_UNCHECKED);
    if (status != TSR_OK) {
        free(p);
        free(i);
        free(x);
        return status;
    }
    (*c)->owned_offsets = p;
    (*c)->owned_indices = i;
    (*c)->owned_values = x;
    (*c)->copied = true;
    return TSR_OK;
}
