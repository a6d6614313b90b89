/* Values made of one value on the device: sums of its vectors, its typecast, its transpose, what depends on places.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/elementwise/derive.h"

#include "backends/cuda/arrays/arrays.h"

/* What is made, and of what: one of the members of `how`. */
typedef struct deriving {
    const tsr_cuda_array *from;
    union {
        const tsr_sums *sums;
        struct {
            tsr_type from, to;
        } cast;
        struct {
            int64_t vectors, length;
        } turn;
        const tsr_places *places;
    } how;
    tsr_cuda_array *value;
} deriving;

/* The result that run_... has queued, or nothing. */
static tsr_status keep(deriving *d, tsr_status status)
{
    if (status != TSR_OK) {
        tsr_cuda_array_free(d->value);
        d->value = NULL;
    }
    return status;
}

static tsr_status derive(tsr_cuda_operation run, deriving *d, void **value)
{
    tsr_status status = tsr_cuda_alone(run, d);
    *value = d->value;
    return status;
}

/* ---- sums ---- */

static tsr_status sum_within(void *arguments, void *scratch)
{
    deriving *d = arguments;
    tsr_elements e = tsr_cuda_elements(d->from);
    return tsr_cuda_sums(d->how.sums, &e, d->value->x, d->value->present, scratch, &tsr_cuda.device, tsr_cuda.compute);
}

static tsr_status run_sums(void *arguments)
{
    deriving *d = arguments;
    const tsr_sums *s = d->how.sums;
    size_t bytes = tsr_cuda_sums_bytes(s, &tsr_cuda.device);
    tsr_status status = tsr_cuda_array_new(&d->value, s->vectors, d->from->size, d->from->present || s->length == 0);
    if (status == TSR_OK)
        status = keep(d, bytes ? tsr_cuda_with_scratch(bytes, sum_within, d) : sum_within(d, NULL));
    return status;
}

tsr_status tsr_cuda_array_sums(const tsr_sums *sums, void **value)
{
    return derive(run_sums, &(deriving){.from = sums->value, .how.sums = sums}, value);
}

/* ---- the same entries ---- */

static tsr_status run_cast(void *arguments)
{
    deriving *d = arguments;
    const tsr_cuda_array *v = d->from;
    tsr_elements e = tsr_cuda_elements(v);
    tsr_status status = tsr_cuda_array_new(&d->value, v->count, tsr_type_size(d->how.cast.to), v->present);
    if (status != TSR_OK)
        return status;
    d->value->nvals = v->nvals;
    return keep(d, tsr_cuda_cast(d->value->x, d->value->present, d->how.cast.to, &e, d->how.cast.from, v->count, &tsr_cuda.device,
                                 tsr_cuda.compute));
}

tsr_status tsr_cuda_array_cast(void *value, tsr_type from, tsr_type to, void **result)
{
    return derive(run_cast, &(deriving){.from = value, .how.cast = {from, to}}, result);
}

static tsr_status run_turn(void *arguments)
{
    deriving *d = arguments;
    const tsr_cuda_array *v = d->from;
    tsr_elements e = tsr_cuda_elements(v);
    tsr_status status = tsr_cuda_array_new(&d->value, v->count, v->size, v->present);
    if (status != TSR_OK)
        return status;
    d->value->nvals = v->nvals;
    return keep(d, tsr_cuda_turn(d->value->x, d->value->present, &e, (int)v->size, d->how.turn.vectors, d->how.turn.length,
                                 &tsr_cuda.device, tsr_cuda.compute));
}

tsr_status tsr_cuda_array_turn(void *value, int64_t vectors, int64_t length, void **result)
{
    return derive(run_turn, &(deriving){.from = value, .how.turn = {vectors, length}}, result);
}

/* ---- places ---- */

static tsr_status run_places(void *arguments)
{
    deriving *d = arguments;
    const tsr_cuda_array *v = d->from;
    const tsr_places *p = d->how.places;
    tsr_elements e = tsr_cuda_elements(v);
    tsr_status status = tsr_cuda_array_new(&d->value, v->count, p->select ? v->size : sizeof(int64_t), v->present || p->select);
    if (status != TSR_OK)
        return status;
    if (!p->select)
        d->value->nvals = v->nvals;
    return keep(d, tsr_cuda_places(p, &e, (int)v->size, d->value->x, d->value->present, &tsr_cuda.device, tsr_cuda.compute));
}

tsr_status tsr_cuda_array_places(const tsr_places *places, void **value)
{
    return derive(run_places, &(deriving){.from = places->value, .how.places = places}, value);
}
