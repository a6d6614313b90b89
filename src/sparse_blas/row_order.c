/* Row orders of the native door, and their cutting into parts.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/format/order/order.h"
#include "src/sparse_blas/native.h"

/* 64-bit indices as the makers of orders read them; NULL: no memory, or there are none. */
static uint32_t *narrow(const int64_t *indices, int64_t count)
{
    uint32_t *out = malloc((size_t)(count ? count : 1) * sizeof *out);
    for (int64_t e = 0; out && e < count; e++) {
        out[e] = (uint32_t)indices[e];
    }
    return out;
}

static tsr_status make(uint32_t *rows, const tsr_view *a)
{
    uint32_t *own = a->index_size == 8 ? narrow(a->i, a->nvals) : NULL;
    if (a->index_size == 8 && !own) {
        return TSR_OUT_OF_MEMORY;
    }
    const tsr_source source = {.nrows = a->nrows, .ncols = a->ncols, .nvals = a->nvals, .p = a->p, .i = own ? own : a->i};
    tsr_status status = tsr_make_order(rows, &source, TSR_REORDER_LPA, tsr_native_threads());
    free(own);
    return status;
}

tsr_status tsr_sparse_row_order(const tsr_sparse *a, int64_t *order)
{
    if (!a || !order) {
        return tsr_native_null(a ? "order" : "a");
    }
    if (a->view.by_col || a->view.nrows > UINT32_MAX || a->view.ncols > UINT32_MAX) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "a is %s", a->view.by_col ? "held by columns" : "longer or wider than 2^32 - 1");
    }
    uint32_t *rows = malloc((size_t)(a->view.nrows ? a->view.nrows : 1) * sizeof *rows);
    tsr_status status = rows ? make(rows, &a->view) : TSR_OUT_OF_MEMORY;
    if (status == TSR_OUT_OF_MEMORY) {
        tsr_native_no_memory();
    }
    for (int64_t r = 0; status == TSR_OK && r < a->view.nrows; r++) {
        order[r] = rows[r];
    }
    free(rows);
    return status;
}

tsr_status tsr_sparse_cut_rows(const tsr_sparse *a, const int64_t *order, int64_t parts, int64_t *begins)
{
    if (!a || !begins) {
        return tsr_native_null(a ? "begins" : "a");
    }
    if (parts < 1) {
        return tsr_native_check_range("parts", parts, 1, INT64_MAX);
    }
    if (a->view.by_col) {
        return tsr_native_fail(TSR_NOT_SUPPORTED, "a is held by columns");
    }
    const tsr_view *v = &a->view;
    const double rows = v->nrows ? .5 / (double)v->nrows : 0, entries = v->nvals ? .5 / (double)v->nvals : 0;
    double weight = 0, whole = v->nvals ? 1 : .5; /* without entries rows alone weigh */
    int64_t part = 0;
    begins[0] = 0;
    for (int64_t place = 0; place < v->nrows; place++) {
        const int64_t row = order ? order[place] : place;
        while (part + 1 < parts && weight >= whole * (double)(part + 1) / (double)parts) {
            begins[++part] = place;
        }
        weight += rows + entries * (double)(v->p[row + 1] - v->p[row]);
    }
    while (part < parts) {
        begins[++part] = v->nrows;
    }
    return TSR_OK;
}
