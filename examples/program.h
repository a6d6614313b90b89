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
    int delta;                /* --delta */
    bool converges;           /* has --tolerance */
    double tolerance;         /* --tolerance; 0: iterate as often as --iterations says */
    const char *form;         /* --form */
    const char *const *forms; /* those that exist, NULL at the end */
    graph g;                  /* opened by program_start */
    int repeat;               /* --repeat: turns of program_turn */
    int turn;                 /* the running one, from 1 */
    int step;                 /* of this turn, from 0 */
    double started;           /* of the running step */
    struct turns *turns;      /* times, and the answers of the first one */
    void *save, *against;     /* FILEs of --save and --against */
} program;

/* Parse, GrB_init, open the graph and print its size.  Ends the process with status 2 after a wrong option, 1 after an
 * input that cannot be read. */
void program_start(program *p, int argc, char **argv);
int program_end(program *p); /* exit status of main */

/* True as often as --repeat says, once unless given: what stands in the loop is the same work each time. */
bool program_turn(program *p);

/* A step is what the demo compares.  program_step starts its clock; the others stop it and print "step <name> <ms>", then, when
 * the answer has been looked at, "answer <name> checksum <sum of its entries> read <ms until its first entry was here>".  The first
 * turn's answer is appended to the --save file and compared with the --against file: "difference <name> <largest difference, relative
 * to the largest value; inf: other entries>".  Later ones must be equal to it but for rounding, or the program ends with status 1.
 * answer: a GrB_Matrix or GrB_Vector of any built-in type. */
void program_step(program *p);
void program_step_matrix(program *p, const char *name, GrB_Matrix answer);
void program_step_vector(program *p, const char *name, GrB_Vector answer);
void program_step_value(program *p, const char *name, double answer);
double program_now_ms(void);

/* Stop with a message when a GraphBLAS call fails. */
#define TRY(call) program_check((call), #call, __FILE__, __LINE__)
void program_check(GrB_Info info, const char *call, const char *file, int line);

#endif
