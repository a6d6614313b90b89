/* The CPU backend: always there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BACKEND_CPU_H
#define TSR_BACKEND_CPU_H

#include "tessera/backend.h"

const tsr_backend *tsr_backend_cpu(void);

#endif
