/* What every example program does alike: options, timed steps, saved answers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLES_PROGRAM_H
#define EXAMPLES_PROGRAM_H

#include "graph.h"

/* Defaults in, choices out.  An option whose default is 0 or NULL is not one of this program and is refused. */
typedef struct program {
    const char *doc;          /* one line for --help */
    int iterations;           /* --iterations */
    int columns;              /* --columns */
    int k;                    /* --k */
    const char *form;         /* --form */
    const char *const *forms; /* those that exist, NULL at the end */
    graph g;                  /* opened by program_start */
    double started;           /* of the running step */
    void *save;               /* FILE of --save */
} program;

/* Parse, GrB_init, open the graph and print its size.  Ends the process with status 2 after a wrong option, 1 after an
 * input that cannot be read. */
void program_start(program *p, int argc, char **argv);
int program_end(program *p); /* exit status of main */

/* A step is what the demo compares: it prints "step <name> <ms> checksum <value>" and appends its answer to the --save
 * file. answer: a GrB_Matrix or GrB_Vector of any built-in type; the checksum is the sum of its entries. */
void program_step(program *p);
void program_step_matrix(program *p, const char *name, GrB_Matrix answer);
void program_step_vector(program *p, const char *name, GrB_Vector answer);
void program_step_value(program *p, const char *name, double answer);
double program_now_ms(void);

/* Stop with a message when a GraphBLAS call fails. */
#define TRY(call) program_check((call), #call, __FILE__, __LINE__)
void program_check(GrB_Info info, const char *call, const char *file, int line);

#endif
