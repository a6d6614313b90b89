/* One value of any type, and the operators of a semiring on it: the oracle's arithmetic, written for reading.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_VALUE_H
#define TSR_REF_VALUE_H

#include "tessera/backend.h"

/* Integers and bool live in `bits`, sign- or zero-extended to 64 bits; floats live in `real`, complex numbers in `real` and `imag`. */
typedef struct tsr_value {
    uint64_t bits;
    long double real, imag;
} tsr_value;

/* How floats are computed: rounded to the type after every operation, or never (the exact side of an error bound). */
typedef enum tsr_rounding { TSR_ROUND_TO_TYPE, TSR_ROUND_NEVER } tsr_rounding;

bool tsr_type_is_float(tsr_type type); /* real or complex */

/* x[position], or x[0] of an iso array; zero when there are no values (x == NULL). */
tsr_value tsr_value_load(tsr_type type, const void *x, int64_t position);
void tsr_value_store(tsr_type type, void *x, int64_t position, tsr_value value);

/* Is the value true, seen as a boolean? */
bool tsr_value_true(tsr_type type, tsr_value value);

/* Equal, or both NaN. */
bool tsr_value_same(tsr_value x, tsr_value y);

tsr_value tsr_value_multiply(const tsr_semiring *semiring, tsr_rounding rounding, tsr_value a, tsr_value b);
tsr_value tsr_value_add(const tsr_semiring *semiring, tsr_rounding rounding, tsr_value sum, tsr_value term);

/* What the very first term becomes: itself, but LOR always yields 0 or 1. */
tsr_value tsr_value_begin(const tsr_semiring *semiring, tsr_value term);

#endif
