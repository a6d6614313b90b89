// Kernels side by side: streams beside the caller's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/device.cuh"

/* Launches that need not wait for one another.  Each begins behind what was on the stream; what comes on it after join() begins behind all of them.
 * The streams beside it belong to the device and are shared by all forks: two forks at a time may wait for each other, and are right. */
class Fork {
  public:
    /* beside: so many streams at most, 0: none.  Those that cannot be had are missing. */
    Fork(void *main, const tsr_cuda_device *device, int beside);
    ~Fork() { join(); }
    Fork(const Fork &) = delete;
    Fork &operator=(const Fork &) = delete;

    /* The stream of the next launch: one after the other. */
    void *next();
    /* Once all launches are made; again it does nothing. */
    tsr_status join();

    static constexpr int most = 7; /* beside the caller's */

  private:
    void *main;
    cudaStream_t side[most];
    int sides = 0, used = 0, turn = 0;
    tsr_status status = TSR_OK;
};
