/* Products of full matrices where a backend has them already.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/engine/attempt.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/handover/resident.h"
#include "src/graphblas/step.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

/* A product on its way. */
typedef struct dense {
    const tsr_arguments *call;
    tsr_modifiers mod;
    tsr_inspected a, b;
    tsr_dense_product product;
    tsr_ewise_plan step; /* C<M> accum= T */
    bool pays;        /* to bring the operands and the result home */
} dense;

static bool plus_times(tsr_type *type, GrB_Semiring semiring)
{
    tsr_semiring s;
    if (!semiring || !tsr_match_semiring(&s, semiring))
        return false;
    *type = s.type;
    return s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && (s.type == TSR_FP32 || s.type == TSR_FP64);
}

static bool look_at_operand(tsr_inspected *seen, GrB_Matrix handle, tsr_type type, bool transposed)
{
    if (tsr_contents_left_sparse(handle) || !tsr_inspect_operand(seen, handle) || seen->view.format != TSR_FULL || seen->view.type != type)
        return false;
    if (transposed)
        seen->view = tsr_view_transposed(seen->view);
    return true;
}

static bool look_at_operands(dense *d)
{
    const tsr_arguments *c = d->call;
    return c->C && c->A && !tsr_match_descriptor(&d->mod, c->desc) && look_at_operand(&d->a, c->A, d->product.type, d->mod.tran0) &&
           look_at_operand(&d->b, c->B, d->product.type, d->mod.tran1);
}

/* Then few entries of the product are wanted. */
static bool sparse_mask(const tsr_inspected *m)
{
    return m->given && (m->value ? tsr_device_array_is_sparse(m->value) : tsr_is_compressed(&m->view));
}

static bool look(dense *d)
{
    const tsr_arguments *c = d->call;
    tsr_dense_product *p = &d->product;
    const bool full = true;
    if (!look_at_operands(d) || (tsr_inspected_iso(&d->a) && tsr_inspected_iso(&d->b)))
        return false; /* one value everywhere is faster known than computed */
    const tsr_ewise_call rest = {.name = c->name, .C = c->C, .M = c->M, .accum = c->accum, .desc = c->desc, .vector = c->vector,
                                .step = {.op = TSR_EWISE_IDENTITY, .type = p->type, .result = p->type}};
    if (!tsr_ewise_plan_look(&d->step, &rest, &full) || sparse_mask(&d->step.m))
        return false;
    p->m = d->a.view.nrows;
    p->k = d->a.view.ncols;
    p->n = d->b.view.ncols;
    p->a_by_col = d->a.view.by_col;
    p->b_by_col = d->b.view.by_col;
    p->c_by_col = d->step.by_col;
    return d->b.view.nrows == p->k && d->step.nrows == p->m && d->step.ncols == p->n && p->k > 0;
}

static const tsr_backend *backend_there(const dense *d)
{
    tsr_device_array *value = d->a.value ? d->a.value : d->b.value;
    return value ? tsr_device_array_about(value)->backend : NULL;
}

static bool pulls(dense *d)
{
    if (d->pays) {
        const tsr_backend *gpu = tsr_backend_gpu();
        d->step.backend = gpu && gpu->arrays ? gpu : NULL;
        return d->step.backend;
    }
    const tsr_dense_product *p = &d->product;
    return tsr_ewise_plan_pulls(&d->step, backend_there(d), (double)p->m * (double)p->k + (double)p->k * (double)p->n);
}

/* The arrays themselves are brought, whichever way they are looked at. */
static tsr_status bring(dense *d, tsr_inspected *seen, bool transposed, void **value)
{
    if (transposed)
        seen->view = tsr_view_transposed(seen->view);
    const tsr_status status = tsr_ewise_plan_bring(&d->step, seen);
    if (status == TSR_OK)
        *value = tsr_device_array_kept(seen->value);
    return status;
}

static bool is_plain(const dense *d)
{
    return !d->call->accum && !d->call->M;
}

static tsr_status multiply(dense *d, tsr_device_array **value)
{
    const tsr_backend *backend = d->step.backend;
    void *kept = NULL;
    tsr_status status = bring(d, &d->a, d->mod.tran0, &d->product.a);
    if (status == TSR_OK)
        status = bring(d, &d->b, d->mod.tran1, &d->product.b);
    if (status == TSR_OK)
        status = TSR_ATTEMPT(backend->arrays->multiply(&d->product, &kept));
    if (status != TSR_OK)
        return status;
    const tsr_device_array_facts facts = {.backend = backend, .type = d->product.type, .nrows = d->product.m, .ncols = d->product.n,
                                   .by_col = d->product.c_by_col, .full = true, .origin = is_plain(d) ? d->step.key : 0};
    *value = tsr_device_array_new(&facts, kept);
    return *value ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void report(const dense *d, double ms)
{
    if (!tsr_trace_wanted())
        return;
    const tsr_dense_product *p = &d->product;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "dense plus_times %s m=%lld k=%lld n=%lld", tsr_type_name(p->type), (long long)p->m, (long long)p->k,
             (long long)p->n);
    tsr_contents_report(d->step.backend, "multiply", (tsr_trace_record){.call = d->call->name, .pattern = pattern, .measured_ms = ms,
                                                                        .bytes_moved = d->step.moved});
}

static bool compute(dense *d)
{
    const double start = tsr_engine_clock_ms();
    tsr_device_array *value = NULL;
    if (multiply(d, &value) != TSR_OK || tsr_ewise_plan_take(&d->step, value) != TSR_OK)
        return false;
    tsr_contents_use(d->a.value);
    tsr_contents_use(d->b.value);
    report(d, tsr_engine_clock_ms() - start);
    return true;
}

static bool run(GrB_Info *info, dense *d)
{
    const bool done = look(d) && pulls(d) && compute(d);
    tsr_device_array_unref(d->a.value);
    tsr_device_array_unref(d->b.value);
    tsr_ewise_plan_release(&d->step);
    *info = GrB_SUCCESS;
    return done;
}

static bool allowed(bool there)
{
    const tsr_config *config = tsr_config_get();
    return (there || config->mode == TSR_MODE_GPU) && !config->defer && tsr_contents_allowed_inside();
}

bool tsr_try_dense(GrB_Info *info, const tsr_arguments *call, bool there)
{
    if (!allowed(there) || call->vector || !call->B)
        return false;
    dense d = {.call = call};
    return plus_times(&d.product.type, call->semiring) && run(info, &d);
}

bool tsr_dense_there(GrB_Info *info, const tsr_arguments *call)
{
    dense d = {.call = call, .pays = true};
    return allowed(true) && plus_times(&d.product.type, call->semiring) && run(info, &d);
}
