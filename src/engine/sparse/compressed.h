/* Calls on sparse contents that a device computes and keeps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_COMPRESSED_H
#define TSR_ENGINE_COMPRESSED_H

#include "src/engine/call/call.h"

/* C = A (I, J), C = the entries of A that a rule keeps: of.picking. */
extern const tsr_operation tsr_device_extract_operation, tsr_device_select_operation;

/* C = op (A), op (A, B), A' …: of.entries.  And all entries of A: of.total. */
extern const tsr_operation tsr_device_entries_operation, tsr_device_total_operation;

/* What these operations do alike: a result that was left is settled, one that fails is dropped, operands were used. */
tsr_settlement tsr_compressed_settle(tsr_call *call, tsr_status *status);
void tsr_compressed_drop(tsr_call *call);
void tsr_compressed_use(tsr_call *call);

/* What a device has of a matrix, and sparse, or what the host holds in lists.  False: neither. */
bool tsr_compressed_inspect(tsr_object *object, const tsr_door *door, void *handle);

/* What call->remote.stays has become: compressed contents of C, which products then find in `entry` (NULL: in C's own).  facts: all but what the
 * backend says.  TSR_OK: C has them; else nothing has changed. */
tsr_status tsr_compressed_leave(tsr_call *call, tsr_device_array_facts facts, tsr_cache_entry *entry);

/* C, a copy of A, has from now on what the backend keeps of A. */
void tsr_compressed_share(const tsr_door *door, void *C, void *A, const tsr_backend *backend);

#endif
