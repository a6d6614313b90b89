/* Values of the test double.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_FAKE_VALUES_H
#define TSR_TEST_FAKE_VALUES_H

#include "src/format/sparse/format.h"

typedef struct fake_value {
    int64_t count;
    tsr_type type;
    void *x;
    int8_t *b; /* NULL: all are present */
} fake_value;

fake_value *fake_new(int64_t count, tsr_type type, bool present);
void fake_free(fake_value *value);

/* fake_step.c: the steps and sums of tessera/values.h, element by element. */
fake_value *fake_step(const tsr_ewise *step);
bool fake_reduce(const fake_value *value, tsr_type type, tsr_reduce_op op, void *scalar);
fake_value *fake_sums(const tsr_sums *sums);

/* fake_derive.c */
fake_value *fake_cast(const fake_value *value, tsr_type to);
fake_value *fake_turn(const fake_value *value, int64_t vectors, int64_t length);
fake_value *fake_places(const tsr_places *places);
fake_value *fake_gather(const fake_value *v, const tsr_indices *from);
fake_value *fake_scatter(const fake_value *v, const tsr_indices *to, int64_t count); /* NULL: to the same place twice */

#endif
