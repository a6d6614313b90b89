/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/whole_product.h"

#include "backends/cuda/spmm/multiply.h"
#include "backends/cuda/arrays/arrays.h"

/* Memory of this product alone. */
enum { B_ROWS, B_PRESENT_ROWS, C_ROWS, C_PRESENT_ROWS, HALF, PARTIAL, FLAG, ARRAYS };

typedef struct whole {
    tsr_cuda_multiplication m;
    const tsr_product *product;
    size_t size;             /* bytes of a value */
    tsr_cuda_array *b;       /* NULL: nothing of it is needed */
    tsr_cuda_array *uploaded; /* the same, if the host held it */
    tsr_cuda_array *c;
    bool b_turned, b_padded, c_turned; /* the kernels see another array */
    bool rows_tell;          /* C is present where rows of A have entries */
    size_t bytes[ARRAYS], reserved;
    void *array[ARRAYS];
} whole;

/* ---- operands and result ---- */

static tsr_status find_b(whole *r, int64_t *moved)
{
    const tsr_product *p = r->product;
    if (!tsr_reads_b(p) && p->b.format == TSR_FULL)
        return TSR_OK;
    r->b = p->b_value;
    tsr_status status = r->b ? TSR_OK : tsr_cuda_array_upload(&r->uploaded, &p->b, p->nthreads, moved);
    if (status != TSR_OK)
        return status;
    r->b = r->b ? r->b : r->uploaded;
    r->m.b_present = p->b.format == TSR_BITMAP ? r->b->present : NULL;
    r->m.below = &r->b->below;
    return TSR_OK;
}

/* wanted: which entries there are. */
static tsr_status make_c(whole *r, bool wanted)
{
    const tsr_product *p = r->product;
    bool bitmap = wanted && r->m.b_present;
    if (wanted && !bitmap) {
        tsr_status status = tsr_cuda_sparse_count_rows(r->m.a);
        if (status != TSR_OK)
            return status;
        r->rows_tell = r->m.a->rows_present < p->m;
    }
    return tsr_cuda_array_new(&r->c, p->m * p->n, r->size, bitmap || r->rows_tell);
}

/* ---- memory ---- */

static void describe(whole *r)
{
    const tsr_product *p = r->product;
    int64_t padded = tsr_cuda_padded(r->m.plan, p->n);
    r->b_turned = r->b && p->b.by_col && p->n > 1;
    r->b_padded = r->b && !r->b_turned && padded != p->n;
    r->c_turned = p->c_by_col && p->n > 1;
    r->m.ldb = r->b_turned || r->b_padded ? padded : p->n;
    r->m.ldc = p->n;
    size_t b = (size_t)(p->k * r->m.ldb), c = (size_t)(p->m * p->n);
    if (r->b_turned || r->b_padded)
        r->bytes[B_ROWS] = b * r->size;
    if (r->b_turned && r->m.b_present)
        r->bytes[B_PRESENT_ROWS] = b;
    if (r->c_turned)
        r->bytes[C_ROWS] = c * r->size;
    if (r->c_turned && r->c->present && !r->rows_tell)
        r->bytes[C_PRESENT_ROWS] = c;
    r->bytes[HALF] = tsr_cuda_half_bytes(&r->m);
    r->bytes[PARTIAL] = tsr_cuda_scratch_bytes(&r->m);
    r->bytes[FLAG] = r->m.plan->blocks ? 2 * sizeof *r->m.flag : 0;
}

static tsr_status allocate(whole *r)
{
    size_t sum = 0;
    for (int k = 0; k < ARRAYS; k++)
        sum += r->bytes[k];
    if (!tsr_cuda_reserve(sum))
        return TSR_OUT_OF_MEMORY;
    r->reserved = sum;
    tsr_status status = TSR_OK;
    for (int k = 0; k < ARRAYS && status == TSR_OK; k++)
        if (r->bytes[k])
            status = tsr_cuda_new(&r->array[k], r->bytes[k]);
    return status;
}

/* In the order of `compute`: what is queued still has its memory. */
static void free_all(whole *r)
{
    for (int k = 0; k < ARRAYS; k++)
        tsr_cuda_delete(r->array[k]);
    tsr_cuda_unreserve(r->reserved);
    tsr_cuda_array_free(r->uploaded);
}

/* ---- computing ---- */

/* As the kernels want it. */
static tsr_status prepare_b(whole *r)
{
    const tsr_product *p = r->product;
    tsr_status status = TSR_OK;
    if (r->b_turned && tsr_reads_b(p))
        status = tsr_cuda_transpose(r->array[B_ROWS], r->m.ldb, r->b->x, p->k, p->n, p->k, (int)r->size, tsr_cuda->compute);
    if (r->b_turned && r->m.b_present && status == TSR_OK)
        status = tsr_cuda_transpose(r->array[B_PRESENT_ROWS], r->m.ldb, r->m.b_present, p->k, p->n, p->k, 1, tsr_cuda->compute);
    tsr_number number = r->size == 8 ? TSR_NUMBER_FP64 : TSR_NUMBER_FP32;
    if (r->b_padded) /* for blocks: elements of 4 or 8 bytes */
        status = tsr_cuda_convert(r->array[B_ROWS], number, r->m.ldb, r->b->x, number, p->n, p->k, p->n, tsr_cuda->compute);
    return status;
}

static void set_arrays(whole *r)
{
    if (tsr_reads_b(r->product)) /* otherwise it may be of any type */
        r->m.b = r->array[B_ROWS] ? r->array[B_ROWS] : r->b->x;
    r->m.b_present = r->array[B_PRESENT_ROWS] ? r->array[B_PRESENT_ROWS] : r->m.b_present;
    r->m.c = r->c_turned ? r->array[C_ROWS] : r->c->x;
    if (r->c->present && !r->rows_tell)
        r->m.c_present = r->c_turned ? r->array[C_PRESENT_ROWS] : r->c->present;
    r->m.half = r->array[HALF];
    r->m.partial = r->array[PARTIAL];
    r->m.flag = r->array[FLAG];
}

static tsr_status finish_c(const whole *r)
{
    const tsr_product *p = r->product;
    tsr_status status = TSR_OK;
    if (r->c_turned)
        status = tsr_cuda_transpose(r->c->x, p->m, r->m.c, p->n, p->m, p->n, (int)r->size, tsr_cuda->compute);
    if (status == TSR_OK && r->c_turned && r->m.c_present)
        status = tsr_cuda_transpose(r->c->present, p->m, r->m.c_present, p->n, p->m, p->n, 1, tsr_cuda->compute);
    if (status == TSR_OK && r->rows_tell)
        status = tsr_cuda_mark_rows(r->c->present, r->m.a->csr.p, p->m, p->n, p->c_by_col, &tsr_cuda->device, tsr_cuda->compute);
    if (r->rows_tell)
        r->c->nvals = r->m.a->rows_present * p->n;
    return status;
}

static tsr_status compute(whole *r, bool presence_wanted, int64_t *moved)
{
    tsr_status status = find_b(r, moved);
    if (status == TSR_OK)
        status = make_c(r, presence_wanted);
    if (status != TSR_OK)
        return status;
    describe(r);
    status = allocate(r);
    if (status == TSR_OK)
        status = prepare_b(r);
    if (status != TSR_OK)
        return status;
    set_arrays(r);
    status = tsr_cuda_multiply_arrays(&r->m);
    return status == TSR_OK ? finish_c(r) : status;
}

/* ---- where it goes ---- */

static tsr_status download(tsr_cuda_array *c, tsr_result *result, int nthreads)
{
    tsr_download to = {.nthreads = nthreads, .x = result->x, .b = result->b};
    const tsr_status status = tsr_cuda_array_download(c, &to);
    result->nvals = to.nvals;
    result->bytes_moved += to.bytes_moved;
    return status;
}

tsr_status tsr_cuda_deliver(tsr_cuda_array **c, const tsr_product *product, tsr_result *result)
{
    result->nvals = (*c)->nvals;
    tsr_status status = result->may_stay ? TSR_OK : download(*c, result, product->nthreads);
    if (status == TSR_OK && (result->may_stay || result->may_keep)) {
        result->stays = *c;
        *c = NULL;
    }
    return status;
}

tsr_status tsr_cuda_multiply_whole(tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *product, tsr_result *result)
{
    whole r = {.m = {.a = a, .plan = plan, .product = product, .n = product->n, .alpha = {1, 0}, .stream = tsr_cuda->compute},
                  .product = product, .size = tsr_type_size(product->semiring.type)};
    tsr_status status = compute(&r, result->b != NULL, &result->bytes_moved);
    if (status == TSR_OK)
        status = tsr_cuda_deliver(&r.c, product, result);
    result->kernel = plan->name;
    if (status != TSR_OK)
        tsr_cuda_settle();
    free_all(&r);
    tsr_cuda_array_free(r.c);
    return status;
}
