/* The CUDA plug-in: what the engine sees of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/cleared.h"
#include "backends/cuda/arrays/fusion.h"
#include "backends/cuda/compressed/compressed.h"
#include "backends/cuda/masked/attention.h"
#include "backends/cuda/masked/masked.h"
#include "backends/cuda/masked/sampled.h"
#include "backends/cuda/masked/masked_plans.h"
#include "backends/cuda/masked/stencil.h"
#include "backends/cuda/operands/order.h"
#include "backends/cuda/operands/sparse.h"
#include "backends/cuda/spgemm/sparse_product.h"
#include "backends/cuda/spmm/measure.h"
#include "backends/cuda/spmm/matrix_statistics.h"
#include "backends/cuda/spmm/column_tiles.h"
#include "backends/cuda/spmm/on_stream.h"
#include "backends/cuda/transfer/on_device.h"
#include "backends/cuda/transfer/pinned.h"
#include "backends/cuda/spmm/few_push.h"
#include "backends/cuda/spmm/spmv_push.h"
#include "backends/cuda/spmm/whole_product.h"
#include "backends/cuda/device/times.h"
#include "backends/cuda/arrays/arrays.h"
#include "src/base/openmp.h"

#include <string.h>

TSR_PUBLIC const tsr_backend *tsr_backend_init(const tsr_backend_options *options);
TSR_PUBLIC int tsr_backend_score(const tsr_backend_options *options);

static void free_representations(tsr_cuda_sparse *a)
{
    tsr_cuda_blocks_free(a->blocks);
    tsr_cuda_statistics_free(&a->statistics);
    tsr_cuda_order_free(&a->order);
    tsr_cuda_plans_free(a->plans);
    tsr_cuda_stencil_free(&a->stencil);
}

enum { SCORE = 100 };

/* On the device a row or column number has 32 bits. */
static bool sizes_fit(const tsr_product *p)
{
    return p->m <= UINT32_MAX && p->k <= UINT32_MAX;
}

static bool formats_fit(const tsr_product *p)
{
    if (tsr_is_masked(p->op))
        return tsr_cuda_masked_supports(p);
    return (p->op == TSR_OP_SPMM || p->n == 1) && tsr_is_compressed(&p->a) && !tsr_is_compressed(&p->b);
}

static bool supports(const tsr_product *p)
{
    return formats_fit(p) && sizes_fit(p) && tsr_monoid_fits(p->semiring) && tsr_values_fit(p);
}

static bool holds(const tsr_product *p)
{
    tsr_cuda_operand a = tsr_cuda_operand_a(p), columns;
    if (!tsr_cuda_alive() || !p->a_slot)
        return false;
    if (tsr_is_sparse_product(p))
        return tsr_cuda_sparse_product_held(p);
    return tsr_is_masked(p->op) ? tsr_cuda_masked_held(p)
                                : tsr_cuda_sparse_held(&a) || (tsr_cuda_push_operand(&columns, p) && tsr_cuda_sparse_held(&columns));
}

/* Nothing is multiplied: no entry anywhere. */
static tsr_status no_products(const tsr_product *p, tsr_result *result)
{
    size_t places = (size_t)(tsr_is_masked(p->op) ? p->mask.nvals : p->m * p->n);
    if (places) {
        memset(result->x, 0, places * tsr_type_size(p->semiring.type));
        if (result->b)
            memset(result->b, 0, places);
    }
    result->nvals = 0;
    return TSR_OK;
}

/* What may stay may have to be downloaded, for want of memory. */
static tsr_status multiply(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *p, tsr_result *result)
{
    if (p->b_value || result->may_stay) {
        int64_t moved = result->bytes_moved;
        tsr_status status = tsr_cuda_multiply_whole(a, plan, p, result);
        if (status != TSR_OUT_OF_MEMORY || p->b_value)
            return status;
        result->bytes_moved = moved;
    }
    return tsr_cuda_multiply(a, plan, p, result);
}

static tsr_status run_on_device(const tsr_product *p, tsr_result *result)
{
    if (tsr_is_masked(p->op))
        return tsr_cuda_masked_execute(p, result);
    tsr_cuda_sparse *a;
    tsr_cuda_plan plan;
    tsr_cuda_operand operand = tsr_cuda_operand_a(p);
    result->bytes_moved = 0;
    tsr_status status = tsr_cuda_push_multiply(p, result);
    if (status == TSR_DECLINED)
        status = tsr_cuda_few_multiply(p, result);
    if (status != TSR_DECLINED)
        return status;
    status = tsr_cuda_sparse_use(&a, &operand, &result->bytes_moved);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_make_plan(&plan, a, p, p->a_slot != NULL);
    if (status == TSR_OK)
        status = multiply(a, &plan, p, result);
    tsr_cuda_sparse_leave(a);
    return status;
}

/* Device memory may be shorter than what we count (other programs, fragments): once more, alone. */
static tsr_status execute_alone(const tsr_product *p, tsr_result *result)
{
    tsr_status status = run_on_device(p, result);
    if (status != TSR_OUT_OF_MEMORY)
        return status;
    tsr_cuda_evict_all();
    return run_on_device(p, result);
}

static tsr_status execute(const tsr_product *p, tsr_result *result)
{
    if (!tsr_cuda_alive())
        return TSR_DECLINED;
    bool nothing = p->m == 0 || p->n == 0 || p->k == 0 || p->a.nvals == 0;
    if (nothing || (tsr_is_masked(p->op) && (p->b.nvals == 0 || tsr_cuda_masked_empty(p))))
        return result->compressed ? TSR_DECLINED : no_products(p, result);
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_begin(tsr_cuda_first(), &before);
    tsr_cuda_all.built = tsr_cuda_all.evicted = 0;
    tsr_cuda_times_start();
    if (status == TSR_OK)
        status = tsr_cuda_fusion_run();
    if (status == TSR_OK)
        status = execute_alone(p, result);
    tsr_cuda_times_stop();
    result->built = tsr_cuda_all.built;
    result->evicted = tsr_cuda_all.evicted;
    tsr_cuda_end(before);
    return status;
}

/* ---- contents ---- */

typedef struct downloading {
    tsr_cuda_contents *contents;
    tsr_download *to;
} downloading;

static tsr_status run_download(void *arguments)
{
    downloading *d = arguments;
    d->to->nvals = d->to->bytes_moved = 0;
    const tsr_status status = d->contents->download(d->contents, d->to);
    if (status != TSR_OK)
        tsr_cuda_settle();
    return status;
}

static tsr_status download(void *contents, tsr_download *to)
{
    return tsr_cuda_alone_on(((tsr_cuda_contents *)contents)->dead.device, run_download, &(downloading){contents, to});
}

static const tsr_backend_contents contents_of_any_form = {.upload = tsr_cuda_array_upload_view, .download = download,
                                                          .drop = tsr_cuda_contents_drop};

/* ---- the table ---- */

static const char *kernel_name(const tsr_product *p)
{
    (void)p;
    return "csr"; /* until a product has shown what else there is */
}

int tsr_backend_score(const tsr_backend_options *options)
{
    return tsr_cuda_count() > options->device ? SCORE : 0;
}

/* What is kept for later goes first. */
static bool evict_oldest(void)
{
    return tsr_cuda_cleared_forget() || tsr_cuda_evict_oldest();
}

const tsr_backend *tsr_backend_init(const tsr_backend_options *options)
{
    static const tsr_backend_device in_device_memory = {
        .prepare = tsr_cuda_stream_prepare, .run = tsr_cuda_stream_run, .drop = tsr_cuda_stream_drop, .copy = tsr_cuda_device_copy,
        .wait = tsr_cuda_device_wait, .which = tsr_cuda_device_which, .allocate = tsr_cuda_device_allocate, .release = tsr_cuda_device_release,
        .sddmm_prepare = tsr_cuda_sampled_prepare, .sddmm_run = tsr_cuda_sampled_run, .sddmm_drop = tsr_cuda_sampled_drop,
        .attention_prepare = tsr_cuda_attention_prepare, .attention_run = tsr_cuda_attention_run,
        .attention_backward = tsr_cuda_attention_differentiate, .attention_drop = tsr_cuda_attention_drop};
    static const tsr_backend backend = {.api_version = TSR_BACKEND_API_VERSION, .name = "cuda", .supports = supports,
                                        .execute = execute, .kernel_name = kernel_name, .holds = holds,
                                        .release = tsr_cuda_cache_entry_release, .measure = tsr_cuda_measure,
                                        .contents = &contents_of_any_form, .times = tsr_cuda_times, .elapsed = tsr_cuda_elapsed,
                                        .pin = tsr_cuda_pin_block, .unpin = tsr_cuda_unpin_block,
                                        .arrays = &tsr_cuda_arrays, .sparse = &tsr_cuda_sparse_products, .device = &in_device_memory,
                                        .compressed = &tsr_cuda_compressed};
    static const tsr_cuda_callbacks callbacks = {.evict_oldest = evict_oldest, .free_representations = free_representations,
                                                 .drop_unseen = tsr_cuda_fusion_drop};
    (void)tsr_openmp_share(options->openmp);
    return tsr_cuda_start(options, &callbacks) ? &backend : NULL;
}
