/* Values made of one value on the device: sums of its vectors, its typecast, its transpose, what depends on places, what is gathered or
 * scattered.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/elementwise/derive.h"

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/arrays.h"
#include "backends/cuda/transfer/lists.h"

/* What is made, and of what: one of the members of `how`. */
typedef struct deriving {
    tsr_cuda_array *from;
    union {
        const tsr_sums *sums;
        struct {
            tsr_type from, to;
        } cast;
        struct {
            int64_t vectors, length;
        } turn;
        const tsr_places *places;
        struct {
            const tsr_indices *places;
            int64_t count; /* of what is scattered to */
            int nthreads;
        } list;
    } how;
    tsr_cuda_array *value;
    int64_t moved;
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
    return tsr_cuda_sums(d->how.sums, &e, d->value->x, d->value->present, scratch, &tsr_cuda->device, tsr_cuda->compute);
}

static tsr_status run_sums(void *arguments)
{
    deriving *d = arguments;
    const tsr_sums *s = d->how.sums;
    size_t bytes = tsr_cuda_sums_bytes(s, &tsr_cuda->device);
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
    return keep(d, tsr_cuda_cast(d->value->x, d->value->present, d->how.cast.to, &e, d->how.cast.from, v->count, &tsr_cuda->device,
                                 tsr_cuda->compute));
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
                                 &tsr_cuda->device, tsr_cuda->compute));
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
    return keep(d, tsr_cuda_places(p, &e, (int)v->size, d->value->x, d->value->present, &tsr_cuda->device, tsr_cuda->compute));
}

tsr_status tsr_cuda_array_places(const tsr_places *places, void **value)
{
    return derive(run_places, &(deriving){.from = places->value, .how.places = places}, value);
}

/* ---- gathering and scattering ---- */

typedef tsr_status (*listed_kernel)(const tsr_indices *places, const uint32_t *list, const tsr_elements *e, int size, void *z,
                                    int8_t *z_present, const tsr_cuda_device *device, void *stream);

static tsr_status run_listed(deriving *d, uint32_t *list, listed_kernel kernel)
{
    tsr_elements e = tsr_cuda_elements(d->from);
    tsr_status status = list ? tsr_cuda_list_upload(list, d->how.list.places, d->how.list.nthreads, &d->moved) : TSR_OK;
    if (status == TSR_OK)
        status = kernel(d->how.list.places, list, &e, (int)d->from->size, d->value->x, d->value->present, &tsr_cuda->device, tsr_cuda->compute);
    if (status != TSR_OK)
        tsr_cuda_settle(); /* nothing writes there any more */
    return status;
}

static tsr_status with_list(deriving *d, tsr_status (*run)(void *arguments, void *scratch))
{
    const tsr_indices *places = d->how.list.places;
    const size_t bytes = places->list ? (size_t)places->count * sizeof(uint32_t) : 0;
    d->moved = 0;
    return keep(d, bytes ? tsr_cuda_with_scratch(bytes, run, d) : run(d, NULL));
}

static tsr_status gather_within(void *arguments, void *scratch)
{
    return run_listed(arguments, scratch, tsr_cuda_gather_elements);
}

static tsr_status run_gather(void *arguments)
{
    deriving *d = arguments;
    tsr_status status = tsr_cuda_array_new(&d->value, d->how.list.places->count, d->from->size, d->from->present);
    return status == TSR_OK ? with_list(d, gather_within) : status;
}

/* More of them present than places that are taken? */
static tsr_status check_places(deriving *d)
{
    tsr_status status = d->from->present ? tsr_cuda_array_count(d->from) : TSR_OK;
    if (status == TSR_OK)
        status = tsr_cuda_array_count(d->value);
    return status == TSR_OK && d->value->nvals != d->from->nvals ? TSR_DECLINED : status;
}

static tsr_status scatter_within(void *arguments, void *scratch)
{
    deriving *d = arguments;
    tsr_status status = tsr_cuda_set(d->value->x, 0, d->value->bytes, tsr_cuda->compute);
    if (status == TSR_OK)
        status = run_listed(d, scratch, tsr_cuda_scatter_elements);
    return status == TSR_OK ? check_places(d) : status;
}

static tsr_status run_scatter(void *arguments)
{
    deriving *d = arguments;
    tsr_status status = tsr_cuda_array_new(&d->value, d->how.list.count, d->from->size, true);
    return status == TSR_OK ? with_list(d, scatter_within) : status;
}

static tsr_status derive_listed(tsr_cuda_operation run, deriving *d, void **value, int64_t *bytes_moved)
{
    *value = NULL;
    if (d->how.list.places->count > UINT32_MAX || d->from->count > UINT32_MAX || d->how.list.count > UINT32_MAX)
        return TSR_DECLINED;
    tsr_status status = derive(run, d, value);
    *bytes_moved = d->moved;
    return status;
}

tsr_status tsr_cuda_array_gather(void *value, const tsr_indices *from, int nthreads, void **result, int64_t *bytes_moved)
{
    return derive_listed(run_gather, &(deriving){.from = value, .how.list = {.places = from, .nthreads = nthreads}}, result, bytes_moved);
}

tsr_status tsr_cuda_array_scatter(void *value, const tsr_indices *to, int64_t count, int nthreads, void **result, int64_t *bytes_moved)
{
    return derive_listed(run_scatter, &(deriving){.from = value, .how.list = {to, count, nthreads}}, result, bytes_moved);
}
