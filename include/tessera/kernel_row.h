/* A row of a backend's table of kernels, for lists, pages and tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_KERNEL_ROW_H
#define TESSERA_KERNEL_ROW_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Static storage. */
typedef struct tsr_kernel_row {
    const char *operation; /* "spmm" */
    const char *name;      /* of its operation: what TESSERA_KERNEL takes where there is a choice */
    const char *trace;     /* its name in a trace, before what the arithmetic or the instruction set adds: "panel" of "panel-fp32" */
    const char *takes;     /* formats, types and semirings, in words */
    bool automatic;        /* chosen by itself; else only when it is named */
} tsr_kernel_row;

/* A plug-in may export such a function, tsr_backend_kernel: row k = 0, 1, … of its table; false: there are no more.  Needs no device. */
typedef bool (*tsr_backend_kernel_fn)(int k, tsr_kernel_row *row);

#ifdef __cplusplus
}
#endif

#endif
