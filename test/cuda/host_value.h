/* Values on the host, and the same with the plug-in.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_HOST_VALUE_H
#define TSR_TEST_HOST_VALUE_H

#include "backends/cuda/device/context.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/step.h"
#include "test/kernels/cases.h"

enum { POISON = 0xA5 }; /* bytes that nobody has written */

extern const tsr_backend_arrays *arrays; /* of the plug-in that is tested, as is … */
extern const tsr_backend_contents *contents;

/* A value on the host: full when b == NULL. */
typedef struct host_value {
    tsr_type type;
    int64_t count;
    void *x;
    int8_t *b;
} host_value;

void *take(size_t bytes); /* poisoned */
host_value new_host(tsr_type type, int64_t count, bool bitmap);
void free_host(host_value *h);
tsr_elements elements_of(const host_value *h);
int64_t draw_count(rng *r);
void draw_host(host_value *h, rng *r); /* small numbers, so that sums are exact */
int64_t entries_of(const host_value *h);
void assert_same(const host_value *x, const host_value *y); /* where both are present they hold the same */

tsr_view view_of(const host_value *h);
tsr_status upload(const host_value *h, void **value);
void *must_upload(const host_value *h);
void check_value(void *value, const host_value *want);

#endif
