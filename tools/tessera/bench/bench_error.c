/* Errors of results against exact values at a sample of places.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/bench/bench.h"

#include <math.h>

static long double value_at(const tsr_view *view, int64_t place)
{
    return !view->x ? 1 : view->type == TSR_FP64 ? ((const double *)view->x)[place] : (long double)((const float *)view->x)[place];
}

static int64_t index_at(const tsr_view *view, int64_t place)
{
    return ((const int64_t *)view->i)[place];
}

static long double exact_dense(const tsr_product *p, int64_t row, int64_t col)
{
    long double sum = 0;
    for (int64_t k = p->a.p[row]; k < p->a.p[row + 1]; k++) {
        sum += value_at(&p->a, k) * value_at(&p->b, index_at(&p->a, k) * p->n + col);
    }
    return sum;
}

static long double exact_sampled(const tsr_product *p, int64_t row, int64_t col)
{
    long double sum = 0;
    for (int64_t k = 0; k < p->k; k++) {
        sum += value_at(&p->a, row * p->k + k) * value_at(&p->b, col * p->k + k);
    }
    return sum;
}

/* Common columns of row `row` of A and column `col` of B, which is held by column. */
static long double exact_common(const tsr_product *p, int64_t row, int64_t col)
{
    int64_t a = p->a.p[row], b = p->b.p[col], count = 0;
    while (a < p->a.p[row + 1] && b < p->b.p[col + 1]) {
        int64_t i = index_at(&p->a, a), j = index_at(&p->b, b);
        count += i == j;
        a += i <= j;
        b += j <= i;
    }
    return (long double)count;
}

/* The vector that holds an entry. */
static int64_t vector_of(const tsr_view *view, int64_t entry)
{
    int64_t low = 0, high = view->nvec;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(view->p[middle] <= entry ? &low : &high) = middle;
    }
    return low;
}

void tsr_bench_sample(tsr_bench_samples *out, const tsr_bench_case *c)
{
    const tsr_product *p = &c->product;
    bool dense = !tsr_is_masked(p->op);
    int64_t wanted = c->noutputs < TSR_BENCH_SAMPLES ? c->noutputs : TSR_BENCH_SAMPLES;
    *out = (tsr_bench_samples){0};
    for (int64_t s = 0; s < wanted; s++) {
        int64_t place = (int64_t)((double)c->noutputs / (double)wanted * ((double)s + 0.5));
        int64_t row = dense ? place / p->n : vector_of(&p->mask, place), col = dense ? place % p->n : index_at(&p->mask, place);
        if (dense && p->a.p[row] == p->a.p[row + 1]) {
            continue;
        }
        long double exact = dense                    ? exact_dense(p, row, col)
                            : p->op == TSR_OP_SDDMM ? exact_sampled(p, row, col)
                                                    : exact_common(p, row, col);
        out->sample[out->count++] = (struct tsr_bench_sample){row, col, place, (double)exact};
        out->norm += (double)(exact * exact);
    }
}

double tsr_bench_error(const tsr_bench_samples *samples, const double *got)
{
    double wrong = 0;
    for (int s = 0; s < samples->count; s++) {
        double difference = got[s] - samples->sample[s].exact;
        wrong += difference * difference;
    }
    return samples->norm > 0 ? sqrt(wrong / samples->norm) : sqrt(wrong);
}

double tsr_bench_tolerance(const tsr_bench_case *c)
{
    static const double most[TSR_BENCH_MATHS] = {1e-5, 5e-3, 5e-2, 1e-2, 1e-12};
    return c->op == TSR_BENCH_TRIANGLES ? 0 : most[c->math];
}
