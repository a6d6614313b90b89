/* Selection by value and by place, extraction by lists of indices, gathering: contracts of the CPU and reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SELECTION_H
#define TSR_SELECTION_H

#include "kernels/kernels.h"
#include "tessera/values.h"

/* ---- selection ---- */

/* z: a bool, written; x: the entry's value, cast where its type is another; i and j: its row and its column; y: the thunk. */
typedef void tsr_index_function(void *z, const void *x, uint64_t i, uint64_t j, const void *y);

/* Entries of `a`, compressed, that stay.  By value, `a` not iso: those with   x <keep> thunk   in a's type; keep is one of
 * EQ, NE, GT, GE, LT, LE.  By place, `a` sorted: those with   index <keep> slope * name of their vector + bound;   keep is one of
 * EQ, NE, GE, LT, and nothing overflows.  By a function: those of which it says true, called once for each entry, in any order, by several
 * threads at once. */
typedef struct tsr_selection {
    tsr_view a;
    tsr_ewise_op keep;
    uint64_t thunk; /* its bytes */
    bool placed;    /* by place */
    int slope;      /* -1, 0, 1 */
    int64_t bound;
    tsr_index_function *function; /* NULL: not by one */
    tsr_type x_type; /* that it takes: values are cast to it */
    bool narrow;    /* the result's indices have 32 bits */
    int nthreads;
    uint64_t *kept; /* a bit for every entry; of the kernel: made by _count, freed by _end */
} tsr_selection;

/* p[0..a.nvec] of the result, which has a's vectors; _end in any case. */
tsr_status tsr_cpu_select_count(tsr_selection *s, int64_t *p);
/* i[0..p[nvec]) and, unless x is NULL, the values. */
void tsr_cpu_select_fill(const tsr_selection *s, const int64_t *p, void *i, void *x);
void tsr_cpu_select_end(tsr_selection *s);

/* Does this entry, of stored vector v, stay? */
bool tsr_ref_keeps(const tsr_selection *s, int64_t v, int64_t entry);

/* ---- extraction ---- */

/* Are all of them in [0, bound)? */
bool tsr_indices_fit(const tsr_indices *s, int64_t bound, int nthreads);

/* A list of which all are in [0, bound): does none repeat?  False also without memory. */
bool tsr_indices_differ(const tsr_indices *s, int64_t bound);

/* T: vector k is a's vector vectors[k], its entry at l is a's at places[l].  a is sparse (not hypersparse) and sorted; all
 * indices fit; vectors may repeat; a's vectors and T's are shorter than 2^31. */
typedef struct tsr_extraction {
    tsr_view a;
    tsr_indices vectors, places;
    bool narrow;     /* T's indices have 32 bits */
    int nthreads;
    int32_t *target; /* where an index of a goes to, -1: nowhere; of the kernel: made by _begin, freed by _end */
    bool ascending;  /* places ascend: what is sorted stays so */
    bool whole;      /* places hold every index of a */
} tsr_extraction;

/* TSR_DECLINED where places repeat; _end in any case. */
tsr_status tsr_cpu_extract_begin(tsr_extraction *e);
/* p[0..vectors.count]. */
tsr_status tsr_cpu_extract_count(const tsr_extraction *e, int64_t *p);
/* Sorted.  x NULL: no values. */
tsr_status tsr_cpu_extract_fill(const tsr_extraction *e, const int64_t *p, void *i, void *x);
void tsr_cpu_extract_end(tsr_extraction *e);

/* The same, vector by vector and entry by entry; i and x NULL: only p. */
void tsr_ref_extract(const tsr_extraction *e, int64_t *p, void *i, void *x);

/* ---- gathering ---- */

/* z[k] = x[list[k]], values of `size` bytes; z is none of x. */
void tsr_cpu_gather(void *z, const void *x, size_t size, const tsr_indices *from, int nthreads);

/* z[list[k]] = x[k * step], one after the other; step is 0 or 1, and there is a list. */
void tsr_cpu_scatter(void *z, const void *x, int64_t step, size_t size, const tsr_indices *to);

/* The CPU backend's (tsr_backend_host). */
typedef struct tsr_selection_kernels {
    tsr_status (*select_count)(tsr_selection *s, int64_t *p);
    void (*select_fill)(const tsr_selection *s, const int64_t *p, void *i, void *x);
    void (*select_end)(tsr_selection *s);
    tsr_status (*extract_begin)(tsr_extraction *e);
    tsr_status (*extract_count)(const tsr_extraction *e, int64_t *p);
    tsr_status (*extract_fill)(const tsr_extraction *e, const int64_t *p, void *i, void *x);
    void (*extract_end)(tsr_extraction *e);
    bool (*indices_fit)(const tsr_indices *s, int64_t bound, int nthreads);
    bool (*indices_differ)(const tsr_indices *s, int64_t bound);
    void (*gather)(void *z, const void *x, size_t size, const tsr_indices *from, int nthreads);
    void (*scatter)(void *z, const void *x, int64_t step, size_t size, const tsr_indices *to);
} tsr_selection_kernels;

#endif
