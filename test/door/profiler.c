/* A library that another tool preloads before ours: it counts products and passes them on to whoever is next.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <GraphBLAS.h>
#include <dlfcn.h>
#include <stdio.h>

static int calls;

__attribute__((visibility("default")))
GrB_Info GrB_mxm(GrB_Matrix C, const GrB_Matrix M, const GrB_BinaryOp accum, const GrB_Semiring semiring, const GrB_Matrix A,
                 const GrB_Matrix B, const GrB_Descriptor desc)
{
    void *next = dlsym(RTLD_NEXT, "GrB_mxm");
    calls++;
    return (*(__typeof__(&GrB_mxm) *)&next)(C, M, accum, semiring, A, B, desc);
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "profiler: %d products\n", calls);
}
