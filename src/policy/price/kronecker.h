/* Which Kronecker products our CPU kernel does sooner than SuiteSparse, and what they take.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_POLICY_KRONECKER_H
#define TSR_POLICY_KRONECKER_H

#include <stdbool.h>

/* Entries of C below which a call is forwarded before it is taken apart: the first one of a process, which looks names of operators up, gains from
 * about so many on, later ones from an eighth of that. */
#define TSR_KRONECKER_LEAST 8000.0

/* ms of one thread for so many entries, with values of their own or without. */
double tsr_kronecker_ms(double entries, bool values);

/* ms of SuiteSparse, which calls functions for each entry, with the threads that it has. */
double tsr_kronecker_other_ms(double entries, bool values, int nthreads);

#endif
