/* Results become GraphBLAS objects: hand-over of arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FINISH_H
#define TSR_FINISH_H

#include "src/graphblas/intercept/door.h"

/* Arrays in the user's allocator, on their way into an object.  Dense: x, b.  Sparse: p, h, i, x.  What an object has taken
 * over is NULL afterwards; tsr_arrays_free frees the rest. */
typedef struct tsr_handover {
    void *x;
    int8_t *b;
    GrB_Index *p, *h, *i;
    size_t x_bytes, b_bytes, p_bytes, h_bytes, i_bytes;
    int64_t nvals, nvec;
    bool iso; /* x has one value for all */
} tsr_handover;

/* Room for a dense result of `count` places; present = it may have absent entries.  false: out of memory, nothing held. */
bool tsr_arrays_dense(tsr_handover *arrays, int64_t count, tsr_type type, bool present);

/* Room for their presence, unless there is some.  false: out of memory. */
bool tsr_arrays_presence(tsr_handover *arrays, int64_t count);

/* Room for a sparse result of `nvals` entries in `nvec` vectors.  false: out of memory, nothing held. */
bool tsr_arrays_compressed(tsr_handover *arrays, int64_t nvec, int64_t nvals, tsr_type type);

/* The entries of a bitmap, in vectors of `vlen` places, into a sparse result with room for them; the bitmap is freed. */
void tsr_arrays_compact(tsr_handover *sparse, tsr_handover *bitmap, int64_t nvec, int64_t vlen, tsr_type type, int nthreads);

/* The arrays of C, which is a bitmap held by_col and not iso; C is empty then.  false: nothing has changed. */
bool tsr_arrays_take(tsr_handover *arrays, GrB_Matrix C, bool vector, bool by_col);

/* `nvals` entries are present; all of them: b is not needed any more. */
void tsr_arrays_count(tsr_handover *arrays, int64_t nvals, int64_t count);

/* All entries have this value, of `size` bytes (NULL: that of the first one, if there is one): so the result is handed over iso.  Without
 * memory for that value nothing changes. */
void tsr_arrays_unify(tsr_handover *arrays, size_t size, const void *one);

/* Room for a masked result of at most `most` entries, with the mask's vectors (h copied).  false: out of memory. */
bool tsr_arrays_sparse(tsr_handover *arrays, const tsr_product *p, int64_t most);

/* A hypersparse result loses its vectors without entries: SuiteSparse 7.4.0 reads the list of those of length 1 as that of the entries. */
void tsr_arrays_drop_empty(tsr_handover *arrays);
void tsr_arrays_free(tsr_handover *arrays);

/* Settings of an object that a pack resets. */
typedef struct tsr_settings {
    int32_t control;
    double hyper_switch, bitmap_switch;
} tsr_settings;

tsr_settings tsr_settings_read(GrB_Matrix C);
GrB_Info tsr_settings_restore(GrB_Matrix C, const tsr_settings *settings, bool conform);

/* T = arrays, O(1) and without allocation.  by_col: how they are held. */
GrB_Info tsr_pack(GrB_Matrix T, bool vector, bool by_col, tsr_handover *arrays);

/* The same, and C has these settings.  conform: let SuiteSparse choose the format that its rules ask for, which may allocate. */
GrB_Info tsr_finish_arrays(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, const tsr_settings *settings, bool conform);

/* C = a dense result held by_col, keeping its own settings, conforming. */
GrB_Info tsr_finish_conforming(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays);

/* The same, without conforming: it cannot fail.  control: the sparsity control that C has from now on, which
 * allows the arrays as they are. */
GrB_Info tsr_finish_dense(GrB_Matrix C, bool vector, bool by_col, tsr_handover *arrays, int32_t control);

#endif
