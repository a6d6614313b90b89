/* Operators that the program makes of its own functions: what it gave for them, until they are freed or set (the wrappers say so).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_OWN_OPERATORS_H
#define TSR_OWN_OPERATORS_H

#include <GraphBLAS.h>
#include <stdbool.h>

/* y: NULL where its functions have no such operand. */
typedef struct tsr_own_operator {
    void (*function)(void); /* of the type that the constructor takes */
    GrB_Type z, x, y;
} tsr_own_operator;

/* The program has made it.  The last 64 are remembered. */
void tsr_own_keep(const void *handle, tsr_own_operator made);
/* False: a built-in one, one that was forgotten, or one without a function. */
bool tsr_own_find(tsr_own_operator *made, const void *handle);
void tsr_own_forget(const void *handle);

#endif
