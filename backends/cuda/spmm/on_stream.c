/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spmm/on_stream.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/operands/dense.h"
#include "backends/cuda/spmm/multiply.h"
#include "src/base/half.h"

/* Runs share it without a lock: after prepare nothing changes but that a kernel may refuse its blocks, which it then does in every run. */
typedef struct prepared {
    tsr_cuda_sparse *a; /* in use until drop */
    tsr_cuda_plan plan;
    tsr_product product;
    uint64_t iso[2];    /* the value of A that product.a.x shows */
    bool in_order;      /* entries are in the caller's order */
    size_t size;        /* bytes of a value */
    tsr_cuda_context *device;
} prepared;

/* Scratch of one run, in this order; each begins at a multiple of 256 bytes. */
enum { B_ROWS, C_ROWS, HALF, PARTIAL, ARRAYS };

typedef struct run {
    const prepared *p;
    const tsr_device_operands *o;
    tsr_cuda_multiplication m;
    double below;
    size_t bytes[ARRAYS];
    char *scratch;
    void *array[ARRAYS];
} run;

/* ---- layouts ---- */

/* Rows of B as the operand has them.  Kernels of blocks want 16 bytes; csr, which takes other values, any. */
static bool b_fits(const run *r)
{
    const tsr_product *p = &r->p->product;
    if (tsr_is_half(r->o->b_type))
        return false;
    if (p->n == 1)
        return r->o->ldb == 1;
    const bool aligned = (uintptr_t)r->o->b % 16 == 0 && (size_t)r->o->ldb * r->p->size % 16 == 0;
    return !p->b.by_col && (aligned || !r->p->plan.blocks || r->o->values);
}

static bool c_fits(const run *r)
{
    const tsr_product *p = &r->p->product;
    return p->n == 1 ? r->o->ldc == 1 : !p->c_by_col;
}

static run describe(const prepared *p, const tsr_device_operands *o)
{
    const int64_t n = p->product.n;
    const bool reads_b = tsr_reads_b(&p->product);
    run r = {.p = p, .o = o, .below = p->plan.limit};
    r.m = (tsr_cuda_multiplication){.a = p->a, .plan = (tsr_cuda_plan *)&p->plan, .product = &p->product, .n = n, .b = reads_b ? o->b : NULL,
                                    .ldb = n == 1 ? 1 : o->ldb, .c = o->c, .ldc = n == 1 ? 1 : o->ldc, .alpha = o->alpha,
                                    .beta = o->beta, .conjugate = o->conjugate, .values = o->values,
                                    .batch = {o->batch.count, o->batch.values, o->batch.first, o->batch.second}, .bias = o->bias,
                                    .rectified = o->rectified, .stream = o->stream};
    if (reads_b && !b_fits(&r)) {
        r.m.ldb = tsr_cuda_padded(&p->plan, n);
        r.bytes[B_ROWS] = (size_t)(p->product.k * r.m.ldb) * p->size;
    }
    if (!c_fits(&r)) {
        r.m.ldc = n;
        r.bytes[C_ROWS] = (size_t)(p->product.m * n) * p->size;
    }
    r.bytes[HALF] = tsr_cuda_half_bytes(&r.m);
    r.bytes[PARTIAL] = tsr_cuda_scratch_bytes(&r.m);
    return r;
}

static size_t place_of(const run *r, int array)
{
    size_t sum = 0;
    for (int k = 0; k < array; k++)
        sum += (r->bytes[k] + 255) / 256 * 256;
    return sum;
}

/* ---- running ---- */

static tsr_status take_scratch(run *r)
{
    const size_t bytes = place_of(r, ARRAYS);
    const tsr_device_operands *o = r->o;
    char *given = o->workspace_bytes >= bytes ? o->workspace : NULL;
    if (bytes && !given) {
        tsr_status status = tsr_cuda_malloc((void **)&r->scratch, bytes, o->stream);
        if (status != TSR_OK)
            return status;
        given = r->scratch;
    }
    for (int k = 0; k < ARRAYS; k++)
        r->array[k] = r->bytes[k] ? given + place_of(r, k) : NULL;
    return TSR_OK;
}

static tsr_status lay_out_b(run *r)
{
    const tsr_product *p = &r->p->product;
    const tsr_device_operands *o = r->o;
    const tsr_cuda_given b = {o->b, o->ldb, p->n > 1 && p->b.by_col, o->b_type};
    void *to = r->array[B_ROWS];
    if (!to)
        return TSR_OK;
    r->m.b = to;
    return tsr_cuda_by_row(to, r->m.ldb, &b, p->k, p->n, o->stream);
}

/* Scratch <-> the caller's C. */
static tsr_status lay_out_c(const run *r, bool back)
{
    const tsr_product *p = &r->p->product;
    const bool vector = p->n == 1; /* one row in scratch, one column in C */
    void *rows = r->array[C_ROWS], *c = r->o->c;
    const int64_t ld = vector ? p->m : p->n, height = vector ? 1 : p->m, width = vector ? p->m : p->n;
    return back ? tsr_cuda_transpose(c, r->o->ldc, rows, ld, height, width, (int)r->p->size, r->o->stream)
                : tsr_cuda_transpose(rows, ld, c, r->o->ldc, width, height, (int)r->p->size, r->o->stream);
}

static tsr_status queue(run *r)
{
    r->m.half = r->array[HALF];
    r->m.partial = r->array[PARTIAL];
    r->m.below = r->below > 0 ? &r->below : NULL;
    tsr_status status = lay_out_b(r);
    if (r->array[C_ROWS]) {
        r->m.c = r->array[C_ROWS];
        if (status == TSR_OK && (r->o->beta.re != 0 || r->o->beta.im != 0))
            status = lay_out_c(r, false);
    }
    if (status == TSR_OK)
        status = tsr_cuda_multiply_arrays(&r->m);
    return status == TSR_OK && r->array[C_ROWS] ? lay_out_c(r, true) : status;
}

/* Several at once: by CSR, from and to the caller's arrays. */
static bool takes_batch(const run *r)
{
    const tsr_device_operands *o = r->o;
    if (o->values && (!r->p->in_order || r->p->a->key.pattern))
        return false;
    return o->batch.count < 2 || (!r->bytes[B_ROWS] && !r->bytes[C_ROWS] && (o->values || !r->p->plan.blocks));
}

static tsr_status run_on_device(const prepared *p, const tsr_device_operands *o)
{
    run r = describe(p, o);
    if (!takes_batch(&r))
        return TSR_DECLINED;
    tsr_status status = take_scratch(&r);
    if (status == TSR_OK)
        status = queue(&r);
    tsr_cuda_free(r.scratch, o->stream);
    return status;
}

static bool is_plus_times(const tsr_semiring *s)
{
    return s->add == TSR_ADD_PLUS && s->mul == TSR_MUL_TIMES;
}

static bool is_real(tsr_type type)
{
    return type == TSR_FP32 || type == TSR_FP64;
}

static bool scales(const tsr_semiring *s)
{
    return is_plus_times(s) && (is_real(s->type) || tsr_is_complex(s->type));
}

/* Bias and activation. */
static bool finishes(const tsr_product *p)
{
    return p->n > 1 && is_plus_times(&p->semiring) && is_real(p->semiring.type);
}

/* Elements begin at multiples of their size, as kernels read them whole. */
static bool is_aligned(const prepared *p, const tsr_device_operands *o)
{
    const uintptr_t all = (uintptr_t)o->b | (uintptr_t)o->c | (uintptr_t)o->values;
    return !tsr_is_complex(p->product.semiring.type) || all % p->size == 0;
}

tsr_status tsr_cuda_stream_run(const tsr_device_spmm *spmm, const tsr_device_operands *operands)
{
    const prepared *p = spmm->prepared;
    const bool unfinished = (operands->bias || operands->rectified) && !finishes(&p->product);
    if (unfinished || !is_aligned(p, operands))
        return TSR_DECLINED;
    if (!tsr_cuda_alive())
        return TSR_INTERNAL_ERROR;
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_enter(p->device, &before);
    if (status == TSR_OK)
        status = run_on_device(p, operands);
    tsr_cuda_leave(before);
    return status;
}

/* ---- preparing ---- */

/* Where T has no entry the kernels write 0. */
static tsr_status check_empty_rows(const prepared *p)
{
    const tsr_add add = p->product.semiring.add;
    if (add != TSR_ADD_MIN && add != TSR_ADD_MAX)
        return TSR_OK;
    tsr_status status = tsr_cuda_sparse_rows(p->a);
    return status == TSR_OK && p->a->rows_present < p->product.m ? TSR_DECLINED : status;
}

static void keep_product(prepared *p, const tsr_product *product)
{
    p->size = tsr_type_size(product->semiring.type);
    p->product = *product;
    p->in_order = !product->a.by_col && !product->a.jumbled;
    p->product.a_slot = NULL;
    p->product.kernel = NULL;
    p->product.a.p = p->product.a.h = NULL;
    p->product.a.i = p->product.b.x = NULL;
    if (product->a.iso && product->a.x && tsr_reads_a(product)) {
        memcpy(p->iso, product->a.x, p->size);
        p->product.a.x = p->iso;
    }
}

static tsr_status make_plan(prepared *p, const tsr_product *product, bool bounded)
{
    tsr_product there = *product;
    there.b_value = p; /* nothing of it crosses the bus */
    tsr_status status = tsr_cuda_make_streamed_plan(&p->plan, p->a, &there, bounded);
    tsr_status settled = tsr_cuda_settle();
    return status == TSR_OK ? settled : status;
}

static tsr_status prepare(prepared *p, const tsr_product *product, bool bounded)
{
    int64_t moved = 0;
    tsr_cuda_operand operand = tsr_cuda_operand_a(product);
    tsr_status status = tsr_cuda_sparse_use(&p->a, &operand, &moved);
    if (status != TSR_OK)
        return status;
    keep_product(p, product);
    p->device = tsr_cuda;
    status = check_empty_rows(p);
    if (status == TSR_OK)
        status = make_plan(p, product, bounded);
    if (status != TSR_OK)
        tsr_cuda_sparse_leave(p->a);
    return status;
}

tsr_status tsr_cuda_stream_prepare(const tsr_product *product, const tsr_device_operands *like, bool bounded, tsr_device_spmm *spmm)
{
    if (!tsr_cuda_alive() || !product->a_slot || product->b.format != TSR_FULL || product->b.iso)
        return TSR_DECLINED;
    tsr_cuda_context *device = tsr_cuda_device_numbered(like->device);
    prepared *p = device ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return device ? TSR_OUT_OF_MEMORY : TSR_DECLINED;
    tsr_cuda_place before;
    tsr_status status = tsr_cuda_begin(device, &before);
    if (status == TSR_OK)
        status = prepare(p, product, bounded);
    if (status == TSR_OUT_OF_MEMORY) {
        tsr_cuda_evict_all();
        status = prepare(p, product, bounded);
    }
    tsr_cuda_end(before);
    if (status != TSR_OK) {
        free(p);
        return status;
    }
    const run r = describe(p, like);
    *spmm = (tsr_device_spmm){.prepared = p, .kernel = p->plan.name, .workspace = place_of(&r, ARRAYS), .scales = scales(&product->semiring)};
    return TSR_OK;
}

void tsr_cuda_stream_drop(tsr_device_spmm *spmm)
{
    prepared *p = spmm->prepared;
    spmm->prepared = NULL;
    if (!tsr_cuda_alive())
        return; /* of the parent */
    tsr_cuda_place before;
    if (tsr_cuda_begin(p->device, &before) == TSR_OK) {
        (void)tsr_cuda_wait_device();
        tsr_cuda_sparse_leave(p->a);
    }
    tsr_cuda_end(before);
    free(p);
}
