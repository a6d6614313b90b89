/* A dense value that a backend keeps (tessera/values.h), reference counted: what of one version of a matrix lives there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_VALUE_H
#define TSR_VALUE_H

#include "tessera/backend.h"

typedef struct tsr_value tsr_value;

/* What is known of it without asking the backend. */
typedef struct tsr_value_facts {
    const tsr_backend *backend;
    tsr_type type;
    int64_t nrows, ncols;
    bool by_col;
    bool full;       /* every entry is present */
    bool iso;        /* every entry has one value, and so has the matrix that the host gets … */
    uint64_t one;    /* … this one: its bytes, of the type */
    uint64_t origin; /* the kind of call that computed it (src/policy/placement_history.h); 0: it was brought */
} tsr_value_facts;

/* Takes `kept` over, also when it fails.  NULL: out of memory.  One reference. */
tsr_value *tsr_value_new(const tsr_value_facts *facts, void *kept);
tsr_value *tsr_value_ref(tsr_value *value); /* NULL allowed */
void tsr_value_unref(tsr_value *value);     /* NULL allowed */

const tsr_value_facts *tsr_value_about(const tsr_value *value);
void *tsr_value_kept(const tsr_value *value);
int64_t tsr_value_places(const tsr_value *value); /* nrows * ncols */

/* Entries present; the backend is asked once. */
tsr_status tsr_value_nvals(tsr_value *value, int64_t *nvals);

/* ... if they were counted, else -1. */
int64_t tsr_value_known(const tsr_value *value);

/* The matrix as a product sees it: full or bitmap, without arrays. */
tsr_view tsr_value_view(const tsr_value *value);

/* The host, which has it too, holds it sparse: it is of use as an operand of steps, not of products. */
void tsr_value_set_sparse(tsr_value *value);
bool tsr_value_is_sparse(const tsr_value *value);

/* True: nobody had used it where it is, nor seen it on the host, before. */
bool tsr_value_first_use(tsr_value *value);

#endif
