/* What SuiteSparse does in one pass at the speed of memory stays there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/elementwise.h"

/* SuiteSparse (7.4.0, one thread, FP32, 131,072 x 64) takes for T = max (T, 0) 27 ms, for T<B> = D 58, for W += T * D 33, for sums of
 * typecast operands four to seven times what ours take (4, 7, 9 ms); for T += D, T = T + D and copies the same or less; what takes a
 * bitmap two to thirteen times ours.  With few elements what other calls gain is lost by taking them apart. */
bool tsr_ewise_pays(const tsr_ewise_features *c)
{
    if (c->forced)
        return true;
    if (c->masked || c->partial || c->casts || c->extremes || (c->computes && c->accumulates))
        return true;
    return c->elements >= TSR_EWISE_FEW && (c->select || (c->computes && c->moves));
}

/* Ours reads both lists once, .5 ns an entry of the longer one and some 15 a vector.  SuiteSparse (7.4.0, 9.4.5) goes twice over them: merging, or
 * searching the longer for what is in one that is far shorter, which in short lists misses no cache (docs/host-calls.md). */
bool tsr_common_pays(double fewer, double more, double vectors)
{
    enum { FAR_FEWER = 8, MERGED = 32, SEARCHED = 100 };
    return more >= (fewer * FAR_FEWER > more ? MERGED : SEARCHED) * vectors;
}
