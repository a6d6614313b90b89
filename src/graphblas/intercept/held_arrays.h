/* The arrays of an object as its library holds them, whatever the version.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_HELD_ARRAYS_H
#define TSR_HELD_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <GraphBLAS.h>

#include "src/engine/call/copies.h"

/* Offsets or indices of 4 (uint32_t) or 8 bytes each. */
typedef struct tsr_integers {
    const void *at; /* NULL: there are none */
    uint8_t size;
} tsr_integers;

typedef struct tsr_held_arrays {
    int sparsity; /* GxB_SPARSE … */
    bool by_col, iso;
    int64_t vlen, vdim; /* length of a vector, how many there are */
    int64_t nvec;       /* stored */
    int64_t places;     /* vlen * vdim of a bitmap or full one, else entries */
    tsr_integers p, h, i;
    const int8_t *b;
    const void *x;
    size_t type_size;
} tsr_held_arrays;

/* Finishes pending work first, copies nothing.  False: not a valid object. */
bool tsr_held_arrays_read(tsr_held_arrays *held, GrB_Matrix handle);

static inline int64_t tsr_integer(tsr_integers list, int64_t n)
{
    return list.size == 4 ? (int64_t) ((const uint32_t *) list.at)[n] : ((const int64_t *) list.at)[n];
}

/* `count` integers of 8 bytes each: the same ones, or one of the copies; with NULL copies *wide is NULL then.  False: out of memory. */
bool tsr_integers_wide(const int64_t **wide, tsr_integers list, int64_t count, tsr_copies *copies);

#endif
