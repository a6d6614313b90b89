/* SuiteSparse:GraphBLAS as `tessera bench` times it.  A module of its own, so that the command needs no GraphBLAS.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BENCH_SUITESPARSE_H
#define TSR_BENCH_SUITESPARSE_H

#include "tessera/backend.h"

#define TSR_SUITESPARSE_API_VERSION 1

typedef struct tsr_suitesparse {
    int api_version;     /* TSR_SUITESPARSE_API_VERSION */
    const char *version; /* of the library loaded */

    /* GraphBLAS objects of a product's operands (copied): plus_times and plus_second of FP32 and FP64, SpMM, SpMV and SDDMM; plus_pair of
     * INT64, masked dot.  NULL: another product, or no memory. */
    void *(*open)(const tsr_product *product);
    bool (*run)(void *work);
    /* The value at a place of the last result, 0 where there is none. */
    double (*value)(void *work, int64_t row, int64_t col);
    void (*close)(void *work);
} tsr_suitesparse;

/* The module's only exported function; NULL: GraphBLAS cannot be started. */
typedef const tsr_suitesparse *(*tsr_suitesparse_get_fn)(void);

#endif
