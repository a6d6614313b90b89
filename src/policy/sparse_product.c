/* Sparse times sparse: when our kernels are expected to be faster.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/sparse_product.h"

#include <stddef.h>

#include "src/policy/cost.h"

/* Below so many products what surrounds the kernel is felt; an operand that is transposed first must be used often; and an estimate that is far
 * off must not bring a product here that has little to do beside looking at its operands. */
#define LEAST_WORK 65536.0
#define SPREAD 8.0 /* hubs meet hubs: so many times the average */
#define WORK_PER_FLIPPED 8.0
#define WORK_PER_SORTED 4.0 /* to sort an entry takes 12 ns, our kernel gains about 2 on a product; few operands are jumbled */
#define WORK_PER_ENTRY 0.25

/* ns of one thread for SuiteSparse 7.4.0: per product and per entry of C.  Fitted to plus_times, FP64, on 2 and 16 threads; products that meet
 * in one entry lie between 1 and 130, and are not counted here but taken as ENTRIES_PER_PRODUCT. */
#define SUITESPARSE_PRODUCT 3.0
#define SUITESPARSE_ENTRY 45.0
#define ENTRIES_PER_PRODUCT 0.5
#define CPU_SHARE 0.6 /* of SuiteSparse's time, for our kernel: .35 to .75 with few threads and many */

/* ns of the device for a product, on graphs with hubs; ms for launches, reading sizes and both transfers. */
#define GPU_PRODUCT 0.05
#define GPU_START_MS 0.4
#define WIDE_INDEX 8.0
#define NARROW_INDEX 4.0

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

static double entries_of(const tsr_sparse_product_features *f)
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
    return (f->work * SUITESPARSE_PRODUCT + entries_of(f) * SUITESPARSE_ENTRY) / threads_of(f) * 1e-6;
}

double tsr_sparse_product_cpu_ms(const tsr_sparse_product_features *f)
{
    return CPU_SHARE * tsr_sparse_product_suitesparse_ms(f);
}

/* The bus, or the threads that write what came over it. */
static double crossing_ns(double bus_bytes, double host_bytes, const tsr_sparse_product_features *f)
{
    const tsr_cost_gpu *c = &tsr_cost_gpu_default;
    const double bus = bus_bytes * c->pcie_byte, host = host_bytes * c->stage_byte / threads_of(f);
    return bus > host ? bus : host;
}

double tsr_sparse_product_gpu_ms(const tsr_sparse_product_features *f)
{
    const tsr_cost_gpu *c = &tsr_cost_gpu_default;
    const double entries = entries_of(f), lines = f->lines * 8, up = f->nvals * (NARROW_INDEX + f->value_bytes) + lines;
    const double down = crossing_ns(entries * (NARROW_INDEX + f->value_bytes) + lines, entries * (WIDE_INDEX + f->value_bytes) + lines, f);
    double ns = down + f->work * GPU_PRODUCT;
    if (!f->there)
        ns += crossing_ns(up, up, f) + f->nvals * c->narrow_entry / threads_of(f) + f->flipped * c->flip_entry;
    return GPU_START_MS + ns * 1e-6;
}
