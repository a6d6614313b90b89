/* Several threads that do the same.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_THREADS_H
#define TSR_TEST_THREADS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_THREADS = 16 };

/* body in n <= MOST_THREADS threads, thread k on first + k * stride (stride 0: all on the same), waited for.
 * Returns how many were not started, or returned other than NULL. */
static inline int run_threads(int n, void *(*body)(void *), void *first, size_t stride)
{
    pthread_t ids[MOST_THREADS];
    int started = 0, well = 0;
    while (started < n && pthread_create(&ids[started], NULL, body, (void *)((uintptr_t)first + (size_t)started * stride)) == 0)
        started++;
    for (int k = 0; k < started; k++) {
        void *wrong;
        pthread_join(ids[k], &wrong);
        well += !wrong;
    }
    return n - well;
}

/* The same, each on its number: 0 … n - 1. */
static inline int run_numbered_threads(int n, void *(*body)(void *))
{
    return run_threads(n, body, NULL, 1);
}

#endif
