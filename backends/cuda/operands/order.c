/* Row orders of block formats: decided once for a matrix, before its first one is built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/operands/order.h"

#include "backends/cuda/device/context.h"
#include "src/format/order/row_order.h"

/* ms for a row and for an entry: from bench_gpu --reorder on an H200, 2026-11-21. */
static const double row_ms = 1.5e-6, entry_ms = 2e-8;

static bool is_wanted(const tsr_source *a, tsr_reorder wanted)
{
    return wanted != TSR_REORDER_NONE && (wanted != TSR_REORDER_AUTO || a->nvals >= TSR_ORDER_LEAST_ENTRIES);
}

double tsr_cuda_order_ms(const tsr_source *a, tsr_reorder wanted)
{
    return is_wanted(a, wanted) ? (double)a->nrows * row_ms + (double)a->nvals * entry_ms : 0;
}

/* Are there fewer nonzero vectors in this order? */
static tsr_status judge(bool *pays, const tsr_source *a, const uint32_t *row)
{
    double own[5], ordered[5];
    tsr_status status = tsr_cuda_sample_vectors(own, a, NULL, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_sample_vectors(ordered, a, row, tsr_cuda->compute);
    *pays = status == TSR_OK && tsr_order_pays(own, ordered);
    return status;
}

static tsr_status make(tsr_cuda_order *order, const tsr_source *a, tsr_reorder wanted)
{
    bool keeps = true;
    tsr_status status = tsr_cuda_new((void **)&order->row, order->bytes);
    if (status == TSR_OK)
        status = tsr_cuda_make_order(order->row, a, wanted == TSR_REORDER_AUTO ? TSR_REORDER_LPA : wanted, tsr_cuda->compute);
    if (status == TSR_OK && wanted == TSR_REORDER_AUTO)
        status = judge(&keeps, a, order->row);
    if (status != TSR_OK || !keeps)
        tsr_cuda_order_free(order);
    return status;
}

tsr_status tsr_cuda_decide_order(tsr_cuda_order *order, const tsr_source *a, tsr_reorder wanted)
{
    size_t bytes = (size_t)a->nrows * sizeof *order->row;
    if (!is_wanted(a, wanted) || order->row || !tsr_cuda_reserve(bytes))
        return TSR_OK;
    order->bytes = bytes;
    return make(order, a, wanted) == TSR_INTERNAL_ERROR ? TSR_INTERNAL_ERROR : TSR_OK;
}

void tsr_cuda_order_free(tsr_cuda_order *order)
{
    tsr_cuda_delete(order->row);
    tsr_cuda_unreserve(order->bytes);
    *order = (tsr_cuda_order){0};
}

tsr_status tsr_cuda_in_order(tsr_source *out, const tsr_cuda_order *order, const tsr_source *a)
{
    if (order->row)
        return tsr_cuda_take_rows(out, a, order->row, a->nrows, tsr_cuda->compute);
    *out = *a;
    return TSR_OK;
}

void tsr_cuda_end_order(tsr_source *ordered, const tsr_cuda_order *order)
{
    if (order->row)
        tsr_cuda_free_source(ordered, tsr_cuda->compute);
}
