/* How work is cut into parts, and where the memory of the converters comes from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BASE_SPLIT_H
#define TSR_BASE_SPLIT_H

#include "src/base/types.h"

#include <string.h>

/* Elements or entries that one pass looks at: for fewer, starting another thread and waiting for it, on a busy machine for its turn, takes
 * longer than the pass. */
#define TSR_THREAD_WORK (1 << 17)

/* Threads of a parallel region for which so many are of use: not fewer than the last region of this call had, unless it is one.  A smaller team ends
 * threads, and the next larger one starts them again: 50 to 150 us of 16, 5 ms on a busy machine (libgomp). */
int tsr_team(int useful);

/* A call of the program begins: its teams are as small as its work.  SuiteSparse, whose threads are the same, makes its own as small. */
void tsr_team_begin(void);

/* Its regions have one thread from now on. */
void tsr_team_none(void);

/* The same, if teams may come late and that takes no more than so many ms longer (tsr_late_team_spares). */
void tsr_team_spare(double more_ms, bool wins_alone);

/* Fewer parts than threads when there is too little to do. */
int tsr_parts(int64_t work, int64_t least_per_part, int nthreads);

/* As many threads as SuiteSparse takes for so many steps: one for each 65,536. */
static inline int tsr_chunk_threads(double steps, int nthreads)
{
    const double useful = steps / (1 << 16); /* GxB_CHUNK */
    return useful < 2 || nthreads < 1 ? 1 : useful < nthreads ? (int)useful : nthreads;
}

/* Threads of a pass over so many elements: one below TSR_THREAD_WORK for each of two, else as many as SuiteSparse takes. */
int tsr_pass_threads(int64_t elements, int nthreads);
#define TSR_CALL_PASSES 4 /* a call of the program's function for an element takes as long as so many passes */

/* First item of part `part` of `nparts` equal parts of [0, n). */
int64_t tsr_part_begin(int64_t n, int part, int nparts);

/* First vector of part `part`, the entries of p[0..nvec] being cut into equal parts at vector boundaries. */
int64_t tsr_part_vector(const int64_t *p, int64_t nvec, int part, int nparts);
int64_t tsr_part_vector_of(tsr_offsets p, int64_t nvec, int part, int nparts); /* of either width */

/* The vector of nvec that an entry is in; nvec: it is behind the last one. */
int64_t tsr_vector_of(tsr_offsets p, int64_t nvec, int64_t entry);

/* Offsets from counts: p[first + 1 ... last] of each part is counted from zero.  First, part after part, the last of each becomes an offset; then
 * the others, parts in any order. */
static inline void tsr_join_last(int64_t *p, int64_t first, int64_t last)
{
    if (first < last && first > 0)
        p[last] += p[first];
}

static inline void tsr_join_others(int64_t *p, int64_t first, int64_t last)
{
    const int64_t before = p[first];
    for (int64_t v = first + 1; first > 0 && v < last; v++)
        p[v] += before;
}

/* First k in [0, n) with p[k] >= x, p ascending; n: none. */
int64_t tsr_first_at_least(const int64_t *p, int64_t n, int64_t x);

/* malloc of count * size bytes with huge pages asked for when large; NULL when out of memory or on overflow.
 * Never NULL for count = 0 otherwise.  Freed with free. */
void *tsr_format_alloc(int64_t count, size_t size);

/* One thread's vectors (or groups of vectors) [first, last), and scratch for the entries of the largest of them. */
typedef struct tsr_share {
    int64_t first, last, largest;
    void *scratch;
} tsr_share;

/* The entries of p[0..nvec] in nparts shares of about equal size, each with bytes_per_entry * largest bytes of scratch, aligned
 * to bytes_per_entry (a power of two up to 16).  NULL: out of memory.  tsr_free_shares. */
tsr_share *tsr_make_shares(const int64_t *p, int64_t nvec, int nparts, size_t bytes_per_entry);
void tsr_free_shares(tsr_share *shares);

/* dst[to] = src[from], values of size bytes: 2, 4, 8 or 16. */
static inline void tsr_move_value(void *dst, int64_t to, const void *src, int64_t from, size_t size)
{
    char *out = (char *)dst + (size_t)to * size;
    const char *in = (const char *)src + (size_t)from * size;
    switch (size) {
    case 2: memcpy(out, in, 2); break;
    case 4: memcpy(out, in, 4); break;
    case 8: memcpy(out, in, 8); break;
    default: memcpy(out, in, 16); break;
    }
}

#endif
