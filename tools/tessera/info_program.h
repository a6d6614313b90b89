/* What `tessera info -- PROGRAM` says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_INFO_PROGRAM_H
#define TSR_INFO_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

typedef struct tsr_program_facts {
    char program[PATH_MAX]; /* what is executed: of a script its interpreter */
    char library[PATH_MAX];
    int major;              /* 0: not known */
    char door[PATH_MAX];
    const char *verdict;    /* are products taken? */
    char why[3 * PATH_MAX];
} tsr_program_facts;

/* By its name, as a shell finds it; the program is not run, Python is asked for the package it would import.  False: not found. */
bool tsr_program_inspect(tsr_program_facts *facts, const char *name);

#endif
