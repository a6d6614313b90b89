/* Arrays of a result, in the memory of the program that gets them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_HANDOVER_H
#define TSR_ENGINE_HANDOVER_H

#include "tessera/backend.h"

/* The program's allocator. */
typedef struct tsr_memory {
    void *(*allocate)(size_t size);
    void *(*allocate_copy)(size_t size); /* of what entries are copied into once: as GraphBLAS has its arrays, which it reuses */
    void (*release)(void *block); /* NULL allowed */
    void *(*resize)(void *block, size_t size); /* as realloc; NULL: it cannot, and the block is as it was */
} tsr_memory;

/* On their way into an object.  Dense: x, b.  Sparse: p, h, i, x.  What an object has taken over is NULL afterwards; tsr_arrays_free frees
 * the rest. */
typedef struct tsr_handover {
    const tsr_memory *memory;
    void *x;
    int8_t *b;
    uint64_t *p, *h, *i;
    size_t x_bytes, b_bytes, p_bytes, h_bytes, i_bytes;
    int64_t nvals, nvec;
    bool narrow;  /* i has indices of 32 bits (tsr_door.takes_narrow) */
    bool iso;     /* x has one value for all */
    bool listed;  /* h has those vectors of a sparse result alone that have entries */
    bool jumbled; /* indices inside a vector are in any order */
} tsr_handover;

/* Room for a dense result of `count` places; present = it may have absent entries.  false: out of memory, nothing held. */
bool tsr_arrays_dense(tsr_handover *arrays, const tsr_memory *memory, int64_t count, tsr_type type, bool present);

/* Room for their presence, unless there is some.  false: out of memory. */
bool tsr_arrays_presence(tsr_handover *arrays, int64_t count);

/* Room for a sparse result of `nvals` entries in `nvec` vectors, of narrow indices or of such of 64 bits.  false: out of memory, nothing held. */
bool tsr_arrays_compressed(tsr_handover *arrays, const tsr_memory *memory, int64_t nvec, int64_t nvals, tsr_type type, bool narrow);

/* The same step by step: without values; for the names of vectors; for a value of each entry. */
bool tsr_arrays_lists(tsr_handover *arrays, const tsr_memory *memory, int64_t nvec, int64_t nvals, bool narrow);
bool tsr_arrays_names(tsr_handover *arrays, int64_t nvec);
bool tsr_arrays_values(tsr_handover *arrays, tsr_type type);

/* Room for the vectors of a masked result, which are the mask's (h copied), and then for its entries.  false: out of memory, nothing held. */
bool tsr_arrays_mask_vectors(tsr_handover *arrays, const tsr_memory *memory, const tsr_view *mask);
bool tsr_arrays_entries(tsr_handover *arrays, int64_t nvals, tsr_type type, bool narrow);

/* The entries of a dense result, in vectors of `vlen` places, into a sparse one with room for them; the dense one is freed. */
void tsr_arrays_compact(tsr_handover *sparse, tsr_handover *dense, int64_t nvec, int64_t vlen, tsr_type type, int nthreads);

/* ---- from one form to another.  False: out of memory, and nothing has changed ---- */

/* Dense to sparse. */
bool tsr_arrays_list(tsr_handover *arrays, int64_t nvec, int64_t vlen, tsr_type type, int nthreads);

/* Sparse to hypersparse, and back: all nvec vectors. */
bool tsr_arrays_list_vectors(tsr_handover *arrays, int nthreads);
bool tsr_arrays_all_vectors(tsr_handover *arrays, int64_t nvec);

/* Sparse or hypersparse to a bitmap of nvec vectors of vlen places; full: every entry is there, in order. */
bool tsr_arrays_spread(tsr_handover *arrays, int64_t nvec, int64_t vlen, tsr_type type, bool full, int nthreads);

/* The bitmap of a vector has these entries and no others.  x NULL: values stay as they are. */
void tsr_arrays_put(tsr_handover *arrays, int64_t vlen, const int64_t *i, int64_t count, const void *x, size_t size);

/* Room for a sparse result of few entries, whose vectors are listed; h gets one number for each entry, of stored vectors of the mask, and
 * tsr_arrays_name then makes p and h of them.  false: out of memory, nothing held. */
bool tsr_arrays_listed(tsr_handover *arrays, const tsr_memory *memory, int64_t nvals, tsr_type type, bool narrow);
void tsr_arrays_name(tsr_handover *arrays, const tsr_view *mask);

/* Vectors of a sparse result that have entries; counting may stop at `enough`. */
int64_t tsr_arrays_nonempty(const tsr_handover *arrays, int64_t enough, int nthreads);

/* `nvals` entries are present; all of them: b is not needed any more. */
void tsr_arrays_count(tsr_handover *arrays, int64_t nvals, int64_t count);

/* All entries have this value, of `size` bytes (NULL: that of the first one, if there is one): so the result is handed over iso.  Without
 * memory for that value nothing changes.  Zeros fill its word: 9.4 may read a value as one of a wider type (docs/which-library.md). */
void tsr_arrays_unify(tsr_handover *arrays, size_t size, const void *one);

/* A hypersparse result loses its vectors without entries: SuiteSparse 7.4.0 reads the list of those of length 1 as that of the entries. */
void tsr_arrays_drop_empty(tsr_handover *arrays);
void tsr_arrays_free(tsr_handover *arrays);

#endif
