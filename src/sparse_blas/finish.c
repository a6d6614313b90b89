/* C = alpha T + beta C, and the identity where T has no entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "src/base/split.h"
#include "src/sparse_blas/native.h"

typedef union value {
    float f;
    double d;
    uint64_t u;
} value;

static value largest(tsr_type type)
{
    switch (type) {
    case TSR_INT8: return (value){.u = INT8_MAX};
    case TSR_INT16: return (value){.u = INT16_MAX};
    case TSR_INT32: return (value){.u = INT32_MAX};
    case TSR_INT64: return (value){.u = INT64_MAX};
    case TSR_FP32: return (value){.f = INFINITY};
    case TSR_FP64: return (value){.d = INFINITY};
    default: return (value){.u = UINT64_MAX};
    }
}

/* Two's complement: the smallest signed integer is the bits of the largest turned over, and of unsigned ones too. */
static value smallest(tsr_type type)
{
    switch (type) {
    case TSR_FP32: return (value){.f = -INFINITY};
    case TSR_FP64: return (value){.d = -INFINITY};
    default: return (value){.u = ~largest(type).u};
    }
}

static value identity(const tsr_semiring *s)
{
    if (s->add == TSR_ADD_MIN) {
        return largest(s->type);
    }
    return s->add == TSR_ADD_MAX ? smallest(s->type) : (value){.u = 0};
}

#define PLACE_VECTOR(type) \
    static void place_##type(type *c, const type *t, const int8_t *present, int64_t n, type absent) \
    { \
        for (int64_t k = 0; k < n; k++) { \
            c[k] = t && present[k] ? t[k] : absent; \
        } \
    }

PLACE_VECTOR(uint8_t)
PLACE_VECTOR(uint16_t)
PLACE_VECTOR(uint32_t)
PLACE_VECTOR(uint64_t)

/* One vector for alpha = 1, beta = 0: values are only moved. */
static void place(const tsr_finish *f, void *c, const void *t, const int8_t *present)
{
    size_t size = tsr_type_size(f->semiring.type);
    value absent = identity(&f->semiring);
    if (t && !present) {
        if (c != t) {
            memcpy(c, t, (size_t)f->inner * size);
        }
        return;
    }
    switch (size) {
    case 1: place_uint8_t(c, t, present, f->inner, (uint8_t)absent.u); break;
    case 2: place_uint16_t(c, t, present, f->inner, (uint16_t)absent.u); break;
    case 4: place_uint32_t(c, t, present, f->inner, (uint32_t)absent.u); break;
    default: place_uint64_t(c, t, present, f->inner, absent.u); break;
    }
}

/* One vector of C = alpha T + beta C; C is not read when beta is 0. */
#define COMBINE_VECTOR(type) \
    static void combine_##type(type *c, const type *t, const int8_t *present, int64_t n, type alpha, type beta) \
    { \
        for (int64_t k = 0; k < n; k++) { \
            type term = t ? alpha * (!present || present[k] ? t[k] : 0) : 0; \
            c[k] = beta != 0 ? term + beta * c[k] : term; \
        } \
    }

COMBINE_VECTOR(float)
COMBINE_VECTOR(double)

static void finish_vector(const tsr_finish *f, int64_t vector)
{
    size_t size = tsr_type_size(f->semiring.type);
    void *c = (char *)f->c + (size_t)(vector * f->ld) * size;
    const void *t = f->t ? (const char *)f->t + (size_t)(vector * f->inner) * size : NULL;
    const int8_t *present = f->present ? f->present + vector * f->inner : NULL;
    if (f->alpha == 1 && f->beta == 0) {
        place(f, c, t, present);
    } else if (f->semiring.type == TSR_FP32) {
        combine_float(c, t, present, f->inner, (float)f->alpha, (float)f->beta);
    } else {
        combine_double(c, t, present, f->inner, f->alpha, f->beta);
    }
}

void tsr_native_finish(const tsr_finish *f)
{
    #pragma omp parallel for num_threads(tsr_team(f->nthreads)) schedule(static) if (f->outer * f->inner > 100000)
    for (int64_t vector = 0; vector < f->outer; vector++) {
        finish_vector(f, vector);
    }
}
