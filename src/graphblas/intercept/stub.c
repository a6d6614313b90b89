/* Stands for the real library when the replacement is linked: its SONAME is the real library's absolute path, so
 * that this path becomes a dependency without naming libgraphblas.so.N, which is the replacement itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>

__attribute__((visibility("default"))) GrB_Type GrB_BOOL;
