/* The operands of one case of `tessera bench`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/bench/bench.h"

#include <omp.h>
#include <stdlib.h>

#include "tools/tessera/matrix/inspect.h"

const char *const tsr_bench_op_names[TSR_BENCH_OPS] = {"spmm", "spmv", "sddmm", "triangles"};
const char *const tsr_bench_math_names[TSR_BENCH_MATHS] = {"exact", "tf32", "bf16", "fp16", "fp64"};

static void *own(tsr_bench_case *c, size_t bytes)
{
    void *block = malloc(bytes + 1);
    for (int k = 0; block && k < TSR_BENCH_OWNED; k++) {
        if (!c->owned[k]) {
            return c->owned[k] = block;
        }
    }
    free(block);
    return NULL;
}

static size_t value_size(const tsr_bench_case *c)
{
    return tsr_type_size(c->product.semiring.type);
}

static void put_value(void *values, size_t size, int64_t place, double value)
{
    if (size == sizeof(double)) {
        ((double *)values)[place] = value;
    } else {
        ((float *)values)[place] = (float)value;
    }
}

/* Uniform in [-1, 1). */
static double uniform(uint64_t place, uint64_t seed)
{
    uint64_t z = (place + seed * UINT64_C(0x632be59bd9b4e019) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(z >> 11) / (double)(INT64_C(1) << 52) - 1;
}

/* ---- views ---- */

static tsr_view sparse_view(const tsr_mm_csr *a, tsr_type type, const void *values, bool by_col)
{
    return (tsr_view){.format = TSR_SPARSE, .type = type, .by_col = by_col, .index_size = 8, .nrows = by_col ? a->ncols : a->nrows,
                      .ncols = by_col ? a->nrows : a->ncols, .nvec = a->nrows, .vlen = a->ncols, .nvals = a->nvals, .p = a->p, .i = a->i,
                      .x = values};
}

/* nvec vectors of vlen random values. */
static bool dense_view(tsr_bench_case *c, tsr_view *view, int64_t nvec, int64_t vlen, bool by_col, uint64_t seed)
{
    size_t size = value_size(c);
    void *values = own(c, (size_t)(nvec * vlen) * size);
    for (int64_t k = 0; values && k < nvec * vlen; k++) {
        put_value(values, size, k, uniform((uint64_t)k, seed));
    }
    *view = (tsr_view){.format = TSR_FULL, .type = c->product.semiring.type, .by_col = by_col, .nrows = by_col ? vlen : nvec,
                       .ncols = by_col ? nvec : vlen, .nvec = nvec, .vlen = vlen, .ld = vlen, .nvals = nvec * vlen, .x = values};
    return values != NULL;
}

/* ---- products ---- */

static tsr_status make_dense(tsr_bench_case *c, const tsr_mm_csr *a, int64_t n)
{
    tsr_product *p = &c->product;
    size_t size = value_size(c);
    void *values = a->value ? own(c, (size_t)a->nvals * size) : NULL;
    if ((a->value && !values) || !dense_view(c, &p->b, a->ncols, n, false, 1)) {
        return TSR_OUT_OF_MEMORY;
    }
    for (int64_t k = 0; values && k < a->nvals; k++) {
        put_value(values, size, k, a->value[k]);
    }
    for (int64_t row = 0; row < a->nrows; row++) {
        c->has_empty_rows |= a->p[row] == a->p[row + 1];
    }
    p->semiring.mul = values ? TSR_MUL_TIMES : TSR_MUL_SECOND;
    p->a = sparse_view(a, p->semiring.type, values, false);
    p->m = a->nrows, p->k = a->ncols, p->n = n;
    c->noutputs = p->m * n;
    c->flops = 2.0 * (double)a->nvals * (double)n;
    c->compulsory_bytes = (double)a->nvals * (double)(8 + (values ? size : 0)) + 8.0 * (double)p->m;
    c->compulsory_bytes += (double)size * (double)(p->k + p->m) * (double)n;
    return TSR_OK;
}

static tsr_status make_sddmm(tsr_bench_case *c, const tsr_mm_csr *a, int64_t k)
{
    tsr_product *p = &c->product;
    if (!dense_view(c, &p->a, a->nrows, k, false, 2) || !dense_view(c, &p->b, a->ncols, k, true, 3)) {
        return TSR_OUT_OF_MEMORY;
    }
    p->semiring.mul = TSR_MUL_TIMES;
    p->mask = sparse_view(a, TSR_BOOL, NULL, false);
    p->mask_structural = true;
    p->m = a->nrows, p->n = a->ncols, p->k = k;
    c->noutputs = a->nvals;
    c->flops = 2.0 * (double)a->nvals * (double)k;
    c->compulsory_bytes = (double)a->nvals * (double)(8 + value_size(c)) + 8.0 * (double)p->m;
    c->compulsory_bytes += (double)value_size(c) * (double)(p->m + p->n) * (double)k;
    return TSR_OK;
}

/* The part of A strictly below (keep < 0) or above the diagonal. */
static bool make_part(tsr_bench_case *c, tsr_mm_csr *part, const tsr_mm_csr *a, int keep)
{
    *part = (tsr_mm_csr){.nrows = a->nrows, .ncols = a->ncols};
    part->p = own(c, (size_t)(a->nrows + 1) * sizeof *part->p);
    part->i = own(c, (size_t)a->nvals * sizeof *part->i);
    for (int64_t row = 0; part->p && part->i && row < a->nrows; row++) {
        part->p[row] = part->nvals;
        for (int64_t k = a->p[row]; k < a->p[row + 1]; k++) {
            if (keep < 0 ? a->i[k] < row : a->i[k] > row) {
                part->i[part->nvals++] = a->i[k];
            }
        }
        part->p[row + 1] = part->nvals;
    }
    if (part->p && a->nrows == 0) {
        part->p[0] = 0;
    }
    return part->p && part->i;
}

/* Entries looked at when the two rows of each entry of L are merged. */
static double merge_steps(const tsr_mm_csr *l, const tsr_mm_csr *u)
{
    double steps = 0;
    for (int64_t row = 0; row < l->nrows; row++) {
        for (int64_t k = l->p[row]; k < l->p[row + 1]; k++) {
            steps += (double)(l->p[row + 1] - l->p[row] + u->p[l->i[k] + 1] - u->p[l->i[k]]);
        }
    }
    return steps;
}

static tsr_status make_triangles(tsr_bench_case *c, const tsr_mm_csr *a)
{
    tsr_product *p = &c->product;
    tsr_mm_csr l, u;
    if (a->nrows != a->ncols) {
        return TSR_NOT_SUPPORTED;
    }
    int64_t *next = own(c, (size_t)(a->nrows + 1) * sizeof *next);
    if (!next || !make_part(c, &l, a, -1) || !make_part(c, &u, a, 1)) {
        return TSR_OUT_OF_MEMORY;
    }
    if (!tsr_is_transpose(&l, &u, next)) {
        return TSR_NOT_SUPPORTED;
    }
    p->semiring = (tsr_semiring){TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR};
    p->a = sparse_view(&l, TSR_INT64, NULL, false);
    p->b = sparse_view(&u, TSR_INT64, NULL, true);
    p->mask = sparse_view(&l, TSR_BOOL, NULL, false);
    p->mask_structural = true;
    p->m = p->n = p->k = a->nrows;
    c->noutputs = l.nvals;
    c->flops = merge_steps(&l, &u);
    c->compulsory_bytes = 8.0 * (double)(2 * l.nvals + c->noutputs + 2 * p->m);
    return TSR_OK;
}

tsr_status tsr_bench_make(tsr_bench_case *out, const char *file, const tsr_mm_csr *a, tsr_bench_op op, int64_t n, tsr_bench_math math)
{
    static const tsr_op ops[TSR_BENCH_OPS] = {TSR_OP_SPMM, TSR_OP_SPMV, TSR_OP_SDDMM, TSR_OP_MASKED_DOT};
    *out = (tsr_bench_case){.file = file, .op = op, .math = math};
    out->product = (tsr_product){.op = ops[op], .nthreads = omp_get_max_threads(), .kernel = ""};
    out->product.semiring = (tsr_semiring){math == TSR_BENCH_FP64 ? TSR_FP64 : TSR_FP32, TSR_ADD_PLUS, TSR_MUL_TIMES};
    out->product.precision = math < TSR_BENCH_FP64 ? (tsr_precision)math : TSR_PRECISION_EXACT;
    tsr_status status = op == TSR_BENCH_TRIANGLES ? make_triangles(out, a)
                        : op == TSR_BENCH_SDDMM   ? make_sddmm(out, a, n)
                                                  : make_dense(out, a, op == TSR_BENCH_SPMV ? 1 : n);
    if (status != TSR_OK) {
        tsr_bench_free(out);
    }
    return status;
}

void tsr_bench_free(tsr_bench_case *c)
{
    for (int k = 0; k < TSR_BENCH_OWNED; k++) {
        free(c->owned[k]);
        c->owned[k] = NULL;
    }
}
