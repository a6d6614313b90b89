/* The entry of a fuzz target, called by libFuzzer or by replay.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FUZZ_H
#define TSR_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
