/* Where the arrays lie that were handed over: SuiteSparse keeps them in place until a call writes the object, which its hooks tell.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "src/graphblas/handover/few.h"
#include "src/graphblas/intercept/hooks.h"

/* So few entries SuiteSparse has sorted before we could look at them. */
enum { SLOTS = 64, QUICKLY_SORTED = 32 };

static struct slot {
    const void *handle;
    tsr_view view;
    int64_t ends[2];
} slots[SLOTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct slot *slot_of(const void *handle)
{
    const uintptr_t address = (uintptr_t)handle;
    return &slots[(address >> 5 ^ address >> 11) % SLOTS];
}

bool tsr_held_find(tsr_few_operand *operand)
{
    const struct slot *s = slot_of(operand->handle);
    pthread_mutex_lock(&mutex);
    const bool found = operand->handle && s->handle == operand->handle;
    if (found) {
        operand->view = s->view;
        operand->ends[0] = s->ends[0];
        operand->ends[1] = s->ends[1];
    }
    pthread_mutex_unlock(&mutex);
    if (found && !operand->view.p)
        operand->view.p = operand->ends;
    return found;
}

bool tsr_held_jumbled(const void *handle)
{
    if (!handle || !tsr_filter_hit(handle))
        return false;
    const struct slot *s = slot_of(handle);
    pthread_mutex_lock(&mutex);
    const bool jumbled = s->handle == handle && s->view.jumbled && s->view.nvals > QUICKLY_SORTED;
    pthread_mutex_unlock(&mutex);
    return jumbled;
}

/* A vector's offsets are copied: SuiteSparse may hold others. */
void tsr_held_keep(GrB_Matrix handle, const tsr_view *view)
{
    struct slot *s = slot_of(handle);
    pthread_mutex_lock(&mutex);
    const void *gone = s->handle;
    *s = (struct slot){.handle = handle, .view = *view};
    if (view->nvec == 1) {
        s->ends[1] = view->p[1];
        s->view.p = NULL;
    }
    pthread_mutex_unlock(&mutex);
    if (gone == handle)
        return;
    tsr_filter_add(handle);
    if (gone)
        tsr_filter_remove(gone);
}

void tsr_held_forget(const void *handle)
{
    struct slot *s = slot_of(handle);
    if (__atomic_load_n(&s->handle, __ATOMIC_RELAXED) != handle)
        return;
    pthread_mutex_lock(&mutex);
    const bool found = handle && s->handle == handle;
    if (found)
        s->handle = NULL;
    pthread_mutex_unlock(&mutex);
    if (found)
        tsr_filter_remove(handle);
}

void tsr_held_clear(void)
{
    for (int k = 0; k < SLOTS; k++) {
        const void *handle = slots[k].handle;
        if (handle)
            tsr_held_forget(handle);
    }
}
