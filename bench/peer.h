/* Another library as `tessera bench` times it.  Each is a module of its own, so that the command needs neither.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BENCH_PEER_H
#define TSR_BENCH_PEER_H

#include "tessera/backend.h"

#define TSR_PEER_API_VERSION 2

/* What `open` returns begins with this. */
typedef struct tsr_peer_work {
    double convert_ms;  /* what was made of the sparse operand beside a copy; 0: nothing */
    double device_ms;   /* one product with operands and result on the device; < 0: there is none */
    const char *kernel; /* which of its algorithms; static storage */
} tsr_peer_work;

typedef struct tsr_peer {
    int api_version;     /* TSR_PEER_API_VERSION */
    const char *version; /* of the library loaded */

    /* A product to repeat; `product` and its operands must outlive it.  SuiteSparse copies the operands: plus_times and plus_second of
     * FP32 and FP64, SpMM, SpMV and SDDMM; plus_pair of INT64, masked dot.  cuSPARSE keeps the sparse operand (SDDMM: the pattern) on
     * the device; dense ones and results travel with each run.  NULL: another product, or no memory. */
    tsr_peer_work *(*open)(const tsr_product *product);
    bool (*run)(tsr_peer_work *work);
    /* The value at a place of the last result, 0 where there is none. */
    double (*value)(tsr_peer_work *work, int64_t row, int64_t col);
    void (*close)(tsr_peer_work *work);
} tsr_peer;

/* A module's only exported function, tsr_peer_get; NULL: the library cannot be started. */
typedef const tsr_peer *(*tsr_peer_get_fn)(void);

#endif
