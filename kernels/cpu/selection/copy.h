/* Copies of a few entries, where a call of memcpy would take longer than they do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECTION_COPY_H
#define TSR_SELECTION_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TSR_COPY_FEW = 64 };

/* Otherwise the compiler makes the call of it. */
#define TSR_STAYS_A_LOOP __asm__ volatile("")

#define TSR_COPY_LOOP(T, to, from, n) \
    for (int64_t k = 0; k < (n); k++) { \
        ((T *)(to))[k] = ((const T *)(from))[k]; \
        TSR_STAYS_A_LOOP; \
    }

/* By four; the last four and those before may overlap: no loop for the rest. */
#define TSR_COPY_BY_FOUR(T, to, from, n) \
    do { \
        typedef T four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias)); \
        if ((n) < 4) { \
            TSR_COPY_LOOP(T, to, from, n) \
            break; \
        } \
        const four end = *(const four *)((const T *)(from) + (n) - 4); \
        for (int64_t k = 0; k < (n) - 4; k += 4) { \
            *(four *)((T *)(to) + k) = *(const four *)((const T *)(from) + k); \
            TSR_STAYS_A_LOOP; \
        } \
        *(four *)((T *)(to) + (n) - 4) = end; \
    } while (0)

static inline void tsr_copy_values(void *to, const void *from, int64_t n, size_t size)
{
    if (n > TSR_COPY_FEW)
        memcpy(to, from, (size_t)n * size);
    else if (size == 8)
        TSR_COPY_BY_FOUR(int64_t, to, from, n);
    else if (size == 4)
        TSR_COPY_BY_FOUR(int32_t, to, from, n);
    else if (size == 2)
        TSR_COPY_LOOP(int16_t, to, from, n)
    else
        TSR_COPY_LOOP(int8_t, to, from, n)
}

#endif
