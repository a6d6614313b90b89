/* Sparse times sparse on the lazy device, by the oracle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/spgemm/spgemm.h"
#include "kernels/spgemm.h"
#include "test/cuda/lazy_device.h"

#include <stdlib.h>

struct tsr_cuda_spgemm_work {
    void *memory; /* on the device: what describes rows */
};

typedef struct filling {
    tsr_cuda_spgemm product;
    tsr_cuda_csr a, b, mask, c;
} filling;

/* A mask with a bit for each place, as the oracle reads it; b is to be freed. */
static tsr_view bitmap_of(const tsr_cuda_spgemm *q)
{
    const int64_t m = q->a->nrows, n = q->b->ncols;
    int8_t *b = malloc((size_t)(m * n + 1));
    if (!b)
        abort();
    for (int64_t k = 0; k < m * n; k++)
        b[k] = (int8_t)(q->mask_bits[k / n * q->mask_words + k % n / 32] >> k % n % 32 & 1);
    return (tsr_view){.format = TSR_BITMAP, .type = TSR_BOOL, .nrows = m, .ncols = n, .nvec = m, .vlen = n, .ld = n, .b = b};
}

static tsr_view view_of(const tsr_cuda_csr *m, tsr_type type, const void *iso)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .iso = !m->x, .index_size = 4, .nrows = m->nrows, .ncols = m->ncols, .nvec = m->nrows,
                      .vlen = m->ncols, .nvals = m->nrows ? m->p[m->nrows] : 0, .p = m->p, .i = m->i, .x = m->x ? m->x : iso};
}

static tsr_type type_of_size(int size)
{
    return size == 1 ? TSR_UINT8 : size == 2 ? TSR_UINT16 : size == 4 ? TSR_UINT32 : TSR_UINT64;
}

/* Offsets of some rows do not begin at 0: the arrays before are there all the same. */
static tsr_spgemm product_of(const tsr_cuda_spgemm *q)
{
    const tsr_type type = q->semiring.type;
    return (tsr_spgemm){.semiring = q->semiring, .m = q->a->nrows, .k = q->a->ncols, .n = q->b->ncols, .pattern = q->pattern, .nthreads = 1,
                        .a = view_of(q->a, type, &q->a_iso), .b = view_of(q->b, type, &q->b_iso), .masked = q->mask || q->mask_bits,
                        .mask = q->mask_bits ? bitmap_of(q) : q->mask ? view_of(q->mask, type_of_size(q->mask_size), NULL) : (tsr_view){0},
                        .mask_structural = q->mask_bits || (q->mask && !q->mask->x), .mask_complement = q->mask_complement};
}

static int64_t entries_of(const tsr_cuda_spgemm *q)
{
    tsr_spgemm_size found;
    const tsr_spgemm s = product_of(q);
    int64_t *p = malloc((size_t)(s.m + 2) * sizeof *p);
    if (!p || tsr_ref_spgemm_count(&s, &found, p) != TSR_OK)
        abort();
    free(p);
    free((void *)(uintptr_t)s.mask.b);
    return found.nvals;
}

tsr_status tsr_cuda_spgemm_count(tsr_cuda_spgemm_work **work, tsr_cuda_spgemm_size *size, const tsr_cuda_spgemm *q)
{
    tsr_cuda_spgemm_work *w = calloc(1, sizeof *w);
    *work = NULL;
    if (!w)
        abort();
    const size_t bytes = (size_t)q->a->nrows + 1;
    tsr_status status = tsr_cuda_malloc(&w->memory, bytes, q->stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(q->stream);
    if (status != TSR_OK) {
        tsr_cuda_spgemm_free(w, q->stream);
        return status;
    }
    *size = (tsr_cuda_spgemm_size){.nvals = entries_of(q), .most_bytes = bytes};
    *work = w;
    return TSR_OK;
}

static void run_fill(const void *described)
{
    filling f = *(const filling *)described;
    f.product.a = &f.a;
    f.product.b = &f.b;
    f.product.mask = f.product.mask ? &f.mask : NULL;
    const tsr_spgemm s = product_of(&f.product);
    if (tsr_ref_spgemm_fill(&s, &(tsr_spgemm_c){.p = f.c.p, .i = f.c.i, .x = f.c.x, .index_size = 4}) != TSR_OK)
        abort();
    free((void *)(uintptr_t)s.mask.b);
}

tsr_status tsr_cuda_spgemm_fill(tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *q, tsr_cuda_csr *c, bool again)
{
    const filling f = {.product = *q, .a = *q->a, .b = *q->b, .mask = q->mask ? *q->mask : (tsr_cuda_csr){0}, .c = *c};
    (void)work;
    (void)again;
    return lazy_queue(run_fill, &f, sizeof f, q->stream);
}

tsr_status tsr_cuda_spgemm_keep(tsr_cuda_spgemm_work *work, size_t *bytes, const tsr_cuda_spgemm *q, const tsr_cuda_csr *c, size_t most_bytes)
{
    (void)work;
    (void)c;
    (void)most_bytes;
    *bytes = 0;
    const tsr_status status = tsr_cuda_wait(q->stream);
    return status == TSR_OK ? TSR_DECLINED : status;
}

void tsr_cuda_spgemm_free(tsr_cuda_spgemm_work *work, void *stream)
{
    if (!work)
        return;
    tsr_cuda_free(work->memory, stream);
    free(work);
}
