/* Which selections, extractions, gathers and products by functions of host arrays our CPU kernels do sooner than SuiteSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_POLICY_SELECTION_H
#define TSR_POLICY_SELECTION_H

#include <stdbool.h>

/* Entries of A, and indices of a gather or a scatter, below which a call is forwarded before it is taken apart. */
#define TSR_SELECT_LEAST 2048.0
#define TSR_GATHER_LEAST 2048.0
#define TSR_SCATTER_LEAST 512.0 /* SuiteSparse sorts the list */

#define TSR_PLACES_LEAST 32768.0 /* of A, selected from by place */

/* Of a sparse A with so many entries in so many vectors, by value or by place. */
bool tsr_select_pays(double entries, double vectors, bool placed);

/* A with so many entries times a full vector, multiplied by a function, into a vector of this length. */
#define TSR_FUNCTION_LEAST 4096.0
bool tsr_function_product_pays(double entries, double length);

typedef struct tsr_extract_features {
    double entries, vectors, length; /* of A; how long its vectors are */
    double wanted;                   /* vectors of the result */
    bool listed, permutes;           /* vectors are not a range, places are not */
} tsr_extract_features;

bool tsr_extract_pays(const tsr_extract_features *f);

/* The same calls on a GPU that runs, where the result stays (src/policy/price/gpu_price.h has what they take there). */
typedef struct tsr_pick_features {
    double entries, vectors; /* of A */
    double value_bytes;      /* of an entry; 0: they are of one value */
    double indices;          /* in lists, of an extraction */
    bool extracts, held;     /* A is on the device */
    int nthreads;
} tsr_pick_features;

double tsr_pick_host_ms(const tsr_pick_features *f);

#endif
