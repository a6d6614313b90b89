/* Calls on few sparse vectors: who computes them, and the kernels (kernels/sparse_vectors.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_FEW_H
#define TSR_ENGINE_FEW_H

#include "kernels/sparse_vectors.h"

/* The work of the product, or a negative number: SuiteSparse computes it. */
int64_t tsr_engine_push_work(const tsr_push *push);
/* The product of one value of U and one of A. */
uint64_t tsr_engine_push_one(const tsr_push_semiring *semiring, uint64_t of_u, uint64_t of_a);
tsr_status tsr_engine_push(const tsr_push *push, int64_t work, tsr_few *result);
/* The same of a product that is pulled. */
int64_t tsr_engine_pull_work(const tsr_push *pull);
int64_t tsr_engine_pull(const tsr_push *pull, int64_t work, int8_t *b, void *x);

/* One sparse vector times the rows of A: their entries that the mask lets pass, or -1 if SuiteSparse is to take it; the product. */
int64_t tsr_engine_pull_listed_work(const tsr_push *pull);
tsr_status tsr_engine_pull_listed(const tsr_push *pull, int64_t work, tsr_few *result);

/* Is the time of such a product worth knowing, for a GPU?  What it took: of that counts towards starting one what one that runs would have
 * spared; a push of a search counts towards moving that search as well. */
bool tsr_engine_few_is_timed(void);
void tsr_engine_push_took(const tsr_push *push, double ms);
void tsr_engine_pull_took(const tsr_push *pull, int64_t work, double ms);

/* Would a GPU that runs and has A pull sooner than this host did before? */
bool tsr_engine_pull_leaves(const tsr_push *pull, int64_t work);

bool tsr_engine_few_step_wanted(const tsr_few_step *step, int nthreads);
tsr_status tsr_engine_few_step(const tsr_few_step *step, tsr_few *t);
tsr_status tsr_engine_few_merge(const tsr_few_step *step, tsr_few *t, tsr_few *c);
bool tsr_engine_few_updates(const tsr_few_step *step);
int64_t tsr_engine_few_update(const tsr_few_step *step, int8_t *b, void *x);
bool tsr_engine_few_scatter(const tsr_few_step *step, const tsr_few *t, int8_t *b, void *x, int64_t *more);

void tsr_engine_few_release(tsr_few *few);

#endif
