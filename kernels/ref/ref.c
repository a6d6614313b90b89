/* The oracle: every op, semiring, type, format and orientation by obvious loops on one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/types.h"

/* The accumulator of a whole result: one value and one flag per place of C (or per entry of the mask). */
typedef struct sums {
    const tsr_semiring *semiring;
    tsr_rounding rounding;
    tsr_value *value;
    int8_t *present;
    int64_t size;
    const void *claimed; /* tsr_ref_match_any: what to look for instead of summing */
} sums;

static void accumulate(sums *c, int64_t place, tsr_value a, tsr_value b)
{
    tsr_value term = tsr_value_multiply(c->semiring, c->rounding, a, b);
    if (c->claimed != NULL) {
        c->present[place] |= tsr_value_same(term, tsr_value_load(c->semiring->type, c->claimed, place));
        return;
    }
    if (c->present[place])
        c->value[place] = tsr_value_add(c->semiring, c->rounding, c->value[place], term);
    else
        c->value[place] = tsr_value_begin(c->semiring, term);
    c->present[place] = 1;
}

static int64_t index_at(const tsr_view *v, int64_t position)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[position] : ((const int64_t *)v->i)[position];
}

static int64_t vector_name(const tsr_view *v, int64_t stored)
{
    return v->format == TSR_HYPERSPARSE ? v->h[stored] : stored;
}

/* The value of the entry at a position of x. */
static tsr_value entry_value(const tsr_view *v, int64_t position)
{
    return tsr_value_load(v->type, v->x, v->iso ? 0 : position);
}

/* Position in x of entry (major, minor) of a sparse view, or -1. */
static int64_t find_sparse(const tsr_view *v, int64_t major, int64_t minor)
{
    for (int64_t s = v->format == TSR_HYPERSPARSE ? 0 : major; s < v->nvec && vector_name(v, s) <= major; s++)
        if (vector_name(v, s) == major)
            for (int64_t position = tsr_view_start(v, s); position < tsr_view_start(v, s + 1); position++)
                if (index_at(v, position) == minor)
                    return position;
    return -1;
}

static int64_t find_dense(const tsr_view *v, int64_t major, int64_t minor)
{
    int64_t position = major * v->ld + minor;
    return v->format == TSR_FULL || v->b[position] ? position : -1;
}

/* Is (row, col) an entry of v, and with which value? */
static bool look_up(const tsr_view *v, int64_t row, int64_t col, tsr_value *value)
{
    int64_t major = v->by_col ? col : row, minor = v->by_col ? row : col;
    bool dense = v->format == TSR_FULL || v->format == TSR_BITMAP;
    int64_t position = dense ? find_dense(v, major, minor) : find_sparse(v, major, minor);
    if (position < 0)
        return false;
    *value = entry_value(v, position);
    return true;
}

/* Row i of C gets a times row k of B. */
static void add_row(sums *c, const tsr_product *product, int64_t i, int64_t k, tsr_value a)
{
    for (int64_t j = 0; j < product->n; j++) {
        tsr_value b;
        if (look_up(&product->b, k, j, &b))
            accumulate(c, product->c_by_col ? j * product->m + i : i * product->n + j, a, b);
    }
}

static void gemm(sums *c, const tsr_product *product)
{
    for (int64_t i = 0; i < product->m; i++)
        for (int64_t k = 0; k < product->k; k++) {
            tsr_value a;
            if (look_up(&product->a, i, k, &a))
                add_row(c, product, i, k, a);
        }
}

static void spmm(sums *c, const tsr_product *product)
{
    const tsr_view *a = &product->a;
    if (!tsr_is_compressed(a)) {
        gemm(c, product);
        return;
    }
    for (int64_t s = 0; s < a->nvec; s++)
        for (int64_t position = tsr_view_start(a, s); position < tsr_view_start(a, s + 1); position++) {
            int64_t major = vector_name(a, s), minor = index_at(a, position);
            add_row(c, product, a->by_col ? minor : major, a->by_col ? major : minor, entry_value(a, position));
        }
}

static void add_pair(sums *c, const tsr_product *product, int64_t place, int64_t i, int64_t k, int64_t j)
{
    tsr_value a, b;
    if (look_up(&product->a, i, k, &a) && look_up(&product->b, k, j, &b))
        accumulate(c, place, a, b);
}

/* One entry (i, j) of the mask: the dot product of row i of A with column j of B.  A hypersparse A may have more columns than can be walked over. */
static void dot(sums *c, const tsr_product *product, int64_t place, int64_t i, int64_t j)
{
    const tsr_view *a = &product->a;
    if (a->format != TSR_HYPERSPARSE || a->jumbled) {
        for (int64_t k = 0; k < product->k; k++)
            add_pair(c, product, place, i, k, j);
        return;
    }
    for (int64_t s = 0; s < a->nvec; s++)
        if (a->by_col)
            add_pair(c, product, place, i, vector_name(a, s), j);
        else if (vector_name(a, s) == i)
            for (int64_t position = tsr_view_start(a, s); position < tsr_view_start(a, s + 1); position++)
                add_pair(c, product, place, i, index_at(a, position), j);
}

/* As SuiteSparse:GraphBLAS: a mask value is false when all its bits are zero, so -0.0 is true. */
static bool mask_lets_pass(const tsr_product *product, int64_t position)
{
    const tsr_view *mask = &product->mask;
    if (product->mask_structural || mask->x == NULL)
        return true;
    tsr_value value = entry_value(mask, position);
    return tsr_value_true(mask->type, value) || signbit(value.real);
}

static void masked(sums *c, const tsr_product *product)
{
    const tsr_view *mask = &product->mask;
    for (int64_t s = 0; s < mask->nvec; s++)
        for (int64_t position = tsr_view_start(mask, s); position < tsr_view_start(mask, s + 1); position++) {
            int64_t major = vector_name(mask, s), minor = index_at(mask, position);
            if (mask_lets_pass(product, position))
                dot(c, product, position, mask->by_col ? minor : major, mask->by_col ? major : minor);
        }
}

static tsr_status sums_init(sums *c, const tsr_product *product, tsr_rounding rounding)
{
    c->semiring = &product->semiring;
    c->rounding = rounding;
    c->claimed = NULL;
    c->size = tsr_is_masked(product->op) ? product->mask.nvals : product->m * product->n;
    c->value = calloc((size_t)c->size + 1, sizeof *c->value);
    c->present = calloc((size_t)c->size + 1, 1);
    return c->value != NULL && c->present != NULL ? TSR_OK : TSR_OUT_OF_MEMORY;
}

static void sums_free(sums *c)
{
    free(c->value);
    free(c->present);
}

static void compute(sums *c, const tsr_product *product)
{
    if (tsr_is_masked(product->op))
        masked(c, product);
    else
        spmm(c, product);
}

static int64_t count_present(const sums *c)
{
    int64_t count = 0;
    for (int64_t place = 0; place < c->size; place++)
        count += c->present[place];
    return count;
}

tsr_status tsr_ref_execute(const tsr_product *product, tsr_result *result)
{
    sums c;
    tsr_status status = sums_init(&c, product, TSR_ROUND_TO_TYPE);
    if (status == TSR_OK) {
        compute(&c, product);
        for (int64_t place = 0; place < c.size; place++)
            tsr_value_store(product->semiring.type, result->x, place, c.value[place]);
        if (result->b != NULL)
            memcpy(result->b, c.present, (size_t)c.size);
        result->nvals = count_present(&c);
    }
    sums_free(&c);
    return status;
}

tsr_status tsr_ref_execute_exact(const tsr_product *product, long double *x, int8_t *b, int64_t *nvals)
{
    sums c;
    tsr_status status = sums_init(&c, product, TSR_ROUND_NEVER);
    if (status == TSR_OK) {
        compute(&c, product);
        for (int64_t place = 0; place < c.size; place++)
            x[place] = c.value[place].real;
        memcpy(b, c.present, (size_t)c.size);
        *nvals = count_present(&c);
    }
    sums_free(&c);
    return status;
}

tsr_status tsr_ref_match_any(const tsr_product *product, const void *x, int8_t *matches)
{
    sums c;
    tsr_status status = sums_init(&c, product, TSR_ROUND_TO_TYPE);
    if (status == TSR_OK) {
        c.claimed = x;
        compute(&c, product);
        memcpy(matches, c.present, (size_t)c.size);
    }
    sums_free(&c);
    return status;
}
