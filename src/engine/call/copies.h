/* Copies of arrays that views show, freed with what holds the views.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_COPIES_H
#define TSR_ENGINE_COPIES_H

#include <stdint.h>
#include <stdlib.h>

typedef struct tsr_copy {
    struct tsr_copy *next;
    int64_t at[];
} tsr_copy;

typedef struct tsr_copies {
    tsr_copy *first; /* NULL: none */
} tsr_copies;

/* Room for so many integers; NULL: out of memory. */
static inline int64_t *tsr_copies_add(tsr_copies *copies, int64_t count)
{
    tsr_copy *copy = malloc(sizeof *copy + (size_t)count * sizeof *copy->at);
    if (!copy)
        return NULL;
    copy->next = copies->first;
    copies->first = copy;
    return copy->at;
}

/* The same integers in 64 bits; NULL: out of memory. */
static inline const int64_t *tsr_copies_widen(tsr_copies *copies, const uint32_t *narrow, int64_t count)
{
    int64_t *wide = tsr_copies_add(copies, count);
    for (int64_t n = 0; wide && n < count; n++)
        wide[n] = narrow[n];
    return wide;
}

static inline void tsr_copies_free(tsr_copies *copies)
{
    for (tsr_copy *copy = copies->first, *next; copy; copy = next) {
        next = copy->next;
        free(copy);
    }
    copies->first = NULL;
}

#endif
