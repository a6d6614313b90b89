// Between the parts of the emulator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/emulate/emulate.h"

namespace tsr_emulate {

constexpr size_t shared_declared = 1 << 10; // what a kernel may declare beside: not counted here, so taken as this much
constexpr size_t shared_without_asking = 48 << 10, shared_most = 227 << 10, shared_per_sm = 228 << 10, shared_reserved = 1 << 10;

/* One at a time: the emulated device and everything about it. */
extern std::recursive_mutex device_lock;

/* Sets the calling thread's last error. */
cudaError_t report(cudaError_t error);
size_t dynamic_shared_limit(const void *kernel);
/* A kernel that touches the memory of another device than the present one faults. */
void hide_other_devices(bool hidden);
/* True if injection wants this launch to fail. */
bool launch_must_fail();
/* An allocation, a copy or a launch: is the device lost, by this one or before? */
bool lost_by_this_work();

/* Let others run until somebody calls wake_waiting(what). */
void wait_for(const char *name, const void *what);
void wake_waiting(const void *what);

/* Shared memory that a launch asked for must hold what is accessed. */
void check_shared(const char *name, const void *p, size_t bytes, size_t alignment);

/* A bulk copy, done when the scheduler likes. */
struct bulk {
    void *to;
    const void *from;
    unsigned bytes;
    uint64_t *bar;
};
void queue_bulk(const bulk &copy);
void finish_bulk(const bulk &copy); // in barrier.cpp

} // namespace tsr_emulate
