/* One matrix as Tessera knows it: a version and the representations built from that version.
 * The arrays themselves stay with their owner (SuiteSparse or the native caller); each product brings a fresh view of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MATRIX_H
#define TSR_MATRIX_H

#include "src/format/sparse/format.h"
#include "src/object/device_array.h"

typedef struct tsr_matrix tsr_matrix;

/* What a representation is: orientation and values. */
typedef struct tsr_rep_key {
    bool by_col;   /* orientation of the representation */
    bool pattern;  /* no values */
    tsr_type type; /* of the values; TSR_BOOL when pattern */
    bool device;   /* kept by a GPU backend in its slot; here it has an account of regret only */
} tsr_rep_key;

/* A built representation, reference counted: a dropped one lives until its last user lets go. */
typedef struct tsr_rep tsr_rep;

tsr_matrix *tsr_matrix_new(void); /* NULL: out of memory; one reference */
tsr_matrix *tsr_matrix_ref(tsr_matrix *m);
void tsr_matrix_unref(tsr_matrix *m); /* NULL allowed */

/* The contents changed: the next version begins, every representation and the value are dropped, regrets are forgotten. */
void tsr_matrix_invalidate(tsr_matrix *m);
uint64_t tsr_matrix_version(const tsr_matrix *m);

/* The representation if it is there, with a reference; NULL if not. */
tsr_rep *tsr_matrix_find(tsr_matrix *m, tsr_rep_key key);

/* Find or build from `view` (a look at the present version).  NULL: out of memory. One thread builds, others wait. */
tsr_rep *tsr_matrix_build(tsr_matrix *m, tsr_rep_key key, const tsr_view *view, int nthreads);

const tsr_view *tsr_rep_view(const tsr_rep *rep);
void tsr_rep_unref(tsr_rep *rep);

/* A place where a backend keeps what it made of the present version, reference counted like a representation: after an
 * invalidate there is another one, and the old one is given to owner->release when its last user lets go. */
typedef struct tsr_slot tsr_slot;
tsr_slot *tsr_matrix_slot(tsr_matrix *m, const tsr_backend *owner); /* with a reference; NULL: out of memory */
void **tsr_slot_place(tsr_slot *slot);
void tsr_slot_unref(tsr_slot *slot); /* NULL allowed */

/* The dense value that a backend keeps of the present version: set by those who computed or brought it, dropped by invalidate. */
tsr_value *tsr_matrix_value(tsr_matrix *m); /* with a reference; NULL: none */
void tsr_matrix_set_value(tsr_matrix *m, tsr_value *value); /* takes a reference of its own; NULL: none any more */

/* What the owner of the arrays is still to be told about the form it holds them in, when it gets contents again; 0: nothing.  Survives
 * an invalidate. */
int tsr_matrix_form(tsr_matrix *m);
void tsr_matrix_set_form(tsr_matrix *m, int form);

/* The contents were only where they cannot be had any more: of no use until the matrix is gone. */
void tsr_matrix_lose(tsr_matrix *m);
bool tsr_matrix_is_lost(const tsr_matrix *m);

/* Ski-rental account of one representation: add what one more product lost without it (ms), get the sum since the last write. */
double tsr_matrix_regret(tsr_matrix *m, tsr_rep_key key, double lost_ms);

/* Cached properties of the present version; computed from `view` at the first call, dropped by invalidate.  transposed: the
 * view shows the matrix of the record transposed. */
bool tsr_matrix_all_rows_present(tsr_matrix *m, const tsr_view *view, bool transposed, int nthreads);

/* Bytes of all representations alive, and how many were built and dropped (tests, tessera info). */
typedef struct tsr_matrix_stats { size_t bytes; int64_t built, dropped; } tsr_matrix_stats;
tsr_matrix_stats tsr_matrix_get_stats(void);

#endif
