/* Numbers that decide who computes: pure functions over a features struct.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ROUTE_H
#define TSR_ROUTE_H

#include "tessera/backend.h"

typedef struct tsr_features {
    tsr_op op;
    tsr_semiring semiring;
    double m, n, k;      /* shape */
    double a_nnz, b_nnz; /* entries of the sparse operands (b: entries held when dense) */
    double mask_nnz;     /* SDDMM, masked dot */
    double walk, merged, marked, blocks, uneven, turns, common; /* sparse operands: what tsr_sample_walk says; 0: not looked at */
    bool regular;
    bool a_by_col;       /* orientation of the arrays that would be used */
    bool b_by_col;
    bool c_by_col;
    bool mask_by_col;
    bool a_pattern;      /* values of a not read */
    bool a_cast, b_cast; /* values must be converted first */
    bool typecast;       /* of another type, maybe only one: SuiteSparse takes its generic kernels */
    bool b_bitmap;
    bool b_sparse;       /* the host holds b sparse: SuiteSparse multiplies its entries alone, for the GPU a bitmap is uploaded */
    bool a_full;         /* product of full matrices */
    bool narrow_index;   /* 32-bit indices */
    bool a_on_device;    /* the GPU keeps what it needs of A */
    bool a_known;        /* a product had these contents of A before: once uploaded they would be used again */
    bool direct;         /* the GPU copies dense operands by itself: no host thread stages them */
    bool a_array_on_device, b_on_device, c_stays; /* dense operands that the GPU has already, a result that need not be downloaded */
    bool finish_extra;   /* C<M> accum= T afterwards */
    bool accum_full;     /* C += A*B into a full C, which SuiteSparse does in place */
    bool joins;          /* … with the monoid of the product, which our CPU kernel does as well */
    int nthreads;
} tsr_features;

void tsr_features_of(tsr_features *f, const tsr_product *product);

/* Sparse A and B, masked dot or not, estimated (some 30 us).  Reads the arrays. */
typedef struct tsr_walk {
    double walked; /* entries of the lists that have to be walked, of two the shorter; 0: not for these layouts */
    double merged; /* dots: steps of SuiteSparse, which merges both; 0: others */
    double marked; /* dots: indices that are compared with a marked row of A */
    double blocks; /* dots: comparisons of eight entries with eight */
    double uneven; /* dots: from 0, pairs of lists being as long as each other, to 1 */
    double turns;  /* dots: how often a merge goes on in the other list; 0: not looked at */
    double common; /* … how many products there are */
    bool regular;  /* … and whether merges are much like each other, as on a mesh of equal cells */
} tsr_walk;
tsr_walk tsr_sample_walk(const tsr_product *product);

/* SuiteSparse's steps of the dot product of two sorted lists: one that is more than eight times as long as the other is searched, not
 * walked through, and where one is empty nothing is done. */
double tsr_merge_steps(double left, double right);

#define TSR_WALK_LEAST 2e4 /* multiply-adds, by averages, from which looking at the lists is cheap */

double tsr_predict_cpu_ms(const tsr_features *f);         /* our CPU kernels, without building anything */
double tsr_predict_suitesparse_ms(const tsr_features *f); /* the real library on the same threads */
/* What threads of the host do beside a product of another place: casts, of A unless it need not be, and C<M> accum= T. */
double tsr_predict_host_ms(const tsr_features *f, bool casts_a, bool finishes);
double tsr_predict_settle_ms(double places, int nthreads); /* empty ones of a bitmap are made */
double tsr_predict_build_ms(double nnz, double vectors, bool flip, bool values, int nthreads);
double tsr_work_of(const tsr_features *f);                /* multiply-adds, or a cheap bound */

/* How many of nthreads SuiteSparse has for it (tsr_chunk_threads). */
int tsr_suitesparse_threads(const tsr_features *f);

/* Multiply-adds below which SuiteSparse is called without further thought (its own start costs more than we could win). */
static inline double tsr_least_work(tsr_op op)
{
    return op == TSR_OP_MASKED_DOT ? 2e4 : 2e5;
}

/* A sparse product of so few rows or columns under a sparse mask, as in betweenness: the lists that it meets are in no cache, so that
 * SuiteSparse is as fast on the host, but where it merges (W A').  Known before operands are inspected. */
bool tsr_few_vectors(double nrows, double ncols);

/* Our predicted time must be below this share of SuiteSparse's: what the prediction may be wrong by. */
#define TSR_ROUTE_MARGIN 0.85

/* The GPU is considered only for a product that would take longer than this without. */
#define TSR_GPU_LEAST_MS 0.5

/* Searches of less work are left to SuiteSparse without looking at a clock. */
#define TSR_OBSERVED_LEAST 1e6
#define TSR_SEARCHED_SHARE 0.08 /* of the entries of A, where a search ends at the first hit */

/* Ski-rental: build when what has been lost without reaches the price, or at once when the caller expects enough calls. */
bool tsr_worth_building(double build_ms, double regret_ms, double gain_per_call_ms, double expected_calls);

#endif
