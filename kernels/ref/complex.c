/* The oracle of products of complex numbers: one place of C after the other, in long double, rounded once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/complex.h"

#include "kernels/ref/value.h"

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}

static tsr_value of_scalar(tsr_complex s)
{
    return (tsr_value){ .real = s.re, .imag = s.im };
}

static tsr_value sum_of_row(const tsr_complex_spmm *p, const tsr_semiring *s, int64_t row, int64_t column)
{
    tsr_value sum = { 0 };
    for (int64_t e = p->a->p[row]; e < p->a->p[row + 1]; e++) {
        tsr_value a = tsr_value_load(p->type, p->a->x, p->a->iso ? 0 : p->places ? p->places[e] : e);
        const tsr_value b = tsr_value_load(p->type, p->b, index_at(p->a, e) * p->b_row + column * p->b_column);
        a.imag = p->conjugate ? -a.imag : a.imag;
        sum = tsr_value_add(s, TSR_ROUND_NEVER, sum, tsr_value_multiply(s, TSR_ROUND_NEVER, a, b));
    }
    return sum;
}

static void compute(const tsr_complex_spmm *p, int64_t row, int64_t column)
{
    const tsr_semiring s = { p->type, TSR_ADD_PLUS, TSR_MUL_TIMES };
    const int64_t place = row * p->c_row + column * p->c_column;
    tsr_value c = tsr_value_multiply(&s, TSR_ROUND_NEVER, of_scalar(p->alpha), sum_of_row(p, &s, row, column));
    if (p->beta.re != 0 || p->beta.im != 0)
        c = tsr_value_add(&s, TSR_ROUND_NEVER, c, tsr_value_multiply(&s, TSR_ROUND_NEVER, of_scalar(p->beta), tsr_value_load(p->type, p->c, place)));
    tsr_value_store(p->type, p->c, place, c);
}

tsr_status tsr_ref_spmm_complex(const tsr_complex_spmm *product)
{
    for (int64_t row = 0; row < product->a->nvec; row++)
        for (int64_t column = 0; column < product->n; column++)
            compute(product, row, column);
    return TSR_OK;
}
