/* Contents that a backend keeps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/object/device_array.h"

#include "tessera/compressed.h"

#include <stdatomic.h>
#include <stdlib.h>

struct tsr_device_array {
    atomic_int refs;
    tsr_device_array_facts facts;
    void *kept;
    atomic_int_least64_t nvals; /* -1: not asked yet */
    atomic_bool used, sparse;
};

tsr_device_array *tsr_device_array_new(const tsr_device_array_facts *facts, void *kept)
{
    tsr_device_array *value = calloc(1, sizeof *value);
    if (!value) {
        facts->backend->contents->drop(kept);
        return NULL;
    }
    atomic_init(&value->refs, 1);
    value->facts = *facts;
    value->kept = kept;
    atomic_init(&value->nvals, facts->compressed ? facts->backend->compressed->nvals(kept) : facts->full ? facts->nrows * facts->ncols : -1);
    return value;
}

tsr_device_array *tsr_device_array_ref(tsr_device_array *value)
{
    if (value)
        atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed);
    return value;
}

void tsr_device_array_unref(tsr_device_array *value)
{
    if (!value || atomic_fetch_sub_explicit(&value->refs, 1, memory_order_acq_rel) != 1)
        return;
    value->facts.backend->contents->drop(value->kept);
    free(value);
}

int tsr_device_array_holders(const tsr_device_array *value)
{
    return atomic_load_explicit(&value->refs, memory_order_acquire);
}

const tsr_device_array_facts *tsr_device_array_about(const tsr_device_array *value)
{
    return &value->facts;
}

void *tsr_device_array_kept(const tsr_device_array *value)
{
    return value->kept;
}

int64_t tsr_device_array_places(const tsr_device_array *value)
{
    return value->facts.nrows * value->facts.ncols;
}

tsr_status tsr_device_array_nvals(tsr_device_array *value, int64_t *nvals)
{
    *nvals = atomic_load(&value->nvals);
    if (*nvals >= 0)
        return TSR_OK;
    tsr_status status = value->facts.backend->arrays->count(value->kept, nvals);
    if (status == TSR_OK)
        atomic_store(&value->nvals, *nvals);
    return status;
}

void tsr_device_array_counted(tsr_device_array *value, int64_t nvals)
{
    atomic_store(&value->nvals, nvals);
}

int64_t tsr_value_known(const tsr_device_array *value)
{
    return atomic_load(&value->nvals);
}

tsr_view tsr_device_array_view(const tsr_device_array *value)
{
    const tsr_device_array_facts *f = &value->facts;
    int64_t nvec = f->by_col ? f->ncols : f->nrows, vlen = f->by_col ? f->nrows : f->ncols;
    if (f->compressed)
        return (tsr_view){.format = TSR_SPARSE, .type = f->type, .by_col = f->by_col, .iso = f->iso, .index_size = sizeof(int64_t),
                          .nrows = f->nrows, .ncols = f->ncols, .nvec = nvec, .vlen = vlen, .nvals = tsr_value_known(value), .x = &f->one};
    return (tsr_view){.format = f->full ? TSR_FULL : TSR_BITMAP, .type = f->type, .by_col = f->by_col, .nrows = f->nrows,
                      .ncols = f->ncols, .nvec = nvec, .vlen = vlen, .ld = vlen, .nvals = tsr_device_array_places(value)};
}

void tsr_device_array_set_sparse(tsr_device_array *value)
{
    atomic_store(&value->sparse, true);
}

bool tsr_device_array_is_sparse(const tsr_device_array *value)
{
    return atomic_load(&value->sparse);
}

bool tsr_device_array_first_use(tsr_device_array *value)
{
    return !atomic_exchange(&value->used, true);
}
