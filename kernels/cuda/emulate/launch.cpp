// The scheduler: fibers, blocks, and the places where threads meet.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/emulate/scheduler.h"

#include <cstdarg>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
extern "C" void tsr_emulate_switch(void **from, void *to);
asm(".text\n"
    ".globl tsr_emulate_switch\n"
    ".hidden tsr_emulate_switch\n"
    ".type tsr_emulate_switch,@function\n"
    "tsr_emulate_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size tsr_emulate_switch,.-tsr_emulate_switch\n");
#else
#include <ucontext.h>
#endif

// Static __shared__ arrays (but those of templates), if there are any.
extern "C" char __start_tsr_shared[] __attribute__((weak));
extern "C" char __stop_tsr_shared[] __attribute__((weak));

namespace tsr_emulate {

thread *self;
uint3 block_index;
dim3 block_size, grid_size;
std::recursive_mutex device_lock;

// ---- Stacks ----

struct stack {
    char *low;
    struct stack *next; // in the list of free ones
    void *start;        // what a new fiber's saved stack pointer is
#if !defined(__x86_64__)
    ucontext_t context;
#endif
};

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t stack_bytes = 256 << 10;
#else
constexpr size_t stack_bytes = 64 << 10;
#endif

namespace {

struct meeting {
    const char *name;
    finish_function finish;
    unsigned mask, arrived;
    void *brought[warp_lanes];
    thread *threads[warp_lanes];
};

} // namespace

struct warp {
    unsigned exited; // lanes, also those that never were
    unsigned nmeetings;
    meeting *meetings[warp_lanes];
    meeting space[warp_lanes];
};

namespace {

[[noreturn]] void fiber_main();

struct emulator {
    // This launch.
    const char *name;
    void (*run)(const void *);
    const void *arguments;
    size_t shared_bytes;
    bool busy;

    // This block.
    unsigned nthreads, alive, unstarted; // threads[unstarted..] have not begun
    thread threads[block_threads];
    unsigned start_order[block_threads];
    warp warps[block_threads / warp_lanes];
    thread *ready[block_threads]; // a ring
    unsigned ready_first, ready_count;
    unsigned arrived, yes; // at __syncthreads
    const char *barrier_name;
    unsigned barrier_round;
    votes barrier_votes;
    std::vector<thread *> waiting; // at barriers in memory
    std::vector<bulk> bulks;

    // Always.
    stack *stacks; // free ones
    void *main_sp;
#if !defined(__x86_64__)
    ucontext_t main_context;
#endif
    unsigned order, random;
    bool early;
    unsigned char *shared;
} device;

// Shared memory starts 128 bytes, and no more, above what is aligned better: device.cuh promises only that.
constexpr size_t shared_offset = 128, shared_space = 232 << 10;

void configure()
{
    if (device.shared)
        return;
    const char *order = getenv("TSR_EMULATE_ORDER"), *early = getenv("TSR_EMULATE_EARLY");
    if (order)
        device.order = static_cast<unsigned>(strtoul(order, nullptr, 0));
    if (early)
        device.early = atoi(early) != 0;
    device.shared = static_cast<unsigned char *>(aligned_alloc(4096, shared_space));
    if (!device.shared)
        fail("no memory");
}

unsigned next_random(unsigned below)
{
    device.random = device.random * 1664525u + 1013904223u;
    return static_cast<unsigned>(static_cast<uint64_t>(device.random >> 8) * below >> 24);
}

stack *new_stack()
{
    static unsigned made;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    stack *s = new stack;
    void *p = mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE))
        fail("no memory for a stack");
    s->low = static_cast<char *>(p) + page;
    // Tops in different cache sets: else every switch would evict the same lines.
    char *top = s->low + stack_bytes - 320 * (made++ % 12);
    top -= reinterpret_cast<uintptr_t>(top) % 64;
#if defined(__x86_64__)
    void **sp = reinterpret_cast<void **>(top);
    *--sp = nullptr; // where fiber_main would return to
    *--sp = reinterpret_cast<void *>(fiber_main);
    for (int i = 0; i < 6; i++)
        *--sp = nullptr;
    s->start = sp;
#endif
    return s;
}

stack *take_stack()
{
    stack *s = device.stacks;
    if (!s)
        return new_stack();
    device.stacks = s->next;
    return s;
}

void begin_stack(stack *s, void **sp)
{
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(s->low + stack_bytes - (16 << 10), 16 << 10); // frames that ended by a jump
#endif
#if defined(__x86_64__)
    void **start = static_cast<void **>(s->start);
    start[6] = reinterpret_cast<void *>(fiber_main);
    start[7] = nullptr;
    *sp = start;
#else
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->low;
    s->context.uc_stack.ss_size = stack_bytes;
    makecontext(&s->context, reinterpret_cast<void (*)()>(fiber_main), 0);
    *sp = nullptr;
#endif
}

// ---- Switching ----

/* from == NULL: the caller never comes back. */
void jump(thread *from, thread *to)
{
    void *dead;
    void **save = from ? &from->sp : &dead;
    self = to;
#if defined(__SANITIZE_ADDRESS__)
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(from ? &fake : nullptr, to->stack->low, stack_bytes);
#endif
#if defined(__x86_64__)
    tsr_emulate_switch(save, to->sp);
#else
    (void)save;
    ucontext_t unused;
    swapcontext(from ? &from->stack->context : &unused, &to->stack->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

#if defined(__SANITIZE_ADDRESS__)
const void *main_low; // the caller's stack
size_t main_size;
#endif

void jump_from_main(thread *to)
{
    self = to;
#if defined(__SANITIZE_ADDRESS__)
    void *fake;
    main_low = nullptr;
    __sanitizer_start_switch_fiber(&fake, to->stack->low, stack_bytes);
#endif
#if defined(__x86_64__)
    tsr_emulate_switch(&device.main_sp, to->sp);
#else
    swapcontext(&device.main_context, &to->stack->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    self = nullptr;
}

[[noreturn]] void jump_to_main()
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(nullptr, main_low, main_size);
#endif
#if defined(__x86_64__)
    void *dead;
    tsr_emulate_switch(&dead, device.main_sp);
#else
    setcontext(&device.main_context);
#endif
    abort();
}

// ---- Who runs next ----

void make_ready(thread *t)
{
    t->waits = nullptr;
    device.ready[(device.ready_first + device.ready_count++) % block_threads] = t;
}

thread *take_ready()
{
    unsigned first = device.ready_first;
    if (device.order > 1) { // any of them
        unsigned other = (first + next_random(device.ready_count)) % block_threads;
        std::swap(device.ready[first], device.ready[other]);
    }
    device.ready_first = (first + 1) % block_threads;
    device.ready_count--;
    return device.ready[first];
}

void print_threads()
{
    for (unsigned i = 0; i < device.nthreads;) {
        auto state = [](unsigned j) -> const char * {
            const thread &t = device.threads[j];
            return t.exited ? "returned" : t.waits ? t.waits : !t.stack ? "not begun" : "running";
        };
        unsigned j = i + 1;
        while (j < device.nthreads && !strcmp(state(i), state(j)) && device.threads[i].waits_for == device.threads[j].waits_for)
            j++;
        fprintf(stderr, "  threads %u to %u: %s", i, j - 1, state(i));
        if (device.threads[i].waits && device.threads[i].waits_for)
            fprintf(stderr, " at %p", device.threads[i].waits_for);
        fputc('\n', stderr);
        i = j;
    }
}

/* The next thread; NULL if all have returned.  One that has not begun has no stack yet. */
thread *next_thread()
{
    for (;;) {
        if (device.ready_count)
            return take_ready();
        if (device.unstarted < device.nthreads)
            return &device.threads[device.start_order[device.unstarted++]];
        if (!device.alive || device.bulks.empty())
            break;
        size_t which = next_random(static_cast<unsigned>(device.bulks.size()));
        bulk copy = device.bulks[which];
        device.bulks.erase(device.bulks.begin() + static_cast<ptrdiff_t>(which));
        finish_bulk(copy);
    }
    if (!device.alive && device.bulks.empty())
        return nullptr;
    if (!device.alive)
        fail("the block has returned with bulk copies under way");
    fprintf(stderr, "tessera emulator: deadlock\n");
    print_threads();
    fail("deadlock");
}

void begin(thread *t)
{
    t->stack = take_stack();
    begin_stack(t->stack, &t->sp);
}

/* Leave the processor to others; somebody has noted who will wake this thread. */
void leave()
{
    thread *from = self, *to = next_thread();
    if (to == from)
        return;
    if (!to)
        fail("no thread is left");
    if (!to->stack)
        begin(to);
    jump(from, to);
}

// ---- Places to meet ----

void release_barrier()
{
    device.barrier_votes = {static_cast<int>(device.yes), device.yes == device.arrived};
    device.arrived = device.yes = 0;
    device.barrier_round++;
    for (unsigned i = 0; i < device.nthreads; i++)
        if (device.threads[i].waits && device.threads[i].waits_for == &device.arrived)
            make_ready(&device.threads[i]);
}

bool try_finish(warp *w, unsigned which)
{
    meeting *m = w->meetings[which];
    if ((m->arrived | w->exited) != (m->mask | w->exited))
        return false;
    w->meetings[which] = w->meetings[--w->nmeetings];
    w->meetings[w->nmeetings] = m;
    if (m->finish)
        m->finish(m->brought, m->mask);
    for (unsigned rest = m->arrived; rest; rest &= rest - 1) {
        thread *t = m->threads[__builtin_ctz(rest)];
        if (t != self)
            make_ready(t);
    }
    return true;
}

void thread_exits()
{
    thread *t = self;
    warp *w = t->warp;
    t->exited = true;
    t->copies.clear();
    device.alive--;
    w->exited |= 1u << t->lane;
    for (unsigned i = 0; i < w->nmeetings;)
        if (!try_finish(w, i))
            i++;
    if (device.arrived && device.arrived == device.alive)
        release_barrier();
}

/* Runs threads one after the other on this stack, as long as the next one has not begun elsewhere. */
void fiber_main()
{
#if defined(__SANITIZE_ADDRESS__)
    {
        const void *low;
        size_t size;
        __sanitizer_finish_switch_fiber(nullptr, &low, &size);
        if (!main_low)
            main_low = low, main_size = size;
    }
#endif
    for (;;) {
        device.run(device.arguments);
        thread_exits();
        stack *mine = self->stack;
        thread *to = next_thread();
        if (to && !to->stack) {
            to->stack = mine;
            self = to;
            continue;
        }
        mine->next = device.stacks; // nobody begins on it before the jump
        device.stacks = mine;
        if (!to)
            jump_to_main();
        jump(nullptr, to);
    }
}

void prepare_thread(unsigned number)
{
    thread &t = device.threads[number];
    t.number = number;
    t.lane = number % warp_lanes;
    t.index.x = number % block_size.x;
    t.index.y = number / block_size.x % block_size.y;
    t.index.z = number / block_size.x / block_size.y;
    t.warp = &device.warps[number / warp_lanes];
    t.stack = nullptr;
    t.waits = nullptr;
    t.waits_for = nullptr;
    t.exited = false;
    t.groups = t.atomics = 0;
    t.copies.clear();
}

void prepare_warp(unsigned number)
{
    warp &w = device.warps[number];
    unsigned lanes = std::min(device.nthreads - number * warp_lanes, warp_lanes);
    w.exited = lanes < warp_lanes ? ~0u << lanes : 0;
    w.nmeetings = 0;
    for (unsigned i = 0; i < warp_lanes; i++)
        w.meetings[i] = &w.space[i];
}

void prepare_order()
{
    unsigned n = device.nthreads;
    for (unsigned i = 0; i < n; i++)
        device.start_order[i] = device.order == 1 ? n - 1 - i : i;
    if (device.order > 1)
        for (unsigned i = n; i > 1; i--)
            std::swap(device.start_order[i - 1], device.start_order[next_random(i)]);
}

void poison_shared()
{
    memset(device.shared + shared_offset, 0xff, device.shared_bytes);
    if (__start_tsr_shared)
        memset(__start_tsr_shared, 0xff, static_cast<size_t>(__stop_tsr_shared - __start_tsr_shared));
}

void run_block()
{
    device.alive = device.nthreads;
    device.unstarted = 0;
    device.ready_first = device.ready_count = 0;
    device.arrived = device.yes = 0;
    for (unsigned i = 0; i < device.nthreads; i++)
        prepare_thread(i);
    for (unsigned i = 0; i * warp_lanes < device.nthreads; i++)
        prepare_warp(i);
    prepare_order();
    poison_shared();
    thread *first = next_thread();
    begin(first);
    jump_from_main(first);
}

void run_grid()
{
    uint64_t blocks = static_cast<uint64_t>(grid_size.x) * grid_size.y * grid_size.z;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t b = device.order % 2 ? blocks - 1 - i : i;
        block_index.x = static_cast<unsigned>(b % grid_size.x);
        block_index.y = static_cast<unsigned>(b / grid_size.x % grid_size.y);
        block_index.z = static_cast<unsigned>(b / grid_size.x / grid_size.y);
        run_block();
    }
}

void poison_beyond(bool on)
{
#if defined(__SANITIZE_ADDRESS__)
    char *end = reinterpret_cast<char *>(device.shared) + shared_offset + device.shared_bytes;
    size_t rest = shared_space - shared_offset - device.shared_bytes;
    if (on)
        ASAN_POISON_MEMORY_REGION(end, rest);
    else
        ASAN_UNPOISON_MEMORY_REGION(end, rest);
#else
    (void)on;
#endif
}

cudaError_t check_launch(const void *kernel, dim3 grid, dim3 block, size_t shared)
{
    uint64_t threads = static_cast<uint64_t>(block.x) * block.y * block.z;
    if (!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (!threads || threads > block_threads || block.z > 64)
        return cudaErrorInvalidConfiguration;
    if (shared > dynamic_shared_limit(kernel))
        return cudaErrorInvalidValue;
    if (lost_by_this_work())
        return cudaErrorIllegalAddress;
    /* After one that was refused nothing runs on what it did not write, until somebody has looked. */
    bool refused = launch_must_fail() || cudaPeekAtLastError() == cudaErrorLaunchOutOfResources;
    return refused ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

} // namespace

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "tessera emulator: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    if (device.busy)
        fprintf(stderr, "  in %s, block (%u, %u, %u) of (%u, %u, %u), %u threads\n", device.name, block_index.x, block_index.y,
                block_index.z, grid_size.x, grid_size.y, grid_size.z, device.nthreads);
    if (device.busy && self)
        fprintf(stderr, "  thread (%u, %u, %u), number %u, lane %u\n", self->index.x, self->index.y, self->index.z, self->number,
                self->lane);
    abort();
}

void yield()
{
    thread *me = self;
    make_ready(me);
    // Those that have not begun go first: this one may wait for them.
    if (device.unstarted < device.nthreads) {
        thread *to = &device.threads[device.start_order[device.unstarted++]];
        begin(to);
        jump(me, to);
    } else {
        leave();
    }
}

void meet(const char *name, unsigned mask, finish_function finish, void *mine)
{
    thread *me = self;
    warp *w = me->warp;
    const unsigned bit = 1u << me->lane;
    if (!(mask & bit))
        fail("%s: mask %08x lacks the calling lane", name, mask);
    unsigned which = 0;
    while (which < w->nmeetings && w->meetings[which]->mask != mask)
        which++;
    meeting *m = w->meetings[which];
    if (which == w->nmeetings) {
        w->nmeetings++;
        m->name = name;
        m->finish = finish;
        m->mask = mask;
        m->arrived = 0;
        memset(m->brought, 0, sizeof m->brought);
    } else if (m->finish != finish || (m->name != name && strcmp(m->name, name))) {
        fail("%s: other lanes of mask %08x are at %s", name, mask, m->name);
    }
    m->arrived |= bit;
    m->brought[me->lane] = mine;
    m->threads[me->lane] = me;
    if (try_finish(w, which))
        return;
    me->waits = name;
    me->waits_for = w;
    leave();
}

votes sync_threads(const char *name, int vote)
{
    if (device.arrived && strcmp(name, device.barrier_name))
        fail("%s: other threads are at %s", name, device.barrier_name);
    device.barrier_name = name;
    device.arrived++;
    device.yes += vote != 0;
    if (device.arrived == device.alive) {
        release_barrier();
        return device.barrier_votes;
    }
    self->waits = name;
    self->waits_for = &device.arrived;
    leave();
    return device.barrier_votes;
}

void wait_for(const char *name, const void *what)
{
    self->waits = name;
    self->waits_for = what;
    device.waiting.push_back(self);
    leave();
}

void wake_waiting(const void *what)
{
    size_t kept = 0;
    for (thread *t : device.waiting)
        if (t->waits_for == what)
            make_ready(t);
        else
            device.waiting[kept++] = t;
    device.waiting.resize(kept);
}

unsigned char *shared_memory() { return device.shared + shared_offset; }

void check_shared(const char *name, const void *p, size_t bytes, size_t alignment)
{
    const unsigned char *at = static_cast<const unsigned char *>(p), *low = device.shared, *high = low + shared_space;
    if (reinterpret_cast<uintptr_t>(p) % alignment)
        fail("%s: shared address %p is not a multiple of %zu", name, p, alignment);
    if (at >= low && at < high && (at < low + shared_offset || at + bytes > low + shared_offset + device.shared_bytes))
        fail("%s: bytes %td to %td of %zu bytes of shared memory", name, at - low - static_cast<ptrdiff_t>(shared_offset),
             at - low - static_cast<ptrdiff_t>(shared_offset) + static_cast<ptrdiff_t>(bytes), device.shared_bytes);
}

static void do_copy(const copy &c)
{
    if (c.from)
        memcpy(c.to, c.from, c.bytes);
    else
        memset(c.to, 0, c.bytes);
}

void async_copy(void *shared, const void *global, unsigned bytes, bool valid)
{
    check_shared("cp_async", shared, bytes, bytes);
    if (reinterpret_cast<uintptr_t>(global) % bytes)
        fail("cp_async: global address %p is not a multiple of %u", global, bytes);
    copy c = {shared, valid ? global : nullptr, bytes, self->groups};
    if (device.early)
        do_copy(c);
    else
        self->copies.push_back(c);
}

void async_commit() { self->groups++; }

void async_wait(unsigned pending)
{
    std::vector<copy> &copies = self->copies;
    size_t done = 0;
    while (done < copies.size() && copies[done].group + pending < self->groups)
        do_copy(copies[done++]);
    copies.erase(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(done));
}

void queue_bulk(const bulk &copy)
{
    if (device.early)
        finish_bulk(copy);
    else
        device.bulks.push_back(copy);
}

cudaError_t launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared, void (*run)(const void *),
                   const void *arguments)
{
    std::lock_guard<std::recursive_mutex> guard(device_lock);
    if (device.busy)
        fail("%s is launched by a kernel", name);
    configure();
    cudaError_t error = check_launch(kernel, grid, block, shared);
    if (error)
        return report(error);
    device.name = name;
    device.run = run;
    device.arguments = arguments;
    device.shared_bytes = shared;
    device.random = device.order;
    device.nthreads = block.x * block.y * block.z;
    block_size = block;
    grid_size = grid;
    device.busy = true;
    poison_beyond(true);
    hide_other_devices(true);
    run_grid();
    hide_other_devices(false);
    poison_beyond(false);
    device.busy = false;
    return cudaSuccess;
}

} // namespace tsr_emulate

void tsr_emulate_schedule(unsigned order, int early)
{
    std::lock_guard<std::recursive_mutex> guard(tsr_emulate::device_lock);
    tsr_emulate::configure();
    tsr_emulate::device.order = order;
    tsr_emulate::device.early = early != 0;
}
