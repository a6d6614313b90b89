/* What a test asks of the emulator (kernels/cuda/emulate/control.h): not there on a GPU, where these are NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_CUDA_EMULATOR_H
#define TSR_TEST_CUDA_EMULATOR_H

#include "kernels/cuda/emulate/control.h"

#pragma weak tsr_emulate_fail_malloc
#pragma weak tsr_emulate_fail_launch
#pragma weak tsr_emulate_mallocs
#pragma weak tsr_emulate_launches
#pragma weak tsr_emulate_live_blocks
#pragma weak tsr_emulate_schedule

#endif
