/* Sparse times sparse: what its files share; for a door whose arrays are the caller's the CPU kernel's two steps, count and fill, as they are,
 * and a device.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_SPARSE_PRODUCT_H
#define TSR_ENGINE_SPARSE_PRODUCT_H

#include "kernels/spgemm.h"
#include "src/engine/call/call.h"
#include "tessera/device.h"

extern const tsr_operation tsr_sparse_product_operation;

/* The product of a call, and as a device gets it: types as they will be; of a pattern it finds the structure. */
tsr_spgemm tsr_sparse_product_of(const tsr_call *call);
tsr_product tsr_sparse_product_on_device(const tsr_spgemm *product);

/* call->decision (sparse_decide.c). */
void tsr_sparse_product_decide(tsr_call *call);

/* The GPU, if it is expected to be faster with operands and C on the host, or asked for; NULL: the host.  Counts towards starting it. */
const tsr_backend *tsr_engine_spgemm_device(const tsr_spgemm *product, const tsr_spgemm_size *size);

/* There, into arrays for as many entries as `size` says; nothing is kept of the operands, whose values are of the semiring's type.  Status as of
 * tsr_backend.execute: unless it is TSR_OK the arrays may have been written to, and the product is to be computed elsewhere.
 * c->p NULL: values only.  kept not NULL: the same patterns come again, and *kept, NULL at first, stays on the device from one product to the
 * next; the caller drops what is there in the end (contents of `device`). */
tsr_status tsr_engine_spgemm_on_device(const tsr_backend *device, const tsr_spgemm *product, const tsr_spgemm_size *size, const tsr_spgemm_c *c,
                                       void **kept);

typedef struct tsr_spgemm_device_c {
    tsr_device_entries to;
    const void *a_values, *b_values; /* in device memory, in the place of those of the views; NULL: those */
    int device;                      /* where C goes, as tsr_backend_device.which counts */
} tsr_spgemm_device_c;

/* The same into device memory, in the order of a stream. */
tsr_status tsr_engine_spgemm_into_device(const tsr_backend *device, const tsr_spgemm *product, const tsr_spgemm_size *size, const tsr_spgemm_device_c *c,
                                   void **kept);

#endif
