/* The two families of inner loops of SpMM, as the drivers see them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMM_KERNELS_H
#define TSR_CPU_SPMM_KERNELS_H

#include "kernels/cpu/common/template.h"
#include "src/base/types.h"

/* Tiles: rows [first, last) of a sparse matrix by row times a row-major full B, one tile of columns.
 *   row r has entries p[r] .. p[r+1]-1;  its result goes to c + (h ? h[r] : r) * ldc
 *   a advances a_step values per entry (0: iso or pattern);  last_entry: greatest position that may be read ahead
 *   columns: how many of the tile are stored;  narrow tiles read a whole vector from B at every row up to safe_row
 *   and from `tail` (one vector per row) beyond it.
 *   joined: PLUS only, NULL or what is added to the result of row r: the columns at joined + r * ldj; may be c. */
typedef struct tsr_tile_job {
    tsr_offsets p;
    const int64_t *h;
    int64_t first, last;
    const void *i;
    const void *a;
    int64_t a_step;
    int64_t last_entry;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    int64_t columns;
    int64_t safe_row;
    const void *tail;
    const void *joined;
    int64_t ldj;
} tsr_tile_job;

typedef void (*tsr_tile_fn)(const tsr_tile_job *job);

/* Tile widths in vectors: 1 << width, or one vector of which only job->columns are stored. */
enum { TSR_TILE_1, TSR_TILE_2, TSR_TILE_4, TSR_TILE_8, TSR_TILE_NARROW, TSR_TILE_WIDTHS };

/* Single entries: for e = 0 .. count-1:  C(i[e]*ldc ..) (+)= a[e*a_step] (x) B(i[e]*ldb ..), `columns` values each.
 * ldb = 0 scatters one row of B, ldc = 0 gathers into one row of C.  Both must hold values of the monoid already
 * (its identity to begin with; ANY overwrites).  The flags variant takes part only where bb is set, sets cb
 * there, and lets
 * ANY keep what is present. */
typedef struct tsr_entries_job {
    const int64_t *i;
    int64_t count;
    const void *a;
    int64_t a_step;
    const void *b;
    int64_t ldb;
    void *c;
    int64_t ldc;
    int64_t columns;
    const int8_t *bb;
    int64_t ldbb;
    int8_t *cb;
    int64_t ldcb;
} tsr_entries_job;

typedef void (*tsr_entries_fn)(const tsr_entries_job *job);

/* What one instruction set offers. Semirings are canonical (tsr_canonical in spmm_plan.h). */
typedef struct tsr_spmm_table {
    int64_t vector_bytes;
    bool (*tiles)(tsr_tile_fn fn[TSR_TILE_WIDTHS], tsr_semiring semiring, int index_size); /* false: none */
    tsr_entries_fn (*entries)(tsr_semiring semiring, bool flags);                          /* NULL: none */
} tsr_spmm_table;

TSR_DECLARE_ISA(extern const tsr_spmm_table, tsr_spmm_table);

#endif
