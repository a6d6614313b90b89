/* Which OpenMP runtime our parallel regions run on.
 *
 * A GraphBLAS may bring a runtime of its own: wheels of Python carry a renamed libgomp.  Then a process has two teams of threads, and those
 * that wait for the next region spin on the processors that the other team computes on: PageRank of a Python program took 2.5 times as long
 * as without us.  So our regions run on GraphBLAS's threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OPENMP_H
#define TSR_OPENMP_H

#include <stdbool.h>

/* The runtime that a loaded library (a handle of dlopen, which stays open) calls becomes ours.  False, and ours stays as it is: the library
 * calls none or an older one, a region of ours ran already, or our compiler is not one that calls libgomp. */
bool tsr_openmp_share(void *library);

/* That library, for plug-ins, which have a copy of this; NULL: none. */
void *tsr_openmp_shared(void);

#endif
