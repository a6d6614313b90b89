/* One matrix as Tessera knows it: a version and the representations built from that version.
 * The arrays themselves stay with their owner (SuiteSparse or the native caller); each product brings a fresh view of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_MATRIX_H
#define TSR_MATRIX_H

#include "src/format/sparse/format.h"
#include "src/object/device_array.h"

typedef struct tsr_record tsr_record;

/* What a representation is: orientation and values. */
typedef struct tsr_rep_key {
    bool by_col;   /* orientation of the representation */
    bool pattern;  /* no values */
    tsr_type type; /* of the values; TSR_BOOL when pattern */
    bool device;   /* kept by a GPU backend in its slot; here it has its regret only */
} tsr_rep_key;

/* A built representation, reference counted: a dropped one lives until its last user lets go. */
typedef struct tsr_rep tsr_rep;

tsr_record *tsr_record_new(void); /* NULL: out of memory; one reference */
tsr_record *tsr_record_ref(tsr_record *m);
void tsr_record_unref(tsr_record *m); /* NULL allowed */

/* The contents changed: the next version begins, every representation and the value are dropped, regrets are forgotten. */
void tsr_record_invalidate(tsr_record *m);
uint64_t tsr_record_version(const tsr_record *m);

/* The representation if it is there, with a reference; NULL if not. */
tsr_rep *tsr_record_find(tsr_record *m, tsr_rep_key key);

/* Find or build from `view` (a look at the present version).  NULL: out of memory. One thread builds, others wait. */
tsr_rep *tsr_record_build(tsr_record *m, tsr_rep_key key, const tsr_view *view, int nthreads);

const tsr_view *tsr_rep_view(const tsr_rep *rep);
void tsr_rep_unref(tsr_rep *rep);

/* A place where a backend keeps what it made of the present version, reference counted like a representation: after an
 * invalidate there is another one, and the old one is given to owner->release when its last user lets go. */
typedef struct tsr_cache_entry tsr_cache_entry;
tsr_cache_entry *tsr_record_cache_entry(tsr_record *m, const tsr_backend *owner); /* with a reference; NULL: out of memory */

/* A call that makes the same contents of the same ones whenever it comes: all that says so, numbers and lists, compared one by one. */
typedef struct tsr_derivation {
    uint64_t parts[8];
    struct {
        const uint64_t *numbers; /* NULL: none */
        int64_t count;
    } lists[2];
} tsr_derivation;

/* The present version of `made` has been made so of that of `of` (another matrix): what a backend keeps of it serves the next one that is, and
 * so does what it keeps of those made of these.  Of one matrix the latest few are remembered, lists copied, until it changes. */
void tsr_record_share(tsr_record *made, tsr_record *of, const tsr_derivation *how, const tsr_backend *owner);

/* The same in two steps, where `made` is not made yet: what is kept for such ones (with a reference; NULL: out of memory), which `made`, of a new
 * version, has from then on. */
tsr_cache_entry *tsr_record_derived(tsr_record *of, const tsr_derivation *how, const tsr_backend *owner);
void tsr_record_take(tsr_record *made, tsr_cache_entry *entry);

void **tsr_cache_entry_place(tsr_cache_entry *slot);
void tsr_cache_entry_unref(tsr_cache_entry *slot); /* NULL allowed */

/* The dense value that a backend keeps of the present version: set by those who computed or uploaded it, dropped by invalidate. */
tsr_device_array *tsr_record_device_array(tsr_record *m); /* with a reference; NULL: none */
void tsr_record_set_device_array(tsr_record *m, tsr_device_array *value); /* takes a reference of its own; NULL: none any more */

/* What the owner of the arrays is still to be told about the form it holds them in, when it gets contents again; 0: nothing.  Survives
 * an invalidate. */
int tsr_record_form(tsr_record *m);
void tsr_record_set_form(tsr_record *m, int form);

/* Something that waits with the object, oldest first: to make its contents (target), which are not on the host until then; or to read them,
 * so that they must not change before.  The list belongs to whoever waits (src/graphblas/intercept/defer.c), under his lock. */
typedef struct tsr_wait {
    struct tsr_wait *next;
    void *of;
    bool target;
} tsr_wait;
void tsr_record_add_wait(tsr_record *m, tsr_wait *wait);
void tsr_record_remove_wait(tsr_record *m, tsr_wait *wait);
tsr_wait *tsr_record_first_wait(const tsr_record *m);

/* Without that lock: is there any?  Is the host without the contents (with a device array: they are only there)? */
bool tsr_record_waits(const tsr_record *m);
bool tsr_record_is_absent(const tsr_record *m);

/* The contents were only where they cannot be had any more: of no use until the matrix is gone. */
void tsr_record_lose(tsr_record *m);
bool tsr_record_is_lost(const tsr_record *m);

/* Ski-rental of one representation: add what one more product lost without it (ms), get the sum since the last write. */
double tsr_record_regret(tsr_record *m, tsr_rep_key key, double lost_ms);

/* How often products have read the present version whole from the host. */
void tsr_record_note_use(tsr_record *m);
unsigned tsr_record_uses(const tsr_record *m);

/* A product has the present version as its sparse operand; had one before? */
void tsr_record_note_product(tsr_record *m);
bool tsr_record_had_product(const tsr_record *m);

/* Cached properties of the present version; computed from `view` at the first call, dropped by invalidate.  transposed: the
 * view shows the matrix of the record transposed. */
bool tsr_record_all_rows_present(tsr_record *m, const tsr_view *view, bool transposed, int nthreads);

/* Bytes of all representations alive, and how many were built and dropped (tests, tessera info). */
typedef struct tsr_record_stats { size_t bytes; int64_t built, dropped; } tsr_record_stats;
tsr_record_stats tsr_record_get_stats(void);

#endif
