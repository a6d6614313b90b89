/* GrB_mxm, GrB_mxv and GrB_vxm: from arguments to a call, from its arrays to C.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_GRAPHBLAS_PRODUCT_H
#define TSR_GRAPHBLAS_PRODUCT_H

#include "src/engine/product/decide.h"
#include "src/graphblas/handover/finish.h"
#include "src/graphblas/match/match.h"

/* Rows or columns of a sparse matrix that may be uploaded as a bitmap, like a vector. */
#define TSR_NARROW 64

static inline bool tsr_match_narrow(double nrows, double ncols)
{
    return (nrows <= TSR_NARROW || ncols <= TSR_NARROW) && nrows * ncols <= 0x1p28;
}

/* What the engine asks of this door (door.c). */
extern const tsr_door tsr_graphblas_door;

/* ---- product.c ---- */

/* Does something of it live with a backend, which would have to be downloaded otherwise or spares a way there?  And: might it? */
bool tsr_product_is_on_device(const tsr_door *door, const tsr_arguments *given);
bool tsr_product_concerns_device(const tsr_door *door, const tsr_arguments *given);
/* Is it a search, whose time in SuiteSparse is measured for the GPU? */
bool tsr_product_is_measured(const tsr_arguments *given);
bool tsr_product_download(const tsr_arguments *given);
bool tsr_product_pays(const tsr_arguments *given);
int tsr_product_forward(const tsr_arguments *given);
/* Sizes tell that it is below min_work, before anything is inspected. */
bool tsr_product_is_hopeless(const tsr_arguments *given);
/* Is it one of a process's first, which gains less here than it costs that our code runs for the first time?  u is a matrix B. */
bool tsr_product_is_early(GrB_Matrix A, GrB_Matrix B, bool vector, bool masked);
/* Is what is multiplied the places of a vector's entries?  Such products are computed on a device only. */
bool tsr_product_has_positions(const tsr_arguments *given);
/* A push so large that time may be lost without the GPU. */
bool tsr_product_is_observed(tsr_frontier *f, const tsr_arguments *given);

/* ---- sample.c ---- */

bool tsr_product_sample(const tsr_arguments *given, tsr_sample *sample);

/* ---- match_product.c ---- */

/* NULL: matched.  Otherwise why the call is forwarded (static text).  In place, operands that a device has are taken from there, and C,
 * which may be only there, is not inspected; else the host has everything. */
const char *tsr_match_product(tsr_call *call);

/* As a product of full matrices on a device: operators and descriptor only. */
bool tsr_match_full_product(tsr_call *call);

/* Sets one_value, one and iso of a product that is matched otherwise.  NULL: fine; else why it is forwarded (match_one_value.c). */
const char *tsr_match_one_value(tsr_call *call);

/* Square lists of the entries (k, k) alone, and of all of these.  Without arrays: may it be that? */
bool tsr_is_diagonal(const tsr_view *v);

/* ---- finish_product.c ---- */

/* C = the arrays of the call directly, keeping C's own options (sparsity control, switches), or C<M> accum= them through the real library. */
int tsr_finish_call(tsr_call *call);

/* SuiteSparse's T would be spread, without a mask; C then becomes full where it has every entry, also where that was in lists. */
bool tsr_spreads_t(const tsr_arguments *given);

#endif
