/* Sparse times sparse: when our kernel is expected to be the faster one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/sparse_product.h"

#include <stddef.h>

/* Below so many products what surrounds the kernel is felt; an operand that is transposed first must be used often; and an estimate that is far
 * off must not bring a product here that has little to do beside looking at its operands. */
#define LEAST_WORK 65536.0
#define SPREAD 8.0 /* hubs meet hubs: so many times the average */
#define WORK_PER_FLIPPED 8.0
#define WORK_PER_SORTED 4.0 /* to sort an entry takes 12 ns, our kernel gains about 2 on a product; few operands are jumbled */
#define WORK_PER_ENTRY 0.25

bool tsr_sparse_product_is_small(double work, double nvals)
{
    return work * SPREAD < LEAST_WORK || work < WORK_PER_SORTED * nvals;
}

const char *tsr_sparse_product_pays(const tsr_sparse_product_features *f)
{
    if (f->work < LEAST_WORK)
        return "few products of sparse operands";
    if (f->work < WORK_PER_FLIPPED * f->flipped)
        return "an operand would be transposed for few products";
    return f->work < WORK_PER_ENTRY * f->nvals ? "few products for the entries of the operands" : NULL;
}
