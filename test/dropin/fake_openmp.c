/* A runtime of OpenMP that is not the one that the tests are linked with: a region is one call by the calling thread, and they are counted.
 * FAKE_LACKS leaves a function out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#pragma GCC visibility push(default)
int fake_regions(void);
void GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags);
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to);
bool GOMP_loop_nonmonotonic_dynamic_next(long *from, long *to);
void GOMP_loop_end_nowait(void);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_critical_name_start(void **name);
void GOMP_critical_name_end(void **name);
void GOMP_atomic_start(void);
void GOMP_atomic_end(void);
int omp_get_max_threads(void);
int omp_get_num_procs(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
void omp_set_num_threads(int threads);
#pragma GCC visibility pop

static int regions;

int fake_regions(void)
{
    return regions;
}

void GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)threads;
    (void)flags;
    regions++;
    region(data);
}

/* The whole range at once. */
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to)
{
    (void)step;
    (void)chunk;
    *from = start;
    *to = end;
    return start < end;
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *from, long *to)
{
    (void)from;
    (void)to;
    return false;
}

void GOMP_loop_end_nowait(void) {}
void GOMP_critical_start(void) {}
void GOMP_critical_end(void) {}

void GOMP_critical_name_start(void **name)
{
    (void)name;
}

void GOMP_critical_name_end(void **name)
{
    (void)name;
}

void GOMP_atomic_start(void) {}
void GOMP_atomic_end(void) {}

int omp_get_max_threads(void)
{
    return 77;
}

int omp_get_num_procs(void)
{
    return 1;
}

int omp_get_num_threads(void)
{
    return 1;
}

int omp_get_thread_num(void)
{
    return 0;
}

#ifndef FAKE_LACKS
void omp_set_num_threads(int threads)
{
    (void)threads;
}
#endif
