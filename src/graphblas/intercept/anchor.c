/* A use of one of the real library's data symbols: linkers drop a dependency that nothing uses.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>

__attribute__((used)) static GrB_Type *const anchor = &GrB_BOOL;
