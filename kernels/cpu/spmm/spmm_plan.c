/* Small tools of the SpMM drivers.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "kernels/cpu/spmm/spmm_plan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static tsr_type unsigned_of(tsr_type type)
{
    switch (type) {
    case TSR_INT8: return TSR_UINT8;
    case TSR_INT16: return TSR_UINT16;
    case TSR_INT32: return TSR_UINT32;
    case TSR_INT64: return TSR_UINT64;
    default: return type;
    }
}

static tsr_semiring canonical_bool(tsr_semiring s)
{
    s.type = TSR_UINT8;
    if (s.mul == TSR_MUL_TIMES)
        s.mul = TSR_MUL_AND;
    /* as bytes 1 + 1 is 2: true for LOR, which is an ANY too */
    if (s.mul == TSR_MUL_PLUS)
        s.add = TSR_ADD_LOR;
    return s;
}

tsr_semiring tsr_canonical(tsr_semiring s)
{
    if (s.mul == TSR_MUL_PAIR)
        s.mul = TSR_MUL_FIRST;
    if (s.type == TSR_BOOL)
        return canonical_bool(s);
    if (s.add == TSR_ADD_PLUS || s.add == TSR_ADD_ANY || s.add == TSR_ADD_LOR)
        s.type = unsigned_of(s.type);
    return s;
}

#define BITS_OF(type, value) \
    { \
        tsr_c_##type v = (value); \
        memcpy(&bits, &v, sizeof v); \
        break; \
    }

uint64_t tsr_one_bits(tsr_type type)
{
    uint64_t bits = 0;
    switch (tsr_type_size(type)) {
    case 1: BITS_OF(uint8, 1)
    case 2: BITS_OF(uint16, 1)
    case 4:
        if (type == TSR_FP32)
            BITS_OF(fp32, 1)
        BITS_OF(uint32, 1)
    default:
        if (type == TSR_FP64)
            BITS_OF(fp64, 1)
        BITS_OF(uint64, 1)
    }
    return bits;
}

#define IDENTITY_CASE(TYPE, type) \
    case TSR_##TYPE: \
        if (add == TSR_ADD_PLUS) \
            BITS_OF(type, tsr_identity_plus_##type()) \
        if (add == TSR_ADD_MIN) \
            BITS_OF(type, tsr_identity_min_##type()) \
        if (add == TSR_ADD_MAX) \
            BITS_OF(type, tsr_identity_max_##type()) \
        break;

uint64_t tsr_identity_bits(tsr_type type, tsr_add add)
{
    uint64_t bits = 0;
    switch (type) {
    IDENTITY_CASE(INT8, int8)
    IDENTITY_CASE(INT16, int16)
    IDENTITY_CASE(INT32, int32)
    IDENTITY_CASE(INT64, int64)
    IDENTITY_CASE(UINT8, uint8)
    IDENTITY_CASE(UINT16, uint16)
    IDENTITY_CASE(UINT32, uint32)
    IDENTITY_CASE(UINT64, uint64)
    IDENTITY_CASE(FP32, fp32)
    IDENTITY_CASE(FP64, fp64)
    case TSR_BOOL: break;
    }
    return bits;
}

const int64_t *tsr_widen(const tsr_view *v, int64_t e, int64_t count, int64_t buffer[TSR_BATCH])
{
    if (v->index_size == 8)
        return (const int64_t *)v->i + e;
    const uint32_t *i = (const uint32_t *)v->i + e;
    for (int64_t at = 0; at < count; at++)
        buffer[at] = (int64_t)i[at];
    return buffer;
}

struct count {
    const int8_t *b;
    atomic_llong sum;
};

static void count_range(void *context, int64_t first, int64_t last)
{
    struct count *c = context;
    int64_t sum = 0;
    for (int64_t at = first; at < last; at++)
        sum += c->b[at];
    atomic_fetch_add_explicit(&c->sum, sum, memory_order_relaxed);
}

int64_t tsr_count_flags(const int8_t *b, int64_t size, int nthreads)
{
    struct count c = { .b = b };
    tsr_for_ranges(size, 1 << 20, nthreads, count_range, &c);
    return atomic_load(&c.sum);
}

/* Presence of rows, spread over the columns of C. */
struct presence {
    const tsr_product *product;
    int8_t *row;
    int8_t *b;
};

static void spread_by_row(void *context, int64_t first, int64_t last)
{
    struct presence *s = context;
    int64_t n = s->product->n;
    for (int64_t r = first; r < last; r++)
        memset(s->b + r * n, s->row[r], (size_t)n);
}

static void spread_by_column(void *context, int64_t first, int64_t last)
{
    struct presence *s = context;
    int64_t m = s->product->m;
    for (int64_t j = first; j < last; j++)
        memcpy(s->b + j * m, s->row, (size_t)m);
}

int64_t tsr_spmm_spread(const tsr_product *product, int8_t *row, int8_t *b)
{
    struct presence s = { product, row, b };
    if (product->c_by_col)
        tsr_for_ranges(product->n, 1, product->nthreads, spread_by_column, &s);
    else
        tsr_for_ranges(product->m, 1 + (1 << 18) / product->n, product->nthreads, spread_by_row, &s);
    return product->n * tsr_count_flags(row, product->m, 1);
}

static void mark_range(void *context, int64_t first, int64_t last)
{
    const struct presence *s = context;
    const tsr_view *a = &s->product->a;
    for (int64_t v = first; v < last; v++)
        s->row[a->h != NULL ? a->h[v] : v] = tsr_view_start(a, v + 1) > tsr_view_start(a, v);
}

tsr_status tsr_spmm_presence(const tsr_product *product, tsr_result *result)
{
    result->nvals = product->m * product->n;
    if (result->b == NULL)
        return TSR_OK;
    struct presence s = { product, calloc((size_t)product->m, 1), NULL };
    if (s.row == NULL)
        return TSR_OUT_OF_MEMORY;
    tsr_for_ranges(product->a.nvec, 1 << 15, product->nthreads, mark_range, &s);
    result->nvals = tsr_spmm_spread(product, s.row, result->b);
    free(s.row);
    return TSR_OK;
}
