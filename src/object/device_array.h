/* Contents that a backend keeps, dense (tessera/values.h) or compressed (tessera/compressed.h), reference counted: what of one version of a matrix
 * lives there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_DEVICE_ARRAY_H
#define TSR_DEVICE_ARRAY_H

#include "tessera/backend.h"

typedef struct tsr_device_array tsr_device_array;

/* What is known of it without asking the backend. */
typedef struct tsr_device_array_facts {
    const tsr_backend *backend;
    tsr_type type;
    int64_t nrows, ncols;
    bool by_col;
    bool full;       /* every entry is present */
    bool iso;        /* every entry has one value, and so has the matrix that the host gets … */
    uint64_t one;    /* … this one: its bytes, of the type */
    bool lone;       /* iso only because it has one entry: the host's object is not */
    bool compressed; /* by its rows, or columns; else every place has an element */
    bool counted;    /* compressed, of integers: the sum of its entries is known, modulo the range of the type … */
    uint64_t total;  /* … this one */
    uint64_t origin; /* the kind of call that computed it (src/policy/history/placement_history.h); 0: it was uploaded */
} tsr_device_array_facts;

/* Takes `kept` over, also when it fails.  NULL: out of memory.  One reference. */
tsr_device_array *tsr_device_array_new(const tsr_device_array_facts *facts, void *kept);
tsr_device_array *tsr_device_array_ref(tsr_device_array *value); /* NULL allowed */
void tsr_device_array_unref(tsr_device_array *value);     /* NULL allowed */

const tsr_device_array_facts *tsr_device_array_about(const tsr_device_array *value);
void *tsr_device_array_kept(const tsr_device_array *value);
int64_t tsr_device_array_places(const tsr_device_array *value); /* nrows * ncols */

/* Entries present; the backend is asked once. */
tsr_status tsr_device_array_nvals(tsr_device_array *value, int64_t *nvals);

/* What the host knew of them. */
void tsr_device_array_counted(tsr_device_array *value, int64_t nvals);

/* ... if they were counted, else -1. */
int64_t tsr_value_known(const tsr_device_array *value);

/* The matrix as a product sees it, without arrays: full or bitmap, or sparse (as a tsr_compressed_operand, of a counted one). */
tsr_view tsr_device_array_view(const tsr_device_array *value);

/* The host, which has it too, holds it sparse: it is of use as an operand of steps, not of products. */
void tsr_device_array_set_sparse(tsr_device_array *value);
bool tsr_device_array_is_sparse(const tsr_device_array *value);

/* How many hold a reference. */
int tsr_device_array_holders(const tsr_device_array *value);

/* True: nobody had used it where it is, nor seen it on the host, before. */
bool tsr_device_array_first_use(tsr_device_array *value);

#endif
