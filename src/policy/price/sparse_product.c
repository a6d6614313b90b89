/* Sparse times sparse: when our kernels are expected to be faster.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/sparse_product.h"

#include <stddef.h>

/* An operand that is transposed first must be used often; and an estimate that is far off must not bring a product here that has little to do
 * beside looking at its operands. */
#define SPREAD 8.0 /* hubs meet hubs: so many times the average, at most */
#define SKEW 4.0   /* mostly, where that pays for sorting */
#define WORK_PER_FLIPPED 8.0
#define WORK_PER_SORTED 4.0 /* to sort an entry takes 12 ns, our kernel gains about 2 on a product; few operands are jumbled */
#define WORK_PER_ENTRY 0.25
#define CALLS_OF_B 8.0

/* By one thread, rows of so few products whose columns lie together, in a C so narrow that a sum for each column stays in the cache: SuiteSparse's dense
 * sums.  With several threads it takes as long for each.  In a wider C where rows are alike: no branch of SuiteSparse's is guessed wrong then, nor of
 * its sort, which otherwise takes as long as the product. */
#define SHORT_ROW 32.0
#define NARROW_C 262144.0
#define NEAR_SHARE 8.0

/* Under a bitmap or full mask: products of a row, or for a place of C, of which one suffices; with fewer, SuiteSparse drops what the mask hides before
 * it is added up.  With more for a place than SIEVED_MOST C is a bitmap, and the first call loses by its fresh memory. */
#define SIEVED_ROW 32.0
#define SIEVED_LEAST (1.0 / 16)
#define SIEVED_MOST 4.0

/* ns of one thread for SuiteSparse 7.4.0: per product and per entry of C.  Fitted to plus_times, FP64, on 2 and 16 threads; products that meet
 * in one entry lie between 1 and 130, and are not counted here but taken as ENTRIES_PER_PRODUCT. */
#define SUITESPARSE_PRODUCT 3.0
#define SUITESPARSE_ENTRY 45.0
#define ENTRIES_PER_PRODUCT 0.5
#define SUITESPARSE_SIEVED 10.0 /* more for a product whose place it looks up in a mask, at least: 100 and more where that lies in no cache */
#define CPU_SHARE 0.6 /* of SuiteSparse's time, for our kernel: .35 to .75 with few threads and many */

bool tsr_sparse_product_is_small(double work, double nvals_a, double nvals_b)
{
    const double calls_of_b = work < nvals_b ? CALLS_OF_B : 1;
    return work * SPREAD < TSR_SPARSE_PRODUCT_LEAST || work * SKEW <= WORK_PER_SORTED * (nvals_a + nvals_b / calls_of_b);
}

bool tsr_sparse_product_asks_span(const tsr_sparse_product_features *f)
{
    return f->nthreads < 2 && f->work * f->columns < SHORT_ROW * f->places;
}

static bool has_short_rows(const tsr_sparse_product_features *f)
{
    const bool near = f->span > 0 && f->span * NEAR_SHARE < f->columns;
    return tsr_sparse_product_asks_span(f) && near && (f->columns <= NARROW_C || f->alike);
}

static bool sieves_badly(const tsr_sparse_product_features *f)
{
    const bool few = f->work < SIEVED_LEAST * f->places && f->work * f->columns < SIEVED_ROW * f->places;
    return f->sieved && (few || f->work > SIEVED_MOST * f->places);
}

const char *tsr_sparse_product_pays(const tsr_sparse_product_features *f)
{
    if (f->work < TSR_SPARSE_PRODUCT_LEAST)
        return "few products of sparse operands";
    if (sieves_badly(f))
        return "few or many products for the places of a dense mask";
    if (f->copies)
        return "lines of a sparse operand times a number";
    if (f->renames && f->nthreads < 2)
        return "lines with other indices, by one thread";
    if (f->work < WORK_PER_FLIPPED * f->flipped)
        return "an operand would be transposed for few products";
    if (has_short_rows(f))
        return "short rows of neighbours, by one thread";
    return f->work < WORK_PER_ENTRY * f->nvals ? "few products for the entries of the operands" : NULL;
}

double tsr_sparse_product_entries(const tsr_sparse_product_features *f)
{
    const double entries = f->work * ENTRIES_PER_PRODUCT;
    if (f->entries > 0)
        return f->entries;
    return entries < f->places ? entries : f->places;
}

static double threads_of(const tsr_sparse_product_features *f)
{
    return f->nthreads > 0 ? (double)f->nthreads : 1;
}

double tsr_sparse_product_suitesparse_ms(const tsr_sparse_product_features *f)
{
    return (f->work * (SUITESPARSE_PRODUCT + (f->sieved ? SUITESPARSE_SIEVED : 0)) + tsr_sparse_product_entries(f) * SUITESPARSE_ENTRY) / threads_of(f) * 1e-6;
}

double tsr_sparse_product_cpu_ms(const tsr_sparse_product_features *f)
{
    return CPU_SHARE * tsr_sparse_product_suitesparse_ms(f);
}
