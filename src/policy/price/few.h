/* Which calls on few sparse vectors our CPU kernels do sooner than SuiteSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_POLICY_FEW_H
#define TSR_POLICY_FEW_H

#include <stdbool.h>
#include <stdint.h>

/* Vectors shorter than this SuiteSparse takes in less time than it takes to hand them over. */
#define TSR_FEW_LEAST 512

/* ... and so products of matrices with fewer entries. */
#define TSR_FEW_ENTRIES_LEAST 4096

/* Calls that are small. */
typedef enum tsr_small { TSR_SMALL_PUSH, TSR_SMALL_SPARSE, TSR_SMALL_MASKED, TSR_SMALL_SELECT } tsr_small;

/* us that a product of so many multiply-adds, about, takes less here than by SuiteSparse, at best: by a sparse vector, of sparse matrices, of these
 * under a mask; a selection of so many entries. */
double tsr_small_gain_us(tsr_small kind, double steps);

typedef struct tsr_push_features {
    int64_t work;    /* multiply-adds */
    int64_t vectors;
    bool joint;      /* by all threads together, instead of one for each vector */
    int nthreads;    /* allowed */
} tsr_push_features;

typedef struct tsr_pull_features {
    int64_t work;    /* multiply-adds, were there an entry at every place of the vectors */
    int64_t places;  /* of the result */
    bool listed;    /* a plain sparse mask names the places */
} tsr_pull_features;

/* One sparse vector times the rows of a matrix. */
typedef struct tsr_pull_listed_features {
    int64_t entries; /* of rows that the mask lets pass */
    int64_t rows;    /* that a sparse mask names; 0: there is none, or its complement is meant */
    int64_t marked;  /* entries of the vector */
} tsr_pull_listed_features;

/* So few entries of a sparse vector, under a sparse mask with no more: a dot for each entry of the mask SuiteSparse begins 1 us sooner. */
#define TSR_FEW_DOTS 100

bool tsr_push_pays(const tsr_push_features *push);
bool tsr_pull_listed_pays(const tsr_pull_listed_features *pull);
bool tsr_pull_pays(const tsr_pull_features *pull);

typedef struct tsr_few_step_features {
    int64_t work;    /* entries walked over */
    bool runs;       /* by all threads */
    int nthreads;
} tsr_few_step_features;

bool tsr_few_step_pays(const tsr_few_step_features *step);

/* A bitmap or full C that takes entries of one list, or pairs of them and what a dense operand has at their places. */
typedef struct tsr_few_update_features {
    double entries, places;
    bool pairs;
} tsr_few_update_features;

bool tsr_few_update_pays(const tsr_few_update_features *update);

#endif
