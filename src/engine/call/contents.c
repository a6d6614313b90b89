/* Where the contents of objects are, and uploading them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/contents.h"

#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/attempt.h"
#include "src/policy/history/placement_history.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"

const tsr_backend *tsr_contents_backend(void)
{
    const tsr_backend *gpu = tsr_config_get()->mode == TSR_MODE_GPU ? tsr_backend_gpu() : NULL;
    return gpu && gpu->arrays ? gpu : NULL;
}

bool tsr_contents_possible(void)
{
    const bool forced = tsr_config_get()->mode == TSR_MODE_GPU;
    const tsr_backend *gpu = forced || tsr_backend_gpu_asked() ? tsr_backend_gpu() : NULL;
    return gpu && gpu->arrays;
}

tsr_device_array *tsr_contents_dense(const tsr_door *door, const void *handle)
{
    tsr_device_array *array = door->array(handle);
    if (!array || !tsr_device_array_is_sparse(array) || door->is_absent(handle))
        return array;
    tsr_device_array_unref(array);
    return NULL;
}

bool tsr_held_in_lists(const tsr_door *door, const void *handle)
{
    return handle && (door->form(handle) & (1u << TSR_SPARSE | 1u << TSR_HYPERSPARSE)) && !door->form_waits(handle);
}

bool tsr_contents_only(const tsr_door *door, const void *handle)
{
    tsr_device_array *array = door->array(handle);
    tsr_device_array_unref(array);
    return array && door->is_absent(handle);
}

const tsr_backend *tsr_contents_device(const tsr_door *door, void *const handles[], int count)
{
    const tsr_backend *backend = NULL;
    for (int k = 0; k < count && !backend; k++) {
        tsr_device_array *array = tsr_contents_dense(door, handles[k]);
        backend = array ? tsr_device_array_about(array)->backend : NULL;
        tsr_device_array_unref(array);
    }
    return backend;
}

bool tsr_object_take_compressed(tsr_object *object, const tsr_door *door, void *handle)
{
    object->handle = handle;
    object->compressed = door->compressed(handle);
    if (object->compressed)
        object->view = tsr_device_array_view(object->compressed);
    return object->compressed;
}

bool tsr_object_inspect(tsr_object *object, const tsr_door *door, void *handle, bool on_host)
{
    *object = (tsr_object){.handle = handle, .given = true};
    if (on_host)
        return door->held(&object->view, handle, &object->copies);
    if (door->is_lost(handle))
        return false;
    object->array = door->array(handle);
    if (object->array) {
        object->view = tsr_device_array_view(object->array);
        return true;
    }
    door->inspect(handle);
    return door->held(&object->view, handle, &object->copies);
}

bool tsr_object_find_lone(tsr_object *object)
{
    const tsr_view *v = &object->view;
    bool found = !object->array && tsr_is_compressed(v) && v->nvals == 1 && v->x;
    if (found)
        memcpy(&object->one, v->x, tsr_type_size(v->type));
    else if (object->array)
        (void)TSR_ATTEMPT(tsr_device_array_about(object->array)->backend->arrays->reduce(tsr_device_array_kept(object->array), v->type,
                                                                                         TSR_REDUCE_ANY, &object->one, &found));
    object->lone = found;
    return found;
}

void tsr_object_release(tsr_object *object)
{
    if (object->made)
        tsr_device_array_about(object->array)->backend->contents->drop(object->made);
    tsr_device_array_unref(object->array);
    tsr_device_array_unref(object->compressed);
    tsr_record_unref(object->record);
    tsr_copies_free(&object->copies);
    object->made = NULL;
    object->array = object->compressed = NULL;
    object->record = NULL;
}

static tsr_device_array_facts facts_of(const tsr_view *held, const tsr_backend *backend)
{
    tsr_device_array_facts facts = {.backend = backend, .type = held->type, .nrows = held->nrows, .ncols = held->ncols,
                                    .by_col = held->by_col, .full = held->format == TSR_FULL,
                                    .iso = held->x && held->iso};
    facts.lone = held->x && !held->iso && tsr_is_compressed(held) && held->nvals == 1;
    facts.iso |= facts.lone;
    if (facts.iso)
        memcpy(&facts.one, held->x, tsr_type_size(held->type));
    return facts;
}

tsr_status tsr_contents_upload(tsr_object *object, const tsr_view *held, const tsr_door *door, const tsr_backend *backend, int64_t *moved)
{
    void *kept = NULL;
    int64_t bytes = 0;
    const int threads = door->threads();
    const tsr_status status = TSR_ATTEMPT(backend->contents->upload(held, threads, &kept, &bytes));
    if (status != TSR_OK)
        return status;
    const tsr_device_array_facts facts = facts_of(held, backend);
    object->array = tsr_device_array_new(&facts, kept);
    if (!object->array)
        return TSR_OUT_OF_MEMORY;
    tsr_device_array_counted(object->array, held->nvals);
    if (tsr_is_compressed(held))
        tsr_device_array_set_sparse(object->array);
    tsr_placement_uploaded(object->handle);
    *moved += bytes;
    door->keep(object->handle, object->array);
    return TSR_OK;
}

/* Half the bytes travel; who reads numbers so may give them back as a list. */
static bool travels_narrow(tsr_type from, tsr_type to)
{
    return from == TSR_UINT32 && (to == TSR_UINT64 || to == TSR_INT64);
}

tsr_status tsr_contents_read(tsr_device_array *array, tsr_type type, void *x, int nthreads, int64_t *moved)
{
    const tsr_device_array_facts *facts = tsr_device_array_about(array);
    const tsr_backend *backend = facts->backend;
    const bool narrow = travels_narrow(facts->type, type);
    void *kept = tsr_device_array_kept(array), *made = NULL;
    tsr_download to = narrow ? (tsr_download){.nthreads = nthreads, .i = x, .index_size = sizeof(uint64_t)} : (tsr_download){.nthreads = nthreads, .x = x};
    tsr_status status = facts->type == type || narrow ? TSR_OK : TSR_ATTEMPT(backend->arrays->cast(kept, facts->type, type, &made));
    if (status == TSR_OK)
        status = TSR_ATTEMPT(backend->contents->download(made ? made : kept, &to));
    if (made)
        backend->contents->drop(made);
    *moved = to.bytes_moved;
    return status;
}

void tsr_contents_use(tsr_device_array *array)
{
    if (array && tsr_device_array_first_use(array))
        tsr_placement_used(tsr_device_array_about(array)->origin);
}
