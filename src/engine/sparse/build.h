/* Objects built of tuples.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_BUILD_H
#define TSR_ENGINE_BUILD_H

#include "src/engine/call/call.h"

/* C = the tuples of of.tuples, C being empty and of their type; vectors are C's, as it is held. */
extern const tsr_operation tsr_build_operation;

#endif
