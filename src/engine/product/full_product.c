/* Full times full on a device, as an operation: where it has one of them already, or multiplies sooner than the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/engine/call/contents.h"
#include "src/engine/elementwise/elementwise.h"
#include "src/engine/product/product.h"
#include "src/runtime/backends.h"

static bool inspect(tsr_object *object, const tsr_call *call, void *handle, bool transposed)
{
    const tsr_door *door = call->door;
    if (door->left_sparse(handle) || !tsr_object_inspect(object, door, handle, false) || object->view.format != TSR_FULL ||
        object->view.type != call->of.full.type)
        return false;
    if (transposed)
        object->view = tsr_view_transposed(object->view);
    return true;
}

static bool inspect_operands(tsr_call *call)
{
    const tsr_arguments *g = &call->given;
    return g->C && g->A && inspect(&call->a, call, g->A, call->mod.tran0) && inspect(&call->b, call, g->B, call->mod.tran1);
}

/* Then few entries of the product are wanted. */
static bool sparse_mask(const tsr_object *m)
{
    return m->given && (m->array ? tsr_device_array_is_sparse(m->array) : tsr_is_compressed(&m->view));
}

static bool shapes_fit(tsr_call *call)
{
    const tsr_elementwise *update = &call->update;
    tsr_dense_product *p = &call->of.full;
    p->m = call->a.view.nrows;
    p->k = call->a.view.ncols;
    p->n = call->b.view.ncols;
    p->a_by_col = call->a.view.by_col;
    p->b_by_col = call->b.view.by_col;
    p->c_by_col = update->by_col;
    return call->b.view.nrows == p->k && update->nrows == p->m && update->ncols == p->n && p->k > 0;
}

/* One value everywhere is faster known than computed. */
static const char *resolve(tsr_call *call)
{
    if (!inspect_operands(call) || (tsr_object_iso(&call->a) && tsr_object_iso(&call->b)))
        return "operands are not full";
    const char *why = tsr_update_plan(call, call->of.full.type, true);
    if (why)
        return why;
    return sparse_mask(&call->update.m) || !shapes_fit(call) ? "C or the mask does not fit" : NULL;
}

static const tsr_backend *device_of(const tsr_call *call)
{
    const tsr_device_array *array = call->a.array ? call->a.array : call->b.array;
    return array ? tsr_device_array_about(array)->backend : NULL;
}

/* On the host, it is known already that uploading all of it pays. */
static void decide(tsr_call *call)
{
    const tsr_dense_product *p = &call->of.full;
    const tsr_backend *gpu = call->in_place ? NULL : tsr_backend_gpu();
    if (call->in_place)
        tsr_elementwise_pulls(&call->update, device_of(call), (double)p->m * (double)p->k + (double)p->k * (double)p->n);
    else
        call->update.backend = gpu && gpu->arrays ? gpu : NULL;
    call->decision.backend = call->update.backend;
}

/* The arrays themselves are uploaded, whichever way they are seen. */
static tsr_status upload(tsr_call *call, tsr_object *object, bool transposed, void **kept)
{
    if (transposed)
        object->view = tsr_view_transposed(object->view);
    const tsr_status status = tsr_elementwise_upload(&call->update, object);
    if (status == TSR_OK)
        *kept = tsr_device_array_kept(object->array);
    return status;
}

static bool is_plain(const tsr_call *call)
{
    return !call->given.accum && !call->given.M;
}

static tsr_status run(tsr_call *call)
{
    const tsr_backend *backend = call->decision.backend;
    tsr_dense_product *p = &call->of.full;
    void *kept = NULL;
    tsr_status status = upload(call, &call->a, call->mod.tran0, &p->a);
    if (status == TSR_OK)
        status = upload(call, &call->b, call->mod.tran1, &p->b);
    if (status == TSR_OK)
        status = TSR_ATTEMPT(backend->arrays->multiply(p, &kept));
    if (status != TSR_OK)
        return status;
    const tsr_device_array_facts facts = {.backend = backend, .type = p->type, .nrows = p->m, .ncols = p->n, .by_col = p->c_by_col,
                                          .full = true, .origin = is_plain(call) ? call->update.key : 0};
    call->remote.array = tsr_device_array_new(&facts, kept);
    return call->remote.array ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void use(tsr_call *call)
{
    tsr_contents_use(call->a.array);
    tsr_contents_use(call->b.array);
}

static void describe(char *text, size_t size, const tsr_call *call)
{
    const tsr_dense_product *p = &call->of.full;
    snprintf(text, size, "dense plus_times %s m=%lld k=%lld n=%lld", tsr_type_name(p->type), (long long)p->m, (long long)p->k,
             (long long)p->n);
}

const tsr_operation tsr_full_product_operation = {.resolve = resolve, .decide = decide, .run = run, .settle = tsr_settle_update,
                                                  .use = use, .describe = describe, .kernel = "multiply"};
