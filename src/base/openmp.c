/* The functions that compiled regions call, each through a pointer: the linker turns our calls of NAME into __wrap_NAME and gives the one that
 * we are linked with as __real_NAME (--wrap; openmp_wrapped in meson.build has the same names, and test_openmp.py sees to it that none lacks).
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/openmp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "src/base/late_team.h"

/* Of libgomp's interface, inside a region and out of it: result, name, parameters, arguments. */
#define FUNCTIONS(F) \
    F(bool, GOMP_loop_nonmonotonic_dynamic_start, (long start, long end, long step, long chunk, long *from, long *to), \
      (start, end, step, chunk, from, to)) \
    F(bool, GOMP_loop_nonmonotonic_dynamic_next, (long *from, long *to), (from, to)) \
    F(void, GOMP_loop_end_nowait, (void), ()) \
    F(void, GOMP_critical_start, (void), ()) \
    F(void, GOMP_critical_end, (void), ()) \
    F(void, GOMP_critical_name_start, (void **name), (name)) \
    F(void, GOMP_critical_name_end, (void **name), (name)) \
    F(void, GOMP_atomic_start, (void), ()) \
    F(void, GOMP_atomic_end, (void), ()) \
    F(int, omp_get_max_threads, (void), ()) \
    F(int, omp_get_num_procs, (void), ()) \
    F(int, omp_get_num_threads, (void), ()) \
    F(int, omp_get_thread_num, (void), ()) \
    F(void, omp_set_num_threads, (int threads), (threads))

/* Begins a region. */
#define PARALLEL(F) \
    F(void, GOMP_parallel, (void (*region)(void *), void *data, unsigned threads, unsigned flags), (region, data, threads, flags))

#define MEMBER(result, name, parameters, arguments) result (*name) parameters;
typedef struct runtime {
    PARALLEL(MEMBER)
    FUNCTIONS(MEMBER)
} runtime;

#define DECLARATION(result, name, parameters, arguments) \
    extern result __real_##name parameters; \
    result __wrap_##name parameters;
PARALLEL(DECLARATION)
FUNCTIONS(DECLARATION)

#define LINKED(result, name, parameters, arguments) .name = __real_##name,
static const runtime linked = {PARALLEL(LINKED) FUNCTIONS(LINKED)};

static runtime other;
static const runtime *_Atomic bound = &linked;
static void *_Atomic bound_library; /* NULL: none yet */
static atomic_bool in_use;
static pthread_mutex_t choice = PTHREAD_MUTEX_INITIALIZER; /* guards the change of all four */

static inline const runtime *current(void)
{
    return atomic_load_explicit(&bound, memory_order_acquire);
}

#define WRAPPER(result, name, parameters, arguments) \
    result __wrap_##name parameters \
    { \
        return current()->name arguments; \
    }
FUNCTIONS(WRAPPER)

/* A region's threads ask the runtime that started them: from the first region on it stays. */
static void use(void)
{
    pthread_mutex_lock(&choice);
    atomic_store_explicit(&in_use, true, memory_order_release);
    pthread_mutex_unlock(&choice);
}

typedef struct observed_region {
    void (*region)(void *);
    void *data;
    int64_t done_ns; /* the first thread has no more to do */
} observed_region;

static int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void compute(void *observed)
{
    observed_region *o = observed;
    o->region(o->data);
    if (current()->omp_get_thread_num() == 0) {
        o->done_ns = clock_ns();
    }
}

/* Notes how long the first thread waits for the others. */
void __wrap_GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags)
{
    if (!atomic_load_explicit(&in_use, memory_order_acquire)) {
        use();
    }
    if (threads == 1) {
        current()->GOMP_parallel(region, data, threads, flags);
        return;
    }
    observed_region o = {.region = region, .data = data};
    const int64_t began_ns = clock_ns();
    current()->GOMP_parallel(compute, &o, threads, flags);
    tsr_late_team_waited(o.done_ns - began_ns, clock_ns() - o.done_ns);
}

/* Where the loader looks first for what a library calls: what the program itself brings goes before the library's own. */
static void *scope_of(void *library)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    return program && dlsym(program, "GOMP_parallel") ? program : library;
}

/* ISO C has no conversion from the result of dlsym. */
#define FIND(result, name, parameters, arguments) \
    *(void **)&found->name = dlsym(scope, #name); \
    all = all && found->name;
static bool find_all(void *scope, runtime *found)
{
    bool all = true;
    PARALLEL(FIND)
    FUNCTIONS(FIND)
    return all;
}

static bool bind(void *library)
{
    runtime found;
    if (atomic_load_explicit(&in_use, memory_order_relaxed) || current() != &linked || !find_all(scope_of(library), &found)) {
        return false;
    }
    if (found.GOMP_parallel != linked.GOMP_parallel) {
        other = found;
        atomic_store_explicit(&bound, &other, memory_order_release);
    }
    atomic_store_explicit(&bound_library, library, memory_order_relaxed);
    return true;
}

bool tsr_openmp_share(void *library)
{
    pthread_mutex_lock(&choice);
    const bool shared = library && (library == tsr_openmp_shared() || bind(library));
    pthread_mutex_unlock(&choice);
    return shared;
}

void *tsr_openmp_shared(void)
{
    return atomic_load_explicit(&bound_library, memory_order_relaxed);
}
