/* Values made of one value: one loop each, element by element.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REF_DERIVE_H
#define TSR_REF_DERIVE_H

#include "kernels/elements.h"
#include "kernels/ref/value.h"

/* A number of one type in another. */
tsr_value tsr_ref_cast(tsr_type to, tsr_type from, tsr_value x);

/* Arrays on the host; z is 0 where nothing is present, z_present is always written. */
void tsr_ref_sums(const tsr_sums *sums, const tsr_elements *e, void *z, int8_t *z_present);
void tsr_ref_cast_all(void *z, int8_t *z_present, tsr_type to, const tsr_elements *e, tsr_type from, int64_t count);
void tsr_ref_turn(void *z, int8_t *z_present, const tsr_elements *e, size_t size, int64_t vectors, int64_t length);
void tsr_ref_places(const tsr_places *places, const tsr_elements *e, size_t size, void *z, int8_t *z_present);
/* True: no place was written twice. */
bool tsr_ref_scatter(const tsr_indices *to, const tsr_elements *e, size_t size, void *z, int8_t *z_present, int64_t count);
void tsr_ref_gather(const tsr_indices *from, const tsr_elements *e, size_t size, void *z, int8_t *z_present);

#endif
