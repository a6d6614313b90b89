/* Decisions about products, and what is learnt from their times.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_DECIDE_H
#define TSR_ENGINE_DECIDE_H

#include "src/engine/call/call.h"

/* So little work that nothing we could do pays (drop-in door; no record is made for such operands).  Not where an operand is with a
 * backend: it would have to be downloaded. */
bool tsr_engine_too_small(const tsr_product *product);
/* The same of a product that is not known yet, but for the most multiply-adds it can have. */
bool tsr_engine_hopeless(double most_work, bool masked);
/* ... and the trace, which wants to know more of each, is off. */
bool tsr_engine_leaves(double most_work, bool masked);

/* How many of the allowed threads the work of a product keeps busy (SuiteSparse's own rule: one per 65536 steps). */
int tsr_engine_useful_threads(const tsr_product *product);

/* Pure but for reading the records: who computes this, with what. */
void tsr_engine_decide(const tsr_call *call, tsr_decision *decision);

/* Would a GPU that has nothing of two full matrices multiply them sooner?  Counts towards starting it. */
bool tsr_engine_gpu_multiplies(const tsr_call *call);

/* What a product of this decision took in the end, from call to return, whoever computed it; busy: of that, what this thread computed. */
void tsr_engine_learn(const tsr_decision *decision, double ms, double busy_ms);
/* ... of one that SuiteSparse computed, operands downloaded for it included; forwarded: of the decision. */
void tsr_engine_learn_forwarded(uint64_t forwarded, double ms);
/* A forwarded product that a running GPU would have computed took so long. */
void tsr_engine_lost(double ms);
/* ... of a forwarded one with observed_ms. */
void tsr_engine_observe(const tsr_call *call, const tsr_decision *decision, double ms);

/* A sparse vector pushed along a matrix in a search. */
typedef struct tsr_frontier {
    double entries, rows, columns; /* of the matrix */
    double vertices;               /* entries of the vector */
    int nthreads;
} tsr_frontier;

/* The same of such a push, of which nothing else is known. */
void tsr_engine_observe_push(const tsr_frontier *f, double ms);

/* Sparse vectors of the host's, several at once, are pushed on the device, as others of their kind are (frontier_history.h).  And: they were
 * brought there for a level, which took `ms` in all. */
bool tsr_engine_frontier_moves(const tsr_call *call);
void tsr_engine_frontier_moved(const tsr_call *call, double ms);

/* Is C certainly full (every row of A has an entry, B is full)?  The caller then needs no result->b. */
bool tsr_engine_result_full(const tsr_call *call);

/* Will the product of this decision be joined to a C that is there (result->c)? */
bool tsr_engine_joins(const tsr_call *call, const tsr_decision *decision);

/* SuiteSparse ends at the first hit, so that nobody predicts what it takes. */
static inline bool tsr_is_search(const tsr_call *call)
{
    return call->one_value || call->positions;
}

/* Of products. */
static inline bool tsr_has_compressed(const tsr_call *call)
{
    return call->a.compressed || call->b.compressed || call->mask.compressed;
}

/* Operands that only a device can read: nobody else computes the product then. */
static inline bool tsr_reads_device(const tsr_call *call)
{
    return call->product.a_value || call->product.b_value || tsr_has_compressed(call);
}

/* The result need not be downloaded. */
static inline bool tsr_result_stays(const tsr_call *call)
{
    return call->remote.may_stay && !call->remote.trial;
}

#endif
