/* Compressed contents of what is on the device: made, downloaded, dropped; what calls say of their operands.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/compressed/new.h"

#include <stdlib.h>

#include "backends/cuda/transfer/csr.h"

size_t tsr_cuda_compressed_value_size(const tsr_cuda_sparse *held)
{
    return held->csr.x ? tsr_type_size(held->key.type) : 0;
}

static tsr_status download(void *contents, tsr_download *to)
{
    const tsr_cuda_sparse *held = ((const tsr_cuda_compressed_contents *)contents)->held;
    const tsr_status status = tsr_cuda_csr_download(&held->csr, tsr_cuda_compressed_value_size(held), 0, 0, to);
    to->nvals = held->csr.nvals;
    if (to->p)
        to->p[to->nvec] = to->nvals;
    return status;
}

static void free_compressed(void *contents)
{
    tsr_cuda_sparse_leave(((tsr_cuda_compressed_contents *)contents)->held);
    free(contents);
}

tsr_status tsr_cuda_compressed_hold(void **c, tsr_cuda_sparse *held)
{
    tsr_cuda_compressed_contents *made = *c = malloc(sizeof *made);
    if (!made) {
        tsr_cuda_sparse_leave(held);
        return TSR_OUT_OF_MEMORY;
    }
    made->held = held;
    tsr_cuda_contents_start(&made->contents, download, free_compressed);
    return TSR_OK;
}

tsr_status tsr_cuda_compressed_new(void **c, tsr_cuda_csr *csr, tsr_type type)
{
    tsr_cuda_sparse *held;
    const bool pattern = !csr->x;
    const tsr_status status = tsr_cuda_sparse_adopt(&held, csr, (tsr_cuda_key){.pattern = pattern, .type = pattern ? TSR_BOOL : type});
    *c = NULL;
    return status == TSR_OK ? tsr_cuda_compressed_hold(c, held) : status;
}

/* ---- operands ---- */

tsr_cuda_operand tsr_cuda_compressed_operand(const tsr_compressed_operand *a, bool turned)
{
    const bool flips = a->view.by_col != turned;
    const tsr_view v = flips ? tsr_view_transposed(a->view) : a->view;
    return tsr_cuda_operand_of(&v, true, v.type, a->slot, flips, a->nthreads);
}

tsr_status tsr_cuda_compressed_use(tsr_cuda_sparse **held, const tsr_compressed_operand *a, int64_t *moved)
{
    const tsr_cuda_operand operand = tsr_cuda_compressed_operand(a, a->turned);
    return tsr_cuda_sparse_use(held, &operand, moved);
}
