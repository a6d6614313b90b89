/* What a page is made of: the records of a trace.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REPORT_DATA_H
#define TSR_REPORT_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum tsr_report_place { TSR_PLACE_SUITESPARSE, TSR_PLACE_CPU, TSR_PLACE_GPU, TSR_PLACES } tsr_report_place;

typedef struct tsr_report_call {
    char call[24], route[64], pattern[160], reason[96];
    tsr_report_place place;
    double end_ms, ms, other_ms; /* other_ms: of SuiteSparse; 0: not known */
    double bytes;
} tsr_report_call;

typedef struct tsr_report {
    tsr_report_call *call; /* by malloc, in the order of the trace */
    int64_t count, room;
    double elapsed_ms;     /* of the program */
} tsr_report;

/* From a trace; lines that are no records of calls are left out.  False: no memory. */
bool tsr_report_read(tsr_report *report, FILE *trace);

#endif
