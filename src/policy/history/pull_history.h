/* What pulls took on the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PULL_HISTORY_H
#define TSR_PULL_HISTORY_H

#include <stdint.h>

/* The last pull of this kind (a key of tsr_history_key) took so many ms for a unit of its work. */
void tsr_pull_took(uint64_t key, double unit_ms);

/* 0: it is not known yet. */
double tsr_pull_unit_ms(uint64_t key);

#endif
