/* What products took, by route: it corrects the predictions where every route gives the same bits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TIMING_H
#define TSR_TIMING_H

#include "src/policy/price/route.h"

typedef enum tsr_route { TSR_ROUTE_SUITESPARSE, TSR_ROUTE_CPU, TSR_ROUTE_GPU, TSR_ROUTE_COUNT } tsr_route;

/* Products that are alike have the same key.  0: nothing is learnt of this one, since a sum in another order would have other
 * bits, and what is computed must not depend on a clock. */
uint64_t tsr_timing_key(const tsr_features *f);

/* One such product took `ms` from call to return, for `busy_ms` of which its caller had a processor (the GPU: all of it).  A route's first
 * call, which may build or load something, does not count. */
void tsr_timing_add(uint64_t key, tsr_route route, double ms, double busy_ms);

/* What such a product takes on this route, ms; negative: not known yet. */
double tsr_timing_ms(uint64_t key, tsr_route route);

/* The route for the next one.  predicted: ms of every route, negative where it is not possible; first: the one chosen by prediction.
 * Another route is tried, twice, when its prediction is near what the first one really takes of a processor and as many calls have been made as its
 * prediction is longer than the first one's (SuiteSparse once, if it is far slower), or, instead of SuiteSparse, when it is predicted to be
 * far faster and its trials are a small share of the time so far; the fastest of those measured wins. */
tsr_route tsr_timing_choose(uint64_t key, const double predicted[TSR_ROUTE_COUNT], tsr_route first);

/* Products that differ in their counts of entries only have the same key: the turns of an algorithm that thins its matrix out.  0: as
 * above. */
uint64_t tsr_timing_alike(const tsr_features *features);

/* One of them kept its caller busy for `ms`, so that other programs on the machine do not count; SuiteSparse was predicted to take
 * `suitesparse_ms`.  The CPU kernels have lost when they take far longer than that, until SuiteSparse is as slow as well. */
void tsr_timing_judge(uint64_t alike, tsr_route route, double ms, double suitesparse_ms);
bool tsr_timing_lost(uint64_t alike);

void tsr_timing_begin(void);  /* a program begins: what its first calls will touch is touched */
void tsr_timing_forget(void); /* everything (tests) */

#endif
