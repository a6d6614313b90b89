/* The trace: one record per product, a summary at exit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TRACE_H
#define TSR_TRACE_H

#include "tessera/backend.h"

#include "src/runtime/config.h"

typedef struct tsr_trace_record {
    const char *call;    /* "GrB_mxm", "tsr_execute" */
    const char *pattern; /* "spmm plus_second fp32 m=65536 k=65536 n=64 nnz=1048576" */
    const char *route;   /* "cpu:spmm_csr_avx2", "suitesparse" */
    const char *reason;  /* why this route: "predicted 3.1 ms against 14.0 ms", "below min_work" */
    double predicted_ms; /* < 0: not predicted */
    double measured_ms;  /* < 0: not measured */
    double other_ms;     /* what SuiteSparse would have taken, estimated; 0 or less: not known */
    int64_t bytes_moved; /* across PCIe; 0 on the CPU */
    const tsr_backend *backend; /* asked how long the device took; NULL: nobody */
    int built, evicted;  /* representations made on the GPU, and given up there, for this product */
} tsr_trace_record;

/* False: nobody wants records; callers then skip building them (a few loads). */
bool tsr_trace_wanted(void);

/* The same of settings, without starting anything. */
static inline bool tsr_trace_asked_for(const tsr_config *config)
{
    return config->verbose >= 1 || *config->trace;
}

/* Thread-safe.  Writes one JSON line to the trace file, one readable line to stderr at verbose 2, and counts for the
 * summary that verbose >= 1 prints at exit.  Nothing is waited for: what the device took follows in a line of its own once it is known. */
void tsr_trace_product(const tsr_trace_record *record);

/* Waits for what is still under way: its times are written. */
void tsr_trace_settle(void);

#endif
