/* Operators that the program makes of its own functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/match/own_operators.h"

#include <pthread.h>
#include <stddef.h>

enum { REMEMBERED = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void *handle; /* NULL: none */
    tsr_own_operator made;
} list[REMEMBERED];
static size_t next;
static int some; /* has there ever been one? */

/* NULL as a handle: a place that is free. */
static size_t place_of(const void *handle)
{
    size_t at = 0;
    while (at < REMEMBERED && list[at].handle != handle)
        at++;
    return at;
}

void tsr_own_keep(const void *handle, tsr_own_operator made)
{
    if (!made.function)
        return;
    pthread_mutex_lock(&mutex);
    size_t at = place_of(handle);
    at = at < REMEMBERED ? at : place_of(NULL);
    if (at == REMEMBERED) {
        at = next;
        next = (next + 1) % REMEMBERED;
    }
    list[at].handle = handle;
    list[at].made = made;
    __atomic_store_n(&some, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
}

bool tsr_own_find(tsr_own_operator *made, const void *handle)
{
    if (!handle || !__atomic_load_n(&some, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&mutex);
    const size_t at = place_of(handle);
    if (at < REMEMBERED)
        *made = list[at].made;
    pthread_mutex_unlock(&mutex);
    return at < REMEMBERED;
}

void tsr_own_forget(const void *handle)
{
    if (!handle || !__atomic_load_n(&some, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&mutex);
    const size_t at = place_of(handle);
    if (at < REMEMBERED)
        list[at].handle = NULL;
    pthread_mutex_unlock(&mutex);
}
