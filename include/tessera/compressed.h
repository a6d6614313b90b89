/* Sparse matrices that live in a backend's own memory, and what is done with them there.
 * Plain C data only: no GraphBLAS handle, no CUDA type.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_COMPRESSED_H
#define TESSERA_COMPRESSED_H

#include "tessera/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compressed contents: a matrix by its vectors (rows or columns), indices ascending in each, with values, or without those of one value.  They
 * never change.  What they stand for their user knows.  In the interface they are contents (tessera/values.h): downloaded with p, dropped once. */

/* A sparse operand where it is: in the host's arrays, or in the slot of its record (view.p is NULL, and of values only that of an iso matrix is
 * looked at; x tells that there are others). */
typedef struct tsr_compressed_operand {
    tsr_view view;
    void **slot; /* as of tsr_product; NULL: nothing is kept of it */
    bool turned; /* of calls that say so: its vectors are the columns of what is held by row, or the rows */
    int nthreads;
} tsr_compressed_operand;

/* Which entries stay.  By place: those where keep (by_vector * vector + by_index * index + offset, 0) holds; by value: keep (x, thunk) in the
 * type of the values, not of BOOL. */
typedef struct tsr_compressed_rule {
    bool placed;
    tsr_ewise_op keep; /* compares */
    int by_vector, by_index; /* -1, 0, 1 */
    int64_t offset;
    uint64_t thunk;    /* its bytes */
} tsr_compressed_rule;

/* What becomes of values: of a tsr_ewise op, type, result, unite and scalars count. */
typedef struct tsr_compressed_step {
    tsr_ewise step;
    bool x_is_a, y_is_a; /* of one operand; otherwise the scalars of the step */
} tsr_compressed_step;

/* Status as for contents.  *moved grows by the bytes that crossed the bus. */
typedef struct tsr_backend_compressed {
    /* Vector k is a's vector vectors[k], its entry at l is a's at places[l]; all indices fit, and may repeat.  The lists are the host's and not
     * read any more afterwards. */
    tsr_status (*extract)(void **c, const tsr_compressed_operand *a, const tsr_indices *vectors, const tsr_indices *places, int64_t *moved);
    tsr_status (*select)(void **c, const tsr_compressed_operand *a, const tsr_compressed_rule *rule, int64_t *moved);
    /* The same entries, whose values are op (x, y): x is a's, or a scalar, or both are a's; likewise y.  Types, scalars and op are those of the step;
     * IDENTITY of a matrix without values has none either.  a may be turned, here and below. */
    tsr_status (*apply)(void **c, const tsr_compressed_operand *a, const tsr_compressed_step *step, int64_t *moved);
    /* op (x, y) of the entries of a and b, of the same sizes, with values: of those that both have or, with step->unite, of all. */
    tsr_status (*join)(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_compressed_step *step, int64_t *moved);
    /* kron (a, b): op (x, y) of each entry of a and b, of one orientation; op, type and result are those of the step, scalars are not looked at.
     * pattern: of one value, so C has none.  Optional. */
    tsr_status (*kronecker)(void **c, const tsr_compressed_operand *a, const tsr_compressed_operand *b, const tsr_ewise *step, bool pattern, int64_t *moved);
    /* All entries, of which there are some, with values, each cast to `type` first. */
    tsr_status (*reduce)(const tsr_compressed_operand *a, tsr_type type, tsr_reduce_op op, void *scalar, int64_t *moved);
    /* What a slot has of the matrix that `like` describes (type, orientation, iso), as contents; *c = NULL: nothing. */
    tsr_status (*find)(void **c, const tsr_view *like, void **slot);
    /* Products find the contents in the slot of a record, whose matrix is held by column or not. */
    void (*share)(void *c, bool by_col, void **slot);
    int64_t (*nvals)(const void *c);
    bool (*holds)(const tsr_compressed_operand *a); /* in either orientation */
} tsr_backend_compressed;

#ifdef __cplusplus
}
#endif

#endif
