/* Where the contents of objects are, and uploading them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_CONTENTS_H
#define TSR_ENGINE_CONTENTS_H

#include "src/engine/call/call.h"

/* The backend for what no device has yet (TESSERA_MODE=gpu); NULL: none. */
const tsr_backend *tsr_contents_backend(void);

/* Is there a backend that keeps arrays?  None is loaded for the answer, except with TESSERA_MODE=gpu. */
bool tsr_contents_possible(void);

/* What a device has of an object, with a reference, unless the host holds it sparse: NULL. */
tsr_device_array *tsr_contents_dense(const tsr_door *door, const void *handle);

/* Does the host hold it in lists?  What is pending of it stays so; finished, it may be held otherwise. */
bool tsr_held_in_lists(const tsr_door *door, const void *handle); /* NULL: no */

/* Has only a device its contents? */
bool tsr_contents_only(const tsr_door *door, const void *handle);

/* The backend of the first of these that has a dense array; NULL: none has. */
const tsr_backend *tsr_contents_device(const tsr_door *door, void *const handles[], int count);

/* Where the contents of a handle are, and how they look.  False: not a valid object of a built-in type.  on_host: there, for certain. */
bool tsr_object_inspect(tsr_object *object, const tsr_door *door, void *handle, bool on_host);
void tsr_object_release(tsr_object *object);

/* Of an object with one entry: lone and one, read from the host's list or from the device.  False: neither tells. */
bool tsr_object_find_lone(tsr_object *object);

/* Has only a device its contents, and sparse?  Then they are the object's, and its view has no arrays. */
bool tsr_object_take_compressed(tsr_object *object, const tsr_door *door, void *handle);

/* object->array of the contents that the host has (held), which stay with the handle.  The backend's status. */
tsr_status tsr_contents_upload(tsr_object *object, const tsr_view *held, const tsr_door *door, const tsr_backend *backend, int64_t *moved);

/* The elements of an array, which has all of them, as another type; the array stays.  The backend's status. */
tsr_status tsr_contents_read(tsr_device_array *array, tsr_type type, void *x, int nthreads, int64_t *moved);

/* An array was used by one of our calls. */
void tsr_contents_use(tsr_device_array *array); /* NULL allowed */

#endif
