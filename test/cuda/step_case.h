/* One step with random operands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_EWISE_CASE_H
#define TSR_TEST_EWISE_CASE_H

#include "test/cuda/host_value.h"

enum { OPERANDS = 4 };

/* A step, its operands on the host, and what it must give. */
typedef struct step_case {
    tsr_ewise step;
    host_value host[OPERANDS], want; /* x, y, c, mask; x.x == NULL: not there */
    tsr_ewise_arrays arrays;
} step_case;

void make_step(step_case *c, rng *r);
void compute_want(step_case *c);
void free_step(step_case *c);

/* Operands and all, as a program without results would: what is not OK ends it.  *value: the result, or NULL. */
tsr_status run_step(const step_case *c, void **value);

#endif
