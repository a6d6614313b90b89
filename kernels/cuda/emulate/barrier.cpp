// Barriers in shared memory (mbarrier) and the bulk copies that complete on them.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/emulate/scheduler.h"

namespace tsr_emulate {

namespace {

constexpr unsigned barrier_mark = 0x5b; // neither zeros nor poison
constexpr int transaction_most = (1 << 20) - 1;

struct barrier {
    uint64_t count : 11, pending : 11, phase : 1, mark : 8;
    int64_t bytes : 33; // expected and not yet there; negative: there and not yet expected
};
static_assert(sizeof(barrier) == sizeof(uint64_t), "");

barrier load_barrier(const char *name, const uint64_t *at)
{
    barrier b;
    memcpy(&b, at, sizeof b);
    if (b.mark != barrier_mark)
        fail("%s: %p is no barrier: not initialised, or overwritten", name, static_cast<const void *>(at));
    return b;
}

void store_barrier(uint64_t *at, barrier b)
{
    if (b.bytes > transaction_most || b.bytes < -transaction_most)
        fail("mbarrier: %lld bytes under way", static_cast<long long>(b.bytes));
    bool done = !b.pending && !b.bytes;
    if (done) {
        b.pending = b.count;
        b.phase = !b.phase;
    }
    memcpy(at, &b, sizeof b);
    if (done)
        wake_waiting(at);
}

void arrive(const char *name, uint64_t *at, unsigned bytes)
{
    barrier b = load_barrier(name, at);
    b.bytes = b.bytes + bytes;
    b.pending = b.pending - 1u; // never 0 before: the phase would have ended, unless bytes are missing
    if (b.pending == (1u << 11) - 1)
        fail("%s: more arrivals than the %u of the phase", name, static_cast<unsigned>(b.count));
    store_barrier(at, b);
}

} // namespace

void finish_bulk(const bulk &copy)
{
    memcpy(copy.to, copy.from, copy.bytes);
    barrier b = load_barrier("bulk_copy", copy.bar);
    b.bytes = b.bytes - static_cast<int64_t>(copy.bytes);
    store_barrier(copy.bar, b);
}

} // namespace tsr_emulate

using namespace tsr_emulate;

void mbarrier_init(uint64_t *bar, unsigned count)
{
    check_shared("mbarrier_init", bar, sizeof *bar, 8);
    if (!count || count > block_threads)
        fail("mbarrier_init: count %u", count);
    barrier b;
    memset(&b, 0, sizeof b);
    b.mark = barrier_mark;
    b.count = b.pending = count & 0x7ff;
    memcpy(bar, &b, sizeof b);
}

void mbarrier_arrive(uint64_t *bar)
{
    check_shared("mbarrier_arrive", bar, sizeof *bar, 8);
    arrive("mbarrier_arrive", bar, 0);
}

void mbarrier_arrive_expect(uint64_t *bar, unsigned bytes)
{
    check_shared("mbarrier_arrive_expect", bar, sizeof *bar, 8);
    arrive("mbarrier_arrive_expect", bar, bytes);
}

void mbarrier_wait(uint64_t *bar, unsigned parity)
{
    check_shared("mbarrier_wait", bar, sizeof *bar, 8);
    if (parity > 1)
        fail("mbarrier_wait: parity %u", parity);
    while (load_barrier("mbarrier_wait", bar).phase == parity)
        wait_for("mbarrier_wait", bar);
}

void bulk_copy(void *shared, const void *global, unsigned bytes, uint64_t *bar)
{
    check_shared("bulk_copy", shared, bytes, 16);
    check_shared("bulk_copy", bar, sizeof *bar, 8);
    load_barrier("bulk_copy", bar);
    if (reinterpret_cast<uintptr_t>(global) % 16 || bytes % 16)
        fail("bulk_copy: %u bytes from %p: not a multiple of 16", bytes, global);
    queue_bulk({shared, global, bytes, bar});
}
