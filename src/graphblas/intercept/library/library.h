/* Which SuiteSparse:GraphBLAS a process has: also under a mangled name, also loaded later with RTLD_LOCAL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_LIBRARY_H
#define TSR_LIBRARY_H

#include "src/graphblas/intercept/library/symbols.h"

/* Everything of ours that exports GraphBLAS names exports this as well.  Of a door it may be set, before its first call, to the real library's
 * symbols. */
extern const tsr_symbols *tsr_door_library;

/* The real library among the loaded objects: what comes after the caller's object, or else the first.  False: none is loaded. */
bool tsr_library_find(tsr_symbols *symbols);

/* Its major version: by its SONAME ("libgraphblas.so.7", "libgraphblas-1a2b.so.7.4.0"), or else by what it exports; 0: none that we know. */
int tsr_library_major(const tsr_symbols *symbols);

#endif
